"""A small OpenID provider on loopback: whoever clicks a name is that person, with the claims the test gave it."""

from __future__ import annotations

import html
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "snapshot-audit", "client-secret-for-tests"


class Provider:
    """Started with the people it knows: claims by the text of their link."""

    def __init__(self, people: dict[str, dict[str, Any]]) -> None:
        self.people = people
        self.key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig", "alg": "RS256"})
        self.codes: dict[str, tuple[dict[str, Any], str]] = {}
        self.asked: list[str] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.token(self)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Provider:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:  # fmt: skip
        self.server.shutdown()
        self.server.server_close()

    def secrets(self, folder: Path, port: int) -> None:
        """Write the dashboard's secrets beside a team file."""
        (folder / ".streamlit").mkdir(exist_ok=True)
        (folder / ".streamlit" / "secrets.toml").write_text(
            f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            f'cookie_secret = "{secrets.token_hex(32)}"\nclient_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{self.url}/.well-known/openid-configuration"\n'
        )

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        address = urlsplit(handler.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.asked.append(address.path)
        if address.path == "/.well-known/openid-configuration":
            answer(handler, {
                "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys",
                "end_session_endpoint": f"{self.url}/end", "code_challenge_methods_supported": ["S256"],
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"]})  # fmt: skip
        elif address.path == "/keys":
            answer(handler, {"keys": [self.key.as_dict(private=False)]})
        elif address.path == "/authorize":
            links = "".join(
                f'<p><a href="/approve?{html.escape(urlencode({**asked, "who": name}))}">{html.escape(name)}</a></p>'
                for name in self.people)  # fmt: skip
            answer(handler, f"<!doctype html><title>Provider</title><h1>Who are you?</h1>{links}")
        elif address.path == "/approve":
            code = secrets.token_hex(8)
            self.codes[code] = (self.people[asked["who"]], asked["nonce"])
            move(handler, f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")
        elif address.path == "/end":
            move(handler, asked["post_logout_redirect_uri"])
        else:
            answer(handler, {"error": "no such page"}, 404)

    def token(self, handler: BaseHTTPRequestHandler) -> None:
        sent = parse_qs(handler.rfile.read(int(handler.headers["Content-Length"])).decode())
        claims, nonce = self.codes.pop(sent["code"][0])
        now = int(time.time())
        said = {"iss": self.url, "aud": CLIENT, "sub": claims.get("email", "x"), "iat": now, "exp": now + 300,
                "nonce": nonce, **claims}  # fmt: skip
        token = jwt.encode({"alg": "RS256", "kid": "test"}, said, self.key)
        answer(handler, {"access_token": "a", "token_type": "Bearer", "expires_in": 300, "id_token": token})


def answer(handler: BaseHTTPRequestHandler, content: str | dict[str, Any], status: int = 200) -> None:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "text/html" if isinstance(content, str) else "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def move(handler: BaseHTTPRequestHandler, target: str) -> None:
    handler.send_response(302)
    handler.send_header("Location", target)
    handler.send_header("Content-Length", "0")
    handler.end_headers()
