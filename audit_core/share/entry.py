"""Check this bundle offline: ``python verify.py``. Needs Python 3.11 or newer and numpy, nothing else; opens no socket.

Exit codes: 0 every check that could be made passed; 1 a check failed; 2 it could not be run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # a file that is in no list would fail the first check

NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "imaplib.", "poplib.", "subprocess.", "os.system",
           "os.exec", "os.spawn", "os.posix_spawn", "os.fork")  # fmt: skip
MARKS = {"passed": "+", "failed": "x", "could not check": "-"}


def refuse(event: str, _arguments: object) -> None:
    """An audit hook: nothing here talks to a network or starts another program."""
    if event.startswith(NETWORK):
        raise RuntimeError(f"refused: {event}")


def main(folder: Path, argv: list[str] | None = None) -> int:
    """Make all checks of the bundle in a folder, and print them."""
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--expect", metavar="SHA256", help="digest of manifest.json, as the owner published it")
    parser.add_argument("--expect-lock", metavar="SHA256", help="the study's last lock, as the owner published it")
    parser.add_argument("--proof", type=Path, metavar="FILE", help="a proof that reveals a single answer")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args(argv)
    sys.path.insert(0, str(folder / "verifier"))
    from audit_core.errors import AuditError, visible
    from audit_core.share.checks import read_proof, verify_bundle

    try:
        proof = read_proof(arguments.proof) if arguments.proof else None
        checks = verify_bundle(folder, expect=arguments.expect, expect_lock=arguments.expect_lock, proof=proof)
    except (AuditError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failed = sum(check.result == "failed" for check in checks)
    passed = sum(check.result == "passed" for check in checks)
    if arguments.json:
        rows = [{"id": c.check_id, "title": c.title, "result": c.result, "detail": c.detail} for c in checks]
        print(json.dumps({"ok": not failed, "checks": rows}))
    else:
        for check in checks:
            print(visible(f"{MARKS[check.result]} {check.check_id}  {check.title}: {check.result}. {check.detail}"))
        print(f"{passed} passed, {failed} failed, {len(checks) - passed - failed} could not be checked.")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036
        print("error: Python 3.11 or newer is needed.", file=sys.stderr)
        sys.exit(2)
    sys.addaudithook(refuse)
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("error: numpy is needed: python -m pip install numpy", file=sys.stderr)
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(Path(__file__).resolve().parent))
