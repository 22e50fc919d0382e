"""Run the benchmarks and write docs/benchmarks.md: ``python -m benchmarks [PART …]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from benchmarks import browser, collecting, deciding, estimation, importing, loading, machine, planner, retrieval
from benchmarks import reviewers as seats
from benchmarks.pages import publish

REPORT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PARTS = ("estimation", "retrieval", "collecting", "loading", "importing", "browser", "reviewers", "planner",
         "deciding")  # fmt: skip


TARGETS = """## Targets

What this project set out to reach; where the tables above are over a target, it was not reached in this run.

- Exact distribution: under 1 s at 1,000,000 questions, under 500 MB extra; at 100,000 at least 1,000 times as fast as
  index resampling.
- All estimates of a study of 400 questions and four states, draws included: under 2 s.
- Retrieval over 30,000 passages: 20 questions a second of one core, or more.
- Collection with 32 calls under way and 500 ms an answer: 90 % of the ideal rate with every call durable; memory does
  not grow with the number of cells.
- Loading 1,000,000 answers: at most 3 times the shell's import of the same rows.
- Importing 1 GB of promptfoo or Inspect logs: at most 1 GB resident, at least half as fast as reading the JSON alone.
- Keypress to next question: median at most 120 ms, 95th percentile at most 300 ms; first paint of Summary at most 3 s.
- Twenty reviewers at once on 10,000 questions: 95th percentile at most 300 ms, no lost and no doubled verdict.
- The planner's power within 3 Monte Carlo standard errors and one percentage point of simulated audits.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS) + "; all by default")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the benchmark itself; writes nothing")
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    if not set(parts) <= set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    small = arguments.small

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    sections: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        for part in parts:
            when = f"*Measured {date.today().isoformat()}; {machine.load()}.*"
            heading, blank, *text = _measured(part, Path(name), say, small)
            sections[heading] = [blank, when, "", *text]
    print("\n".join(line for heading, text in sections.items() for line in (heading, *text)))
    if not small:
        REPORT.write_text(report(sections, REPORT.read_text("utf-8") if REPORT.is_file() else ""), encoding="utf-8")
    return 0


def _measured(part: str, folder: Path, say: Callable[[str], None], small: bool) -> list[str]:
    if part == "estimation":
        timings = estimation.measure(say, estimation.SIZES[:2] if small else estimation.SIZES)
        peaks = estimation.memory(10_000 if small else estimation.SIZES[-1])
        return estimation.written(timings, peaks, estimation.whole_study())
    if part == "retrieval":
        return retrieval.written(retrieval.measure(say, *((3_000, 20) if small else ())))
    if part == "collecting":
        sizes = (320, (200, 400)) if small else (collecting.CELLS, collecting.SIZES)
        return collecting.written(collecting.measure(folder, say, *sizes))
    if part == "loading":
        answers = 20_000 if small else loading.ANSWERS
        return loading.written(loading.measure(folder, say, answers), answers)
    if part == "importing":
        return importing.written(importing.measure(folder, say, 20 << 20 if small else importing.SIZE))
    if part == "browser":
        return browser.written(browser.measure(folder, say, browser.SIZES[:1] if small else browser.SIZES))
    if part == "deciding":
        questions = 200 if small else deciding.QUESTIONS
        return deciding.written(deciding.measure(folder, say, questions), questions)
    if part == "planner":
        grids = planner.measure(say, 20 if small else planner.AUDITS)
        print(planner.tables(*grids))
        if not small:
            publish(planner.PAGE, "planner", planner.tables(*grids))
        return planner.written(*grids)
    return seats.written(seats.measure(folder, say, *((3, 400, 4) if small else ())))


def report(sections: Mapping[str, list[str]], before: str) -> str:
    """The page: sections measured now, and those of the page before that were not."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in before.splitlines():
        if line.startswith("## "):
            heading = line
            found[heading] = []
        elif heading:
            found[heading].append(line)
    found.pop("## Targets", None)
    found |= sections
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`, or section by section by `python -m benchmarks PART`. Times belong to the machine "
        "below and to the load that each section names; the ratios say more.",
        "",
        *(f"- {line}" for line in machine.described()),
        "",
    ]
    for heading, text in found.items():
        lines += [heading, *text, *([] if text[-1:] == [""] else [""])]
    return "\n".join([*lines, TARGETS])


if __name__ == "__main__":
    sys.exit(main())
