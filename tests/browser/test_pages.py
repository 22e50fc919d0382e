"""The pages in a real browser: the newcomer's path, deep links, clicks on figures, accessibility, nothing foreign."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from audit_core import bundled
from tests.support.server import ROOT, START, Server, free_port
from tests.support.zoo import build

pytestmark = pytest.mark.browser
PAGES = (
    "summary", "churn", "transitions", "evidence", "trajectories", "refusals", "judges", "compare", "ledger", "report",
)  # fmt: skip
THEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
READY = (
    "document.querySelectorAll('[data-testid=stSkeleton]').length === 0 && "
    "[...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(e => e.querySelector('.main-svg'))"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    db = build(folder, also=bundled.studies())
    with Server(db, folder / "reviews.db", folder / "server.log") as running:
        yield running


@pytest.fixture
def visit(server, page):
    def go(view: str = "", **address: str):
        query = "&".join(f"{key}={value}" for key, value in address.items())
        page.goto(f"{server.url}/{'' if view == 'summary' else view}?{query}")
        settled(page)
        return page

    return go


def settled(page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_selector("h1")
    page.wait_for_function(READY)


def serious(page) -> list[tuple[str, list[str]]]:
    """Accessibility violations that keep somebody out, with the first places of each."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    return [
        (violation["id"], [node["html"][:160] for node in violation["nodes"]][:3])
        for violation in found.response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def asked(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_newcomer_goes_from_the_summary_to_the_flips(visit):
    page = visit("summary", study="nq-400")
    expect(page.locator("h1")).to_contain_text("changed answers beyond ordinary repeat noise")
    expect(page.get_by_text("10.25 pp").first).to_be_visible()
    page.get_by_role("link", name="40 repeat-stable flips").click()
    page.wait_for_url(re.compile("/triage"))
    settled(page)
    assert asked(page)["study"] == ["nq-400"]
    expect(page.get_by_text("0 of 40 reviewed")).to_be_visible()
    page.get_by_role("link", name="Summary").click()
    page.wait_for_url(lambda url: "/triage" not in url)
    settled(page)
    expect(page.locator("h1")).to_contain_text("changed answers beyond")


@pytest.mark.parametrize("view", PAGES)
def test_a_deep_link_and_a_reload_show_the_same_page(visit, view):
    page = visit(view, study="triviaqa-200", old="n1", new="n3", kernel="exact")
    for _ in range(2):
        expect(page.locator(".sa-pills").first).to_contain_text("TriviaQA")
        expect(page.locator(".sa-pills").first).to_contain_text("n3")
        assert asked(page) == {"study": ["triviaqa-200"], "old": ["n1"], "new": ["n3"], "kernel": ["exact"]}
        page.reload()
        settled(page)


def test_the_comparison_persists_over_pages_and_goes_back(visit):
    page = visit("churn", study="triviaqa-200")
    page.get_by_role("radio", name="normalized exact").click()
    expect(page.locator("p.lead")).to_contain_text("normalized exact")
    page.get_by_role("link", name="Evidence").click()
    page.wait_for_url(re.compile("/evidence"))
    settled(page)
    page.wait_for_url(re.compile("kernel=exact"))
    assert asked(page)["study"] == ["triviaqa-200"]


def click_mark(page, figure: str, text: str) -> None:
    """Click a marker of a figure by the place where plotly drew its `customdata`."""
    place = page.evaluate(
        """([figure, wanted]) => {
            const plot = document.querySelector(`[class*="st-key-figure-${figure}-"] .js-plotly-plot`);
            for (const trace of plot._fullData) {
                const at = [...(trace.customdata || [])].map(String).indexOf(wanted);
                if (at < 0) continue;
                const x = plot._fullLayout.xaxis, y = plot._fullLayout.yaxis, box = plot.getBoundingClientRect();
                const top = trace.base ? trace.y[at] / 2 : trace.y[at];
                const mid = trace.type === 'bar' ? top / 2 : top;
                return [box.left + x._offset + x.d2p(trace.x[at]), box.top + y._offset + y.d2p(mid)];
            }
        }""",
        [figure, text],
    )
    page.mouse.move(*place)
    page.wait_for_timeout(150)  # plotly looks for the nearest mark at the mouse's pace
    page.mouse.click(*place)


@pytest.mark.parametrize(
    ("view", "figure", "mark", "expected"),
    [
        ("churn", "matrix", "1-2", {"old": ["n1"], "new": ["n3"], "queue": ["flips"]}),
        ("churn", "contrasts", "1", {"contrast": ["1"], "queue": ["all"]}),
        ("transitions", "transitions", "different_nonmatch", {"queue": ["different_nonmatch"]}),
        ("evidence", "overlap-contrast", "1|0", {"shared": ["1"], "contrast": ["0"]}),
        ("trajectories", "classes", "1:A>B", {"queue": ["all"]}),
    ],
)
def test_a_click_on_a_figure_opens_its_questions(visit, view, figure, mark, expected):
    page = visit(view, study="nq-400")
    page.locator(f"[class*='st-key-figure-{figure}-']").scroll_into_view_if_needed()
    click_mark(page, figure, mark)
    page.wait_for_url(re.compile("/triage"))
    settled(page)
    found = asked(page)
    assert {key: found[key] for key in expected} == expected
    if figure == "classes":
        assert len(found["only"]) == 11
    page.get_by_role("link", name=view.capitalize()).click()
    page.wait_for_url(re.compile(view))
    settled(page)
    page.wait_for_timeout(500)  # a click that were remembered would lead back to Triage now
    assert f"/{view}" in page.url


@THEMES
@pytest.mark.parametrize("view", PAGES)
def test_no_serious_accessibility_violation(server, browser, view, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1360, "height": 900})
    page = context.new_page()
    page.goto(f"{server.url}/{'' if view == 'summary' else view}?study=nq-400")
    settled(page)
    found = serious(page)
    context.close()
    assert not found


@THEMES
def test_figures_follow_the_theme(server, browser, scheme):
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{server.url}/churn?study=nq-400")
    settled(page)
    fill = page.locator(".js-plotly-plot text").first.evaluate("e => getComputedStyle(e).fill")
    ground = page.locator("[data-testid=stApp]").evaluate("e => getComputedStyle(e).backgroundColor")
    context.close()
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 21, 28)"}[scheme]
    assert (min(map(int, re.findall(r"\d+", fill)[:3])) > 128) is (scheme == "dark")


def test_every_answer_carries_the_policy(server):
    for path in ("/", "/churn", "/_stcore/health"):
        with urllib.request.urlopen(server.url + path) as answer:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "connect-src 'self';" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


LEADS_OUT = (
    "[...document.querySelectorAll('[data-testid=stMain] a, [data-testid=stMain] img, [data-testid=stMain] iframe')]"
    ".filter(e => e.tagName !== 'A' || e.host !== location.host).map(e => e.outerHTML.slice(0, 200))"
)


@pytest.mark.parametrize("study", ["hostile", "nq-400"])
def test_no_page_requests_or_renders_anything_foreign(server, visit, page, study):
    wanted: list[str] = []
    page.on("request", lambda request: wanted.append(request.url))
    for view in PAGES:
        visit(view, study=study)
        assert page.evaluate(LEADS_OUT) == [], view
        for summary in page.locator("[data-testid=stExpander] summary").all():
            summary.click()
        page.wait_for_function(READY)
    foreign = [
        url for url in wanted if not url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:"))
    ]
    assert not foreign


def test_tables_offer_only_our_own_download(visit):
    page = visit("churn", study="nq-400")
    page.locator("[data-testid=stDataFrame]:visible").first.hover()
    page.wait_for_timeout(300)
    assert page.get_by_role("button", name="Download as CSV").count() == 0 or not any(
        button.is_visible() for button in page.get_by_role("button", name="Download as CSV").all()
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").last.click()
    assert download.value.path().read_bytes().startswith(b'\xef\xbb\xbf"')


def test_narrow_windows_have_no_sideways_scroll(server, browser):
    context = browser.new_context(viewport={"width": 900, "height": 900})
    page = context.new_page()
    for view in PAGES:
        page.goto(f"{server.url}/{'' if view == 'summary' else view}?study=nq-400")
        settled(page)
        wide = page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth")
        assert wide <= 1, view
    context.close()


def test_a_busy_port_is_an_error_in_words(server, tmp_path):
    command = [sys.executable, "-c", START, str(tmp_path / "a.db"), str(tmp_path / "r.db"), str(server.port)]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"the dashboard cannot listen on port {server.port}" in done.stderr
    assert "choose another with --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_address_is_printed_when_the_server_answers(tmp_path):
    port = free_port()
    command = [sys.executable, "-c", START, str(tmp_path / "a.db"), str(tmp_path / "r.db"), str(port)]
    with subprocess.Popen(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert f"http://127.0.0.1:{port}" in line
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                assert answer.read() == b"ok"
        finally:
            process.terminate()


@THEMES
@pytest.mark.parametrize("address", [{"study": "v4pro-100", "other": "nq-400"}, {"study": "help-centre"}])
def test_two_studies_are_compared_and_open_their_flips(visit, page, scheme, address):
    page.emulate_media(color_scheme=scheme)
    visit("compare", **address)
    assert serious(page) == []
    if "other" not in address:
        expect(page.get_by_text("No other study here can be compared with this one.")).to_be_visible()
        return
    expect(page.get_by_text("never pooled")).to_be_visible()
    page.get_by_role("link", name="7", exact=True).click()
    page.wait_for_url(re.compile("/triage"))
    settled(page)
    assert asked(page)["study"] == ["nq-400"]
    assert len(asked(page)["only"]) == 7
