"""How many questions does an audit need, and what would they find?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from audit_core.collect.costs import Price, Tokens, answer_tokens, judge_tokens
from audit_core.collect.draft import draft
from audit_core.collect.plan import Charges, chance, least, share
from dashboard import display, plans
from dashboard.display import Markup, plain
from dashboard.figures.power import Line, power_curve
from dashboard.numbers import count, plural
from dashboard.plans import FIELDS, NO_PILOT, Asked

NAMES = {
    "expected": "churn confirmed",
    "meaning": "movement of meaning seen, margin aside",
    "nothing": "churn confirmed although nothing moves",
}


def page() -> None:
    """Draw the page."""
    display.heading(
        "How many questions does an audit need?",
        "Before anything is asked: how likely an audit is to confirm churn, what it can miss, and what it costs. A "
        "study of your own is the best guide to what is expected.",
    )
    pilots = plans.pilots()
    for problem in plans.follow(pilots):
        display.banner(plain(problem), "warn")
    inputs, answers = st.columns([1, 2.6], gap="large")
    with inputs:
        asked = _ask(pilots)
    if asked is None:
        return
    with answers:
        charges = _charges()
        found = plans.found(asked, charges)
        _answer(asked, found)
        _curve(asked, found)
    _alternatives(found)
    _cost(found)


def _ask(pilots: list[str]) -> Asked | None:
    with st.container(border=True):
        display.block("<h2>What is planned</h2>")
        for name in ("questions", "repeats", "chance"):
            _number(name)
    with st.container(border=True):
        display.block("<h2>What is expected</h2>")
        study = _pilot(pilots)
        source = plans.pilot(study) if study else None
        if study and source is None:
            display.banner(
                "This study cannot be a pilot: it needs questions that were asked twice in both states. Choose another "
                "one, or none.", "warn",
            )  # fmt: skip
            return None
        seen = round(100 * source.share, 1) if source else None
        _number("flips", seen)
        if source is None:
            _number("noise")
            _number("words")
        else:
            left = f", {count(source.excluded)} more are outside" if source.excluded else ""
            display.note(
                f"Noise and wording are the pilot's own: {plural(source.questions, 'question')}{left}, "
                f"{plural(source.flips, 'flip')}. The plan is as uncertain as that sample."
            )
    with st.container(border=True):
        display.block("<h2>When it counts</h2>")
        for name in ("margin", "level", "tolerance"):
            _number(name)
    numbers = tuple((name, plans.value(name, seen if name == "flips" else None)) for name in FIELDS)
    return Asked(numbers, study, "flips" in plans.kept())


def _number(name: str, default: float | None = None) -> None:
    field = FIELDS[name]
    kind = int if field.places == 0 else float
    own = field.default if default is None else default
    key = f"plan-{name}"
    st.session_state[key] = kind(plans.value(name, own))
    st.number_input(
        field.label, kind(field.low), kind(field.high), step=kind(field.step), format=f"%.{field.places}f" if
        field.places else "%d", key=key, help=field.help, on_change=_changed, args=(name, kind(own)),
    )  # fmt: skip


def _changed(name: str, default: float) -> None:
    plans.choose(name, f"{st.session_state[f'plan-{name}']:g}", f"{default:g}")


def _pilot(pilots: list[str]) -> str:
    if not pilots:
        display.note("No study is loaded that could be a pilot, so noise is assumed.")
        return NO_PILOT
    st.session_state["plan-pilot"] = plans.kept().get("pilot", NO_PILOT)
    st.selectbox(
        "Pilot", [NO_PILOT, *pilots], key="plan-pilot", on_change=_piloted,
        format_func=lambda study: study or "none: noise is assumed",
        help="A study whose questions stand for the planned ones.",
    )  # fmt: skip
    return str(st.session_state["plan-pilot"])


def _piloted() -> None:
    plans.choose("flips", "", "")  # another pilot has another share of flips
    plans.choose("pilot", st.session_state["plan-pilot"], NO_PILOT)


def _answer(asked: Asked, found: dict[str, Any]) -> None:
    wanted, n = share(found["wanted"]), found["questions"]
    needed, smallest = found["needed"], found["smallest"]["flips"]
    columns = st.columns(3)
    reached = (
        "out of reach" if needed is None else count(needed) + (" or fewer" if needed == FIELDS["questions"].low else "")
    )
    detail = {"any": "the other questions move enough already", "none": "no share of flips is enough"}
    cards = (
        (f"Chance to confirm churn with {plural(n, 'question')}", chance(found["power"]),
         f"if {share(found['expected']['flips'])} of them flip; {chance(found['null'], 2)} if nothing moves"),
        (f"Questions for a chance of {wanted}", reached,
         f"with {plural(found['repeats'], 'repeat')} in each state"),
        (f"Smallest share of flips that {plural(n, 'question')} confirm with {wanted}", least(smallest),
         detail.get(least(smallest), f"exact excess churn of {_pp(found['smallest']['exact'])}")),
    )  # fmt: skip
    for column, (label, value, note) in zip(columns, cards, strict=True):
        with column, st.container(border=True, height="stretch"):
            display.block(
                display.card(label, plain(value), plain(note), measured=value not in ("out of reach", "none"))
            )
    said = [line for line in found["answer"][1:] if "chance to confirm churn is" not in line]
    display.block("<ul>" + "".join(f"<li>{plain(line)}</li>" for line in said) + "</ul>")
    of = dict(asked.numbers)
    st.download_button(
        "Download protocol.toml", file_name="protocol.toml", mime="application/toml", key="plan-protocol",
        icon=":material/download:", on_click="ignore",
        data=draft(n, found["repeats"], f"{of['margin'] / 100:.4f}".rstrip("0").rstrip("."), f"{of['level'] / 100:.4g}",
                   found["rule"]["semantic"], found["answer"]),
    )  # fmt: skip


def _pp(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} pp"


def _curve(asked: Asked, found: dict[str, Any]) -> None:
    lines, along = plans.curves(asked), plans.sizes(found["questions"])
    with st.container(border=True):
        display.section("Chance by number of questions", f"With {plural(found['repeats'], 'repeat')} in each state.")
        drawing = power_curve(
            along, [Line(role, NAMES[role], lines[role]) for role in NAMES if role in lines], display.palette(),
            planned=found["questions"], wanted=100 * found["wanted"],
        )  # fmt: skip
        display.figure(drawing, "plan-curve", f"Chance to confirm churn by number of questions; {found['answer'][1]}")
        kernels = "exact and semantic" if found["rule"]["semantic"] else "exact"
        display.facts(
            population="questions as assumed", unit="audit", kernel=kernels, status="a plan: nothing was asked yet"
        )
        display.table(
            [{"questions": n, **{NAMES[role]: round(line[i], 2) for role, line in lines.items()}}
             for i, n in enumerate(along)], "plan-curve",
        )  # fmt: skip


def _alternatives(found: dict[str, Any]) -> None:
    rows = found["alternatives"]
    display.section(
        "Other numbers of questions and repeats",
        "Chance to confirm churn · answers to ask for. More repeats help as long as noise is what hides the movement.",
    )
    repeats = sorted({row["repeats"] for row in rows})
    cells = {(row["questions"], row["repeats"]): row for row in rows}
    table = []
    for size in sorted({row["questions"] for row in rows}):
        line: list[object] = [Markup(f"<b>{count(size)}</b>") if size == found["questions"] else count(size)]
        for k in repeats:
            row = cells[size, k]
            line.append(Markup(f"{plain(chance(row['power']))} <span class='mut'>· {count(row['answers'])}</span>"))
        table.append(line)
    head = ["questions", *(f"{k} repeats" for k in repeats)]
    display.block(display.grid(head, table, numeric=range(len(head))))
    display.download(rows, "plan-alternatives")


def _charges() -> Charges:
    """Tokens and prices as they stand in the fields below, which are drawn later."""
    of = st.session_state
    read = {name: of.get(f"plan-{name}") for name in ("answer-read", "answer-written", "judge-read", "judge-written")}
    price = {
        name: of.get(f"plan-price-{name}") for name in ("answer-read", "answer-written", "judge-read", "judge-written")
    }

    def tokens(who: str) -> Tokens | None:
        a, b = read[f"{who}-read"], read[f"{who}-written"]
        return Tokens(int(a), int(b)) if a is not None and b is not None else None

    def money(who: str) -> Price:
        a, b = price[f"{who}-read"], price[f"{who}-written"]
        return Price(f"{a:.6f}", f"{b:.6f}") if a is not None and b is not None else Price()

    return Charges(tokens("answer"), tokens("judge"), money("answer"), money("judge"))


def _cost(found: dict[str, Any]) -> None:
    display.section(
        "What it costs",
        f"For {plural(found['questions'], 'question')}. Nothing is assumed about prices; tokens are taken from the "
        "protocol that init writes until you give your own.",
    )
    cost = found["cost"]
    rows: list[list[object]] = [["searches, in two passes", count(cost["retrieval"]["searches"]), "–", "–", "–"]]
    for name in ("answers", "judging"):
        if name in cost:
            part = cost[name]
            rows.append([name, *(count(part[key]) for key in ("calls", "input_tokens", "output_tokens")),
                         part.get("cost", "no price given")])  # fmt: skip
    display.block(
        display.grid(
            ("what", "calls", "input tokens, about", "output tokens, at most", "cost"), rows, numeric=(1, 2, 3, 4)
        )
    )
    with st.expander("Tokens and prices", key="plan-prices"):
        _number("states")
        answer = answer_tokens()
        judge = judge_tokens(found["repeats"] * int(plans.value("states")), answer.written)
        for who, tokens, label in (("answer", answer, "an answer"), ("judge", judge, "a judge's reply")):
            if who == "judge" and "judging" not in cost:
                continue
            columns = st.columns(4)
            for column, (part, number) in zip(
                columns, (("read", tokens.read), ("written", tokens.written)), strict=False
            ):
                column.number_input(f"Tokens {part} for {label}", 1, 10_000_000, value=None, step=100,
                                    placeholder=f"about {number:,}", key=f"plan-{who}-{part}")  # fmt: skip
            for column, part in zip(columns[2:], ("read", "written"), strict=True):
                column.number_input(f"Price per million {part}", 0.0, 1e6, value=None, format="%.4f",
                                    placeholder="no price", key=f"plan-price-{who}-{part}")  # fmt: skip


page()
