"""What each thing noticed means, and what it does to the estimates."""

from __future__ import annotations

from audit_core.importers.tally import Tally
from audit_core.model import Finding, Severity

SENTENCES: dict[str, tuple[Severity, str]] = {
    # Records that were left out.
    "blank_ids": ("error", "{n} records have no question id and were left out; nothing is known of their cells."),
    "blank_questions": ("error", "{n} records have neither an id nor a question and were left out."),
    "blank_states": ("error", "{n} records name no state and were left out."),
    "blank_repeats": ("error", "{n} records have no repeat number and were left out."),
    "unreadable_values": ("error", "{n} records hold a value that cannot be meant and were left out."),
    # What makes estimates wrong or impossible.
    "repeats_look_cached": (
        "warning",
        "{n} pairs of repeats are byte-identical, nearly all of a state's; if a cache answered, the noise floor is "
        "artificial and excess churn is overstated.",
    ),
    "equal_response_ids": (
        "warning",
        "{n} pairs of answers to one question share a response id; they are copies, so the noise floor is artificial "
        "and excess churn is overstated.",
    ),
    "equal_times": (
        "warning",
        "{n} pairs of answers to one question came at the same time; they may be copies, which overstates excess churn.",
    ),
    "cached_answers": (
        "warning",
        "{n} answers came from a cache; copies agree with one another, so excess churn is overstated.",
    ),
    "one_answer_everywhere": (
        "warning",
        "{n} states give one and the same answer to at least 95 % of their cells; their agreement is high without "
        "meaning anything, and churn against them is not churn of answers.",
    ),
    "states_without_answers": (
        "warning",
        "{n} states have no answer at all: agreement within them and churn against them cannot be measured.",
    ),
    "errors_as_answers": (
        "warning",
        "{n} answers read like transport errors; as answers they count as change. Give their rows the status error to "
        "keep them out of every denominator.",
    ),
    "no_noise_floor": (
        "warning",
        "{n} states have one repeat only: there is no noise floor, so excess churn with them is refused; transitions "
        "and raw agreement are shown uncorrected.",
    ),
    "too_few_repeats": (
        "warning",
        "{n} times a question has fewer than two answers in a state that has more; it is outside every estimate of "
        "excess churn with that state.",
    ),
    "no_semantic_labels": (
        "warning",
        "The files hold no semantic labels: the exact kernel stands alone, so every difference of wording or format "
        "counts as change.",
    ),
    "evidence_differs_between_repeats": (
        "warning",
        "{n} times the repeats of a question in one state were given different evidence; what retrieval does "
        "differently from call to call is counted as noise, and excess churn is understated.",
    ),
    "document_ids_with_several_texts": (
        "warning",
        "{n} document ids stand for different texts within one question; if they are positions rather than ids, "
        "shared documents are overstated.",
    ),
    "lookalike_ids": (
        "warning",
        "{n} ids differ from another one only in case, width or spaces; they are kept apart, and are easily confused.",
    ),
    "identical_questions": (
        "warning",
        "{n} questions have the text of another one under another id; they are kept apart and count twice.",
    ),
    "missing_cells": (
        "warning",
        "{n} cells of question × state × repeat are not in the files; they are outside every denominator.",
    ),
    "failed_cells": (
        "warning",
        "{n} cells are errors; they agree with nothing and are outside every denominator.",
    ),
    "answers_of_failed_calls": (
        "warning",
        "{n} records have the status of a failure and a text; the text is kept as the error, not as an answer.",
    ),
    "answers_with_an_error_text": ("warning", "{n} answers carry an error text too; they count as answers."),
    "null_answers": ("warning", "{n} answers are null: none came back, so the cells count as errors."),
    "absent_answers": ("warning", "{n} records have no answer key: none came back, so the cells count as errors."),
    "unknown_statuses": ("warning", "{n} records have a status that is neither ok nor error; they count as errors."),
    "duplicate_rows": ("warning", "{n} rows repeat another row of the same cell exactly; each cell is kept once."),
    "questions_without_gold": (
        "warning",
        "{n} questions have no accepted answer; they are outside exact match, token F1 and transitions.",
    ),
    "gold_of_unknown_questions": ("warning", "{n} questions of a file without answers are answered in no other file."),
    "gold_in_other_notation": (
        "warning",
        "{n} golds look like a list in another notation and were kept as one text; write them as JSON lists.",
    ),
    "blank_aliases": ("warning", "{n} blank golds were left out; every empty answer would match them."),
    "empty_golds": (
        "warning",
        "{n} golds normalize to nothing; only an answer that is equal to the letter matches them.",
    ),
    "empty_answers": (
        "warning",
        "{n} answers normalize to nothing; they are compared by their stripped raw text, and flagged.",
    ),
    "unusable_weights": ("warning", "{n} weights are no whole numbers and were left out; no estimate uses weights."),
    "different_weights": ("warning", "{n} rows give a question another weight; the first is kept."),
    "unusable_cache_flags": ("warning", "{n} cache flags are neither true nor false and were left out."),
    "surrogates": (
        "warning",
        "{n} halves of characters (lone surrogates) were replaced by U+FFFD, which no database refuses.",
    ),
    # What a person should know.
    "blank_answers": ("notice", "{n} answers are blank; a blank answer is an answer, and differs from every other."),
    "answers_that_read_like_nothing": (
        "notice",
        "{n} answers are words that other tools take for missing; they are kept as text.",
    ),
    "number_answers": ("notice", "{n} answers were written as numbers; they are kept as text, digit by digit."),
    "number_ids": ("notice", "{n} integer ids were read as text."),
    "ids_made_from_questions": (
        "notice",
        "{n} files have no question id; ids were made from the question's text, so an edited question is another one.",
    ),
    "questions_laid_out_differently": (
        "notice",
        "{n} rows write a question with other spaces or another Unicode form; the first form is kept.",
    ),
    "no_repeat_column": ("notice", "{n} files have no repeat column; each row is repeat 1 of its cell."),
    "repeats_numbered_here": (
        "notice",
        "{n} files have no repeat column; repeats were numbered in the order of their rows.",
    ),
    "uneven_repeats": ("notice", "The states have different numbers of repeats; each question uses all of its own."),
    "no_gold": ("notice", "The files hold no accepted answers: exact match, token F1 and transitions are not measured."),
    "no_evidence": ("notice", "The files hold no evidence: changes cannot be compared with what was retrieved."),
    "no_question_text": ("notice", "The files hold no question texts; people who review see ids only."),
    "gold_split": ("notice", "{n} golds were split at the separator that was asked for; check the examples."),
    "documents_repeated": (
        "notice",
        "{n} lists of evidence name a document twice; overlap counts it once, at its first rank.",
    ),
    "ignored_columns": ("notice", "{n} columns were not used."),
    "blank_lines": ("notice", "{n} blank lines were skipped."),
    "skipped_files": ("notice", "{n} files or folders were skipped."),
}
"""Severity and sentence of each kind; the worst come first."""


def findings(tally: Tally) -> list[Finding]:
    """Everything noticed, worst first.

    Raises:
        KeyError: A kind without a sentence, which is a fault of this package.
    """
    order = {kind: number for number, kind in enumerate(SENTENCES)}
    found = []
    for kind in sorted(tally.kinds, key=order.__getitem__):
        noted = tally.kinds[kind]
        severity, sentence = SENTENCES[kind]
        found.append(Finding(severity, kind, noted.count, noted.where, _counted(sentence, noted.count)))
    return sorted(found, key=lambda finding: ("error", "warning", "notice").index(finding.severity))


def _counted(sentence: str, count: int) -> str:
    """A sentence with its number; one of something is worded as one."""
    text = sentence.replace("{n}", f"{count:,}")
    if count != 1 or not text.startswith("1 "):
        return text
    return text
