"""What was noticed while files were read: a count and the first few places for each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from audit_core.errors import visible

PLACES = 5
"""How many places a finding names."""


@dataclass(slots=True)
class Noted:
    """One kind of thing, how often it was seen, at how many places, and the first of them."""

    count: int = 0
    seen: int = 0
    places: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The first few places as one text, hidden characters written as escapes."""
        hidden = self.seen - len(self.places)
        return visible("; ".join(self.places)) + (f" and {hidden:,} more" if hidden else "")


class Tally:
    """Counts by kind, in the order in which the kinds were first seen."""

    def __init__(self) -> None:
        self.kinds: dict[str, Noted] = {}

    def add(self, kind: str, *place: object, count: int = 1) -> None:
        """Count something; the place is put into words only for the first few."""
        noted = self.kinds.get(kind)
        if noted is None:
            noted = self.kinds[kind] = Noted()
        noted.count += count
        if place:
            noted.seen += 1
            if len(noted.places) < PLACES:
                noted.places.append(" ".join(str(part) for part in place))

    def once(self, kind: str, place: str) -> None:
        """Count something that is the same wherever it is seen."""
        noted = self.kinds.get(kind)
        if noted is None or place not in noted.places:
            self.add(kind, place)

    def count(self, kind: str) -> int:
        """How often a kind was seen."""
        noted = self.kinds.get(kind)
        return noted.count if noted else 0
