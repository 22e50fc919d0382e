"""Who somebody is to the dashboard: headers, claims, files and addresses that say it, truly or not."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from audit_core.errors import InputError
from audit_core.reviews.chosen import FILE
from audit_core.reviews.roster import SignIn
from dashboard import launch, runtime, sign_in
from dashboard.gate import Gate, gate
from tests.support import desk
from tests.support.server import ROOT

SECRET = "proof-0123456789abcdef"
PROXY = SignIn("proxy", header="X-Forwarded-User", secret_header="X-Proxy-Secret", secret_variable="PROOF")
HOST = (b"host", b"127.0.0.1:8501")
NAME, PROOF = (b"x-forwarded-user", b"ada"), (b"x-proxy-secret", SECRET.encode())


def scope(*headers: tuple[bytes, bytes], kind: str = "http") -> dict[str, object]:
    return {"type": kind, "headers": [HOST, *headers]}


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setenv("PROOF", SECRET)
    return gate(PROXY, "127.0.0.1")


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "names"),
    [
        ([NAME], 0),
        ([NAME, (b"x-proxy-secret", b"wrong")], 0),
        ([NAME, (b"x-proxy-secret", b"")], 0),
        ([NAME, (b"x-proxy-secret", SECRET.encode() + b" ")], 0),
        ([NAME, (b"x-proxy-secret", SECRET.upper().encode())], 0),
        ([NAME, (b"x-proxy-secret", "pröof".encode("latin-1"))], 0),
        ([NAME, PROOF], 1),
        ([NAME, (b"X-Proxy-Secret", SECRET.encode())], 1),
        ([(b"X-FORWARDED-USER", b"ada"), PROOF], 1),
        ([NAME, PROOF, PROOF], 0),
        ([NAME, PROOF, (b"x-proxy-secret", b"wrong")], 0),
        ([NAME, NAME, PROOF], 0),
        ([NAME, (b"X-Forwarded-User", b"eve"), PROOF], 0),
        ([NAME, (b"x_forwarded_user", b"eve"), PROOF], 0),
        ([(b"x_forwarded_user", b"eve")], 0),
        ([(b"X_Forwarded-User", b"eve")], 0),
        ([PROOF], 0),
    ],
)
def test_a_name_in_a_header_needs_the_secret_and_no_rival(proxy: Gate, kind: str, headers, names: int):
    admitted = proxy.admit(scope(*headers, kind=kind))["headers"]
    plain = [name.decode().lower().replace("_", "-") for name, _ in admitted]
    assert plain.count("x-forwarded-user") == names
    assert plain.count("x-proxy-secret") == 0  # no page can show what it does not get
    assert HOST in admitted


@pytest.mark.parametrize("value", [None, "", "short"])
def test_without_a_secret_nothing_starts(monkeypatch: pytest.MonkeyPatch, value: str | None):
    monkeypatch.delenv("PROOF", raising=False)
    if value is not None:
        monkeypatch.setenv("PROOF", value)
    with pytest.raises(InputError, match="PROOF") as caught:
        gate(PROXY, "127.0.0.1")
    assert "short" not in caught.value.problems[0].found


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("127.0.0.1:8501", None, True),
        ("[::1]:8501", None, True),
        ("10.1.2.3:8501", "http://10.1.2.3:8501", True),
        ("LocalHost:8501", "http://localhost:8501", True),
        ("localhost.:8501", None, True),
        ("audit.example.org", "https://audit.example.org", True),
        ("audit.example.org:444", "https://AUDIT.example.org:444", True),
        ("evil.example:8501", None, False),
        ("127.0.0.1.evil.example", None, False),
        ("audit.example.org.evil.example", None, False),
        ("", None, False),
        ("[::1", None, False),
        ("127.0.0.1:8501", "http://evil.example", False),
        ("127.0.0.1:8501", "http://127.0.0.1:3000", False),
        ("127.0.0.1:8501", "http://localhost:8501", False),
        ("127.0.0.1:8501", "null", False),
        ("127.0.0.1:8501", "", False),
        ("127.0.0.1:8501", "http://[", False),
    ],
)
def test_hosts_and_origins(host: str, origin: str | None, passes: bool):
    found = gate(SignIn(hosts=("audit.example.org",)), "127.0.0.1")
    headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin is not None else [])]
    assert (found.refuses({"type": "http", "headers": headers}) == "") is passes


def test_two_hosts_are_none(proxy: Gate):
    assert proxy.refuses(scope(HOST))
    assert proxy.refuses({"type": "http", "headers": []})


def test_a_proxy_with_the_secret_may_use_any_host_and_still_no_foreign_origin(proxy: Gate):
    def asked(*headers: tuple[bytes, bytes]) -> str:
        return proxy.refuses({"type": "websocket", "headers": [(b"host", b"review.example"), *headers]})

    assert asked()
    assert asked(PROOF) == ""
    assert asked(PROOF, (b"origin", b"https://review.example")) == ""
    assert asked(PROOF, (b"origin", b"https://evil.example"))


GOOD = (
    '[auth]\nredirect_uri = "https://audit.example.org/oauth2callback"\n'
    'cookie_secret = "0123456789abcdef0123456789abcdef"\nclient_id = "i"\nclient_secret = "client-hush"\n'
    'server_metadata_url = "https://id.example/.well-known/openid-configuration"\n'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "signing in needs secrets"),
        ("[auth", "the secrets cannot be read"),
        ("[other]\na = 1", "the secrets say nothing about signing in"),
        ("[auth]", "auth.server_metadata_url"),
        (GOOD.replace("client_id", "id"), "auth.client_id"),
        (GOOD.replace("0123456789abcdef0123456789abcdef", "hush"), "auth.cookie_secret is too short"),
        (GOOD.replace("/oauth2callback", "/"), "auth.redirect_uri is not ours"),
    ],
)
def test_a_sign_in_without_its_secrets_does_not_start(tmp_path: Path, text: str | None, expected: str):
    if text is not None:
        (tmp_path / ".streamlit").mkdir()
        (tmp_path / ".streamlit" / "secrets.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        sign_in.options(SignIn("oidc"), tmp_path / "team.toml")
    assert expected in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_named_provider(tmp_path: Path):
    (tmp_path / ".streamlit").mkdir()
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    secrets.write_text(GOOD)
    assert sign_in.options(SignIn("oidc"), tmp_path / "team.toml")["secrets.files"] == [str(secrets)]
    with pytest.raises(InputError, match="the provider is not in the secrets"):
        sign_in.options(SignIn("oidc", provider="okta"), tmp_path / "team.toml")
    secrets.write_text(GOOD.replace("client_id", "[auth.okta]\nclient_id"))
    assert sign_in.options(SignIn("oidc", provider="okta"), tmp_path / "team.toml")
    assert sign_in.public(SignIn("oidc"), tmp_path / "team.toml") == "https://audit.example.org/oauth2callback"


@pytest.mark.parametrize("missing", ["authlib", "httpx"])
def test_a_sign_in_without_its_packages_says_how_to_install_them(tmp_path: Path, missing: str):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(GOOD)
    (tmp_path / "team.toml").write_text('[sign_in]\nhow = "oidc"\n[people]\n"a@b.c" = "viewer"\n')
    hide = (
        "import sys, importlib.util as u; from pathlib import Path; real = u.find_spec; "
        f"u.find_spec = lambda name, *a: None if name == {missing!r} else real(name, *a); "
        "from dashboard.launch import launch; p = Path(sys.argv[1]); "
        "sys.exit(launch(p / 'audit.db', p / 'reviews.db', 0, team=p / 'team.toml'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", hide, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 2
    assert "pip install 'snapshot-audit[signin]'" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("team", "reviewer", "expected"),
    [
        ("colour = 1", None, "unknown entry"),
        ('[people]\nAda = "reviewer"', "Bo", "this name is not in the team file"),
        ("", "A\u200bda", "this cannot be a name"),
        ('[sign_in]\nhow = "proxy"\nheader = "X-A"\nsecret_header = "X-B"\nsecret_variable = "NOWHERE"\n[people]\nA = '
         '"viewer"', None, "the proxy's secret is missing"),
        ('[sign_in]\nhow = "oidc"\n[people]\n"a@b.c" = "viewer"', "Ada", "a name cannot be given here"),
    ],
)  # fmt: skip
def test_what_a_start_refuses(tmp_path: Path, capsys, team: str, reviewer: str | None, expected: str):
    (tmp_path / "team.toml").write_text(team)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = launch.launch(tmp_path / "a.db", tmp_path / "r.db", port, team=tmp_path / "team.toml", reviewer=reviewer)
    assert code == 2
    assert expected in capsys.readouterr().err


def test_the_command_passes_team_and_reviewer_on(tmp_path: Path, db: Path):
    (tmp_path / "team.toml").write_text('[people]\nAda = "boss"\n"ada" = "viewer"\n')

    def started(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "audit_core.cli", "dashboard", "--db", str(db), "--port", "8999", *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    bad = started("--team", str(tmp_path / "team.toml"))
    assert (bad.returncode, bad.stderr.count("error: "), bad.stdout) == (2, 2, "")
    assert started("--team", str(tmp_path / "none.toml")).returncode == 2
    assert "this cannot be a name" in started("--reviewer= x").stderr


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identity")
    return desk.database(folder, desk.contradiction(folder))


@pytest.fixture
def page(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """The first page for somebody with claims, under a team file."""
    monkeypatch.setenv(runtime.DATABASE, str(db))
    monkeypatch.setenv(runtime.REVIEWS, str(tmp_path / "reviews.db"))

    def opened(team: str | None = None, claims: dict[str, object] | None = None, **address: str) -> AppTest:
        if team is not None:
            (tmp_path / "team.toml").write_text(team)
            monkeypatch.setenv(runtime.TEAM, str(tmp_path / "team.toml"))
        at = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
        at.user = claims or {}
        for key, value in address.items():
            at.query_params[key] = value
        return at.run()

    return opened


def who(at: AppTest) -> str:
    found = [block.proto.body for block in at.get("html") if "sa-who" in block.proto.body and "<style>" not in
             block.proto.body]  # fmt: skip
    return found[0] if found else ""


def told(at: AppTest) -> str:
    return "\n".join(block.proto.body for block in at.get("html") if "sa-banner" in block.proto.body and "<style>"
                     not in block.proto.body)  # fmt: skip


CLAIMS = {"is_logged_in": True, "email": "ada@example.org", "email_verified": True, "iat": time.time()}
OIDC = '[sign_in]\nhow = "oidc"\n[people]\n"ada@example.org" = "reviewer"\n'


@pytest.mark.parametrize(
    ("claims", "let_in"),
    [
        ({}, False),
        ({"is_logged_in": False}, False),
        ({"is_logged_in": "true"}, False),
        ({"email_verified": False}, False),
        ({"email_verified": "true"}, False),
        ({"email_verified": 1}, False),
        ({"email": None}, False),
        ({"email": ""}, False),
        ({"email": ["ada@example.org"]}, False),
        ({"email": "ada@example.org\u200b"}, False),
        ({"email": "ada@example.org "}, False),
        ({"email": "local:ada@example.org"}, False),
        ({"email": "eve@example.org"}, False),
        ({"iat": None}, False),
        ({"iat": time.time() - 90_000}, False),
        ({"email": "ADA@EXAMPLE.ORG"}, True),
    ],
)
def test_claims(page, claims: dict[str, object], let_in: bool):
    at = page(OIDC, {**CLAIMS, **claims} if claims else {}, reviewer="ada@example.org", user="ada@example.org")
    assert ("ada@example.org</b><span>reviewer</span>" in who(at)) is let_in
    assert (len(at.selectbox) > 0) is let_in
    assert not at.exception


def test_claims_of_a_sign_in_are_nothing_where_the_team_file_wants_a_proxy(page, monkeypatch):
    monkeypatch.setenv("PROOF", SECRET)
    team = '[sign_in]\nhow = "proxy"\nheader = "X-A"\nsecret_header = "X-B"\nsecret_variable = "PROOF"\n[people]\n'
    team += '"ada@example.org" = "reviewer"\n'
    assert "through a proxy" in told(page(team, CLAIMS))
    assert "reviewer" in who(page(team, {runtime.PROXIED: "ada@example.org"}))
    assert "not on this team" in told(page(team, {runtime.PROXIED: "Ã©"}))


def test_claims_are_nothing_where_nobody_signs_in(page):
    assert "local:" in who(page(None, CLAIMS))


def test_the_address_says_nothing_about_who(page, tmp_path):
    (tmp_path / FILE).write_text('{"name": "Ada"}')
    at = page(None, None, reviewer="eve", name="eve", user="eve", who="eve")
    assert 'title="local:Ada"' in who(at)
    assert "eve" not in who(at)


@pytest.mark.parametrize("team", ["", '[people]\nAda = "adjudicator"\n'])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "audit.example.org", ""])
def test_who_can_be_reached_from_elsewhere_lets_everyone_only_look(page, monkeypatch, team, host):
    monkeypatch.setenv(runtime.HOST, host)
    monkeypatch.setenv(runtime.REVIEWER, "Ada")
    at = page(team)
    assert "viewer" in who(at)
    assert "can be reached from other machines" in told(at)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost"])
def test_this_machine_alone_may_record(page, monkeypatch, host):
    monkeypatch.setenv(runtime.HOST, host)
    assert "adjudicator" in who(page())


def test_a_local_team_offers_its_names_until_one_is_chosen(page, tmp_path):
    team = '[people]\nAda = "adjudicator"\nBo = "reviewer"\n'
    at = page(team)
    assert "viewer" in who(at)
    assert "Say who you are" in told(at)
    box = next(box for box in at.selectbox if box.label == "Who are you?")
    assert box.options == ["Ada", "Bo"]
    box.select("Bo")
    next(button for button in at.button if button.label == "Keep this name").click().run()
    assert 'title="local:Bo"' in who(at)
    assert "reviewer" in who(at)
    assert (tmp_path / FILE).read_text() == '{"name": "Bo"}\n'


def test_a_name_that_left_the_team_may_only_look(page, tmp_path):
    (tmp_path / FILE).write_text('{"name": "Cy"}')
    at = page('[people]\nAda = "adjudicator"\n')
    assert "viewer" in who(at)
    assert "not in the team file" in told(at)


def test_a_damaged_choice_lets_only_look_and_says_so(page, tmp_path):
    (tmp_path / FILE).write_text("{")
    at = page()
    assert "viewer" in who(at)
    assert "the chosen name cannot be read" in told(at)


def test_a_team_file_that_was_never_good_lets_nobody_in(page):
    at = page("colour = 1")
    assert "cannot be used, so nobody is let in" in told(at)
    assert len(at.selectbox) == 0


def test_names_are_shown_as_text(page, tmp_path):
    (tmp_path / FILE).write_text('{"name": "<b>**x**</b> $y$"}')
    assert "&lt;b&gt;**x**&lt;/b&gt; $y$" in who(page())
