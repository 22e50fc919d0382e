"""Which columns were taken for which, last time a file of the same columns came: a small file beside the database."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from audit_core.digests import sha256
from audit_core.importers.columns import COLUMNS

NAME = "import-columns.json"
MOST = 200


def known(database: Path, names: Sequence[str]) -> dict[str, str]:
    """Our column → the file's name, as it was last; empty where no such file came before."""
    found = _read(database).get(_key(names), {})
    return {ours: name for ours, name in found.items() if ours in COLUMNS and name in names}


def keep(database: Path, names: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Remember a mapping; a disk that refuses only costs the memory."""
    if not mapping:
        return
    table = _read(database)
    table.pop(_key(names), None)
    table[_key(names)] = dict(mapping)
    place = database.with_name(NAME)
    draft = place.with_name(f".{NAME}.{os.getpid()}")
    with contextlib.suppress(OSError):
        draft.write_text(json.dumps(dict(list(table.items())[-MOST:]), ensure_ascii=True, indent=1), "utf-8")
        draft.replace(place)


def _key(names: Sequence[str]) -> str:
    return sha256("\n".join(sorted(names)).encode("utf-8", "surrogatepass"))


def _read(database: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(database.with_name(NAME).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}
