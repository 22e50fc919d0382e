"""Logs that other tools write, each read by a small module into the one aligned table."""

from __future__ import annotations

from audit_core.importers.kinds.comparator import COMPARATOR
from audit_core.importers.kinds.deepeval import DEEPEVAL
from audit_core.importers.kinds.inspect import INSPECT
from audit_core.importers.kinds.langfuse import LANGFUSE
from audit_core.importers.kinds.lm_eval import LM_EVAL
from audit_core.importers.kinds.log import Kind
from audit_core.importers.kinds.open_rag_eval import OPEN_RAG_EVAL
from audit_core.importers.kinds.phoenix import PHOENIX
from audit_core.importers.kinds.promptfoo import PROMPTFOO
from audit_core.importers.kinds.ragas import RAGAS
from audit_core.importers.kinds.ragchecker import RAGCHECKER

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (PROMPTFOO, INSPECT, RAGAS, RAGCHECKER, PHOENIX, DEEPEVAL, LM_EVAL, OPEN_RAG_EVAL, LANGFUSE, COMPARATOR)
}
"""Every kind by the name that the command knows it by."""
