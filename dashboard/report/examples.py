"""Questions that flipped, chosen by a rule that the report states, with their answers and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from audit_core.digests import sha256
from audit_core.printed import Asked, Passage, one_line
from audit_core.reviews.events import IMPACTS, VERDICTS
from dashboard.comparison import Comparison
from dashboard.components.words import mentions
from dashboard.report.writer import Writer

EACH, FEWEST, MOST, SHOWN = 2, 4, 8, 2
BEFORE, LONG = 80, 220
"""Characters of a passage that are shown before a mention of an answer, and in all."""
RULE = (
    "Chosen by rule, not by hand: of the repeat-stable flips at most two for each verdict, in the order regression, "
    "improvement, both acceptable, both wrong, not a real change, cannot tell; within a verdict highest impact first, "
    "then in the order of the digests of their ids; at most eight. Flips without a verdict fill up to four."
)


def chosen(flips: Iterable[str], verdicts: Mapping[str, tuple[str, str]]) -> list[str]:
    """Ids of the questions that a report shows, by `RULE`.

    Args:
        flips: Ids of the repeat-stable flips.
        verdicts: Verdict and impact that count, in words, by question.
    """
    order, impacts = [*VERDICTS.values(), ""], [*reversed(IMPACTS), ""]

    def rank(question: str) -> tuple[int, int, str]:
        verdict, impact = verdicts.get(question, ("", ""))
        return order.index(verdict), impacts.index(impact), sha256(question.encode("utf-8", "surrogatepass"))

    ordered = sorted(flips, key=rank)
    groups = groupby((q for q in ordered if q in verdicts), key=lambda question: rank(question)[0])
    judged = [question for _, group in groups for question in list(group)[:EACH]][:MOST]
    return judged + [q for q in ordered if q not in verdicts][: max(FEWEST - len(judged), 0)]


def section(comparison: Comparison, writer: Writer, questions: Sequence[str]) -> str:
    """The section, or why there is none."""
    if not questions:
        return "<p>No question flipped in every repeat between these states, so there is nothing to show.</p>"
    lead = f'<p class="small">{RULE}</p>'
    if comparison.study["origin"] == "reconstructed":
        lead += "<p class='warn'>Answers and documents here are placeholders; only the counts are meaningful.</p>"
    return lead + "".join(_example(comparison, writer, question) for question in questions)


def _example(comparison: Comparison, writer: Writer, question: str) -> str:
    selection, asked = comparison.selection, writer.source.asked(question)
    verdict, impact = writer.source.verdicts.get(question, ("", ""))
    said = writer.say("question", question, "verdict") if verdict else "no verdict yet"
    if impact:
        said += f", {writer.say('question', question, 'impact')} impact"
    facts = [f'<span class="pill">{said}</span>']
    if asked.shared(selection.old, selection.new) is not None:
        pair = (selection.old, selection.new)
        facts.append(
            f'<span class="pill">{writer.say("shared", question, *pair, "both")} of '
            f"{writer.say('shared', question, *pair, 'of')} documents shared</span>"
        )
    title = "Question "
    if asked.text is not None and not writer.redacted:
        name = f"<p class='small mono'>{writer.say('question', question, 'id')}</p>"
        head = f"<h3>{writer.say('question', question, 'text')}</h3>{name}"
    else:
        head = f"<h3>{title}{writer.say('question', question, 'id')}</h3>"
    sides = "".join(
        f'<div class="{side}"><h4>{writer.state(state)}</h4>{_answers(writer, question, state, asked)}'
        f"{_documents(writer, question, state, other, asked)}</div>"
        for state, other, side in ((selection.old, selection.new, "old"), (selection.new, selection.old, "new"))
    )
    more = ""
    if asked.gold and not writer.redacted:
        more += f"<p class='small'><b>Gold:</b> {writer.say('question', question, 'gold')}</p>"
    if question in writer.source.notes and not writer.redacted:
        more += f"<p class='small'><b>Reviewer's note:</b> {writer.say('question', question, 'note')}</p>"
    return f'<article>{head}<p class="pills">{" ".join(facts)}</p><div class="sides">{sides}</div>{more}</article>'


def _answers(writer: Writer, question: str, state: str, asked: Asked) -> str:
    repeats = sorted(repeat for at, repeat in asked.answers if at == state)
    texts = {repeat: asked.answers[state, repeat] for repeat in repeats}
    if not repeats:
        return "<p>No answer.</p>"
    form = "digest" if writer.redacted else "text"
    lines = []
    for repeat in repeats:
        text = texts[repeat]
        if text is None:
            lines.append("<p class='answer none'>error, no answer</p>")
        elif not text.strip() and not writer.redacted:
            lines.append("<p class='answer none'>empty answer</p>")
        elif not any(texts[before] == text for before in repeats if before < repeat):
            lines.append(f"<p class='answer' dir='auto'>{writer.say('answer', question, state, repeat, form)}</p>")
    same = len(repeats) > 1 and len(set(texts.values())) == 1
    return "".join(lines) + ("<p class='small'>word for word in every repeat</p>" if same else "")


def _documents(writer: Writer, question: str, state: str, other: str, asked: Asked) -> str:
    documents = asked.documents.get(state, ())
    if not documents:
        return ""
    beside = {passage.document_id for passage in asked.documents.get(other, ())}
    own = [(rank, passage) for rank, passage in enumerate(documents, 1) if passage.document_id not in beside]
    if not own:
        return "<p class='small'>No document that the other state lacks.</p>"
    answers = [text for (at, _), text in asked.answers.items() if at == state and text]
    lines = [_document(writer, question, state, rank, passage, answers) for rank, passage in own[:SHOWN]]
    word = "Only here" if len(own) <= SHOWN else "Only here, best ranks first"
    return f"<p class='small'>{word}:</p><ul class='docs'>{''.join(lines)}</ul>"


def _document(writer: Writer, question: str, state: str, rank: int, passage: Passage, answers: Sequence[str]) -> str:
    name = writer.say("document", question, state, rank, "id", 80)
    text = f"rank {writer.say('document', question, state, rank, 'rank')}: <span class='mono'>{name}</span>"
    if writer.redacted:
        return f"<li>{text}</li>"
    if passage.title:
        text = f"{text} {writer.say('document', question, state, rank, 'title', 120)}"
    line = one_line(passage.text or "")
    places = mentions(line, answers)
    if places:
        start = line.rfind(" ", 0, max(places[0][0] - BEFORE, 0)) + 1
        text += (
            f"<blockquote dir='auto'>{writer.say('document', question, state, rank, 'text', LONG, start)}</blockquote>"
        )
    elif line:
        text += "<br><span class='small'>Its text has no answer of this state.</span>"
    return f"<li>{text}</li>"
