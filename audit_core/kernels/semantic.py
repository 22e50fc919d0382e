"""The semantic kernel: a judge's label of that very pair, as labelled. No clustering and no closure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit_core.kernels import Agreement


@dataclass(frozen=True)
class SemanticKernel:
    """Two answers agree when the judge labelled the pair *same*.

    Attributes:
        labels: Shape (questions, states · repeats, states · repeats), symmetric: 1 same, 0 different, -1 unlabelled.
        repeats: Slots per state along the last two axes.
    """

    name: str
    labels: npt.NDArray[np.int8]
    repeats: int

    def block(self, first: int, second: int) -> Agreement:
        """See `Kernel.block`."""
        r = self.repeats
        return self.labels[:, first * r : (first + 1) * r, second * r : (second + 1) * r]
