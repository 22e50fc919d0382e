"""I have logs already: from dropped files to a study that is verified and open."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from audit_core.errors import AuditError
from audit_core.importers import remembered
from audit_core.importers.columns import COLUMNS, UNREAD
from audit_core.importers.coverage import ERROR, MISSING, OK
from audit_core.importers.kinds import KINDS
from audit_core.importers.options import Options
from audit_core.importers.peek import TABLE, Peek, guess_kind, peek
from dashboard import display, entrance, identity, runtime
from dashboard.display import plain
from dashboard.jobs import Job
from dashboard.numbers import count, plural

KEY = "import-draft"
# columns that are offered at once; the others are folded away
ALWAYS = ("question_id", "question", "state", "repeat", "answer", "gold", "evidence", "tags")
NONE = "— not in the file —"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
TYPES = ["csv", "tsv", "json", "jsonl", "ndjson", "parquet", "eval"]
# what to do here where a message names an option of the command line
ACTIONS = (
    ("--map", "Choose the column above."),
    ("--number-repeats", "Tick “Rows of one question and state are repeats” under “More about the answers”."),
    ("--state", "Choose the column of the states above, or say how they are told apart."),
    ("--gold-separator", "Write the separator under “More about the answers”."),
    ("--closed-book", "Write the state under “More about the answers”."),
    ("--unknown", "Write the words under “More about the answers”."),
    ("--setting", "Write a line such as “n2 prompt=v3” under “More about the answers”."),
)
SIGNS = {"error": ("✗", "bad"), "warning": ("!", "warn"), "notice": ("·", "mut")}


@dataclass
class Draft:
    """What a session is about to import.

    Attributes:
        files: Names and sizes of what was dropped, and where it lies.
        job: The check or the import under way or done.
        asked: Settings of the check.
        found: What the check found; None before there is one.
        created: Id of the study that is being made, or was; empty while only checked.
    """

    files: list[tuple[str, int, Path]]
    kept: tempfile.TemporaryDirectory[str]
    job: Job | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    found: dict[str, Any] | None = None
    created: str = ""

    @property
    def folder(self) -> Path:
        """Where the files lie for now; gone with the session."""
        return Path(self.kept.name)

    @property
    def paths(self) -> list[Path]:
        """Where the files lie."""
        return [path for _, _, path in self.files]


def page() -> None:
    """Draw the page."""
    display.heading(
        "Turn your logs into a study.",
        "Drop what your evaluation tool wrote. Nothing is kept until you create the study; what the files cannot "
        "prove is said on every page of it.",
    )
    person = identity.person()
    if not person.may("signoff"):
        display.banner("Only an adjudicator adds a study. Ask whoever runs this dashboard.", "warn")
        return
    dropped = st.file_uploader(
        "Files with answers: one state in each, or all states together", TYPES, accept_multiple_files=True,
        key="import-files",
    )  # fmt: skip
    display.note(
        "Up to 200 MB a file here; larger ones by <code>snapshot-audit import KIND FILE… --study DIR</code>. "
        "Several repeats of each state are needed to tell movement from noise."
    )
    draft = _draft(dropped or [])
    if draft is None:
        _kinds()
        return
    asked = _ask(draft)
    if draft.job is None:
        return
    if asked == draft.asked or draft.job.running() or (draft.created and draft.job.report):
        _outcome(draft)
    elif asked is not None:
        display.note("The settings have changed since the check. Check the files again.")


def _kinds() -> None:
    display.section("What can be read")
    rows = [(kind.name, kind.what) for kind in KINDS.values()]
    display.block(display.grid(("tool", "files"), [(TABLE, "CSV, JSONL or Parquet, one row an answer"), *rows]))


def _draft(dropped: list[Any]) -> Draft | None:
    """The session's draft, made anew when other files were dropped."""
    names = [(file.file_id, file.name, file.size) for file in dropped]
    draft: Draft | None = st.session_state.get(KEY)
    if names == st.session_state.get(KEY + "-names", []):
        return draft
    if draft is not None:
        if draft.job is not None and draft.job.running():
            draft.job.stop()
        draft.kept.cleanup()
    for key in [k for k in st.session_state if str(k).startswith("import-col-") or k == "import-name"]:
        del st.session_state[key]
    draft = None
    if dropped:
        kept = tempfile.TemporaryDirectory(prefix="snapshot-audit-import-", ignore_cleanup_errors=True)
        files = []
        for number, file in enumerate(dropped):
            name = re.sub(r"[^\w .()+-]", "_", Path(file.name.replace("\\", "/")).name).lstrip(".") or "file"
            place = Path(kept.name) / str(number)
            place.mkdir()
            (place / name).write_bytes(file.getbuffer())
            files.append((name, file.size, place / name))
        draft = Draft(files, kept)
        st.session_state["import-kind"] = guess_kind(draft.paths[0])
    st.session_state[KEY], st.session_state[KEY + "-names"] = draft, names
    return draft


def _ask(draft: Draft) -> dict[str, Any] | None:
    """What the files are, with their first records, and the button that checks them.

    Returns:
        The settings as they are now; None where the files cannot be read like that.
    """
    display.section("What they hold")
    st.selectbox(
        "What wrote these files?", [TABLE, *KINDS], key="import-kind", width=640,
        format_func=lambda name: "A table: one row an answer" if name == TABLE else f"{name}: {KINDS[name].what}",
    )  # fmt: skip
    kind = st.session_state["import-kind"]
    try:
        found = peek(draft.paths, Options(kind=None if kind == TABLE else kind))
    except AuditError as error:
        for problem in error.problems:
            display.banner(plain(problem), "bad")
        display.note("Choose another kind above, or correct the file and drop it again.")
        return None
    display.block(f"<p class='small mut'>The first records of {plain(draft.files[0][0])}:</p>")
    st.dataframe(
        {name: [_short(row.get(name)) for row in found.rows] for name in found.columns},
        hide_index=True, width="stretch", key="import-sample",
    )  # fmt: skip
    mapping = _mapping(found) if kind == TABLE else ()
    origin = _origin(kind, mapping)
    with st.expander("More about the answers", key="import-more"):
        st.checkbox("Rows of one question and state are repeats, in their order", key="import-number")
        st.text_input("Answers that mean UNKNOWN, between commas", "UNKNOWN", key="import-unknown", width=420)
        st.text_input("A state in which nothing was retrieved", key="import-closed", width=420,
                      placeholder="none")  # fmt: skip
        st.text_input("Split gold answers at", key="import-gold", width=420, placeholder="never")
        st.text_area("Texts by which an answer refuses, beside the usual ones, one a line", key="import-refusals",
                     width=420, height=90, placeholder="I couldn't find relevant information")  # fmt: skip
        st.text_area("Texts by which it says that something is missing, one a line", key="import-gaps",
                     width=420, height=90, placeholder="not in our handbook")  # fmt: skip
        st.text_area("What is known to be set in a state, one a line", key="import-settings", width=420, height=90,
                     placeholder="n2 prompt=v3")  # fmt: skip
        if kind != TABLE:
            st.text_input("What tells the states apart, between commas", key="import-parts", width=420,
                          placeholder=", ".join(KINDS[kind].states))  # fmt: skip
            st.text_area("Fields of the records, one a line", key="import-paths", width=420, height=90,
                         placeholder="question=vars.question")  # fmt: skip
    asked = _options(kind, mapping, origin)
    running = draft.job is not None and draft.job.running()
    if st.button("Check the files", type="primary", disabled=running, key="import-check", icon=":material/fact_check:"):
        draft.asked, draft.found, draft.created = asked, None, ""
        remembered.keep(runtime.database(), found.columns, dict(pair.split("=", 1) for pair in mapping))
        _start(draft, draft.asked | {"dry_run": True}, draft.folder / "study", None)
        st.rerun()
    return asked


def _mapping(found: Peek) -> tuple[str, ...]:
    """Which of the file's columns stand for ours: as last time for such a file, else a guess, shown to be corrected."""
    last = remembered.known(runtime.database(), found.columns)
    guess = last or found.guess
    how = "Guessed from the names; correct what is wrong." if guess else "No name was recognized; choose."
    if last:
        how = "As you said last time for such a file."
    display.block(f"<p><b>Which column is which?</b> {how}</p>")
    chosen: dict[str, str] = {}
    names = [NONE, *found.columns]

    def choose(columns: tuple[str, ...]) -> None:
        for start in range(0, len(columns), 4):
            for place, column in zip(st.columns(4), columns[start : start + 4], strict=False):
                key = f"import-col-{column}"
                if st.session_state.get(key) not in names:
                    st.session_state[key] = guess.get(column, NONE)
                with place:
                    st.selectbox(column.replace("_", " "), names, key=key, help=COLUMNS[column])
                if st.session_state[key] != NONE:
                    chosen[column] = st.session_state[key]

    choose(ALWAYS)
    with st.expander("Other columns", key="import-others"):
        choose(tuple(column for column in COLUMNS if column not in ALWAYS))
    # A column that is called like one of ours and was not chosen must not be taken for it.
    unread = [column for column in COLUMNS if column in found.columns and column not in chosen
              and column not in chosen.values()]  # fmt: skip
    return tuple(f"{column}={name}" for column, name in [*chosen.items(), *((column, UNREAD) for column in unread)])


def _origin(kind: str, mapping: tuple[str, ...]) -> str:
    """How the states are told apart."""
    if kind != TABLE or any(pair.startswith("state=") and pair != f"state={UNREAD}" for pair in mapping):
        return "column"
    words = {"file": "Each file is a state, named like the file", "one": "All of it is one state"}
    return str(st.radio("States", list(words), format_func=words.__getitem__, key="import-origin", horizontal=True))


def _options(kind: str, mapping: tuple[str, ...], origin: str) -> dict[str, Any]:
    ss = st.session_state
    found: dict[str, Any] = {
        "mapping": list(mapping),
        "number_repeats": ss["import-number"],
        "unknown": [word.strip() for word in ss["import-unknown"].split(",") if word.strip()] or ["UNKNOWN"],
    }
    if kind != TABLE:
        found["kind"] = kind
        found["mapping"] = [line.strip() for line in ss["import-paths"].splitlines() if line.strip()]
        found["state_parts"] = [word.strip() for word in ss["import-parts"].split(",") if word.strip()]
    if origin == "file":
        found["state_from"] = "file"
    elif origin == "one":
        found["state"] = "answers"
    if ss["import-closed"].strip():
        found["closed_book"] = ss["import-closed"].strip()
    if ss["import-gold"]:
        found["gold_separator"] = ss["import-gold"]
    for name in ("refusals", "gaps"):
        if lines := [line.strip() for line in ss[f"import-{name}"].splitlines() if line.strip()]:
            found[name] = lines
    if settings := [_setting(line) for line in ss["import-settings"].splitlines() if line.strip()]:
        found["settings"] = settings
    return found


def _setting(line: str) -> tuple[str, str, str]:
    """State, name and value of a line ``STATE NAME=VALUE``; the state may hold spaces, the name none."""
    left, _, value = line.strip().partition("=")
    state, _, name = left.rpartition(" ")
    return state.strip(), name, value.strip()


def _start(draft: Draft, options: dict[str, Any], study: Path, db: Path | None, *, judge: bool = False) -> None:
    order = {"files": [str(p) for p in draft.paths], "study": str(study), "options": options,
             "db": str(db) if db else None, "judge": judge}  # fmt: skip
    draft.job = Job(order).start()


def _outcome(draft: Draft) -> None:
    job = draft.job
    assert job is not None
    if job.running():
        st.fragment(_wait, run_every=0.4)()
        return
    if job.stopped:
        display.banner("Stopped. Nothing was written.", "info")
        return
    if job.errors:
        display.section("The study was not made" if draft.created else "The files cannot be one study yet")
        for error in job.errors[:20]:
            display.banner(_here(error), "bad")
        if len(job.errors) > 20:
            display.note(f"… and {count(len(job.errors) - 20)} more.")
        display.download([{k: e.get(k, "") for k in ("what", "expected", "found", "where", "action", "text")}
                          for e in job.errors], "import-problems")  # fmt: skip
        if draft.found is not None:
            _report(draft, draft.found)
    elif job.report is not None and draft.created:
        _created(draft.created, job.report)
    elif job.report is not None:
        draft.found = job.report
        _report(draft, job.report)


def _here(error: dict[str, str]) -> str:
    """A problem in four parts, with what to do on this page instead of on the command line."""
    if "what" not in error:
        return plain(error["text"])
    action = next((words for option, words in ACTIONS if option in error["action"]), error["action"])
    parts = [("Expected", error["expected"]), ("found", error["found"])]
    told = ", ".join(f"{word} {plain(text)}" for word, text in parts if text)
    where = f" ({plain(error['where'])})" if error["where"] else ""
    what = plain(error["what"][:1].upper() + error["what"][1:])
    return f"<b>{what}.</b> {told}{where}{'.' if told or where else ''} {plain(action)}"


def _wait() -> None:
    """How far the work is, with a way to stop it."""
    entrance.stay()
    draft: Draft = st.session_state[KEY]
    job = draft.job
    if job is None or not job.running():
        st.rerun()
        return
    share = job.share()
    done = f", {job.done:,}" if job.done and share is None else ""
    display.block(f'<p role="status">{plain(job.stage)}{done} …</p>')
    st.progress(share if share is not None else 0.0)
    if st.button("Cancel", key="import-cancel", icon=":material/cancel:"):
        job.stop()
        st.rerun()


def _created(name: str, report: dict[str, Any]) -> None:
    display.section("The study is there")
    display.banner(
        f"<b>{plain(name)}</b> was written, locked, verified and added: "
        f"{plural(report['questions'], 'question')}, {plural(len(report['states']), 'state')}.",
        "info",
    )
    with st.container(horizontal=True):
        for view, label in (("summary", "Open Summary"), ("triage", "Open Triage"), ("ledger", "Open Ledger")):
            st.page_link(f"views/{view}.py", label=label, query_params={"study": name},
                         icon=":material/arrow_forward:", icon_position="right")  # fmt: skip


def _report(draft: Draft, report: dict[str, Any]) -> None:
    states, repeats = report["states"], report["repeats"]
    display.section("What was found")
    display.block(
        f"<p>{count(report['rows'])} records, <b>{plural(report['questions'], 'question')}</b>, "
        f"{plural(len(states), 'state')}: "
        + ", ".join(f"{plain(s)} ({plural(repeats[s], 'repeat')})" for s in states) + "</p>"
    )  # fmt: skip
    _grid(report)
    _findings(report["problems"])
    _create(draft, states)


def _grid(report: dict[str, Any]) -> None:
    """Which repeats of which states the questions have, one line for each way in which they are covered."""
    coverage = report["coverage"]
    by_pattern: dict[tuple[str, ...], tuple[int, list[str]]] = {}
    for line in coverage["grid"]:
        number, names = by_pattern.get(tuple(line["cells"]), (0, []))
        by_pattern[tuple(line["cells"])] = (number + line["questions"], [*names, *line["examples"]])
    rows = [
        (count(number), ", ".join(_short(name) for name in names[:3]) + (" …" if number > 3 else ""),
         *(display.Markup(_marks(cells)) for cells in pattern))
        for pattern, (number, names) in sorted(by_pattern.items(), key=lambda item: -item[1][0])
    ]  # fmt: skip
    heads = [f"{s['state']}: {plural(len(s['repeats']), 'repeat')}" for s in coverage["states"]]
    display.block(
        "<h3>Coverage</h3><p class='small mut'>One line for each way in which questions are covered; a mark a repeat: "
        "● answer, ✗ error, ○ missing.</p>"
        + display.grid(("questions", "such as", *heads), rows, numeric=(0,))
    )  # fmt: skip


def _marks(cells: str) -> str:
    """A state's repeats as marks with a name for who cannot see them."""
    signs = {OK: ("●", "answer", "ok"), ERROR: ("✗", "error", "bad"), MISSING: ("○", "missing", "warn")}
    found = [signs[cell] for cell in cells]
    words = ", ".join(word for _, word, _ in found)
    marks = "".join(f'<span class="{tone}" aria-hidden="true">{sign}</span> ' for sign, _, tone in found)
    return f'{marks}<span class="sa-sr">{words}</span>'


def _findings(problems: list[dict[str, Any]]) -> None:
    if not problems:
        display.note("Nothing about the repeats or the records needs attention.")
        return
    rows = []
    for problem in problems:
        sign, tone = SIGNS[problem["severity"]]
        where = f"<br><span class='small mut'>{plain(problem['where'])}</span>" if problem["where"] else ""
        rows.append(
            (display.Markup(f'<span class="{tone}">{sign} {plain(problem["severity"])}</span>'),
             display.Markup(f"{plain(_sentence(problem))}{where}"))
        )  # fmt: skip
    display.block("<h3>What to know before you rely on it</h3>" + display.grid(("", "finding"), rows))
    display.download([{"severity": p["severity"], "finding": _sentence(p), "where": p["where"]} for p in problems],
                     "import-findings")  # fmt: skip


def _sentence(problem: dict[str, Any]) -> str:
    """A finding, with this page's words where it names options of the command line."""
    return re.sub(r"--[^.;]*? says it otherwise", "“More about the answers” says it otherwise", problem["sentence"])


def _create(draft: Draft, states: list[str]) -> None:
    display.section("Create the study", "Its files are locked; nobody edits them afterwards, also not this page.")
    old: str | None = None
    new: str | None = None
    if len(states) > 1:
        left, right, _ = st.columns([1, 1, 2])
        with left:
            old = st.selectbox("Old state", states, key="import-old")
        with right:
            new = st.selectbox("New state", [s for s in states if s != old], index=len(states) - 2, key="import-new")
    else:
        display.banner("One state only: there is nothing to compare it with. The answers can still be read.", "warn")
    if "import-name" not in st.session_state:
        st.session_state["import-name"] = re.sub(r"[^a-z0-9.-]+", "-", "-".join(states).lower()).strip(".-")[:64]
    name = st.text_input("Name of the study", key="import-name", width=420, placeholder="support-bot-may",
                         help="Small letters, digits, dots, dashes; also the folder's name.")  # fmt: skip
    judge = st.checkbox(
        "Also compare answers by meaning, with the offline judge", value=True, key="import-judge",
        help="It works without a model and is weak on long answers; how weak stands on every page. "
        "Without it every difference of wording counts as change.",
    )  # fmt: skip
    if st.button("Create the study", type="primary", key="import-create", icon=":material/lock:"):
        if not NAME.fullmatch(name or ""):
            display.banner("Write a name of small letters, digits, dots and dashes, such as support-bot-may.", "bad")
            return
        study = runtime.database().absolute().parent / "studies" / str(name)
        study.parent.mkdir(exist_ok=True)
        options = draft.asked | ({"endpoints": [f"{old},{new}"]} if old and new else {})
        draft.created = str(name)
        _start(draft, options, study, runtime.database().absolute(), judge=judge)
        st.rerun()


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 200 else text[:200] + "…"


page()
