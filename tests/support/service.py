"""A fake Messages service on loopback: scripted answers and faults, driven through the real client package."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """What one request gets."""

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    drip: float = 0
    cut_at: int | None = None
    reset: bool = False
    text: str = "Paris"
    stop_reason: str | None = "end_turn"
    model: str | None = None
    fate: str = ""
    """In a batch: canceled or expired."""
    on_send: Callable[[], object] = lambda: None


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def message(text: str, model: str, stop_reason: str | None = "end_turn", number: int = 1) -> dict[str, Any]:
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 3},
    }


class Service:
    """The server. ``script`` decides what each request gets; ``on_arrival`` may look at the disk first."""

    def __init__(
        self, script: Callable[[Seen, int], Scripted] | None = None, on_arrival: Callable[[Seen], None] | None = None
    ) -> None:
        self.script = script or (lambda _seen, _number: Scripted())
        self.on_arrival = on_arrival
        self.seen: list[Seen] = []
        self.faults: list[BaseException] = []
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service._answer(self)

            def do_GET(self) -> None:
                service._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def plan(self, seen: Seen) -> tuple[Scripted, int]:
        """What a request gets, and its number among the calls."""
        if seen.path != "/v1/messages":
            return Scripted(status=404), 0
        return self.call(seen)

    def call(self, seen: Seen) -> tuple[Scripted, int]:
        """One call of the Messages API, alone or in a batch."""
        with self._lock:
            self.seen.append(seen)
            number = len(self.seen)
        try:
            if self.on_arrival:
                self.on_arrival(seen)
        except BaseException as error:
            self.faults.append(error)
        return self.script(seen, number), number

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("content-length", 0))
        raw = handler.rfile.read(size)
        if len(raw) < size:  # the client died while it sent: nothing arrived
            handler.close_connection = True
            return
        seen = Seen(handler.path, {k.lower(): v for k, v in handler.headers.items()}, json.loads(raw or b"{}"))
        try:
            plan, number = self.plan(seen)
        except BaseException as error:  # a fault of the fake itself must be seen by the test
            self.faults.append(error)
            plan, number = Scripted(status=500), 0
        plan.on_send()
        time.sleep(plan.delay)
        if plan.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        body = plan.body
        if body is None:
            model = plan.model or str(seen.body.get("model"))
            body = (
                json.dumps(message(plan.text, model, plan.stop_reason, number)).encode()
                if plan.status == 200
                else (json.dumps({"type": "error", "error": {"type": "api_error", "message": "scripted"}}).encode())
            )
        try:
            handler.send_response(plan.status)
            for name, value in {
                "content-type": "application/json",
                "request-id": f"req_{number:06d}",
                **plan.headers,
            }.items():
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            sent = body if plan.cut_at is None else body[: plan.cut_at]
            if plan.drip:
                for byte in sent:
                    handler.wfile.write(bytes([byte]))
                    handler.wfile.flush()
                    time.sleep(plan.drip)
            else:
                handler.wfile.write(sent)
            if plan.cut_at is not None:
                handler.close_connection = True
        except OSError:
            handler.close_connection = True
