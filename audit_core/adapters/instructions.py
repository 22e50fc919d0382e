"""Texts that try to instruct a judge: flagged and counted, never dropped and never changed.

The rule is a list of patterns under a version; it is a smoke detector, not a filter. It reads text with invisible
characters removed and look-alike forms folded (NFKC). It does not see through encodings, ciphers or a language it has
no pattern for; a paraphrase that it lacks goes through. What protects the labels is that a packet is data in a
delimited block and that every reply is checked; the flags say where to look, and control packets whether it held.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from audit_core.codec import Record
from audit_core.study import Study

VERSION = 1
"""Of the rule; a lock that counts flagged texts names it."""

_PATTERNS = {
    "override": r"\b(ignore|disregard|forget|override|bypass|skip|do not follow|don't follow|stop following)\b"
    r"[^.\n]{0,40}\b(instructions?|prompts?|rules?|guidelines?|directions?|commands?|above|previous|prior|earlier|"
    r"question|rubric|criteria|other answers?|system message)\b",
    "override_other_language": r"\b(ignorier\w*|missacht\w*|vergiss)\b.{0,40}\banweisung|\bignor(e[rz]?|ez)\b.{0,30}"
    r"\b(consignes|instructions (précédentes|ci-dessus))|\b(ignora|olvida)\w*\b.{0,40}\binstrucciones|"
    r"\bignor\w*\b.{0,30}\bistruzioni|\bignor\w*\b.{0,30}\binstruções|忽略.{0,12}(指令|指示|说明|內容|内容)|"
    r"игнорир\w*.{0,40}инструкц",
    "role_marker": r"(^|\n)\s*(#{1,4}\s*)?\[?(system|assistant|developer|user|human)( (prompt|message|note))?\]?\s*:|"
    r"<\|?/?(im_start|im_end|system|assistant|user|endoftext|s|inst)\|?>|\[/?(inst|system)\]|<<\s*/?sys\s*>>|"
    r"#{2,}\s*(new )?(instructions?|task|system)\b|</?data\b|\bend of (data|answers?|input|packet)\b",
    "addressed_to_judge": r"\b(note|message|hint|instructions?|attention|dear|hey|hello|to)\b[ :,]{1,3}"
    r"(to |for )?(all |the |any |our )*((ai|llm|automated|human)[ -])?(judges?|graders?|evaluators?|raters?|reviewers?|"
    r"annotators?|language models?|ai|llms?)\b[ ,:]|"
    r"\b(you are|act as|pretend to be)\b (now )?(a |an |the |my )?([\w-]+ ){0,2}(judge|grader|evaluator|rater|"
    r"annotator|ai model|ai assistant|language model|llm|chatbot)\b|"
    r"\bas an? (ai|automated|llm) (judge|grader|evaluator|rater)\b",
    "label_demand": r"\b(label|mark|rate|score|treat|grade|judge|classify|consider|regard|count|declare|deem|"
    r"evaluate)\b\s+([\w'-]+\s+){0,3}(pairs?|answers?|responses?|labels?|candidates?)\b"
    r"[^.\n]{0,60}\b(same|identical|equal|equivalent|different|correct|wrong|match\w*|[01]|one|zero)\b|"
    r"\b(must|should|shall|have to|need to|always|please)\b[^.\n]{0,30}"
    r"\b(label|mark|rate|score|treat|grade|classify|deem|judge)(l?ed)?\b[^.\n]{0,60}"
    r"\b(same|identical|equal|equivalent|different|correct|match\w*|[01])\b",
    "all_the_same": r"\b(all|both|every|each|these|any)( of)?( the| these| other)? (answers?|pairs?|responses?|labels?|"
    r"candidates?)\b[^.\n]{0,25}\b(are|is|as|be|means?|being|get|to)\b[^.\n]{0,25}"
    r"\b(the same|same|identical|equal|equivalent|different|correct|[01])\b",
    "reply_demand": r"\b(reply|respond|output|return|print|say|answer|write)\b[^.\n]{0,30}"
    r"(\bonly\b|\bwith\b|\bjust\b|\bexactly\b|:)[^.\n]{0,25}"
    r"(\b(same|different|json|labels?|yes for|true for|[01])\b(?!\d)|\{)|[\"']labels[\"']\s*:\s*\[",
    "new_orders": r"\bfrom now on\b[^.\n]{0,60}\b(you|reply|answer|respond|label|output|treat)\b|"
    r"\b(new|updated|real|actual|hidden|your) (system )?(instructions?|task|orders|directive)s?\b ?(is|are|:|follow)|"
    r"\b(developer|debug|god|admin|jailbreak|dan) mode\b|\bjailbreak\b|\bprompt injection\b|"
    r"\bdo not (compare|evaluate|judge|grade)\b",
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
_STEMS = {
    "override": ("ignor", "disregard", "forget", "overrid", "bypass", "skip", "follow"),
    "override_other_language": ("ignor", "missacht", "vergiss", "olvida", "忽略", "игнорир"),
    "role_marker": ("system", "assistant", "developer", "user", "human", "<", "inst", "##", "end of "),
    "addressed_to_judge": ("judge", "grader", "evaluator", "rater", "reviewer", "annotator", "language model",
                           " ai", ":ai", ",ai", "llm", "chatbot"),
    "label_demand": ("label", "mark", "rate", "score", "treat", "grade", "judge", "classif", "consider", "regard",
                     "count", "declare", "deem", "evaluate"),
    "all_the_same": ("answer", "pair", "response", "label", "candidate"),
    "reply_demand": ("reply", "respond", "output", "return", "print", "say", "answer", "write", "labels"),
    "new_orders": ("from now on", "instruction", "task", "orders", "directive", " mode", "jailbreak",
                   "prompt injection", "do not "),
}  # fmt: skip
"""What a text must hold before its pattern is tried; a pattern takes a hundred times as long."""
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
                        "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]")  # fmt: skip


@lru_cache(maxsize=1 << 16)
def instructs(text: str) -> str | None:
    """The name of the first pattern that a text matches; None where it does not try to instruct a judge."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    lower = plain.lower()
    return next(
        (
            name
            for name, pattern in PATTERNS.items()
            if any(stem in lower for stem in _STEMS[name]) and pattern.search(plain)
        ),
        None,
    )


def flags(study: Study) -> Iterator[Record]:
    """Every answer and passage of a study that tries to instruct a judge, with the pattern that it matches."""
    for dossier in study.dossiers():
        for cell in dossier.cells:
            pattern = instructs(cell.answer or "") if cell.status == "ok" else None
            if pattern:
                yield {"pattern": pattern, "question_id": cell.question_id, "state": cell.state, "repeat": cell.repeat}
    for digest, text in study.passages():
        if pattern := instructs(text):
            yield {"pattern": pattern, "passage": digest}


def flag_counts(flags: Iterable[Record]) -> dict[str, int]:
    """What a lock says of the flags, and by which rule they were found."""
    passages = [("passage" in flag) for flag in flags]
    return {
        "instruction_like": passages.count(False),
        "instruction_like_passages": passages.count(True),
        "instruction_rule": VERSION,
    }
