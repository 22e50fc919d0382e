"""Where the bundled studies are: in a checkout under data/, in an installed package beside this file."""

from __future__ import annotations

from pathlib import Path

from audit_core.errors import InputError, Problem

FIRST = "help-centre"
"""The study that opens first."""


def _root() -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / "bundled_data", here.parent / "data"):
        if (folder / "studies").is_dir():
            return folder
    raise InputError(
        Problem(
            "the bundled studies are not installed",
            "a folder named studies",
            "none",
            str(here),
            "Install the package again.",
        )
    )


def studies() -> list[Path]:
    """Folders of the bundled studies, in the order in which they are shown."""
    found = (path for path in (_root() / "studies").iterdir() if (path / "locks").is_dir())
    return sorted(found, key=lambda path: (path.name != FIRST, path.name))


def figures() -> Path:
    """The published figures that the bundled studies reproduce."""
    return _root() / "published-figures.json"


def resolve(name: str) -> Path:
    """A study's folder from a path or from the name of a bundled study."""
    path = Path(name)
    if not path.exists() and "/" not in name:
        for study in studies():
            if study.name == name:
                return study
    return path
