"""What each thing noticed means, and what it does to the estimates."""

from __future__ import annotations

import re

from audit_core.importers.tally import Tally
from audit_core.model import Finding, Severity

_SENTENCES: dict[Severity, dict[str, str]] = {
    "error": {
        "blank_ids": "{# record has|# records have} no question id and {was|were} left out; nothing is known of {its "
        "cell|their cells}.",
        "blank_questions": "{# record has|# records have} neither an id nor a question and {was|were} left out.",
        "blank_states": "{# record names|# records name} no state and {was|were} left out.",
        "blank_repeats": "{# record has|# records have} no repeat number and {was|were} left out.",
        "unreadable_values": "{# record holds|# records hold} a value that cannot be meant and {was|were} left out.",
    },
    "warning": {
        "repeats_look_cached": "{# pair|# pairs} of repeats are byte-identical, nearly all that {its|their} state "
        "has; if a cache answered, the noise floor is artificial and excess churn is overstated.",
        "equal_response_ids": "{# pair|# pairs} of answers to one question share a response id; they are copies, so "
        "the noise floor is artificial and excess churn is overstated.",
        "equal_times": "{# pair|# pairs} of answers to one question came at the same time; if they are copies, the "
        "noise floor is artificial and excess churn is overstated.",
        "cached_answers": "{# answer|# answers} came from a cache; copies agree with one another, so excess churn is "
        "overstated.",
        "one_answer_everywhere": "{# state gives|# states give} one and the same answer in at least 95 % of "
        "{its|their} cells; such agreement means nothing, and churn against it is not churn between answers.",
        "states_without_answers": "{# state has|# states have} no answer at all; agreement within {it|them} and "
        "churn against {it|them} cannot be measured.",
        "states_without_common_questions": "{# pair|# pairs} of states {has|have} no question that both answered: "
        "nothing can be compared. Check that the files spell ids alike.",
        "errors_as_answers": "{# answer reads|# answers read} like transport errors; as answers they count as "
        "change. Give their rows the status error to keep them out of every denominator.",
        "no_noise_floor": "{# state has|# states have} one repeat only: there is no noise floor, so excess churn "
        "with {it|them} is refused; transitions and raw agreement are shown uncorrected.",
        "too_few_repeats": "{Once|# times} a question has fewer than two answers in a state that has more repeats; "
        "it is outside every estimate of excess churn with that state.",
        "no_semantic_labels": "The files hold no semantic labels: the exact kernel stands alone, so every difference "
        "of wording or format counts as change.",
        "evidence_differs_between_repeats": "{Once|# times} the repeats of a question in one state were given "
        "different evidence; retrieval that differs from call to call counts as noise, and excess churn is "
        "understated.",
        "document_ids_with_several_texts": "{# document id stands|# document ids stand} for different texts within "
        "one question; if they are positions rather than ids, shared documents are overstated.",
        "selective_redraw": "In {# state|# states} the questions that were asked more often than the others are those "
        "whose first answers agreed (or differed, or failed): the noise floor is that of a choice of questions, and "
        "excess churn is biased.",
        "ranks_all_equal": "{# list gives|# lists give} all documents one rank; ordered by score.",
        "ranks_against_scores": "{# list has|# lists have} ranks that contradict the scores; ordered by score, as "
        "evaluation tools do. Check which of the two the generator saw.",
        "questions_without_run": "{# question has|# questions have} no list in the run of {its|their} state; nothing "
        "is known of {its|their} evidence.",
        "unusable_golds": "{# gold that was found by its name is|# golds that were found by their names are} no "
        "text and {was|were} left out; name the field: --gold PATH.",
        "unusable_evidence": "{# list that was found by its name holds|# lists that were found by their names hold} no "
        "documents and {was|were} left out; name the field: --map evidence=PATH.",
        "unfinished_logs": "{# log|# logs} did not finish; whatever is missing may not be missing by chance, and "
        "every estimate is about the questions it reached.",
        "invalidated_samples": "{# sample was|# samples were} invalidated by the people who ran the evaluation; "
        "{it counts as an error|they count as errors}, outside every denominator.",
        "missing_attachments": "{# answer refers|# answers refer} to a text that the log does not hold; the {cell "
        "counts as an error|cells count as errors}.",
        "object_answers": "{# answer is an object|# answers are objects}; compared as JSON text, so a difference in "
        "a field that nobody reads counts as churn. Name the field: --map answer=PATH.",
        "answers_from_several_fields": "{# log holds|# logs hold} answers in several fields, since a scorer did not "
        "always name one; a change of field counts as churn. Take one for all: --map answer=output.completion.",
        "questions_of_one_state": "{# question is|# questions are} answered in one state only; {it says|they say} "
        "nothing about churn, and {is|are} outside every comparison.",
        "lookalike_ids": "{# id differs|# ids differ} from another one only in case, width or spaces; they are kept "
        "apart, and easily confused.",
        "identical_questions": "{# question has|# questions have} the text of another one under another id; they are "
        "kept apart and count as two.",
        "missing_cells": "{# cell|# cells} of question × state × repeat {is|are} not in the files, and outside every "
        "denominator.",
        "failed_cells": "{# cell is an error; it agrees|# cells are errors; they agree} with nothing and {is|are} "
        "outside every denominator.",
        "null_answers": "{# answer is|# answers are} null: none came back, so the {cell counts as an error|cells "
        "count as errors}, outside every denominator.",
        "absent_answers": "{# record has|# records have} no answer: none came back, so the {cell counts as an "
        "error|cells count as errors}, outside every denominator.",
        "answers_of_failed_calls": "{# record has|# records have} the status of a failure and a text; the text is "
        "kept as the error, not as an answer.",
        "answers_with_an_error_text": "{# answer carries|# answers carry} an error text too; {it counts|they count} "
        "as {an answer|answers}.",
        "outcomes_without_answers": "{# record says|# records say} what an answer does, or quotes it, and {has|have} "
        "no answer; that was left out.",
        "unknown_statuses": "{# record has|# records have} a status that is neither ok nor error; the {cell counts "
        "as an error|cells count as errors}.",
        "duplicate_rows": "{# row repeats|# rows repeat} another row of the same cell exactly; each cell is kept once.",
        "questions_without_gold": "{# question has|# questions have} no accepted answer and {is|are} outside exact "
        "match, token F1 and transitions.",
        "gold_of_unknown_questions": "{# question|# questions} of a file without answers {is|are} answered in no "
        "other file and {was|were} left out.",
        "evidence_in_other_notation": "The evidence of {# record|# records} looks like a list but is not JSON and was "
        "kept as one passage, so overlap with it means nothing; write evidence as JSON lists.",
        "gold_in_other_notation": "{# gold looks|# golds look} like a list in another notation and {was|were} kept "
        "as one text; write such golds as JSON lists.",
        "blank_aliases": "{# blank gold was|# blank golds were} left out; every empty answer would match.",
        "empty_golds": "{# gold normalizes|# golds normalize} to nothing; only an answer equal to the letter matches.",
        "empty_answers": "{# answer normalizes|# answers normalize} to nothing; {it is|they are} compared by "
        "{its|their} stripped raw text, and flagged.",
        "unusable_weights": "{# weight is no whole number and was|# weights are no whole numbers and were} left out; "
        "no estimate uses weights.",
        "different_weights": "{# row gives|# rows give} a question another weight; the first is kept.",
        "unusable_cache_flags": "{# cache flag is|# cache flags are} neither true nor false and {was|were} left out.",
        "surrogates": "{# half of a character (a lone surrogate) was|# halves of characters (lone surrogates) were} "
        "replaced by U+FFFD, in the texts and in everything computed from them.",
    },
    "notice": {
        "blank_answers": "{# answer is|# answers are} blank; a blank answer is an answer, and differs from every "
        "other.",
        "answers_that_read_like_nothing": "{# answer is a word|# answers are words} that other tools take for "
        "missing; kept as text.",
        "number_answers": "{# answer was written as a number|# answers were written as numbers}; kept as text, digit "
        "by digit.",
        "number_ids": "{# integer id was|# integer ids were} read as text.",
        "ids_made_from_questions": "{# file has|# files have} no question id; ids were made from the questions' "
        "texts, so an edited question is another one.",
        "questions_laid_out_differently": "{# row writes|# rows write} a question with other spaces or another "
        "Unicode form; the first form is kept.",
        "states_named_after_files": "{# file has|# files have} no state column; each is a state, named like the file.",
        "no_repeat_column": "{# file has|# files have} no repeat column; each row is repeat 1 of its cell.",
        "repeats_numbered_here": "{# file has|# files have} no repeat column; repeats were numbered in the order of "
        "rows.",
        "states_told_apart": "The states were told apart as the list says; --state-from or --state NAME=FILE says it "
        "otherwise.",
        "repeats_put_together": "The repeats of {# state|# states} come from several files or runs, numbered in their "
        "order.",
        "guessed_fields": "{# field was|# fields were} chosen by {its name|their names}; --map OURS=PATH says it "
        "otherwise.",
        "questions_not_judged": "{# question has|# questions have} no judgment of relevance, and {is|are} in none of "
        "the slices that were made of them.",
        "run_questions_unknown": "{# list of a run is|# lists of runs are} for questions that nobody answered, and "
        "{was|were} left out.",
        "other_filters": "{# record repeats|# records repeat} a document under another filter; all filters start from "
        "the same responses, which were read once.",
        "uneven_repeats": "The states have different numbers of repeats; every estimate uses all that a question has.",
        "no_gold": "The files hold no accepted answers: exact match, token F1 and transitions are not measured.",
        "no_evidence": "The files hold no evidence: changes cannot be compared with what was retrieved.",
        "no_question_text": "The files hold no question texts; people who review see ids only.",
        "gold_split": "{# gold was|# golds were} split at the separator that was asked for; check the examples.",
        "documents_repeated": "{# list|# lists} of evidence {names|name} a document twice; overlap counts it once, "
        "at its first rank.",
        "ignored_columns": "{# column was|# columns were} not used.",
        "blank_lines": "{# blank line was|# blank lines were} skipped.",
        "skipped_files": "{# file or folder was|# files or folders were} skipped.",
    },
}
"""Sentence of each kind by severity, the worst first; ``{one|many}`` is chosen by the count, and # is the count."""

KINDS = {kind: severity for severity, kinds in _SENTENCES.items() for kind in kinds}
"""Severity of each kind, in the order of a report."""
_CHOICE = re.compile(r"\{([^|}]*)\|([^}]*)\}")


def findings(tally: Tally) -> list[Finding]:
    """Everything noticed, worst first."""
    assert tally.kinds.keys() <= KINDS.keys(), tally.kinds.keys() - KINDS.keys()
    return [
        Finding(severity, kind, noted.count, noted.where, _sentence(severity, kind, noted.count))
        for kind, severity in KINDS.items()
        if (noted := tally.kinds.get(kind))
    ]


def _sentence(severity: Severity, kind: str, count: int) -> str:
    text = _CHOICE.sub(lambda choice: choice[1 if count == 1 else 2], _SENTENCES[severity][kind])
    return text.replace("#", f"{count:,}")
