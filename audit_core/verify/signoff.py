"""Numbered offline checks of an exported sign-off: standard library and numpy, no network, no database.

Each check looks at one thing. What a check needs and another check found broken is reported there, once.
"""

from __future__ import annotations

from pathlib import Path

from audit_core import explore
from audit_core.codec import CodecError, Record, decode
from audit_core.digests import sha256, sha256_file
from audit_core.errors import AuditError, InputError, Problem
from audit_core.files import RECORDS, whole
from audit_core.locks import GATES
from audit_core.model import CheckOutcome, CheckResult
from audit_core.results import arrays_of, as_row, from_record
from audit_core.reviews import signed
from audit_core.reviews.events import DECISIONS, VERDICTS, Event, intact
from audit_core.study import RESULTS, Study
from audit_core.tensors import Answers

TITLES = {
    "S01": "The file is a sign-off: known lines in their order, in canonical form",
    "S02": "Each line names the line before it",
    "S03": "The last line closes the file with the digest of everything before",
    "S04": "The decision is complete",
    "S05": "The decision names the screen that stands before it",
    "S06": "The file follows the last lock that it lists",
    "S07": "Every verdict is as it was stored, and belongs to this study and pair",
    "S08": "The counts follow from the verdicts",
    "S09": "The locks are those of the study",
    "S10": "The numbers are those of the study",
    "S11": "The questions counted are the study's repeat-stable flips",
    "S12": "The release rule came out as the study says",
    "S13": "The file is the one whose digest was kept elsewhere",
}
_NO_STUDY = "No study was given; name its folder with --study."


def verify_signoff(path: Path, *, study: Path | None = None, expect: str | None = None) -> list[CheckResult]:
    """All checks of one sign-off, in order.

    Args:
        path: The file.
        study: Folder of the study that it is about, to compare with.
        expect: SHA-256 of the file, kept elsewhere.

    Raises:
        InputError: There is no such file, or no such study.
        GateError: The study's chain of locks is damaged.
    """
    verifier = _Verifier(whole(path, RECORDS, "a sign-off", "Name a file that Summary or `reviews signoff` gave."))
    verifier.own()
    verifier.against(Study(study) if study else None)
    verifier.kept(expect)
    return [CheckResult(check, title, *verifier.outcome[check]) for check, title in TITLES.items()]


class _Verifier:
    def __init__(self, data: bytes) -> None:
        self.data, self.outcome = data, dict[str, tuple[CheckOutcome, str]]()
        self.lines = data.split(b"\n")
        self.records: list[Record] = []
        self.screen: Record = {}

    def _set(self, check: str, result: CheckOutcome, detail: str) -> None:
        self.outcome.setdefault(check, (result, detail))

    def of(self, kind: str) -> list[Record]:
        """Lines of one kind without chain and kind."""
        return [_bare(record) for record in self.records if record["kind"] == kind]

    def own(self) -> None:
        """S01 to S08: the file by itself."""
        try:
            self._form()
        except (CodecError, ValueError, TypeError) as error:
            self._set("S01", "failed", f"{error}.")
            for check in list(TITLES)[1:12]:
                self._set(check, "could not check", "The file is not in its form (S01).")
            return
        self._set("S01", "passed", f"{len(self.records)} lines.")
        (self.screen,), (decision,) = self.of("screen"), self.of("decision")
        self._chain()
        self._decision(decision)
        body = [_unchained(record) for record in self.records[:-2]]
        given, made = decision["screen"], signed.digest_of(body)
        self._judge(
            "S05", given == made, f"Screen {made[:12]}….", f"It names {given[:12]}…, the lines give {made[:12]}…."
        )
        last = next((record["sha256"] for record in reversed(self.of("lock"))), "0" * 64)
        first = self.records[0]["prev"]
        gates = [record["gate"] for record in self.of("lock")]
        self._judge(
            "S06",
            first == last and gates == list(GATES[: len(gates)]),
            f"{len(gates)} locks, the last {last}.",
            f"The first line names {first[:12]}…; the locks are {', '.join(gates)}, the last {last[:12]}….",
        )
        self._verdicts()

    def _form(self) -> None:
        if self.lines.pop() != b"":
            raise CodecError("the last line has no end")
        kinds = []
        for number, line in enumerate(self.lines, start=1):
            try:
                record = decode(line)
                kinds.append(signed.check_record(record))
                if kinds[-1] == "event":
                    signed.event_of(record)
            except (CodecError, ValueError, TypeError) as error:
                raise CodecError(f"line {number}: {error}") from None
            self.records.append(record)
        order = [kind for kind in signed.KINDS for _ in range(kinds.count(kind))]
        once = all(kinds.count(kind) == 1 for kind in signed.ONCE) and kinds.count("rule") <= 1
        if kinds != order or not once:
            raise CodecError("lines are missing, repeated or out of order")

    def _chain(self) -> None:
        prev, wrong = self.records[0]["prev"], ""
        for number, (line, record) in enumerate(zip(self.lines, self.records, strict=True)):
            if not wrong and (record["prev"] != prev or record["seq"] != number):
                wrong = f"Line {number + 1} does not follow the line before it."
            prev = sha256(line)
        self._judge("S02", not wrong, f"The last line is {prev[:12]}….", wrong)
        end = self.records[-1]
        made = sha256(b"".join(line + b"\n" for line in self.lines[:-1]))
        self._judge(
            "S03",
            (end["sha256"], end["lines"]) == (made, len(self.lines) - 1),
            f"{made}.",
            f"It says {end['sha256'][:12]}… over {end['lines']} lines; they are {len(self.lines) - 1} and give "
            f"{made[:12]}….",
        )

    def _decision(self, found: Record) -> None:
        word = DECISIONS.get(found["decision"])
        wrong = []
        if word is None:
            wrong.append(f"The decision {found['decision'][:40]!r} is unknown.")
        if not found["reason"].strip():
            wrong.append("There is no reason.")
        if bool(found["conditions"].strip()) != (found["decision"] == "conditions"):
            wrong.append("Conditions and decision contradict each other.")
        if self.screen["checks"] == "failed" and found["decision"] != "hold":
            wrong.append("It ships a study that failed its integrity check.")
        who = "vouched for by a sign-in" if found["proved"] else "as they named themselves"
        self._judge("S04", not wrong, f"{word}, by {found['by']} ({who}), {found['at']}.", " ".join(wrong))

    def _verdicts(self) -> None:
        events = [signed.event_of(record) for record in self.of("event")]
        bad = [event for event in events if not self._sound(event)]
        numbers = [event.id for event in events]
        if not bad and (numbers != sorted(set(numbers)) or len({e.request_id for e in events}) != len(events)):
            bad = events[-1:]
        self._judge(
            "S07",
            not bad,
            f"{len(events)} standing verdicts.",
            f"Event {bad[0].id if bad else ''} is not as it was stored, or does not belong here.",
        )
        (given,) = self.of("counts")
        if bad:
            self._set("S08", "could not check", "The verdicts are not sound (S07).")
            return
        flips = [record["question_id"] for record in self.of("flip")]
        pair = self.screen["old"], self.screen["new"]
        made = signed.counted(events, self.screen["study_id"], flips, pair, given["needed"])
        said = f"{made['reviewed']} of {made['total']} flips reviewed, {made['disputed']} disputed."
        self._judge("S08", given == made, said, f"The verdicts give: {said} The file says otherwise.")

    def _sound(self, event: Event) -> bool:
        place = event.study_id, event.old, event.new
        return (
            intact(event)
            and place == (self.screen["study_id"], self.screen["old"], self.screen["new"])
            and event.kind in ("verdict", "adjudicate")
            and event.verdict in VERDICTS
        )

    def against(self, study: Study | None) -> None:
        """S09 to S12: the file against the study on disk."""
        checks = ("S09", "S10", "S11", "S12")
        if study is None or self.outcome["S01"][0] == "failed":
            for check in checks:
                self._set(check, "could not check", _NO_STUDY)
            return
        given = [(record["gate"], record["sha256"]) for record in self.of("lock")]
        here = [(lock.gate, lock.sha256) for lock in study.chain]
        same = given == here and self.screen["bundle"] == study.bundle
        same = same and self.screen["study_id"] == study.protocol.study_id
        self._judge(
            "S09",
            same,
            f"{len(here)} locks, the last {here[-1][1]}.",
            f"The study here is {study.protocol.study_id}, its last lock {here[-1][1][:12]}…; signed were "
            f"{self.screen['study_id']} and {given[-1][1][:12] if given else 'none'}….",
        )
        if not same:
            for check in checks[1:]:
                self._set(check, "could not check", "It is another study, or another state of it (S09).")
            return
        try:
            self._numbers(study)
        except AuditError as error:
            for check in checks[1:]:
                self._set(check, "could not check", f"{error.problems[0]} Look with: snapshot-audit verify")

    def _numbers(self, study: Study) -> None:
        old, new, kernel = (self.screen[name] for name in ("old", "new", "kernel"))
        answers = arrays_of(study.protocol, study.dossiers())
        stored = self._locked(study)
        named = {record["name"]: as_row(from_record(record)) for record in (stored or {}).get("estimates", [])}
        if not any(name.endswith(f"@{old}-{new}") for name in named):
            named |= {e.name: as_row(e) for e in explore.pair_estimates(answers, old, new)}
        rows = {name: signed.shown(row) for name, row in named.items()}
        wrong = [record["name"] for record in self.of("estimate") if rows.get(record["name"]) != record]
        names = [record["name"] for record in self.of("estimate")]
        missing = [n for n in signed.estimate_names(answers.kernels, (old, new)) if n in rows and n not in names]
        odd = wrong + missing + [name for name in names if names.count(name) > 1]
        self._judge("S10", not odd, f"{len(names)} estimates.", f"{(odd or [''])[0]} differs from the study's.")
        self._flips(answers, kernel, old, new)
        rule = (stored or {}).get("decision") if study.protocol.endpoints == (old, new) else None
        given = next(iter(self.of("rule")), None)
        if rule is None and given is None:
            self._set("S12", "passed", "The protocol fixed none for this pair.")
        else:
            words = [(found or {}).get("outcome", "none") for found in (given, rule)]
            self._judge(
                "S12",
                given == rule,
                f"{words[1]}.",
                f"The file says {words[0]!r}, the study {words[1]!r}, or the conditions differ.",
            )

    def _locked(self, study: Study) -> Record | None:
        """The results, when they are the locked ones.

        Raises:
            InputError: The file was changed after its lock.
        """
        entry = next((lock.files[RESULTS] for lock in study.chain if RESULTS in lock.files), None)
        if entry and sha256_file(study.path / RESULTS) != entry.sha256:
            raise InputError(Problem("the results are not the locked ones", where=RESULTS,
                                     action="Restore the study from a copy."))  # fmt: skip
        return study.results()

    def _flips(self, answers: Answers, kernel: str, old: str, new: str) -> None:
        table = explore.columns(answers, kernel, old, new)
        here = [q for q, flip in zip(table["question_id"], table["flip"], strict=True) if flip]
        given = [record["question_id"] for record in self.of("flip")]
        self._judge(
            "S11",
            sorted(given) == sorted(here),
            f"{len(here)} flips ({kernel}).",
            f"The study has {len(here)}, the file lists {len(given)}, or they are others.",
        )

    def kept(self, expect: str | None) -> None:
        """S13."""
        made = sha256(self.data)
        if expect is None:
            self._set(
                "S13",
                "could not check",
                "No digest was given. Whoever can rewrite this file can make all its digests "
                f"anew; keep this one elsewhere and pass it with --expect: {made}",
            )
        else:
            short = "" if len(expect) == len(made) else f" A digest has {len(made)} characters; give all of them."
            self._judge("S13", expect.lower() == made, made, f"Expected {expect}, found {made}.{short}")

    def _judge(self, check: str, good: bool, passed: str, failed: str) -> None:
        self._set(check, "passed" if good else "failed", passed if good else failed)


def _bare(record: Record) -> Record:
    return {key: value for key, value in record.items() if key not in ("kind", "prev", "seq", "v")}


def _unchained(record: Record) -> Record:
    return {key: value for key, value in record.items() if key not in ("prev", "seq", "v")}
