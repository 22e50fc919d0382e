"""What one study takes over from another: its questions and its evidence, record by record.

The lines of two studies cannot be equal byte for byte, because each names the line before it and so the study's own
locks; what is compared is every record without those fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from audit_core import ledger
from audit_core.codec import Record, encode
from audit_core.study.files import AUDIT, PASSAGES, PRIMARY, SIBLINGS
from audit_core.study.reading import Study

EVIDENCE = (PRIMARY, AUDIT, PASSAGES, SIBLINGS)
"""Ledgers of the retrieval, in the order in which they are digested."""


def payloads(study: Study, member: str) -> Iterator[Record]:
    """Records of a ledger without the fields of the chain.

    Raises:
        LedgerError: The file is not the locked one.
    """
    return map(ledger.payload, Study(study.path, "verified").reader(member))


def digest(study: Study, members: Iterable[str]) -> str:
    """SHA-256 of the payloads of some ledgers, each after its name; one that the study does not hold is left out.

    Raises:
        LedgerError: A file is not the locked one.
    """
    found = hashlib.sha256()
    for member in members:
        if study.has(member):
            found.update(member.encode() + b"\n")
            for record in payloads(study, member):
                found.update(encode(record) + b"\n")
    return found.hexdigest()
