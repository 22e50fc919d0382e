"""Requests that no page would send, to a real server: forged names, headers, sites, and a viewer's saves."""

from __future__ import annotations

import http.client
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit_core.reviews.chosen import FILE, choose
from audit_core.reviews.events import Event
from audit_core.reviews.store import ReviewStore
from tests.support import desk
from tests.support.server import Server
from tests.support.socket import Session, refused

SECRET = "proof-0123456789abcdef"
TEAM = """
[sign_in]
how = "proxy"
header = "X-Forwarded-User"
secret_header = "X-Proxy-Secret"
secret_variable = "PROOF"
contact = "Ada in room 12"
[people]
"ada@example.org" = "adjudicator"
"réa@example.org" = "reviewer"
"vi@example.org" = "viewer"
"""
PROOF = ("X-Proxy-Secret", SECRET)
ADDRESS = "study=desk&reviewer=ada@example.org&name=ada@example.org&user=ada@example.org&email=ada@example.org"
STUDY_WORDS = re.compile("What about|triage-card|seven")


def user(name: str) -> tuple[str, str]:
    return "X-Forwarded-User", name


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    return desk.database(folder, desk.contradiction(folder))


@pytest.fixture(scope="module")
def proxied(db: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Behind a proxy; its working directory and environment want another security than ours."""
    folder = tmp_path_factory.mktemp("proxied")
    (folder / "team.toml").write_text(TEAM, encoding="utf-8")
    (folder / ".streamlit").mkdir()
    trust = '{"X-Evil": "name_from_proxy", "X-Evil-2": "email"}'
    (folder / ".streamlit" / "config.toml").write_text(
        f"[server]\nenableCORS = false\nenableAgentApi = true\ntrustedUserHeaders = '{trust}'\n"
    )
    env = {"SNAPSHOT_AUDIT_TEAM": str(folder / "team.toml"), "PROOF": SECRET,
           "STREAMLIT_SERVER_TRUSTED_USER_HEADERS": trust, "STREAMLIT_SERVER_ENABLE_AGENT_API": "true"}  # fmt: skip
    with Server(db, folder / "reviews.db", folder / "log", env) as running:
        yield running


@pytest.fixture(scope="module")
def local(db: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("local")
    with Server(db, folder / "reviews.db", folder / "log") as running:
        yield running


def stored(server: Server) -> list[Event]:
    return list(ReviewStore(server.reviews).fold().trail)


def pressed(session: Session, *actions: tuple[str, str]) -> Session:
    """Send presses as the page's own script would, on the question that the page has sent."""
    item = re.search(r'data-item=\\?"(\w+)', session.text)
    assert item, "the page sent no question"
    tab = secrets.token_hex(8)
    log = [{"n": n, "t": tab, "a": action, "v": value, "i": item[1], "b": 0, "u": 0}
           for n, (action, value) in enumerate(actions, 1)]  # fmt: skip
    widget = session.widget("triage-keys")
    assert widget
    return session.run({widget: {"log": log}})


ALL = (("verdict:regression", ""), ("impact:high", ""), ("cause:x", ""), ("note", "a note"), ("reveal", ""),
       ("undo", ""), ("retry", ""))  # fmt: skip


def test_a_proxy_with_the_secret_says_who_it_is(proxied: Server):
    before = len(stored(proxied))
    for name, known in (("ada@example.org", "ada@example.org"), ("RÉA@example.org", "réa@example.org")):
        header = user(name.encode().decode("latin-1"))  # UTF-8, as a proxy writes it
        with Session(proxied.url, [header, PROOF], query="study=desk&reviewer=eve") as session:
            pressed(session.run(), ("verdict:regression", ""))
        assert stored(proxied)[-1].reviewer == known
    assert len(stored(proxied)) == before + 2


def test_a_viewer_can_store_nothing_by_any_press(proxied: Server):
    before = stored(proxied)
    with Session(proxied.url, [user("vi@example.org"), PROOF], query=ADDRESS) as session:
        session.run()
        for action in ALL:
            pressed(session, action)
        pressed(session, *ALL)
    assert stored(proxied) == before


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [PROOF],
        [user("ada@example.org")],
        [user("ada@example.org"), ("X-Proxy-Secret", "wrong-0123456789abcdef")],
        [user("ada@example.org"), ("X_Proxy_Secret", SECRET), PROOF],
        [user("ada@example.org"), user("ada@example.org"), PROOF],
        [user("ada@example.org"), ("x_forwarded_user", "ada@example.org"), PROOF],
        [("X_Forwarded_User", "ada@example.org"), ("X-Forwarded-User2", "ada@example.org"), PROOF],
        [("X-Evil", "ada@example.org"), ("X-Evil-2", "ada@example.org"), PROOF],
        [("Cookie", "_streamlit_user=forged; name_from_proxy=ada@example.org"), PROOF],
        [user("eve@example.org"), PROOF],
        [user("local:ada@example.org"), PROOF],
        [user(""), PROOF],
    ],
)
def test_a_forged_name_sees_no_study_and_stores_nothing(proxied: Server, headers: list[tuple[str, str]]):
    before = stored(proxied)
    with Session(proxied.url, headers, query=ADDRESS) as session:
        session.run()
        assert "Ada in room 12" in session.text
        for page in ("", "churn", "ledger", "triage"):
            session.page = page
            session.run({"$$ID-a048ccb795ed1421ccbea305c55b4d7a-triage-keys": {"log": [
                {"n": 1, "t": "f", "a": "verdict:regression", "v": "", "i": "x", "b": 0, "u": 0}]}})  # fmt: skip
        assert not STUDY_WORDS.search(session.text)
    assert stored(proxied) == before


def test_who_becomes_a_viewer_with_the_page_open_stores_nothing_more(proxied: Server):
    path = Path(proxied.env["SNAPSHOT_AUDIT_TEAM"])
    with Session(proxied.url, [user("ada@example.org"), PROOF], query="study=desk") as session:
        session.run()
        before = stored(proxied)
        try:
            path.write_text(TEAM.replace('"ada@example.org" = "adjudicator"', '"ada@example.org" = "viewer"'))
            pressed(session, ("verdict:improvement", ""))
            assert stored(proxied) == before
            path.write_text(TEAM.replace('"ada@example.org" = "adjudicator"\n', ""))
            item = {"n": 9, "t": "late", "a": "verdict:improvement", "v": "", "i": "x", "b": 0, "u": 0}
            session.run({session.widget("triage-keys"): {"log": [item]}})
            assert stored(proxied) == before
        finally:
            path.write_text(TEAM)


def test_who_is_taken_off_the_team_with_the_page_open_reads_nothing_more(proxied: Server):
    path = Path(proxied.env["SNAPSHOT_AUDIT_TEAM"])
    with Session(proxied.url, [user("vi@example.org"), PROOF], query="study=desk") as session:
        session.run()
        assert session.fragment
        try:
            session.elements.clear()
            session.run(fragment=session.fragment)
            assert STUDY_WORDS.search(session.text)
            path.write_text(TEAM.replace('"vi@example.org" = "viewer"\n', ""))
            session.elements.clear()
            session.run(fragment=session.fragment)
            assert not STUDY_WORDS.search(session.text)
            assert "Ada in room 12" in session.text
        finally:
            path.write_text(TEAM)


def test_addresses_and_headers_do_not_name_the_local_reviewer(local: Server):
    before = len(stored(local))
    headers = [user("ada@example.org"), ("X-Evil", "ada@example.org"), ("X-Proxy-Secret", SECRET)]
    with Session(local.url, headers, query=ADDRESS) as session:
        pressed(session.run(), ("verdict:regression", ""))
    events = stored(local)[before:]
    assert [event.kind for event in events] == ["verdict"]
    assert events[0].reviewer.startswith("local:")
    assert "ada" not in events[0].reviewer


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_what_came_through_a_proxy_that_nobody_set_up_may_only_look(local: Server, header: str):
    before = stored(local)
    with Session(local.url, [(header, "for=203.0.113.7" if header == "Forwarded" else "203.0.113.7")]) as session:
        session.run()
        assert "can be reached from other machines" in session.text
        pressed(session, ("verdict:regression", ""))
    assert stored(local) == before


def test_a_server_for_other_machines_without_sign_in_stores_nothing(db: Path, tmp_path: Path):
    with Server(db, tmp_path / "reviews.db", tmp_path / "log", {"SNAPSHOT_AUDIT_REVIEWER": "Ada"}, "0.0.0.0") as server:
        with Session(server.url) as session:
            session.run()
            assert "can be reached from other machines" in session.text
            pressed(session, ("verdict:regression", ""))
        assert not server.reviews.exists() or stored(server) == []
        with Session(server.url, page="") as session:
            session.run()
            assert session.widget("who-name") == ""


def test_a_second_form_post_does_not_change_the_name(db: Path, tmp_path: Path):
    with Server(db, tmp_path / "reviews.db", tmp_path / "log") as server:
        with Session(server.url, page="") as session:
            session.run()
            field, button = session.widget("who-name"), session.widget("FormSubmitter:who-form-Keep this name")
            assert field
            choose(server.reviews, "Ada")
            for name in ("Mallory", "Ada"):
                session.run({field: name, button: True})
        assert server.reviews.with_name(FILE).read_text() == '{"name": "Ada"}\n'


@pytest.mark.parametrize(
    ("origin", "status"),
    [(None, 101), ("own", 101), ("http://evil.example", 403), ("http://localhost:3000", 403),
     ("http://127.0.0.1:3000", 403), ("null", 403)],
)  # fmt: skip
def test_a_socket_opens_for_the_own_site_only(local: Server, origin: str | None, status: int):
    assert refused(local.url, origin=local.url if origin == "own" else origin) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("localhost", 200), ("[::1]:1", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403)],
)
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/media/x.csv"])
def test_a_host_that_is_not_ours_gets_nothing(local: Server, host: str, status: int, path: str):
    connection = http.client.HTTPConnection("127.0.0.1", local.port, timeout=20)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    assert answer.status == (404 if status == 200 and path.startswith("/media") else status)
    assert answer.getheader("X-Frame-Options") == "DENY"
    connection.close()


def test_the_agent_api_stays_shut_whatever_the_working_directory_says(proxied: Server):
    connection = http.client.HTTPConnection("127.0.0.1", proxied.port, timeout=20)
    connection.request("POST", "/_stcore/agent/interact", body=b"{}", headers={"Content-Type": "application/json"})
    assert connection.getresponse().status in (403, 404)
    connection.close()
