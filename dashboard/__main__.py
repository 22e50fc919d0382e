"""``python -m dashboard``: what ``snapshot-audit dashboard`` starts, so that the core never imports the dashboard."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dashboard.launch import launch


def main() -> int:
    """Serve until stopped; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dashboard", description="Serve the dashboard.")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--reviews", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--team", type=Path)
    parser.add_argument("--reviewer")
    arguments = parser.parse_args()
    return launch(arguments.db, arguments.reviews, arguments.port, arguments.host, arguments.team, arguments.reviewer)


if __name__ == "__main__":
    sys.exit(main())
