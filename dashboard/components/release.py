"""The release decision on Summary: what was decided, whether it still holds, and the form to decide."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

import streamlit as st

from audit_core.errors import AuditError
from audit_core.reviews import signed
from audit_core.reviews.decided import Signed, decisions, outdated
from audit_core.reviews.events import DECISIONS, LONGEST_NOTE
from audit_core.reviews.fold import Fold
from audit_core.reviews.names import LOCAL
from audit_core.reviews.signed import Screen
from audit_core.reviews.signoff import Wish, read, sign
from audit_core.reviews.store import ConflictError
from audit_core.reviews.team import Person
from dashboard import data, display, identity, sentences
from dashboard.comparison import Comparison
from dashboard.components.saving import store
from dashboard.data import compare
from dashboard.display import Markup, pill, plain
from dashboard.numbers import count, plural
from dashboard.state import KERNELS, Selection

TONES = {"ship": "ok", "conditions": "warn", "hold": "bad"}
MEANS = {
    "ship": "The new state may go out as it is.",
    "conditions": "It may go out once the conditions are met.",
    "hold": "It may not go out.",
}
ASKED, TOLD, TURN = "release-asked", "release-told", "release-turn"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form was drawn for: exactly this is signed, or nothing."""

    selection: Selection
    screen: Screen
    request: str
    turn: int


def section(comparison: Comparison) -> None:
    """The whole section."""
    with st.container(border=True, key="release"):
        display.block("<h2 style='margin-top:0'>Release decision</h2>")
        told = st.session_state.pop(TOLD, None)
        if told:
            display.banner(*told)
        try:
            fold = store().fold()
            screen = screen_of(comparison)(fold)
            person = identity.person()
            found = decisions(fold, screen.study_id, screen.pair)
        except AuditError as error:
            display.banner(plain(error), "bad")
            return
        if found:
            _present(found[0], outdated(found[0], screen, fold), person, screen)
            _history(found, screen)
        else:
            display.block(
                "<p>Nobody has decided yet whether this change may go out. Whoever decides gives a reason; the "
                "decision is kept with exactly the numbers and verdicts that were on this page.</p>"
            )
        if person.may("signoff"):
            _form(
                comparison, screen, person, "Decide anew" if found else "Decide", opened=bool(told) and told[1] == "bad"
            )
        else:
            _refused(person)


def screen_of(comparison: Comparison) -> Callable[[Fold], Screen]:
    """What this page shows, as a function of the verdicts that stand."""
    selection, study = comparison.selection, comparison.study
    names = signed.estimate_names(study["kernels"], (selection.old, selection.new))
    estimates = [comparison.rows[name] for name in names if name in comparison.rows]
    locks = [(lock["gate"], lock["sha256"]) for lock in data.locks(selection.study)]
    flips, rule, needed = data.flips(selection), sentences.decision(comparison), identity.team().needed
    return lambda fold: signed.screen(
        fold, study, (selection.old, selection.new), selection.kernel, locks=locks, estimates=estimates, flips=flips,
        rule=rule, needed=needed,
    )  # fmt: skip


def _present(decision: Signed, since: list[str], person: Person, screen: Screen) -> None:
    event = decision.event
    word = DECISIONS[str(event.verdict)]
    pills = pill(f"<b>{word}</b>", TONES[str(event.verdict)]) + (pill("Outdated", "warn") if since else "")
    counts = decision.content["counts"]
    body = f'<div class="sa-pills" id="release-decision">{pills}</div>'
    meaning = MEANS[str(event.verdict)]
    body += f"<p style='margin-top:.6rem'>{meaning} <span class='mut'>Signed by {_by(decision)}.</span></p>"
    if decision.content["conditions"]:
        body += f"<p><b>Conditions:</b> {plain(decision.content['conditions'])}</p>"
    body += f"<p><b>Reason:</b> {plain(event.note)}</p>"
    body += (
        f"<p class='small mut'>Signed when {count(counts['reviewed'])} of "
        f"{plural(counts['total'], 'repeat-stable flip')} ({plain(KERNELS.get(event.kernel, event.kernel))}) had a "
        f"verdict that counts, {count(counts['disputed'])} disputed. Digest of the file: "
        f"<code>{plain(decision.content['sha256'])}</code></p>"
    )
    display.block(body)
    if since:
        ask = "An adjudicator can sign anew." if not person.may("signoff") else "Look at the page, then sign anew."
        display.banner(f"<b>This decision is outdated.</b> {' '.join(map(plain, since))} {ask}", "warn")
    _download(decision, person, screen)


def _sees_all(person: Person, screen: Screen, content: bytes) -> bool:
    """Whether somebody may see what others said in a file: a reviewer only where they have judged themselves."""
    own = {e.question_id for e in screen.events if e.reviewer == person.name and e.kind == "verdict"}
    return not person.independent or own >= signed.questions(content)


def _download(decision: Signed, person: Person, screen: Screen) -> None:
    try:
        content = read(store(), decision)
    except AuditError as error:
        display.banner(plain(error), "bad")
        return
    if not _sees_all(person, screen, content):
        display.note(
            "The signed file holds everyone's verdicts. You can download it once you have given yours on the same "
            "questions, so that nobody is led by others."
        )
        return
    st.download_button(
        "Download the signed file",
        data=content,
        file_name=PurePosixPath(decision.name).name,
        mime="application/jsonl",
        key=f"release-file-{decision.event.id}",
        icon=":material/download:",
        on_click="ignore",
    )
    display.note(
        "Anyone can check it without this dashboard: <code>snapshot-audit verify-signoff FILE --study DIR --expect "
        f"{plain(decision.content['sha256'])}</code>"
    )


def _history(found: list[Signed], screen: Screen) -> None:
    if len(found) == 1:
        return
    with st.expander(f"Earlier decisions: {len(found) - 1}", key="release-history"):
        rows = [
            (
                item.event.at[:16].replace("T", " "),
                item.event.reviewer.removeprefix(LOCAL),
                DECISIONS[str(item.event.verdict)],
                item.event.note + (f" Conditions: {item.content['conditions']}" if item.content["conditions"] else ""),
                "yes" if item.content["last_lock"] == screen.last_lock else "another state of it",
                Markup(f"<code>{plain(item.content['sha256'][:16])}…</code>"),
            )
            for item in found[1:]
        ]
        display.block(display.grid(("when (UTC)", "by", "decision", "reason", "this study", "file"), rows))


def _form(comparison: Comparison, screen: Screen, person: Person, label: str, *, opened: bool) -> None:
    turn = st.session_state.setdefault(TURN, 0)
    before = st.session_state.get(ASKED)
    same = before is not None and (before.turn, before.screen) == (turn, screen)
    request = before.request if before and same else uuid.uuid4().hex  # two clicks on one form are one decision
    st.session_state[ASKED] = Asked(comparison.selection, screen, request, turn)
    counts = screen.counts()
    with st.expander(label, expanded=opened, key="release-form"):
        vouched = "" if person.proved else " <span class='mut'>(a name chosen on this machine, not proved)</span>"
        display.block(
            f"<p>You sign as <b>{plain(person.name.removeprefix(LOCAL))}</b>{vouched}. Kept with your decision is what "
            f"this page shows: {count(len(screen.locks))} locks, {count(len(screen.estimates))} numbers, "
            f"{count(counts['reviewed'])} of {plural(counts['total'], 'flip')} reviewed{_open(counts['disputed'])}. "
            "If any of it changes before you sign, nothing is signed.</p>"
        )
        with st.form(f"release-{turn}", border=False, enter_to_submit=False):
            st.radio(
                "Decision",
                list(DECISIONS),
                format_func=DECISIONS.__getitem__,
                index=None,
                horizontal=True,
                key=f"release-word-{turn}",
                captions=[MEANS[word] for word in DECISIONS],
            )
            st.text_area("Reason", key=f"release-reason-{turn}", max_chars=LONGEST_NOTE, height=90)
            st.text_area(
                "Conditions (only for “Ship with conditions”)",
                key=f"release-conditions-{turn}",
                max_chars=LONGEST_NOTE,
                height=68,
            )
            st.form_submit_button(
                f"Sign as {display.NOT_WORDS.sub('', person.name.removeprefix(LOCAL))[:60]}",
                type="primary",
                icon=":material/signature:",
                key=f"release-sign-{turn}",
                on_click=_sign,
            )


def _sign() -> None:
    """Sign what was on screen, and say what came of it; all input is read before anything is stored."""
    turn, asked = st.session_state[TURN], st.session_state.get(ASKED)
    word, reason, conditions = (st.session_state.get(f"release-{n}-{turn}") for n in ("word", "reason", "conditions"))
    if asked is None:
        return
    wish = Wish(word or "", reason or "", conditions or "")
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        person = identity.person()
        current = screen_of(compare(asked.selection))
        made = sign(store(), person, asked.screen, current, wish, request_id=asked.request, at=at)
    except AuditError as error:
        st.session_state[TOLD] = (f"<b>Not signed.</b> {_lines(error)}", "bad")
        return
    st.session_state[TURN] = turn + 1
    st.session_state[TOLD] = (f"<b>Signed: {DECISIONS[str(made.event.verdict)]}.</b> Download the file below.", "info")


def _lines(error: AuditError) -> str:
    """What is in the way, for somebody who wants to sign and not to read a report."""
    if isinstance(error, ConflictError):
        return " ".join(f"{plain(p.what.capitalize())}. {plain(p.found)}. {plain(p.action)}" for p in error.problems)
    return "<br>".join(plain(str(problem)[:1].upper() + str(problem)[1:]) for problem in error.problems)


def _refused(person: Person) -> None:
    may = "look and review" if person.may("verdict") else "look"
    why = person.reason or f"Your role here may {may}; a release is decided by an adjudicator."
    display.note(f"You cannot sign. {plain(why)}")


def _by(decision: Signed) -> str:
    event = decision.event
    who = plain(event.reviewer.removeprefix(LOCAL))
    vouched = "" if decision.content["proved"] else " (a name chosen on the machine, not proved)"
    return f"{who}{vouched}, {plain(event.at[:16].replace('T', ' '))} UTC"


def _open(disputed: int) -> str:
    return f", {count(disputed)} disputed" if disputed else ""
