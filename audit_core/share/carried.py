"""The modules that a bundle carries: the checks with everything that they import, found by reading the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import audit_core
from audit_core.share.layout import ENTRY, VERIFIER

START = "audit_core.share.checks"
"""What a bundle's verifier runs."""
STARTED_BY = "audit_core/share/entry.py"
"""What stands in a bundle as ``verify.py``."""
_ROOT = Path(audit_core.__file__).resolve().parent.parent


def modules() -> dict[str, bytes]:
    """Source of each module that the checks need, by path such as ``audit_core/digests.py``, in order of the paths."""
    found: dict[str, bytes] = {}
    waiting = [START]
    while waiting:
        path = _file(waiting.pop())
        if path is None or (place := path.relative_to(_ROOT).as_posix()) in found:
            continue
        found[place] = path.read_bytes()
        waiting += imports(found[place])
    return dict(sorted(found.items()))


def files() -> dict[str, bytes]:
    """The whole verifier, by path inside a bundle."""
    held = {f"{VERIFIER}/{place}": source for place, source in modules().items()}
    return {**held, ENTRY: (_ROOT / STARTED_BY).read_bytes()}


def imports(source: bytes) -> list[str]:
    """Names of everything that a module imports when it runs, at its top or inside a function, with all parents.

    A name that is imported out of a module is given too, because it may be a module itself.
    """
    names = []
    for node in _nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    parts = [name.split(".") for name in names]
    return sorted({".".join(words[: i + 1]) for words in parts for i in range(len(words))})


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _nodes(node)


def _file(name: str) -> Path | None:
    """A module of this package; None for any other name."""
    if name.partition(".")[0] != audit_core.__name__:
        return None
    place = _ROOT.joinpath(*name.split("."))
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)
