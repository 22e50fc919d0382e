"""An import in a process of its own, so that a large file slows nobody's page and can be stopped at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 5.0
"""Seconds that a stopped import has to clean up."""


@dataclass
class Job:
    """One run of `audit_core.cli.job`.

    Attributes:
        order: What was asked for.
        stage: What it is doing; likewise `done` and `total` of that, the last None where it is not known.
        report: The outcome, once there is one.
        errors: What is wrong, in four parts each; empty where nothing is.
        stopped: Somebody stopped it.
    """

    order: dict[str, Any]
    stage: str = "starting"
    done: int = 0
    total: int | None = None
    report: dict[str, Any] | None = None
    errors: list[dict[str, str]] = field(default_factory=list)
    stopped: bool = False

    def start(self) -> Job:
        """Start it and follow what it says."""
        root = Path(__file__).resolve().parent.parent
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); "
             "from audit_core.cli.job import main; sys.exit(main())"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self.stopped and self.report is None and not self.errors

    def stop(self) -> None:
        """Stop it; no study is left behind, and no scratch space unless it does not end by itself."""
        self.stopped = True
        self._process.terminate()
        last = threading.Timer(PATIENCE, self._process.kill)
        last.daemon = True
        last.start()

    def share(self) -> float | None:
        """How much of the stage is done, from 0 to 1; None where it is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    def _follow(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            json.dump(self.order, process.stdin)
            process.stdin.close()
            for line in process.stdout:
                self._take(json.loads(line))
        except (OSError, ValueError):
            pass  # it has died; what it left on stderr says why
        trace = process.stderr.read()
        process.wait()
        if self.running():
            print(trace, file=sys.stderr)
            last = trace.strip().rpartition("\n")[2]
            text = "The import ended without an answer; nothing was written."
            self.errors = [{"text": f"{text} {last}".strip()}]

    def _take(self, told: dict[str, Any]) -> None:
        if "stage" in told:
            self.stage, self.done, self.total = told["stage"], told["done"], told["total"]
        elif "report" in told:
            self.report = told["report"]
        elif "errors" in told:
            self.errors = told["errors"]
