"""The answer card: one question on one screen, as a single block of markup in which every study text is escaped.

One `st.html` keeps a key press cheap (thirteen messages instead of fifty). The buttons inside it carry
`data-action`; the key log picks their clicks up with the question that was on screen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from audit_core.reviews.fold import Standing
from dashboard.components import diagnosed, evidence, said
from dashboard.components.agreement import Classes, Same, by_exact, by_labels, classes, standing
from dashboard.components.key_log import CARD
from dashboard.components.pairs import pairs
from dashboard.components.text import LONGEST, clipped, escaped, shown
from dashboard.components.words import cut, difference_markup, news_markup

Row = dict[str, Any]
HEADLINE = 160
"""Longest answer that is repeated in large type."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything one card shows.

    Attributes:
        question: From `read.question`.
        study: From `read.study`.
        row: The question's columns for this pair and kernel; None where there are none.
        old: State shown first; likewise `new`. While the question is masked they are A and B in the reviewer's order.
        kernel: ``semantic`` or ``exact``.
        standing: What the reviewer has said.
        base: Newest event that a press is based on.
        item: The question's name in keys and in the browser.
        undo: Number of the event that *undo* would take back.
        place: Position in the queue, in words.
        pair: The two answers compared word by word, as positions in the question's cells.
        full_evidence: Passages in full.
        full_text: Texts beyond `LONGEST` characters that are shown to the end: side and repeat, or ``question``.
        full_labels: Every pair label of the question.
        masked: States, letters, evidence and labels are hidden until the verdict.
    """

    question: Row
    study: Row
    row: Row | None
    old: str
    new: str
    kernel: str
    standing: Standing
    base: int | None
    item: str
    undo: int | None
    place: str
    pair: tuple[int, int] | None
    full_evidence: bool
    full_text: Collection[str]
    full_labels: bool
    masked: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """What the two states are called."""
        return ("A", "B") if self.masked else ("old", "new")

    def named(self, state: str) -> str:
        """A state as the word comparison names it, escaped."""
        return self.names[state != self.old] if self.masked else escaped(state)

    @property
    def cells(self) -> list[Row]:
        """All cells in ladder and repeat order."""
        return list(self.question["cells"])

    @property
    def judge(self) -> Row | None:
        """The judge whose labels give the letters; None where exact equality does."""
        primary = next((judge for judge in self.study["judges"] if judge["role"] == "primary"), None)
        usable = self.kernel == "semantic" and primary and primary["judge"] in self.question["labels"]
        return primary if usable else None

    @property
    def same(self) -> Same:
        """Labels by which answers of this card are the same."""
        return by_labels(self.question["labels"][self.judge["judge"]]) if self.judge else by_exact

    def label(self, state: str) -> str:
        """State name and its words, escaped."""
        words = next((s["label"] for s in self.study["states"] if s["state"] == state), "")
        return escaped(f"{state} · {words}" if words else state)


def card(view: View) -> str:
    """The whole card."""
    found = classes(view.cells, view.same, (view.old, view.new))
    labels = "" if view.masked else pairs(view.question, view.old, view.new, full=view.full_labels)
    parts = [_head(view), _answers(view, found), _words(view, found), _ladder(view, found), _evidence(view),
             _gold(view), labels]
    undo = f' data-undo="{view.undo}"' if view.undo else ""
    return (f'<article id="{CARD}" class="sa sa-card" data-item="{view.item}" data-base="{view.base or 0}"'
            f'{undo} data-question="{escaped(view.question["question_id"])}">{"".join(parts)}</article>')


def _head(view: View) -> str:
    name = escaped(clipped(view.question["question_id"], 120))
    facts = [view.place, f'<span class="mono" dir="auto">{name}</span>', *_facts(view)]
    tags = "".join(f'<span class="sa-tag" dir="auto">{escaped(tag)}</span>' for tag in view.question["tags"])
    text = view.question["text"]
    if text is None:
        heading = shown(view.question["question_id"])
        note = '<p class="small mut">This study holds ids only, so the question itself cannot be shown.</p>'
    else:
        heading, note = _long(view, text, "question"), ""
    long = ' class="is-long"' if len(text or "") > 2 * HEADLINE else ""
    return (f'<p class="sa-facts">{" · ".join(facts)} {tags}</p>'
            f'<h1 id="triage-question" tabindex="-1"{long}>{heading}</h1>{note}')


def _facts(view: View) -> list[str]:
    row, facts = view.row or {}, []
    if view.masked:
        return ["masked until your verdict"]
    if view.question["gold"] is None:
        facts.append("no gold answer")
    elif row.get("matched"):
        facts.append(transition(row))
    if row.get("shared") is not None:
        facts.append(f"{row['shared']} of {row['documents']} documents shared")
    if row.get("flip"):
        facts.append("repeat-stable flip")
    elif row.get("numerator") is not None:
        facts.append("not a repeat-stable flip")
    return facts


def transition(row: Row) -> str:
    """EM over matched repeats, in words."""
    total = row["matched"]
    names = {
        "lost": "EM-match → EM-nonmatch", "gained": "EM-nonmatch → EM-match", "both_match": "EM-match → EM-match",
        "different_nonmatch": "EM-nonmatch → EM-nonmatch (invisible to accuracy)",
        "same_nonmatch": "EM-nonmatch → same EM-nonmatch",
    }
    parts = [(name, row[key]) for key, name in names.items() if row[key]]
    if len(parts) == 1 and parts[0][1] == total:
        return parts[0][0]
    return ", ".join(f"{name} in {count} of {total}" for name, count in parts)


def _answers(view: View, found: Classes) -> str:
    states = zip((view.old, view.new), view.names, strict=True)
    sides = "".join(_side(view, found, state, kind) for state, kind in states)
    note = ""
    if not found.transitive and not view.masked:
        note = ('<p class="sa-note" role="note">The labels of this question are not transitive (1 = 2, 2 = 3, 1 ≠ 3). '
                "A letter here means <b>connected by “same” labels</b>; see the pair labels below.</p>")
    return f'<div class="sa-sides">{sides}</div>{note}'


def _side(view: View, found: Classes, state: str, kind: str) -> str:
    cells = [cell for cell in view.cells if cell["state_name"] == state]
    title = (f'<h2><b>{kind.capitalize()} snapshot</b> '
             f'<span class="mut">· <span dir="auto">{view.label(state)}</span></span></h2>')
    if view.masked:
        title, kind = f"<h2><b>{kind}</b></h2>", "masked"
    if not cells:
        return f'<section class="sa-side is-{kind}">{title}<p class="mut">No answers in this state.</p></section>'
    first, letters = cells[0]["answer"], {found.letters[cell["cell_key"]] for cell in cells}
    identical = len({cell["answer"] for cell in cells}) == 1
    agreed = identical if view.masked else len(letters) == 1 and (letters != {"?"} or identical)
    large = ""
    if agreed and first is not None and len(first) <= HEADLINE and first.strip():
        large = f'<p class="sa-headline">{shown(first)}</p>'
    groups = _groups(cells, found, view.masked)
    rows = "".join(_answer(view, found, group, first if i else None) for i, group in enumerate(groups))
    return f'<section class="sa-side is-{kind}">{title}{large}<ul class="sa-repeats">{rows}</ul></section>'


def _groups(cells: list[Row], found: Classes, masked: bool = False) -> list[list[Row]]:
    """Repeats that say the same to the letter together, where they are many or long; else each by itself."""
    if len(cells) <= 3 and all(len(cell["answer"] or "") <= HEADLINE for cell in cells):
        return [[cell] for cell in cells]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for cell in cells:
        key = (cell["status"], cell["answer"], cell["error"], "" if masked else found.letters[cell["cell_key"]])
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def _answer(view: View, found: Classes, group: list[Row], first: str | None) -> str:
    cell, names = group[0], [f"r{cell['repeat']}" for cell in group]
    if len(names) > 4:
        names = [*names[:2], "…", names[-1]]
    same = f" <span class='mut'>{len(group)} identical</span>" if len(group) > 1 else ""
    letter = "" if view.masked else chip(found, cell)
    return (f"<li>{letter}<span class='sa-r'>{', '.join(names)}</span>{same} "
            f"{_answer_text(view, cell, first)}{_em(view, cell)}{_said(view, cell)}</li>")


def _said(view: View, cell: Row) -> str:
    """What the answer does, and its excerpts; both wait for the verdict while the question is masked."""
    return "" if view.masked else said.outcome(cell) + said.excerpts(view.question, cell)


def _answer_text(view: View, cell: Row, first: str | None) -> str:
    if cell["status"] != "ok":
        return f'<i class="mut">no answer came back{": " if cell["error"] else ""}{shown(cell["error"] or "")}</i>'
    text = cell["answer"]
    if text == "":
        return '<i class="mut">empty answer</i>'
    if len(text) > LONGEST:
        # by side, not by the cell's key: keys follow the ladder, and would tell a masked old state from a new one
        return _long(view, text, f"{view.names[cell['state_name'] != view.old]}-{cell['repeat']}")
    if first and first != text:
        return f'<span dir="auto" class="sa-text">{news_markup(first, text)}{escaped(_rest(text))}</span>'
    return shown(text)


def _long(view: View, text: str, name: str) -> str:
    """A text; beyond `LONGEST` characters the rest comes on request."""
    if len(text) <= LONGEST or name in view.full_text:
        return shown(text)
    words = f"show all {len(text):,} characters"
    more = f'<button data-action="full_text" data-value="{name}">{words}</button>'
    return f"{shown(text[:LONGEST])}… {more}"


def _rest(text: str) -> str:
    """What a word comparison left out at the end."""
    return " … (only the beginning is compared)" if cut(text) else ""


def _em(view: View, cell: Row) -> str:
    if "gold" not in view.standing.revealed or cell["em"] is None:
        return ""
    return f' <span class="sa-fate">{"EM-match" if cell["em"] else "EM-nonmatch"}</span>'


def chip(found: Classes, cell: Row) -> str:
    """A class letter with its colour; never the colour alone."""
    letter = found.letters[cell["cell_key"]]
    return f'<span class="sa-chip is-{found.colours[letter]}">{letter}</span>'


def _words(view: View, found: Classes) -> str:
    if view.pair is None:
        return ""
    a, b = (view.cells[i] for i in view.pair)
    names = [f'{"" if view.masked else chip(found, c)} <span dir="auto">{view.named(c["state_name"])}</span> '
             f'r{c["repeat"]}' for c in (a, b)]
    old, new = a["answer"] or "", b["answer"] or ""
    if old == new:
        text = '<span class="mut">the two answers are identical to the letter</span>'
    else:
        text = f'<span dir="auto" class="sa-text">{difference_markup(old, new)}</span>'
    text += '<span class="mut"> (only the beginning of long answers is compared)</span>' if cut(old) or cut(new) else ""
    button = '<button data-action="pair" title="Compare another pair">other pair <kbd>d</kbd></button>'
    return (f'<div class="sa-words"><span class="mut">Words, {names[0]} → {names[1]}</span> {text} {button}</div>')


def _ladder(view: View, found: Classes) -> str:
    if view.masked:
        return ('<p class="sa-note" role="note">Which state is which, the ladder and the judge\'s labels are shown '
                "after your verdict.</p>")
    states = [s for s in view.study["states"] if any(c["state_name"] == s["state"] for c in view.cells)]
    if len(states) < 2:
        return ""
    how = "after normalization (exact)"
    if view.judge:
        how = ", by the blind judge" if view.judge["blind"] == "blind" else ", by the judge"
    how = f"same letter = same answer{' ' if not view.judge else ''}{how}; ? = UNKNOWN, error or no label"
    ends = {view.old: "is-old", view.new: "is-new"}
    head = "".join(f'<th scope="col" class="{ends.get(s["state"], "")}" dir="auto">{view.label(s["state"])}</th>'
                   for s in states)
    at = {(c["state_name"], c["repeat"]): c for c in view.cells}
    body = "".join(
        f'<tr><th scope="row">repeat {repeat}</th>'
        + "".join(f"<td>{_rung(at.get((s['state'], repeat)), found)}</td>" for s in states) + "</tr>"
        for repeat in sorted({c["repeat"] for c in view.cells}))
    told = [told for s in states if s["state"] not in ends and (told := _told(view, s))]
    return (f'<h2>Across the ladder <span class="mut small">{how}</span></h2><div class="sa-box scroll" tabindex="0">'
            f'<table class="sa-ladder"><caption class="sa-sr">Answers by state and repeat</caption>'
            f'<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
            + (f'<p class="small mut">{" ".join(told)}</p>' if told else "") + "</div>")


def _told(view: View, state: Row) -> str:
    words = standing(view.cells, view.same, state["state"], view.old, view.new, closed_book=bool(state["closed_book"]))
    subject = "The closed-book answer" if state["closed_book"] else f'<span dir="auto">{escaped(state["state"])}</span>'
    return f"{subject} {words}" if words else ""


def _rung(cell: Row | None, found: Classes) -> str:
    if cell is None:
        return '<span class="mut">not asked</span>'
    text = clipped(cell["answer"], 60) if cell["status"] == "ok" else "no answer"
    letter = chip(found, cell)
    return f'{letter} <span dir="auto" class="sa-text">{escaped(text) or "(empty)"}</span>'


def _evidence(view: View) -> str:
    if not view.study["has_evidence"]:
        return '<h2>Evidence</h2><p class="mut">This study holds no evidence, so only the answers can be compared.</p>'
    if view.masked and "evidence" not in view.standing.revealed:
        return ('<p class="small mut">Evidence hidden. <button data-action="evidence">Reveal <kbd>v</kbd></button> '
                "That it was shown is recorded.</p>")
    documents = view.question["documents"]
    old, new = evidence.compared(documents.get(view.old, []), documents.get(view.new, []))
    if not old and not new:
        return '<h2>Evidence</h2><p class="mut">No documents are recorded for this question in these two states.</p>'
    answers = {kind: list(dict.fromkeys(c["answer"] for c in view.cells if c["state_name"] == state
                                        and c["answer"] and not c["unknown"]))
               for kind, state in zip(view.names, (view.old, view.new), strict=True)}
    both = [text for texts in answers.values() for text in texts]
    held = any(r.passage.text is not None for r in (*old, *new))
    button = (f'<button data-action="evidence">{"excerpts" if view.full_evidence else "full text"} '
              "<kbd>v</kbd></button>" if held else '<span class="small mut">ids only, without passages</span>')
    tables = "".join(
        f'<div class="sa-box"><h3 class="is-{"masked" if view.masked else kind}">{kind.capitalize()}'
        + ("" if view.masked else f': <span dir="auto">{view.label(state)}</span>')
        + f"</h3>{evidence.table(side, both, view.names, i, full=view.full_evidence)}</div>"
        for i, (kind, state, side) in enumerate(zip(view.names, (view.old, view.new), (old, new), strict=True)))
    return (f'<h2>Evidence <span class="mut small">{evidence.sentence(old, new, view.names)}</span> {button}</h2>'
            f'<div class="sa-sides">{tables}</div>{_diagnosis(view)}')


def _diagnosis(view: View) -> str:
    """Hints, parts of the question and siblings; they name states and ranks, so they wait for the verdict too."""
    if view.masked or not any(row["passage_text"] for s in (view.old, view.new)
                              for row in view.question["documents"].get(s, [])):  # fmt: skip
        return ""
    states = (view.old, view.new)
    first, second = (view.question["documents"].get(state, []) for state in states)
    found = diagnosed.diagnosis(view.question, first, second, states, states)
    body = diagnosed.aspects(found, (escaped(view.old), escaped(view.new))) + diagnosed.siblings(found)
    head = f"{len(found.hints)} hint{'' if len(found.hints) == 1 else 's'}"
    opened = " open" if diagnosed.urgent(found) else ""
    return (f'<details id="triage-diagnosis"{opened}><summary>Evidence diagnosis: {head}, '
            f"{len(found.unshown)} passages not shown</summary>{diagnosed.hints(found)}{body}</details>")  # fmt: skip


def _gold(view: View) -> str:
    if view.question["gold"] is None:
        return '<p class="small mut">Gold: this study has none for this question.</p>'
    if "gold" not in view.standing.revealed:
        button = '<button data-action="reveal">Reveal <kbd>g</kbd></button>'
        return f'<p class="small mut">Gold answer hidden. {button} That it was shown is recorded.</p>'
    aliases = "".join(f"<li>{shown(alias)}</li>" for alias in view.question["gold"])
    return (f'<section class="sa-box" id="triage-gold"><h3>Gold answers <span class="mut small">revealed, event '
            f"#{view.standing.revealed['gold'].id}</span></h3><ul>{aliases}</ul></section>")
