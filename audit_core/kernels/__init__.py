"""Kernels: agreement of two answers to one question, 1 or 0, symmetric, never taken of an answer with itself."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Agreement = npt.NDArray[np.int8]


class Kernel(Protocol):
    """Agreement between the answers of two states."""

    @property
    def name(self) -> str:
        """Part of the names of estimates."""
        ...

    def block(self, first: int, second: int) -> Agreement:
        """Agreement of each answer at one state with each at another.

        Args:
            first: Position of a state in the ladder.
            second: Position of a state, possibly the same.

        Returns:
            Shape (questions, repeats, repeats): 1 agree, 0 disagree, -1 where an answer or a label is absent.
        """
        ...
