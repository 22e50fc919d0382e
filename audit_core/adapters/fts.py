"""Full-text retrieval over shards with SQLite FTS5: BM25 on exactly the shards a state can reach.

Shards are added in order to one index, and each state is answered when its prefix is in and nothing else: term
statistics are those of the accessible corpus. Filtering a full index to a prefix would leak document frequencies.
Ties are broken by row, so results depend on nothing but the corpus and its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

from audit_core.adapters import choosing
from audit_core.adapters.hits import Found, Lists
from audit_core.adapters.shelf import SEARCHED, Shelf
from audit_core.policies import PLAIN, Policy
from audit_core.prompts import Passage


def retrieve(
    shards: Sequence[Iterable[Passage]],
    reach: Mapping[str, int],
    questions: Sequence[tuple[str, str]],
    depth: int,
    policies: Mapping[str, Policy] | None = None,
    cut: Mapping[str, Sequence[str]] | None = None,
) -> Lists:
    """Ranked passages for every question in every state that retrieves.

    Args:
        shards: Passages, in the order in which states add them; a text that an earlier shard holds is left out.
        reach: Shards that each state can reach, in ladder order; 0 retrieves nothing and yields nothing.
        questions: (question id, text).
        depth: Most passages per question and state.
        policies: Of the states that have one; see `choosing`.
        cut: Parts of questions by id, where a model or their author has cut them.
    """
    with closing(Shelf(SEARCHED, lambda passage: passage.text)) as shelf:
        added = 0
        for state, count in reach.items():
            if not count:
                continue
            for shard in shards[added:count]:
                shelf.add(shard)
            added, policy = count, (policies or {}).get(state, PLAIN)
            most = choosing.longest(shelf, policy, depth)
            for question_id, text in questions:
                plain = shelf.search(text, most)
                wanted = choosing.asked(text, policy, (cut or {}).get(question_id, ()))
                ranking = choosing.merged([shelf.search(part, most) for part in wanted]) if len(wanted) > 1 else plain
                yield Found(question_id, state, *choosing.found(shelf, plain, ranking, policy, depth=depth))
