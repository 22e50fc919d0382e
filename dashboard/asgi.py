"""The dashboard as a web application, with headers that keep everything on this origin."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard import display, identity, runtime, sign_in
from dashboard.gate import gate

POLICY = "; ".join(
    (
        "default-src 'self'",
        # blob: is how Streamlit loads the script of a component of ours; only scripts of this origin can make one
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "object-src 'none'",
        "form-action 'self'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


class Guard:
    """Keeps foreign requests and forged names out, and adds the security headers to every response.

    The headers are the last line of defence where escaping failed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        how, team = identity.roster().sign_in, runtime.team()
        self.gate = gate(how, runtime.host(), sign_in.public(how, team))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in HEADERS}
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in names]
                message["headers"] = [*kept, *HEADERS]
            await send(message)

        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        answer = guarded if scope["type"] == "http" else send
        if reason := self.gate.refuses(scope):
            await refuse(reason, scope, receive, answer)
            return
        await self.app(self.gate.admit(scope), receive, answer)


async def refuse(reason: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 403; of a socket that is not open yet, closing means the same."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await PlainTextResponse(reason, 403)(scope, receive, send)


def failed(error: Exception) -> bool:
    """Say in the page that it failed; the trace stays in the server's log, never on the screen."""
    print(f"A page failed: {type(error).__name__}: {error}", file=sys.stderr)
    traceback.print_exception(error)
    display.banner(
        "<b>This page could not be drawn.</b> Nothing was changed or lost. Reload the page; if it happens again, "
        f"report it with the message in the server's window ({display.plain(type(error).__name__)}).",
        "bad",
    )
    return True


@asynccontextmanager
async def ready(_: st.App) -> AsyncIterator[dict[str, Any] | None]:
    """Warm up before the first visitor comes, so that nobody waits for imports."""
    runtime.warm()
    yield None


app = st.App(Path(__file__).with_name("app.py"), middleware=[Middleware(Guard)], on_script_error=failed, lifespan=ready)
