"""Evidence diagnosis of one question; see `hints`."""

from audit_core.diagnosis.hints import Diagnosis, Hint, HintKind, Tie, diagnose
from audit_core.diagnosis.lists import Fate, Names, Order, Ranked, compared, sentence
from audit_core.diagnosis.siblings import Unshown, siblings_of

__all__ = [
    "Diagnosis",
    "Fate",
    "Hint",
    "HintKind",
    "Names",
    "Order",
    "Ranked",
    "Tie",
    "Unshown",
    "compared",
    "diagnose",
    "sentence",
    "siblings_of",
]
