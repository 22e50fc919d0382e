"""A reviewer at the desk without a browser: what is on screen, and presses that carry it, over Streamlit's protocol."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.support.socket import Session

CARD = re.compile(
    r'data-item="(?P<item>[0-9a-f]{20})" data-base="(?P<base>\d+)"(?: data-undo="(?P<undo>\d+)")? '
    r'data-question="(?P<question>[^"]*)"'
)


class Seat:
    """One session on Triage.

    Attributes:
        question: On the desk now.
        saved: What the page says of the last save.
        problem: What the page says went wrong; empty where nothing did.
    """

    def __init__(self, url: str, headers: Sequence[tuple[str, str]] = (), query: str = "", tab: str = "tab") -> None:
        self.tab, self.number = tab, 0
        self.session = Session(url, headers, query).__enter__()
        self.session.run().run()
        self.widget = self.session.widget("triage-keys")
        self.look()
        if not self.widget or not self.question:
            raise RuntimeError(f"no card came: {self.session.text[-2000:]}")

    def close(self) -> None:
        self.session.__exit__(None, None, None)

    def look(self) -> None:
        """Take in what the last run has sent."""
        card = CARD.search(self._newest('class="sa sa-card"'))
        if card is not None:
            self.card = card
        self.question = self.card["question"] if hasattr(self, "card") else ""
        self.saved = re.sub(r"<[^>]+>", " ", self._newest('id="triage-saved"').partition('class="sa-moves"')[0])
        found = re.search(r'id="triage-problem">(.*?)<br><button', self._newest('class="sa-verdicts"'), re.S)
        self.problem = found[1] if found else ""

    def entry(self, action: str, value: str = "") -> dict[str, object]:
        """A press of what is on screen now, as the browser would note it."""
        self.number += 1
        return {"n": self.number, "t": self.tab, "a": action, "v": value, "i": self.card["item"],
                "b": int(self.card["base"]), "u": int(self.card["undo"] or 0)}  # fmt: skip

    def press(self, action: str, value: str = "") -> None:
        """Press, and wait for what comes of it."""
        self.send([self.entry(action, value)])

    def send(self, log: Sequence[dict[str, object]]) -> None:
        """Send a log of presses, and wait."""
        fragment = self.session.fragment
        self.session.elements.clear()
        self.session.run({self.widget: {"log": list(log)}}, fragment)
        self.look()

    def _newest(self, mark: str) -> str:
        bodies = [e.html.body for e in self.session.elements if e.WhichOneof("type") == "html"]
        return next((body for body in reversed(bodies) if mark in body), "")
