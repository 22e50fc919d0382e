"""Collection against a service of fixed latency: rate with every call durable, and memory by the number of cells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CREATED = "2026-01-31T09:00:00Z"
LATENCY, CONCURRENCY, CELLS = 0.5, 32, 1920
SIZES = (2_000, 20_000)
"""Cells of the memory runs, which wait less for each answer."""
QUICK = 0.02

PROTOCOL = """\
[study]
id = "bench"
title = "Benchmark"
generator = "a service of fixed latency"
[ladder]
states = [{{ name = "n0", shards = 0 }}, {{ name = "n1", shards = 1 }}]
endpoints = ["n0", "n1"]
[questions]
file = "questions.jsonl"
count = {questions}
[corpus]
shards = ["shard.jsonl"]
[generation]
adapter = "messages"
model = "small-1"
base_url = "http://127.0.0.1:{port}"
key_variable = "AUDIT_BENCH_KEY"
concurrency = {concurrency}
[judging]
adapter = "none"
"""

RUN = """
import json, sys, time
from pathlib import Path
from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collect import stages
from audit_core.study import Study
Messages(Endpoint("http://127.0.0.1:9", "x", 1)).close()  # the client's package is loaded before the clock starts
start = time.monotonic()
stages.answer_questions(Study(Path(sys.argv[1])), "2026-01-31T09:00:00Z")
seconds = time.monotonic() - start
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "peak": int(peak.split()[1]) / 1024}))
"""


@dataclass(frozen=True)
class Collected:
    """One run: cells, what each answer took, seconds of the stage, and its peak memory in MiB."""

    cells: int
    latency: float
    seconds: float
    peak: float

    @property
    def share(self) -> float:
        """Of the ideal rate: concurrency by latency."""
        return self.cells * self.latency / CONCURRENCY / self.seconds


@contextmanager
def service(latency: float) -> Iterator[int]:
    """A service in a process of its own; its port."""
    command = [sys.executable, "-m", "benchmarks.service", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.communicate()


def collect(folder: Path, cells: int, latency: float) -> Collected:
    """Freeze a study of two states and two repeats, and collect its answers.

    Raises:
        RuntimeError: The collection failed.
    """
    from audit_core.collect import stages

    folder.mkdir()
    with (folder / "questions.jsonl").open("w") as stream:
        for i in range(cells // 4):
            stream.write(json.dumps({"question_id": f"q{i:06d}", "question": f"What is the fee for item {i}?"}) + "\n")
    with (folder / "shard.jsonl").open("w") as stream:
        for i in range(300):
            text = f"The fee for item {i} is {i} euros. " + "It is paid in advance, and not refunded. " * 20
            stream.write(json.dumps({"document_id": f"d{i}", "text": text}) + "\n")
    with service(latency) as port:
        text = PROTOCOL.format(questions=cells // 4, port=port, concurrency=CONCURRENCY)
        (folder / "protocol.toml").write_text(text)
        study = stages.freeze(folder / "protocol.toml", folder / "study", CREATED)
        stages.select_questions(study, folder, CREATED)
        stages.retrieve_evidence(study, folder, CREATED)
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(study.path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "AUDIT_BENCH_KEY": "none"},
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    found = json.loads(done.stdout)
    return Collected(cells, latency, found["seconds"], found["peak"])


def measure(
    folder: Path, say: Callable[[str], None], cells: int = CELLS, sizes: tuple[int, ...] = SIZES
) -> list[Collected]:
    """The rate, then memory by size."""
    found = []
    for number, (count, latency) in enumerate([(cells, LATENCY), *((size, QUICK) for size in sizes)]):
        found.append(one := collect(folder / f"collect-{number}", count, latency))
        say(f"{one.seconds:8.1f} s  {one.peak:7,.0f} MiB  {count:,} cells, {latency * 1000:.0f} ms an answer")
    return found


def written(found: list[Collected]) -> list[str]:
    """A section of the report."""
    rate, *memory = found
    return [
        "## Collection",
        "",
        f"A service on loopback answers each call after {rate.latency * 1000:.0f} ms; {CONCURRENCY} calls are under "
        "way at once, each with its start record on disk before it is sent and its end record before it counts.",
        "",
        f"{rate.cells:,} cells in {rate.seconds:.1f} s: {rate.cells / rate.seconds:.1f} a second, "
        f"**{rate.share:.0%}** of the ideal {CONCURRENCY / rate.latency:.0f}.",
        "",
        "Memory of the collecting process, with a service that answers faster:",
        "",
        "| cells | seconds | cells a second | peak MiB |",
        "|---:|---:|---:|---:|",
        *(f"| {m.cells:,} | {m.seconds:.1f} | {m.cells / m.seconds:.0f} | {m.peak:.0f} |" for m in memory),
        "",
    ]
