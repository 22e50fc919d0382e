"""What freeze notes about the models and about this program, so that a later run is held to the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import audit_core
from audit_core import codec
from audit_core.adapters import embedded, lexical
from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collection import Calls, Collection
from audit_core.digests import sha256, sha256_file
from audit_core.errors import InputError, Problem
from audit_core.prompts import ANSWER_PROMPTS, ASPECT_PROMPT, JUDGE_PROMPT, OUTCOME_PROMPT
from audit_core.protocol import Judge
from audit_core.rules.aspects import ASPECT_RULES
from audit_core.rules.passage_kind import PASSAGE_RULES

LONGEST_FACTS = 65_536


def code_facts() -> dict[str, str]:
    """Version of this program, and one digest over all its modules."""
    home = Path(audit_core.__file__).parent
    lines = [f"{path.relative_to(home).as_posix()} {sha256_file(path)}" for path in sorted(home.rglob("*.py"))]
    return {"version": audit_core.__version__, "sha256": sha256("\n".join(lines).encode())}


def prompt_facts(collection: Collection) -> dict[str, str]:
    """Digests of what generator and judge are shown, and of the offline judge's coefficients where it judges.

    Refusal rules add the digests of their prompts, policies the names of the text rules that they follow.
    """
    found = {"answer": sha256(ANSWER_PROMPTS[""].encode()), "judge": sha256(JUDGE_PROMPT.encode())}
    for policy in collection.policies.values():
        if policy.refusal:
            found[f"answer_{policy.refusal}"] = sha256(ANSWER_PROMPTS[policy.refusal].encode())
        found |= {"aspects": ASPECT_RULES[0]} if policy.fan_out else {}
        found |= {"passage_kind": PASSAGE_RULES[0]} if policy.drop_bibliography else {}
    if collection.aspects:
        found["parts"] = sha256(ASPECT_PROMPT.encode())
    if collection.outcome_judge:
        found["outcome"] = sha256(OUTCOME_PROMPT.encode())
    used = {calls.adapter for calls in (collection.judging, collection.second) if calls}
    return found | ({"lexical": lexical.model()[1]} if "lexical" in used else {})


def described(judges: Sequence[Judge], collection: Collection) -> tuple[Judge, ...]:
    """The judges, the offline one with what is known of its quality."""
    adapters = {"primary": collection.judging, "supplementary": collection.second}

    def of(judge: Judge) -> Judge:
        calls = adapters[judge.role]
        if calls is None or calls.adapter != "lexical":
            return judge
        return replace(judge, description=judge.description.replace("lexical", lexical.description(), 1))

    return tuple(map(of, judges))


def model_facts(calls: Calls, model_path: Path | None, say: embedded.Say) -> dict[str, Any]:
    """What is known of the model that the calls will reach.

    Args:
        calls: Of the protocol.
        model_path: A file of weights in place of the ones of ``[local]``.
        say: Told what, done, total.

    Returns:
        For the embedded model its weights and runtime; for a service what ``GET /v1/models/{id}`` answers, or why it
        was not asked; nothing for an adapter without a model.
    """
    if calls.adapter == "embedded":
        found = embedded.weights(model_path, say)
        return {"weights_sha256": found.sha256, "weights_bytes": found.size, "runtime": embedded.runtime(),
                "context": embedded.CONTEXT}  # fmt: skip
    if calls.adapter != "messages":
        return {}
    key = os.environ.get(calls.key_variable, "")
    if not key:
        return {"asked": False, "reason": f"{calls.key_variable} is not set"}
    service = Messages(Endpoint(calls.base_url, key, 30.0))
    try:
        reply = service.model(calls.model)
    finally:
        service.close()
    if reply.status != 200:
        return {"asked": True, "reason": f"HTTP {reply.status}" if reply.status else f"no answer: {reply.error}"}
    try:
        if len(reply.body) > LONGEST_FACTS:
            raise codec.CodecError("too long")
        facts = codec.parse(reply.body)
        if key.encode() in codec.encode({"facts": facts}):
            raise codec.CodecError("it repeats the key")
    except (codec.CodecError, InputError) as error:
        return {"asked": True, "reason": f"the answer cannot be kept: {error}"}
    return {"asked": True, "facts": facts}


def check_weights(frozen: dict[str, Any], found: embedded.Weights) -> None:
    """Refuse other weights than the frozen ones.

    Raises:
        InputError: They differ.
    """
    expected = frozen.get("weights_sha256")
    if found.sha256 != expected:
        raise InputError(
            Problem(
                "the model is not the one that was frozen",
                f"weights {expected}",
                found.sha256,
                str(found.path),
                "Name the frozen file with --model-path, or freeze a new study.",
            )
        )
