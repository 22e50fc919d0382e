"""Search services on loopback: the OpenSearch and Elasticsearch search call, and the DeepResearchGym protocol.

Scores are sums of inverse document frequencies over the indices that one call searches, so they depend on the prefix;
equal scores come in another order with every call, as they may from a real service.
"""

from __future__ import annotations

import base64
import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

Document = dict[str, str]


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Any
    number: int


@dataclass
class Fault:
    """What a request gets in place of its answer, or done to it."""

    status: int = 200
    body: bytes | None = None
    change: Callable[[Any], Any] | None = None
    delay: float = 0
    reset: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def ranked(
    shards: Sequence[tuple[str, Sequence[Document]]], question: str, turn: int
) -> list[tuple[float, str, Document]]:
    """(score, index, document), best first; equal scores rotate with the turn."""
    held = [(name, document, words(document["text"])) for name, documents in shards for document in documents]
    asked = words(question)
    weight = {w: math.log(1 + len(held) / (1 + sum(w in has for _, _, has in held))) for w in asked}
    found = [
        (round(sum(weight[w] for w in asked & has), 6), name, document) for name, document, has in held if asked & has
    ]
    turned = found[turn % max(len(found), 1) :] + found[: turn % max(len(found), 1)]
    return sorted(turned, key=lambda item: -item[0])


class SearchService:
    """The server. ``script`` may put a fault in the place of any answer."""

    def __init__(
        self, indices: dict[str, list[Document]], script: Callable[[Asked], Fault | None] = lambda _: None
    ) -> None:
        self.indices, self.script = indices, script
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service._answer(self)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> SearchService:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        parts = urlsplit(handler.path)
        with self._lock:
            asked = Asked(parts.path, dict(parse_qsl(parts.query)), {k.lower(): v for k, v in handler.headers.items()},
                          json.loads(raw or b"null"), len(self.asked) + 1)  # fmt: skip
            self.asked.append(asked)
        fault = self.script(asked) or Fault()
        time.sleep(fault.delay)
        if fault.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        body = fault.body
        if body is None:
            made = self._engine(asked) if asked.path.endswith("/_search") else self._gym(asked)
            body = json.dumps(fault.change(made) if fault.change else made).encode()
        try:
            handler.send_response(fault.status)
            for name, value in {"content-type": "application/json", "x-elastic-product": "Elasticsearch",
                                **fault.headers}.items():  # fmt: skip
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            handler.close_connection = True

    def _engine(self, asked: Asked) -> Any:
        names = unquote(asked.path).split("/")[1].split(",")
        query = asked.body["query"]
        text = query["multi_match"]["query"] if "multi_match" in query else next(iter(query["match"].values()))["query"]
        found = ranked([(name, self.indices[name]) for name in names], text, asked.number)[: asked.body["size"]]
        hits = [{"_index": name, "_id": d["id"], "_score": score, "_source": {k: v for k, v in d.items() if k != "id"}}
                for score, name, d in found]  # fmt: skip
        return {"took": 1, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
                "hits": {"max_score": 1.0, "hits": hits}}  # fmt: skip

    def _gym(self, asked: Asked) -> Any:
        names = list(self.indices)
        if "num_of_shards" in asked.params:
            names = names[: int(asked.params["num_of_shards"])]
        elif "shard_ids" in asked.params:
            names = [names[int(i)] for i in asked.params["shard_ids"].split(",")]
        else:  # one address per state: /STATE-INDEX,INDEX/search
            names = unquote(asked.path).split("/")[1].split(",")
        found = ranked([(name, self.indices[name]) for name in names], asked.params["query"], 0)
        found = found[: int(asked.params["k"])]
        documents = [{"id": d["id"], "url": d.get("url", ""), "text": d["text"], "dump": name} for _, name, d in found]
        return {"results": [base64.b64encode(json.dumps(d).encode()).decode() for d in documents],
                "distances": None, "outlinks": None}  # fmt: skip


def documents(shard: int, count: int = 12) -> list[Document]:
    """Documents of one index; every third has the text of the one before it, so that scores tie."""
    return [{"id": f"s{shard}-{i:02d}", "title": f"Notice {shard}", "family": f"fee-{i}",
             "text": f"In 202{shard} the fee for item {i - (i % 3 == 2)} is {i - (i % 3 == 2) + shard * 7} euros."}
            for i in range(count)]  # fmt: skip
