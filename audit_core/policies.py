"""Retrieval policies: what a state does with what it retrieves, and how far its answers may go.

A ladder may hold one snapshot with several policies, so that "before and after the fix" is an audit like any other.
What each policy does: `adapters/choosing.py` and `prompts.py`; in words, ``docs/retrieval-policies.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SWITCHES = ("expand_siblings", "fan_out", "drop_bibliography")
KEYS = (*SWITCHES, "refusal")
ABLE: dict[str, tuple[str, ...]] = {"fts5": SWITCHES, "replay": ("expand_siblings", "drop_bibliography")}
"""Switches that each retriever can follow; the others hold no corpus to look into."""
WORDS = {"expand_siblings": "siblings added", "fan_out": "fan-out", "drop_bibliography": "bibliography left out"}
REFUSAL, SNAPSHOT = "refusal rule", "snapshot"
RULES = {
    "": "UNKNOWN if it cannot answer",
    "all_or_nothing": "UNKNOWN unless every part is answered",
    "partial": "parts that are answered, and what is missing",
}
"""Refusal rules in words; the empty one is the prompt of a state that names none."""

Fault = Callable[[str, str, object, str], None]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a state does beside plain retrieval and the usual prompt.

    Attributes:
        expand_siblings: Passages of a shown passage's family are put after it.
        fan_out: One search for each part of the question.
        drop_bibliography: Bibliographies, indexes and tables of contents are left out.
        refusal: One of `RULES`; empty for the usual prompt.
    """

    expand_siblings: bool = False
    fan_out: bool = False
    drop_bibliography: bool = False
    refusal: str = ""


PLAIN = Policy()


def read(item: Mapping[str, Any], refusals: Collection[str], where: str, fault: Fault) -> Policy:
    """The policy of one state of a protocol; what is wrong with it is noted as a fault.

    Args:
        item: The state, as the protocol has it.
        refusals: Refusal rules that there are prompts for.
        where: Its place, for messages.
        fault: Takes what, expected, found, where.
    """
    found: dict[str, Any] = {}
    for name in SWITCHES:
        value = item.get(name, False)
        if type(value) is not bool:
            fault(f"{name} is not what it must be", "true or false", repr(value), where)
        found[name] = value is True
    refusal = item.get("refusal", "")
    if "refusal" in item and refusal not in refusals:
        fault("refusal is not what it must be", " or ".join(refusals), repr(refusal), where)
        refusal = ""
    policy = Policy(**found, refusal=refusal)
    if policy != PLAIN and item.get("shards") == 0:
        fault("a state without retrieval has no policy", "no " + ", ".join(_named(policy)), "shards = 0", where)
    return policy


def check(policies: Mapping[str, Policy], retriever: str, fault: Fault) -> None:
    """Note a fault for each policy that a retriever cannot follow."""
    able = ABLE.get(retriever, ())
    for state, policy in policies.items():
        if unable := [name for name in _named(policy) if name in SWITCHES and name not in able]:
            users = [name for name, switches in ABLE.items() if set(unable) <= set(switches)]
            needs = "a search" if "fan_out" in unable else "the corpus on this machine"
            fault(f"{', '.join(unable)} needs {needs}", " or ".join(users), retriever, f"[ladder] state {state}")


def _named(policy: Policy) -> list[str]:
    return [name for name in KEYS if getattr(policy, name)]


def settings(snapshots: Mapping[str, str], policies: Mapping[str, Policy]) -> dict[str, tuple[tuple[str, str], ...]]:
    """What is set in each state, as (name, value) by name, in words for people.

    Args:
        snapshots: The snapshot of each state, in words.
        policies: Of the states that have one.
    """
    ruled = any(policy.refusal for policy in policies.values())
    found = {}
    for state, snapshot in snapshots.items():
        policy = policies.get(state, PLAIN)
        mine = {SNAPSHOT: snapshot} | {word: "yes" for name, word in WORDS.items() if getattr(policy, name)}
        found[state] = tuple(sorted((mine | ({REFUSAL: RULES[policy.refusal]} if ruled else {})).items()))
    return found


def different(states: Iterable[tuple[tuple[str, str], ...]]) -> list[str]:
    """Names of the settings that are not the same in all states, by name."""
    held = list(map(dict, states))
    names = sorted({name for mine in held for name in mine})
    return [name for name in names if len({mine.get(name) for mine in held}) > 1]
