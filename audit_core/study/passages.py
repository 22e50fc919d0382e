"""Passages of a study by their digest, read from the disk when they are wanted."""

from __future__ import annotations

import os
from array import array

from audit_core.codec import plain
from audit_core.errors import LedgerError, Problem
from audit_core.study.files import PASSAGES
from audit_core.study.reading import Study

WIDTH = 16
"""Bytes of a digest that are kept to find a passage; the whole one is compared when it is read."""


class Passages:
    """Texts by SHA-256; memory is 24 bytes a passage. May be used from several threads.

    Args:
        study: Its passages are checked once, here.

    Raises:
        LedgerError: A damaged line, or passages that are not in the order of their digests.
    """

    def __init__(self, study: Study) -> None:
        self._digests, self._places, self._file = bytearray(), array("Q"), -1
        if not study.has(PASSAGES):
            return
        reader = study.reader(PASSAGES)
        last = ""
        for record in reader:
            if record["sha256"] <= last:
                raise self._fault("passages are not in the order of their digests", record["sha256"])
            last = record["sha256"]
            self._digests += bytes.fromhex(last)[:WIDTH]
            self._places.append(reader.offset)
        self._file = os.open(study.path / PASSAGES, os.O_RDONLY)
        self._places.append(os.fstat(self._file).st_size)

    def __getitem__(self, digest: str) -> str:
        """The text of a passage.

        Raises:
            LedgerError: The study does not hold it.
        """
        key, low, high = bytes.fromhex(digest)[:WIDTH], 0, len(self._places) - 1
        while low < high:
            middle = (low + high) // 2
            if self._digests[middle * WIDTH : (middle + 1) * WIDTH] < key:
                low = middle + 1
            else:
                high = middle
        if low < len(self._places) - 1:
            place = self._places[low]
            record = plain(os.pread(self._file, self._places[low + 1] - place, place))
            if record["sha256"] == digest:
                return str(record["text"])
        raise self._fault("a passage is not in the study", digest)

    @staticmethod
    def _fault(what: str, digest: str) -> LedgerError:
        return LedgerError(Problem(what, "a passage for each digest", digest[:12] + "…", PASSAGES,
                                   "Restore the study from a copy."))  # fmt: skip

    def close(self) -> None:
        """Release the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
