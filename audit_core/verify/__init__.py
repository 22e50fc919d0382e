"""Numbered offline checks of a study: standard library and numpy, no network, no database.

A check is ``passed``, ``failed``, or ``could not check``. A check whose inputs another check found broken could not be
made, so that one fault is reported once, where it is. What each check means is in docs/checks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from audit_core import locks
from audit_core.codec import Record
from audit_core.errors import AuditError, GateError, InputError, Problem
from audit_core.estimators.groups import Group, lacking
from audit_core.model import CheckResult
from audit_core.results import arrays_of, compute, differences, measures_of
from audit_core.study import GOLD, NONCE, RESULTS, Study, gold_seal
from audit_core.verify.outcomes import TITLES, Progress
from audit_core.verify.probes import ProbeChecks


def verify(
    path: Path, *, expect_lock: str | None = None, parent: Path | None = None, progress: Progress = lambda _: None
) -> list[CheckResult]:
    """All checks of one study, in order.

    Args:
        path: The study's folder.
        expect_lock: SHA-256 of the last lock, kept outside the study.
        parent: Folder of the study that this one repeats, where it names one.
        progress: Called with what is being checked.

    Raises:
        InputError: The path is not a folder.
        GateError: The folder has no lock, so it is not a study.
    """
    if not path.is_dir():
        raise InputError(
            Problem(
                "no study here", "a folder with locks/00-protocol.json", "no such folder", str(path), "Check the path."
            )
        )
    folder = path / "locks"
    if not folder.is_dir() or not any((folder / locks.file_name(gate)).exists() for gate in locks.GATES):
        raise GateError(
            Problem(
                "this is not a study",
                "locks/00-protocol.json",
                "no lock",
                str(path),
                "Name the folder of a locked study, or make one with: snapshot-audit import table",
            )
        )
    verifier = _Verifier(path, expect_lock, progress)
    verifier.parent = parent
    return verifier.run()


class _Verifier(ProbeChecks):
    """All checks; C14 to C18 are made here."""

    def run(self) -> list[CheckResult]:
        self._members()
        self._locks()
        self._protocol()
        self._contents()
        self._calls()
        self._replication()
        self._probes()
        self._gold_commit()
        self._results()
        self._expected()
        made = {check: title for check, title in TITLES.items() if check not in ("C21", "C22") or check in self.outcome}
        return [CheckResult(check, title, *self.outcome[check]) for check, title in made.items()]

    def _gold_commit(self) -> None:
        commit = self.protocol.gold_commit if self.protocol else None
        if commit is None:
            self._set("C14", "could not check", "Gold was not sealed before the answers.")
        elif self._broken(GOLD, NONCE) or self._failed("C13") or not {GOLD, NONCE} <= self._listed():
            self._set(
                "C14", "could not check", "Gold or its nonce is not here or not sound; it is locked, not verified."
            )
        elif gold_seal((self.path / NONCE).read_bytes(), self._stream(GOLD)) != commit:
            self._fail("C14", f"The gold here is not the gold that was sealed as {commit[:12]}….")
        self._set("C14", "passed", "Gold and nonce give the sealed digest.")

    def _results(self) -> None:
        checks = ("C15", "C16", "C17")
        bad = self._failed("C02", "C05", "C06", "C07", "C08", "C10", "C12", "C13")
        why = ""
        if RESULTS not in self._listed():
            why = "The study has no locked results yet."
        elif bad:
            why = f"Check {bad[0]} failed, so there is nothing sound to compute from."
        elif self.changed or self.protocol is None:
            why = self._broken(*self.changed) or "There is no readable protocol."
        if why:
            for check in checks:
                self._set(check, "could not check", why)
            return
        assert self.protocol is not None
        self.progress("estimates")
        study = Study.__new__(Study)  # the chain was checked here, and a broken chain must not stop this check
        study.path, study.chain, study.protocol, study.trusted = self.path, self.chain, self.protocol, "verified"
        try:
            stored = study.results() or {}
            older = lacking(measures_of(stored))
            made = compute(self.protocol, arrays_of(self.protocol, study.dossiers()), without=older)
        except AuditError as error:
            for check in checks:
                self._fail(check, str(error.problems[0]))
            return
        self._compare_estimates(stored, made, older)
        if stored.get("decision") != made["decision"]:
            self._fail("C16", f"Stored {_outcome(stored)}, recomputed {_outcome(made)}.")
        if stored.get("release") != made.get("release"):
            self._fail("C16", "What the ledgers say about the release rule is not what is stored.")
        fixed = [_outcome(made)] if made["decision"] else []
        fixed += ["what the ledgers say about the release rule"] if "release" in made else []
        self._set(
            "C16", "passed" if fixed else "could not check", "; ".join(fixed) or "The protocol fixed no decision."
        )
        if stored.get("stream") != made["stream"]:
            self._fail("C17", "The digest or bounds of the draws differ from the recomputed stream.")
        self._set(
            "C17",
            "passed" if made["stream"] else "could not check",
            f"{made['stream']['B']:,} draws." if made["stream"] else "The study names no endpoints to draw for.",
        )

    def _compare_estimates(self, stored: Record, made: Record, older: Sequence[Group]) -> None:
        faults, _ = differences(stored, made)
        for fault in faults:
            self._fail("C15", fault)
        words = f"{len(made['estimates'])} estimates recomputed."
        if older and self.protocol is not None and len(self.protocol.states) > 1:
            words += " Newer than the lock of this study, and computed when it is loaded: "
            words += "; ".join(group.title for group in older) + "."
        self._set("C15", "passed", words)

    def _expected(self) -> None:
        last = self.chain[-1].sha256 if self.chain else ""
        if self.expect is None:
            self._set(
                "C18",
                "could not check",
                "No lock id was given. Someone who can rewrite a whole study can rewrite its "
                f"chain; keep this id elsewhere and pass it with --expect-lock: {last}",
            )
        elif self.expect != last:
            self._fail(
                "C18", f"Expected {self.expect[:12]}…, found {last[:12]}…: a lock was removed, or the study rewritten."
            )
        self._set("C18", "passed", last)


def _outcome(record: Record) -> str:
    decision = record.get("decision")
    return decision["outcome"] if isinstance(decision, dict) and "outcome" in decision else "no decision"
