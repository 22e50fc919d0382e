"""Runs of a collection in processes that begin at once: one helper imports everything, then forks for each run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPER = """
import os, sys, time
from pathlib import Path
from audit_core.adapters.messages import Endpoint, Messages
from audit_core.collect import stages
from audit_core.study import Study
Messages(Endpoint("http://127.0.0.1:9", "x", 1)).close()  # loads the client's package before the forks
os.environ["AUDIT_TEST_KEY"] = sys.argv[1]
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            stages.answer_questions(
                Study(Path(line.strip())), "2026-01-31T09:00:00Z", pause=lambda s: time.sleep(min(s, 0.2))
            )
            code = 0
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Runs:
    """The helper."""

    def __init__(self, key: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HELPER, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, study: Path) -> int:
        """Start the answer stage of a study; its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{study}\n")
        self._process.stdin.flush()
        return int(self._line())

    def end(self) -> int:
        """The exit code of the run that was begun, once it has ended; -9 after a kill."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
