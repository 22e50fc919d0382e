"""Tables that a benchmark writes into a page, between two comments that name it."""

from __future__ import annotations

from pathlib import Path


def publish(page: Path, name: str, text: str) -> None:
    """Put a text in the place of what stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.read_text("utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
