"""Full-text retrieval over shards with SQLite FTS5: BM25 on exactly the shards a state can reach.

Shards are added in order to one index, and each state is answered when its prefix is in and nothing else: term
statistics are those of the accessible corpus. Filtering a full index to a prefix would leak document frequencies.
Ties are broken by row, so results depend on nothing but the corpus and its order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from audit_core.prompts import Passage

WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage at its rank.

    Attributes:
        score: BM25 as decimal text with six places; larger is better.
    """

    passage: Passage
    score: str


def retrieve(
    shards: Sequence[Iterable[Passage]], reach: Mapping[str, int], questions: Sequence[tuple[str, str]], depth: int
) -> Iterator[tuple[str, str, list[Hit]]]:
    """Ranked passages for every question in every state that retrieves.

    Args:
        shards: Passages, in the order in which states add them; a text that an earlier shard holds is left out.
        reach: Shards that each state can reach, in ladder order; 0 retrieves nothing and yields nothing.
        questions: (question id, text).
        depth: Most passages per question and state.

    Yields:
        (question id, state, hits by rank), state by state.
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE passage USING fts5(title, text, "
            "tokenize = \"unicode61 remove_diacritics 2 tokenchars '_'\")"
        )
        held: list[Passage] = []
        seen: set[str] = set()
        added = 0
        for state, count in reach.items():
            if not count:
                continue
            for shard in shards[added:count]:
                _add(connection, shard, held, seen)
            added = count
            for question_id, text in questions:
                yield question_id, state, _search(connection, held, text, depth)
    finally:
        connection.close()


def _add(connection: sqlite3.Connection, shard: Iterable[Passage], held: list[Passage], seen: set[str]) -> None:
    for passage in shard:
        if passage.text in seen:
            continue
        seen.add(passage.text)
        held.append(passage)
        connection.execute(
            "INSERT INTO passage (rowid, title, text) VALUES (?, ?, ?)", (len(held), passage.title, passage.text)
        )


def _search(connection: sqlite3.Connection, held: list[Passage], question: str, depth: int) -> list[Hit]:
    words = list(dict.fromkeys(word.lower() for word in WORD.findall(question)))
    if not words:
        return []
    query = " OR ".join(f'"{word}"' for word in words)
    found = connection.execute(
        "SELECT rowid, bm25(passage) FROM passage WHERE passage MATCH ? ORDER BY bm25(passage), rowid LIMIT ?",
        (query, depth),
    ).fetchall()
    return [Hit(held[row - 1], f"{-score:.6f}") for row, score in found]
