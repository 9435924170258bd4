"""The ladder of comparisons: the first rung that proves two models the same, on the same inputs, decides.

| rung | what it proves |
|---|---|
| 1. quantised levels | a model that rounds to levels: each segment between two quantisations, by one level at edges |
| 2. exact | all outputs have the same values |
| 3. reordered sums | outputs differ by no more than sums do whose terms are added in another order |
| 4. tied rows | a model that sorts: outputs have the same rows, and only rows of equal scores change places |
| 5. segment by segment | each segment between two tensors of both models, on the source's own values |
| 6. inconclusive | nothing: the values of an output lie so close together that any other output would pass |

Rungs 1 to 5 are compared on one set of inputs; rung 6 (``inconclusive``) decides which inputs are tried.
"""

from __future__ import annotations

from collections.abc import Callable

from ...reports.verification import Verification
from . import exact_outputs, quantised_levels, reordered_sums, segments, tied_rows
from .model_outputs import ModelOutputs

Rung = Callable[[ModelOutputs], Verification | None]
"""Returns how outputs compare if they prove the models the same; None if the next rung must decide.

Raises VerificationError if the models differ, and no later rung could prove otherwise.
"""

LADDER: tuple[Rung, ...] = (
    quantised_levels.prove,  # decides for every model that quantises: its outputs as a whole prove nothing
    exact_outputs.prove,
    reordered_sums.prove,
    tied_rows.prove,
    segments.prove,  # decides for all others
)


def verified(outputs: ModelOutputs) -> Verification:
    """Return the proof of the first rung that applies. Raises VerificationError if the models differ."""
    return next(proof for rung in LADDER if (proof := rung(outputs)) is not None)
