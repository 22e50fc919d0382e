"""Pages of a release → passages with stable ids; texts that an earlier shard holds are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from audit_core.codec import Record, encode
from audit_core.digests import sha256
from scripts.django_docs.markup import passages, sections, slug
from scripts.django_docs.releases import short


def page_passages(release: str, page: str, source: str) -> Iterator[Record]:
    """All passages of one page, numbered; the family is the same section of the same page in every release."""
    name = short(release)
    number = 0
    for section in sections(source):
        path = section.page if section.name == section.page else f"{section.page} > {section.name}"
        for text in passages(section):
            number += 1
            yield {
                "document_id": f"dj{name}-{page.replace('/', '-')}-{number:03d}",
                "family": f"{page}#{slug(section.name)}",
                "title": f"Django {name} docs: {path}"[:200],
                "url": f"https://docs.djangoproject.com/en/{name}/{page}/",
                "text": text,
            }


def shard(release: str, pages: Iterable[tuple[str, str]], seen: set[str]) -> Iterator[tuple[str, list[Record]]]:
    """Passages of a release by page, without the texts of earlier shards.

    Args:
        release: As `releases.RELEASES` names it.
        pages: Path and source.
        seen: Digests of the texts so far; grows.
    """
    for page, source in pages:
        kept = []
        for record in page_passages(release, page, source):
            digest = sha256(record["text"].encode())
            if digest not in seen:
                seen.add(digest)
                kept.append(record)
        if kept:
            yield page, kept


def lines(records: Iterable[Record]) -> bytes:
    """Records as they stand in a shard."""
    return b"".join(encode(record) + b"\n" for record in records)
