"""The one registry of keys: it feeds the listener, the buttons, their tooltips and the help dialog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit_core.reviews.events import IMPACTS, VERDICTS


@dataclass(frozen=True, slots=True)
class Key:
    """One key and what it does.

    Attributes:
        key: As the browser names it, in lower case, but ``space``; several that do the same are set apart by a space.
        action: Name of the action, ``verdict:regression`` for one with a value.
        label: Words on the button.
        help: One sentence for tooltip and help.
    """

    key: str
    action: str
    label: str
    help: str


_VERDICT_HELP = {
    "regression": "The new answer is worse for the reader.",
    "improvement": "The new answer is better for the reader.",
    "both_acceptable": "Both answers serve the reader.",
    "both_wrong": "Neither answer serves the reader.",
    "not_a_real_change": "The answers mean the same; the judge erred.",
    "cannot_tell": "It cannot be decided from what is shown.",
}

REGISTRY: tuple[Key, ...] = (
    *(Key(str(number), f"verdict:{value}", label, f"{_VERDICT_HELP[value]} Saves and goes on.")
      for number, (value, label) in enumerate(VERDICTS.items(), start=1)),
    *(Key(key, f"impact:{value}", label, f"{label} impact, before the verdict goes on; press again to clear.")
      for key, (value, label) in zip("qwe", IMPACTS.items(), strict=True)),
    Key("j", "next", "Next", "Next question of the queue."),
    Key("k", "previous", "Previous", "Previous question of the queue."),
    Key("n", "unreviewed", "Next open", "Next question of the queue without a verdict."),
    Key("z", "undo", "Undo", "Take back the verdict named beside the button; its history stays."),
    Key("g", "reveal", "Reveal gold", "Show the gold answers; that they were shown is recorded."),
    Key("v", "evidence", "Evidence text", "Show passages in full, or as excerpts again."),
    Key("d", "pair", "Change diff pair", "Compare another pair of answers word by word."),
    Key("a", "accept", "Accept", "Accept the verdict of an earlier study that is offered; it is saved as yours."),
    Key("x", "pick", "Pick", "Pick this question for one verdict together with others, or put it back."),
    Key("b", "group", "Picked together", "Show the picked questions to give them one verdict, or go back."),
    Key("u", "open:aside", "Set aside", "Set an unstable question aside for some days: reason, owner, last day."),
    Key("t", "open:note", "Note", "Go to the note; Esc leaves it, and it is saved."),
    Key("m", "masked", "Masked", "Call old and new A and B until your verdict, or name them again."),
    Key("p", "present", "Present", "Show the picked questions, or this queue, full screen in large type."),
    Key("/", "search", "Search", "Search questions and answers."),
    Key("?", "help", "Keys", "Show or close this list."),
    Key("escape", "leave", "Leave field", "Leave a text field, so that keys work again."),
)

BY_ACTION: dict[str, Key] = {key.action: key for key in REGISTRY}


OWN = ("search", "help", "leave", "black", "screen", "jump")
"""Actions that the browser does by itself; presses for all others travel to the server."""

_CAPS = {
    "escape": "Esc", "arrowright": "→", "arrowleft": "←", "pagedown": "Page Down", "pageup": "Page Up",
    "space": "Space", "home": "Home", "end": "End", "digits": "number, Enter",
}  # fmt: skip


def sent(registry: Sequence[Key], *, own: bool = False) -> dict[str, str]:
    """Keys whose presses travel to the server, with their actions; with `own` the browser's instead."""
    return {name.replace("space", " "): key.action
            for key in registry if (key.action in OWN) is own for name in key.key.split()}


def cap(key: Key) -> str:
    """What is printed on a key, for help."""
    return " or ".join(_CAPS.get(name, name) for name in key.key.split())


SENT = sent(REGISTRY)
