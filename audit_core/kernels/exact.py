"""The exact kernel: equality of class numbers (normalized text, raw text, EM status, UNKNOWN status)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit_core.kernels import Agreement


@dataclass(frozen=True)
class ExactKernel:
    """Two answers agree when their class numbers are equal.

    Attributes:
        classes: Shape (questions, states, repeats); equal numbers mean equal answers, -1 an absent answer.
    """

    name: str
    classes: npt.NDArray[np.int32]

    def block(self, first: int, second: int) -> Agreement:
        """See `Kernel.block`."""
        a, b = self.classes[:, first, :, None], self.classes[:, second, None, :]
        agree = (a == b).astype(np.int8)
        agree[(a < 0) | (b < 0)] = -1
        return agree
