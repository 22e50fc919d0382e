"""Texts that try to instruct a judge: flagged and counted, never dropped and never changed.

The rule is a list of patterns under a version; it is a smoke detector, not a filter. It reads text with invisible
characters removed and look-alike forms folded (NFKC). It does not see through encodings, ciphers or a language it has
no pattern for; a paraphrase that it lacks goes through. What protects the labels is that a packet is data in a
delimited block and that every reply is checked; the flags say where to look, and control packets whether it held.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
    r"\bdo not (compare|evaluate|judge|grade|read)\b",
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
                        "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]")  # fmt: skip


@lru_cache(maxsize=1 << 16)
def instructs(text: str) -> str | None:
    """The name of the first pattern that a text matches; None where it does not try to instruct a judge."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    return next((name for name, pattern in PATTERNS.items() if pattern.search(plain)), None)


def flagged(study: Study) -> dict[str, int]:
    """How many answers and passages of a study try to instruct a judge, and by which rule."""
    answers = sum(
        instructs(cell.answer or "") is not None
        for dossier in study.dossiers()
        for cell in dossier.cells
        if cell.status == "ok"
    )
    passages = sum(instructs(text) is not None for _, text in study.passages())
    return {"instruction_like": answers, "instruction_like_passages": passages, "instruction_rule": VERSION}
