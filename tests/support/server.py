"""A dashboard server of its own for browser tests: free port, log kept, started, killed and started again by handle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = (
    "import sys; from pathlib import Path; from dashboard.launch import launch; "
    "sys.exit(launch(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]))"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One dashboard on one database and one verdict store.

    `kill` is SIGKILL, as a crash; `start` after it uses the same port, so that open pages find it again.
    """

    def __init__(
        self, db: Path, reviews: Path, log: Path, env: Mapping[str, str] | None = None, host: str = "127.0.0.1"
    ) -> None:
        self.db, self.reviews, self.log, self.env, self.host = db, reviews, log, dict(env or {}), host
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, patience: float = 90.0) -> Server:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, str(self.db), str(self.reviews), str(self.port), self.host],
                cwd=self.log.parent,
                env={**os.environ, "PYTHONPATH": str(ROOT), **self.env},
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                    if answer.read() == b"ok":
                        return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"the server did not answer:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is closed."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(20)
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
            self.process = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
