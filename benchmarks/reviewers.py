"""Twenty people at once on one dashboard: from the press of a verdict key to the next question, and what is on disk.

Each person is a session that speaks Streamlit's own websocket protocol, with the name that a trusted proxy would give.
A session does what a browser does: it opens Triage, waits for a card, thinks, presses, and waits for the next card.
"""

from __future__ import annotations

import collections
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.browser import wait
from benchmarks.made import table

PEOPLE, QUESTIONS, PRESSES = 20, 10_000, 30
THINKING = (1.0, 3.0)
"""Seconds between a card and the press, drawn anew each time."""
SECRET = "of the benchmark alone, on this machine alone"


@dataclass(frozen=True)
class Crowd:
    """What came of it.

    Attributes:
        times: Milliseconds from the press to the next question, one per press.
        acknowledged: Presses after which the page went on.
        stored: Verdicts on disk.
        lost: Acknowledged and not on disk.
        doubled: On disk more often than pressed.
        journal: Lines of the second medium.
        seconds: Of the whole run.
        cpu: Milliseconds of processor time that the server took for a press, everything included.
    """

    people: int
    questions: int
    times: list[float]
    acknowledged: int
    stored: int
    lost: int
    doubled: int
    journal: int
    seconds: float
    cpu: float

    def share(self, part: float) -> float:
        """A quantile of the times."""
        return sorted(self.times)[int(part * (len(self.times) - 1))]


def measure(folder: Path, say: Callable[[str], None], people: int = PEOPLE, questions: int = QUESTIONS,
            presses: int = PRESSES) -> Crowd:  # fmt: skip
    """Build a study, serve it, and let everyone work."""
    from audit_core.reviews.store import ReviewStore

    db, reviews, study = folder / "crowd.db", folder / "crowd-reviews.db", folder / "crowd"
    rows = table(folder / "crowd.csv", questions, evidence=True)
    tool = [sys.executable, "-m", "audit_core.cli"]
    for command in (["import", "table", str(rows), "--study", str(study)], ["load", str(study), "--db", str(db)]):
        subprocess.run([*tool, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    team = folder / "team.toml"
    names = [f"reviewer-{i:02d}@example.org" for i in range(people)]
    listed = "\n".join(f'"{name}" = "reviewer"' for name in names)
    team.write_text(
        '[sign_in]\nhow = "proxy"\nheader = "X-Forwarded-User"\nsecret_header = "X-Proxy-Secret"\n'
        f'secret_variable = "BENCHMARK_SECRET"\n[people]\n{listed}\n'
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*tool, "dashboard", "--db", str(db), "--reviews", str(reviews), "--port", str(port), "--team", str(team)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "BENCHMARK_SECRET": SECRET})  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait(f"{address}/_stcore/health")
        everyone = [Person(address, name, seed) for seed, name in enumerate(names)]
        for person in everyone:
            person.open()
        start, before = time.perf_counter(), _cpu(server.pid)
        threads = [threading.Thread(target=person.work, args=(presses,)) for person in everyone]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds, cpu = time.perf_counter() - start, _cpu(server.pid) - before
        for person in everyone:
            person.seat.close()
    finally:
        server.terminate()
        server.wait(30)
    store = ReviewStore(reviews)
    stored = collections.Counter((e.reviewer, e.question_id, e.verdict) for e in store.events() if e.kind == "verdict")
    pressed = collections.Counter((p.name, *done) for p in everyone for done in p.done)
    found = Crowd(
        people, questions, [t for p in everyone for t in p.times], pressed.total(), stored.total(),
        (pressed - stored).total(), (stored - pressed).total(), len(store.journal.read()), seconds,
        1000 * cpu / max(1, pressed.total()),
    )  # fmt: skip
    say(
        f"{people} people  median {statistics.median(found.times):.0f} ms  95 % {found.share(0.95):.0f} ms  "
        f"{found.acknowledged} acknowledged, {found.stored} stored, {found.lost} lost, {found.doubled} doubled"
    )
    return found


class Person:
    """One reviewer at work."""

    def __init__(self, address: str, name: str, seed: int) -> None:
        self.address, self.name, self.draw = address, name, random.Random(seed)
        self.times: list[float] = []
        self.done: list[tuple[str, str]] = []

    def open(self) -> None:
        """Come to Triage and wait for the first card."""
        from tests.support.seat import Seat

        headers = [("X-Forwarded-User", self.name), ("X-Proxy-Secret", SECRET)]
        # everyone in an order of their own, as people who share a queue by lot would be
        query = f"queue=all&sort=random&seed={self.draw.randrange(10**6)}"
        self.seat = Seat(self.address, headers, query, self.name)

    def work(self, presses: int) -> None:
        """Judge that many questions."""
        for _ in range(presses):
            time.sleep(self.draw.uniform(*THINKING))
            verdict = self.draw.choice(("regression", "improvement", "both_acceptable", "both_wrong"))
            before, start = self.seat.question, time.perf_counter()
            self.seat.press(f"verdict:{verdict}")
            if self.seat.question != before:
                self.times.append(1000 * (time.perf_counter() - start))
                self.done.append((before, verdict))


def _cpu(pid: int) -> float:
    """Seconds of processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def written(found: Crowd) -> list[str]:
    """The section of the report."""
    return [
        "## Twenty reviewers at once",
        "",
        f"{found.people} sessions over Streamlit's websocket protocol, each with a name of its own, on a study of "
        f"{found.questions:,} questions with evidence; every one presses a verdict {THINKING[0]:g} to {THINKING[1]:g} "
        "seconds after its card came. From the press until the next question has arrived; the verdict is on disk, "
        "twice, before that. Server and all sessions share the two cores.",
        "",
        "| presses | median | 95th percentile | slowest | server's processor time | acknowledged | on disk | "
        "in the second medium | lost | doubled |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        f"| {len(found.times):,} | {statistics.median(found.times):,.0f} ms | {found.share(0.95):,.0f} ms | "
        f"{max(found.times):,.0f} ms | {found.cpu:,.0f} ms | {found.acknowledged:,} | {found.stored:,} | "
        f"{found.journal:,} | {found.lost} | {found.doubled} |",
        "",
    ]
