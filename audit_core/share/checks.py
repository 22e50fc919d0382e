"""Numbered offline checks of a share bundle; a bundle carries this module with everything that it imports.

A check is ``passed``, ``failed``, or ``could not check``. What a check needs and another check found broken is reported
there, once. What each check means is in docs/checks.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from audit_core import __version__, codec, ledger
from audit_core.codec import CodecError, Record, check_fields, decode, parse
from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem
from audit_core.estimators.groups import lacking
from audit_core.files import SETTINGS, whole
from audit_core.model import CheckResult
from audit_core.protocol import Protocol
from audit_core.results import compute, differences, measures_of
from audit_core.share import redaction, seals
from audit_core.share.integrity import Integrity, Progress
from audit_core.share.layout import ENTRY, MANIFEST, QUESTIONS, RESULTS, VERIFIER, wordy
from audit_core.tensors import Answers

TITLES = {
    "B01": "The folder holds exactly the files that the manifest lists",
    "B02": "Every file is the one that the manifest lists",
    "B03": "The manifest is the one whose digest was kept elsewhere",
    "B04": "The study's locks name one another, and the manifest names them",
    "B05": "The last lock is the one that the owner published",
    "B06": "The protocol is the one that was locked before the answers",
    "B07": "Redacted records are canonical, complete and chained to the last lock",
    "B08": "Redacted records fit the protocol and the counts in the locks",
    "B09": "Ids and tags are no texts",
    "B10": "Estimates follow from the redacted records",
    "B11": "Decision and release rule follow from the redacted records",
    "B12": "The stream of bootstrap draws follows from the redacted records",
    "B13": "The results are the locked ones",
    "B14": "The revealed answer is the one that the record is about",
    "B15": "The carried verifier is the installed one",
}
STUDY_CELLS, STUDY_RESULTS = "answers/cells.jsonl", "results/results.json"
"""Paths inside the study, as its locks list them."""
MOST_DRAWN = 1 << 33
"""Most draws times questions: a hundred times what any study fixes."""


def verify_bundle(
    folder: Path,
    *,
    expect: str | None = None,
    expect_lock: str | None = None,
    proof: Record | None = None,
    installed: Mapping[str, bytes] | None = None,
    progress: Progress = lambda _: None,
) -> list[CheckResult]:
    """All checks of one unpacked bundle, in order.

    Args:
        folder: With the manifest in it.
        expect: SHA-256 of the manifest, kept elsewhere.
        expect_lock: SHA-256 of the study's last lock, as its owner published it.
        proof: What reveals a single answer; B14 is made only with one.
        installed: Files to compare the carried verifier with, by path inside a bundle; B15 is made only with them.
        progress: Called with what is being checked.

    Raises:
        InputError: There is no manifest there.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError(Problem("no bundle here", f"a folder with {MANIFEST}", "none", str(folder),
                                 "Name the folder that the archive unpacked to."))  # fmt: skip
    checks = _Checks(folder, progress)
    checks.files(expect)
    checks.chain_of_locks(expect_lock)
    checks.protocol_locked()
    checks.records()
    checks.names()
    checks.results()
    if proof is not None:
        checks.revealed(proof)
    if installed is not None:
        checks.carried(installed)
    return [
        CheckResult(check, title, *checks.outcome[check]) for check, title in TITLES.items() if check in checks.outcome
    ]


def read_proof(path: Path) -> Record:
    """What a file says that reveals a single answer; B14 looks at it.

    Raises:
        InputError: It is no file with one JSON object.
    """
    what, action = "a file that `prove` wrote", "Ask for it again."
    try:
        proof = parse(whole(path, SETTINGS, what, action))
        if type(proof) is not dict:
            raise CodecError("no object")
    except CodecError as error:
        raise InputError(Problem("this is no proof", what, str(error), str(path), action)) from None
    return proof


class _Checks(Integrity):
    """All checks; B07 to B15 are made here."""

    answers: Answers | None = None

    def records(self) -> None:
        """B07 and B08."""
        lacks = self._lacks(QUESTIONS) or ("" if self.protocol else "There is no locked protocol.")
        if lacks or self.protocol is None:
            self._open("B07 B08", lacks)
            return
        self.progress("records")
        try:
            found = redaction.rebuild(self.protocol, self._reader())
        except CodecError as error:
            self._set("B08", "failed", f"{error}.")
            self._open("B07", "The records do not fit the protocol (B08).")
            return
        except AuditError as error:
            self._set("B07", "failed", str(error.problems[0]))
            self._open("B08", "The records are no chain (B07).")
            return
        self._set("B07", "passed", f"{len(found):,} records.")
        faults = self._miscounted(self.protocol, found)
        if self.protocol.draws * len(found) > MOST_DRAWN:
            faults.append(f"{self.protocol.draws:,} draws of {len(found):,} questions are more than any study needs")
        if faults:
            self._set("B08", "failed", "; ".join(faults) + ".")
            return
        self.answers = found
        self._set("B08", "passed", f"{int(found.repeats.sum()):,} answers, {int(found.errors.sum()):,} errors.")

    def _reader(self) -> ledger.Reader:
        return ledger.Reader(self.folder / QUESTIONS, self.chain[-1].sha256, redaction.FIELDS, "record")

    def _miscounted(self, protocol: Protocol, found: Answers) -> list[str]:
        """Where records and locks count differently."""
        counts = {lock.gate: lock.counts for lock in self.chain}
        files = {name: entry for lock in self.chain for name, entry in lock.files.items()}
        labels = {judge: int((table >= 0).sum()) // 2 for judge, table in found.labels.items()}
        at_once = {judge: f"judgments/{judge}/cells.jsonl" for judge in labels}
        places = {
            judge: name if name in files else f"supplement/{judge}/cells.jsonl" for judge, name in at_once.items()
        }
        pairs = [
            ("questions", len(found), counts["selection"].get("questions")),
            ("answers", int(found.repeats.sum()), counts["answers"].get("accepted")),
            ("errors", int(found.errors.sum()), counts["answers"].get("errors")),
            (
                "labels",
                sum(labels[j] for j, name in at_once.items() if name in files),
                counts["judgments"].get("labels"),
            ),
            *(
                (f"questions labelled by {j}", int(found.labelled[j].sum()), files[name].lines if name in files else 0)
                for j, name in places.items()
            ),
        ]
        return [f"{what}: {here} here, {there} in the locks" for what, here, there in pairs if here != (there or 0)]

    def names(self) -> None:
        """B09."""
        if self.answers is None:
            self._open("B09", "There are no sound records.")
            return
        every = {*self.answers.question_ids, *(tag for tags in self.answers.tags for tag in tags)}
        bad = sorted(filter(wordy, every))
        longest = max(map(len, every), default=0)
        self._judge("B09", not bad, f"None has more than {longest} characters.", f"{bad[:1]} reads like a text.")

    def results(self) -> None:
        """B10 to B13."""
        lacks = self._lacks(RESULTS) or ("" if self.answers else "There are no sound records to compute from.")
        if lacks or self.answers is None or self.protocol is None:
            self._open("B10 B11 B12", lacks)
        else:
            self._compared(self.protocol, self.answers)
        lacks = self._lacks(RESULTS) or ("" if self.chain else "There are no locks to compare with.")
        if lacks or self.manifest is None:
            self._open("B13", lacks)
            return
        entry = self._entry("results", STUDY_RESULTS)
        locked = entry.sha256 if entry else "none"
        same = locked == self.listed[RESULTS]["sha256"]
        if not same and not self.manifest["results_as_locked"]:
            why = "Texts or ids were taken out of them, so only the holder of the study can show the locked file"
            self._set("B13", "could not check", f"{why}, whose digest is {locked}.")
        self._judge("B13", same, locked, f"The manifest says that they are, but the lock lists {locked[:12]}….")

    def _compared(self, protocol: Protocol, answers: Answers) -> None:
        self.progress("estimates")
        try:
            data = (self.folder / RESULTS).read_bytes().removesuffix(b"\n")
            stored = check_fields(decode(data, limit=codec.RESULTS_LIMIT), codec.RESULTS, "results")
            if not all(type(estimate.get("name")) is str for estimate in stored["estimates"]):
                raise CodecError("an estimate has no name")
            older = lacking(measures_of(stored))
            made = compute(protocol, answers, without=older)
        except (AuditError, ArithmeticError, AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
            # records that no study gives may be nothing that estimators can take, and must not stop the checks
            self._set("B10", "failed", f"{RESULTS}: {error}.")
            self._open("B11 B12", "The results cannot be read (B10).")
            return
        faults, _ = differences(stored, made)
        said = f"{len(made['estimates'])} estimates recomputed."
        self._judge("B10", not faults, said, " ".join(faults[:3]))
        same = stored["decision"] == made["decision"] and stored.get("release") == made.get("release")
        if made["decision"] or "release" in made:
            outcome = made["decision"]["outcome"] if made["decision"] else "What the records say about the release rule"
            self._judge("B11", same, outcome, "What is stored is not what the records give.")
        elif same:
            self._set("B11", "could not check", "The protocol fixed no decision.")
        self._set("B11", "failed", "A decision is stored, and the protocol fixed none.")
        same, stream = stored["stream"] == made["stream"], made["stream"]
        if same and not stream:
            self._set("B12", "could not check", "The study names no endpoints to draw for.")
        self._judge("B12", same, f"{stream['B']:,} draws." if stream else "", "The digest or the bounds differ.")

    def revealed(self, proof: Record) -> None:
        """B14."""
        if self.answers is None:
            self._open("B14", "There are no sound records.")
            return
        try:
            check_fields(proof, seals.PROOF, "proof")
            fault = "" if "ledger" not in proof else self._unlocked(proof)
            record = next((r for r in self._reader() if r["seq"] == proof["question"]), None)
            if proof["study"] != self.chain[0].sha256:
                fault = "The proof is about another study."
            elif record is None or not seals.proves(record, proof):
                fault = "The record holds another digest."
        except (CodecError, UnicodeEncodeError) as error:
            fault = f"The proof cannot be read: {error}."
        shown = "It is the locked one" if "ledger" in proof else "Whether it is the locked one, the proof does not show"
        self._judge("B14", not fault, f"{shown}: {str(proof.get('text'))[:80]!r}", fault)

    def _unlocked(self, proof: Record) -> str:
        """Why a proof does not show that its answer is the locked one; empty when it does."""
        place = check_fields(proof["ledger"], seals.LEDGER, "place of a proof")
        line = place["line"].encode()
        cell = codec.to_cell(check_fields(decode(line), {**codec.CHAIN, **codec.CELL}, "cell"))
        entry = self._entry("answers", STUDY_CELLS)
        if entry is None or seals.root_of(line, place["position"], entry.lines, place["path"]) != entry.merkle:
            return "The line does not lead to the root that the answers' lock holds."
        return "" if cell.answer == proof["text"] else "The line has another answer."

    def carried(self, installed: Mapping[str, bytes]) -> None:
        """B15."""
        names = {name: item for name, item in self.listed.items() if name == ENTRY or name.startswith(f"{VERIFIER}/")}
        if self.manifest is None:
            self._open("B15", "There is no readable manifest.")
            return
        wanted = {name: sha256(data) for name, data in installed.items()}
        other = [name for name in sorted(wanted | names) if wanted.get(name) != names.get(name, {}).get("sha256")]
        version = str(self.manifest["tool"].get("version"))[:40]
        if other and version != __version__:
            self._set("B15", "could not check", f"It is of version {version}, installed is {__version__}.")
        several = f"{len(other)} files differ, such as {other[0]}" if other else ""
        self._judge(
            "B15", not other, f"{len(names)} files.", f"{several}. These checks were made by the installed ones."
        )
