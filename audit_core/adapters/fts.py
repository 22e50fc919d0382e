"""Full-text retrieval over shards with SQLite FTS5: BM25 on exactly the shards a state can reach.

Shards are added in order to one index, and each state is answered when its prefix is in and nothing else: term
statistics are those of the accessible corpus. Filtering a full index to a prefix would leak document frequencies.
Ties are broken by row, so results depend on nothing but the corpus and its order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from audit_core.adapters.hits import Hit, Lists
from audit_core.prompts import Passage

WORD = re.compile(r"\w+")
CACHE = 64 << 10
"""KiB of the index that SQLite keeps in memory; the rest is in a temporary file of its own."""


def retrieve(
    shards: Sequence[Iterable[Passage]], reach: Mapping[str, int], questions: Sequence[tuple[str, str]], depth: int
) -> Lists:
    """Ranked passages for every question in every state that retrieves.

    Args:
        shards: Passages, in the order in which states add them; a text that an earlier shard holds is left out.
        reach: Shards that each state can reach, in ladder order; 0 retrieves nothing and yields nothing.
        questions: (question id, text).
        depth: Most passages per question and state.

    Yields:
        (question id, state, hits by rank), state by state.
    """
    connection = sqlite3.connect("")  # a new, empty index that nothing else can open, gone when it is closed
    try:
        connection.execute(f"PRAGMA cache_size = -{CACHE}")
        connection.execute(
            "CREATE VIRTUAL TABLE passage USING fts5(title, text, document_id UNINDEXED, url UNINDEXED, "
            "family UNINDEXED, tokenize = \"unicode61 remove_diacritics 2 tokenchars '_'\")"
        )
        seen: set[bytes] = set()
        added = 0
        for state, count in reach.items():
            if not count:
                continue
            for shard in shards[added:count]:
                _add(connection, shard, seen)
            added = count
            for question_id, text in questions:
                yield question_id, state, _search(connection, text, depth)
    finally:
        connection.close()


def _add(connection: sqlite3.Connection, shard: Iterable[Passage], seen: set[bytes]) -> None:
    for passage in shard:
        digest = sha256(passage.text.encode()).digest()
        if digest not in seen:
            seen.add(digest)
            connection.execute(
                "INSERT INTO passage (rowid, title, text, document_id, url, family) VALUES (?, ?, ?, ?, ?, ?)",
                (len(seen), passage.title, passage.text, passage.document_id, passage.url, passage.family),
            )


def _search(connection: sqlite3.Connection, question: str, depth: int) -> list[Hit]:
    words = list(dict.fromkeys(word.lower() for word in WORD.findall(question)))
    if not words:
        return []
    found = connection.execute(
        "SELECT document_id, title, url, text, family, score FROM passage JOIN ("
        "SELECT rowid AS place, bm25(passage) AS score FROM passage WHERE passage MATCH ? ORDER BY score, rowid LIMIT ?"
        ") ON passage.rowid = place ORDER BY score, place",
        (" OR ".join(f'"{word}"' for word in words), depth),
    )
    return [Hit(Passage(*row[:5]), f"{-row[5]:.6f}") for row in found.fetchall()]
