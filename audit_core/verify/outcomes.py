"""What the checks are called, and how their outcomes are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from audit_core import locks
from audit_core.model import CheckOutcome
from audit_core.protocol import Protocol

Progress = Callable[[str], None]

TITLES = {
    "C01": "The folder holds only the files of a study",
    "C02": "The locks are well formed and close the gates in order",
    "C03": "Each lock names the lock before it",
    "C04": "Every file is locked and unchanged",
    "C05": "Ledger lines are canonical, complete and chained",
    "C06": "The protocol is complete and free of contradictions",
    "C07": "Questions are listed once",
    "C08": "Cells are questions × states × repeats, once each and in order",
    "C09": "Counts in the locks match the ledgers",
    "C10": "Evidence and passages belong together",
    "C11": "The second retrieval pass equals the first",
    "C12": "Judges labelled every pair of a question's answers once",
    "C13": "Gold belongs to the questions, once each",
    "C14": "Gold matches the commitment made before the answers",
    "C15": "Estimates follow from the ledgers",
    "C16": "The decision follows from the estimates",
    "C17": "The stream of bootstrap draws is the locked one",
    "C18": "The last lock is the one kept elsewhere",
    "C19": "Every call began before it ended, with the request that was planned",
    "C20": "Cells and labels follow from the calls",
    "C21": "Questions, evidence and gold seal are the parent's",
    "C22": "Probes came after the results and follow from their calls",
}


class Outcomes:
    """State of one verification: outcomes so far, the chain, and which files cannot be relied on."""

    def __init__(self, path: Path, expect_lock: str | None, progress: Progress) -> None:
        self.path, self.expect, self.progress = path, expect_lock, progress
        self.outcome: dict[str, tuple[CheckOutcome, str]] = {}
        self.chain: list[locks.Lock] = []
        self.protocol: Protocol | None = None
        self.changed: set[str] = set()
        self.damaged: set[str] = set()
        self.questions: dict[str, int] = {}
        self.slots: dict[str, set[tuple[str, int]]] = {}
        self.counts: dict[str, dict[str, int]] = {}

    def _set(self, check: str, outcome: CheckOutcome, detail: str) -> None:
        self.outcome.setdefault(check, (outcome, detail))

    def _fail(self, check: str, detail: str) -> None:
        if self.outcome.get(check, ("",))[0] != "failed":
            self.outcome[check] = ("failed", detail)

    def _failed(self, *checks: str) -> list[str]:
        return [check for check in checks if self.outcome.get(check, ("",))[0] == "failed"]
