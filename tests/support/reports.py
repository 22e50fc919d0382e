"""Reports of studies, and what a forger might do to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from audit_core.model import CheckResult
from audit_core.readmodel.load import load
from audit_core.reviews.fold import Fold
from audit_core.verify import verify
from audit_core.verify.printed import SEAL, check_report
from dashboard.report.making import People, render

MARKED = re.compile(r'<data value="([^"]*)">([^<]*)</data>')


def loaded(folder: Path, study: Path) -> Path:
    """A database with one study."""
    db = folder / "report.db"
    load([study], db, verifier=verify)
    return db


def resealed(page: bytes) -> bytes:
    """A page whose last line fits again, as a forger would leave it."""
    body = page[: SEAL.search(page).start()]  # type: ignore[union-attr]
    return body + b"<!-- sha256 " + hashlib.sha256(body).hexdigest().encode() + b" -->\n"


def other_digit(digit: str) -> str:
    """Another digit."""
    return str((int(digit) + 1) % 10)


def changed(page: str) -> Iterator[tuple[str, str]]:
    """Every page that differs in one digit of one marked number, with the number's reference."""
    for match in MARKED.finditer(page):
        text = match.group(2)
        place = next((i for i, character in enumerate(text) if character in "0123456789"), None)
        if place is not None:
            at = match.start(2) + place
            yield page[:at] + other_digit(page[at]) + page[at + 1 :], match.group(1)


class Reports:
    """One study's report, and its check.

    Args:
        folder: For files.
        study: The study's folder.
        people: What people said.
    """

    def __init__(self, folder: Path, study: Path, people: People | None = None, *, redacted: bool = False) -> None:
        self.folder, self.study = folder, study
        self.db = loaded(folder, study)
        self.checks = verify(study)
        study_id = self.checks and study.name
        self.page = render(self.db, study_id, people or People(Fold([])), redacted=redacted)

    @property
    def slim(self) -> bytes:
        """The page without plotly's code, which is most of it and holds nothing that is checked."""
        start = self.page.index(b"<script>/**")
        end = self.page.index(b"</script>", start)
        return resealed(self.page[:start] + b"<script>" + self.page[end:])

    def check(self, page: bytes | str | None = None) -> dict[str, CheckResult]:
        """Results of the check by number."""
        data = self.page if page is None else page.encode() if isinstance(page, str) else page
        path = self.folder / "checked.html"
        path.write_bytes(data)
        return {result.check_id: result for result in check_report(path, self.study, self.checks)}

    def failed(self, page: bytes | str | None = None) -> list[str]:
        """Numbers of the checks that do not pass."""
        found = self.check(page)
        self.details = {number: result.detail for number, result in found.items()}
        return [number for number, result in found.items() if result.result != "passed"]
