"""Times as the reader's clock shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dashboard.components.text import escaped


@dataclass(frozen=True, slots=True)
class Clock:
    """Times as the reader's clock shows them.

    Attributes:
        zone: The reader's time zone.
        now: The present moment.
    """

    zone: ZoneInfo
    now: datetime

    @classmethod
    def of(cls, zone: str | None, now: datetime) -> Clock:
        """A clock for a named zone; UTC where there is no such zone."""
        try:
            return cls(ZoneInfo(zone or "UTC"), now)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return cls(ZoneInfo("UTC"), now)

    def day(self, at: str) -> str:
        """The date."""
        try:
            return datetime.fromisoformat(at).astimezone(self.zone).strftime("%Y-%m-%d")
        except ValueError:
            return escaped(at)

    def show(self, at: str) -> str:
        """Time of day; the date as well when it is not today."""
        try:
            moment = datetime.fromisoformat(at).astimezone(self.zone)
        except ValueError:
            return escaped(at)
        today = self.now.astimezone(self.zone).date() == moment.date()
        return moment.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
