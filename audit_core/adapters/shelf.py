"""The passages that a state can reach, in a temporary file of SQLite: found by place, by family, by id, by search.

A place is the number of a passage in the order of the corpus, from 1. Shards are added in the order of the ladder, so
what is on the shelf is what the state can reach, and nothing else.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import sha256

from audit_core.prompts import Passage

WORD = re.compile(r"\w+")
CACHE = 64 << 10
"""KiB of the index that SQLite keeps in memory; the rest is in a temporary file of its own."""
SEARCHED = (
    "CREATE VIRTUAL TABLE passage USING fts5(title, text, document_id UNINDEXED, url UNINDEXED, "
    "family UNINDEXED, tokenize = \"unicode61 remove_diacritics 2 tokenchars '_'\")"
)
LISTED = "CREATE TABLE passage (title, text, document_id UNIQUE, url, family)"

Ranking = dict[int, str]
"""Scores as decimal text by place, best first."""


class Shelf:
    """Passages, each once.

    Args:
        table: `SEARCHED` for full-text search, `LISTED` for passages found by their id.
        same: What two passages share that are held once, such as their text.
    """

    def __init__(self, table: str, same: Callable[[Passage], str]) -> None:
        self._connection = sqlite3.connect("")  # new and empty; nothing else can open it, gone when it is closed
        self._connection.execute(f"PRAGMA cache_size = -{CACHE}")
        self._connection.execute(table)
        self._connection.execute("CREATE TABLE kin (place INTEGER PRIMARY KEY, family TEXT NOT NULL)")
        self._connection.execute("CREATE INDEX kin_family ON kin (family, place)")
        self._same, self._seen = same, set[bytes]()
        self.related = False

    def add(self, passages: Iterable[Passage]) -> None:
        """Take in a shard."""
        for passage in passages:
            digest = sha256(self._same(passage).encode()).digest()
            if digest in self._seen:
                continue
            self._seen.add(digest)
            self._connection.execute(
                "INSERT INTO passage (rowid, title, text, document_id, url, family) VALUES (?, ?, ?, ?, ?, ?)",
                (len(self._seen), passage.title, passage.text, passage.document_id, passage.url, passage.family),
            )
            if passage.family:
                self.related = True
                self._connection.execute("INSERT INTO kin VALUES (?, ?)", (len(self._seen), passage.family))

    def search(self, text: str, most: int) -> Ranking:
        """Places by BM25 over all that is on the shelf, ties by place."""
        words = list(dict.fromkeys(word.lower() for word in WORD.findall(text)))
        if not words:
            return {}
        found = self._connection.execute(
            "SELECT rowid, bm25(passage) AS score FROM passage WHERE passage MATCH ? ORDER BY score, rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), most),
        )
        return {place: f"{-score:.6f}" for place, score in found}

    def place(self, document_id: str) -> int:
        """Where a document stands that is on the shelf."""
        row = self._connection.execute("SELECT rowid FROM passage WHERE document_id = ?", (document_id,)).fetchone()
        return int(row[0])

    def passage(self, place: int) -> Passage:
        """The passage at a place."""
        row = self._connection.execute(
            "SELECT document_id, title, url, text, family FROM passage WHERE rowid = ?", (place,)
        ).fetchone()
        return Passage(*row)

    def families(self, places: Collection[int]) -> dict[int, str]:
        """Families of those of some places that have one."""
        found = self._connection.execute(
            "SELECT place, family FROM kin WHERE place IN (SELECT value FROM json_each(?))", (json.dumps([*places]),)
        )
        return dict(found.fetchall())

    def members(self, family: str) -> Iterator[int]:
        """Places of a family, in the order of the corpus."""
        found = self._connection.execute("SELECT place FROM kin WHERE family = ? ORDER BY place", (family,))
        return (place for (place,) in found)

    def close(self) -> None:
        """Remove everything."""
        self._connection.close()
