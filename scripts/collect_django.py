"""Build the corpus, questions and gold of the study django-docs from the archives of seven Django releases.

    python scripts/collect_django.py FOLDER

Archives are downloaded once into a cache, used only with their pinned digests, and read without being unpacked. What is
built must be, byte for byte, what ``data/corpora/django-docs`` says; any difference stops with the first page that
differs. ``--update`` writes those digests anew, for whoever changes how the corpus is made.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from audit_core.codec import Record, encode
from audit_core.digests import sha256
from audit_core.errors import AuditError, InputError, Problem

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.django_docs import corpus, questions, releases  # noqa: E402

HOME = ROOT / "data" / "corpora" / "django-docs"
HEADER = "release\tpage\tnumbers\tsha256\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the corpus, questions and gold of the study django-docs.")
    parser.add_argument("folder", type=Path, help="where the inputs of the study are put")
    parser.add_argument("--cache", type=Path, default=releases.cache(), help="of the archives (default: %(default)s)")
    parser.add_argument("--update", action="store_true", help="write the digests in the checkout anew")
    arguments = parser.parse_args()
    try:
        build(arguments.folder, arguments.cache, update=arguments.update)
    except AuditError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"Built and checked: {arguments.folder}", file=sys.stderr)
    return 0


def build(folder: Path, cache: Path, *, update: bool) -> None:
    """Write shards, questions, gold and protocol into a folder.

    Raises:
        InputError: An archive, or what comes of it, is not what the checkout says.
        StorageError: A download fails.
    """
    archives = releases.fetch(cache, lambda text: print(text, file=sys.stderr))
    pages = {release: dict(releases.pages(path)) for release, path in archives.items()}
    shards, listing = made(pages)
    asked = questions.questions(pages)
    check_support(asked, shards)
    files = {f"shard-{number}.jsonl": corpus.lines(records) for number, records in enumerate(shards.values(), 1)}
    files["questions.jsonl"] = corpus.lines(question for question, _ in asked)
    files["gold.jsonl"] = corpus.lines(gold for _, gold in asked)
    if update:
        HOME.mkdir(parents=True, exist_ok=True)
        (HOME / "pages.tsv").write_text(listing, encoding="utf-8")
        (HOME / "digests.json").write_bytes(encode({name: sha256(data) for name, data in files.items()}) + b"\n")
        for name in ("questions.jsonl", "gold.jsonl"):
            (HOME / name).write_bytes(files[name])
    check(files, listing)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f".{name}.partial").write_bytes(data)
        (folder / f".{name}.partial").replace(folder / name)
    shutil.copy(HOME / "protocol.toml", folder / "protocol.toml")


def made(pages: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, list[Record]], str]:
    """Passages by release, and the listing of their pages: numbers of the passages kept, and a digest of them."""
    seen: set[str] = set()
    shards: dict[str, list[Record]] = {}
    lines = [HEADER]
    for release, sources in pages.items():
        shards[release] = []
        for page, records in corpus.shard(release, sources.items(), seen):
            shards[release] += records
            lines.append(f"{release}\t{page}\t{ranges(records)}\t{sha256(corpus.lines(records))[:32]}\n")
    return shards, "".join(lines)


def ranges(records: Iterable[Record]) -> str:
    """Numbers at the end of the ids, runs as ``3-7``."""
    found: list[list[int]] = []
    for number in (int(record["document_id"].rpartition("-")[2]) for record in records):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{low}-{high}" if low < high else str(low) for low, high in found)


def check(files: Mapping[str, bytes], listing: str) -> None:
    """Compare what was built with what the checkout says.

    Raises:
        InputError: Something differs; the first page of the corpus that differs is named.
    """
    known = (HOME / "pages.tsv").read_text(encoding="utf-8")
    faults = []
    for mine, theirs in zip(listing.splitlines(), known.splitlines(), strict=False):
        if mine != theirs:
            action = "Use the version of the checkout that wrote it, or write it anew with --update."
            faults.append(Problem("a page gives other passages", theirs, mine, "pages.tsv", action))
            break
    stored = (HOME / "digests.json").read_bytes()
    if encode({name: sha256(data) for name, data in files.items()}) + b"\n" != stored:
        faults.append(Problem("what was built is not what the checkout says", "the digests of digests.json", "others",
                              str(HOME / "digests.json"), "Nothing was written."))  # fmt: skip
    if faults:
        raise InputError(faults)


def check_support(asked: Iterable[tuple[Record, Record]], shards: Mapping[str, list[Record]]) -> None:
    """Refuse gold that no passage holds; a stable answer must already stand in the first shard.

    Raises:
        InputError: For every question whose answer is nowhere.
    """
    first = next(iter(shards))
    texts = {release: [record["text"] for record in records] for release, records in shards.items()}
    faults = []
    for question, gold in asked:
        kind, name = question["question_id"].split("-", 2)[1:]
        stable = question["tags"][0] == "stable"
        literal = gold["said"][releases.short(first)] if stable else gold["aliases"][0]
        wanted = {"setting": f"{name}: ", "version": f"supports {name} {literal}"}.get(kind, name.split("-")[0])
        said = {"setting": "Default: ", "version": literal}.get(kind, f"{name.rpartition('-')[2]}=")
        places = [first] if stable else list(shards)
        if not any(wanted in text and said in text and literal in text for place in places for text in texts[place]):
            faults.append(Problem("no passage holds the answer", literal, "none", question["question_id"],
                                  "Correct how questions are made."))  # fmt: skip
    if faults:
        raise InputError(faults)


if __name__ == "__main__":
    sys.exit(main())
