"""Some of the corpus of IRs that become ONNX, verified; ``python -m tests.sweeps.ir_corpus`` takes all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeps.ir_corpus import CORPUS, Absent, converted

CHOSEN = (
    "PP-OCRv4 detector, IR v10",
    "YuNet, int8",
    "YuNet, int8, one name for a chain",
    "Silero VAD",
    "classifier, open",
    "detector, float16",
    "U-Net, IR v10",
    "transformer, open",
    "vision transformer, int8",
    "language model, open",
    "LSTM",
)


@pytest.mark.long
@pytest.mark.parametrize("name", CHOSEN)
def test_a_model_of_the_corpus(name: str, tmp_path: Path) -> None:
    try:
        outcome = converted(CORPUS[name], tmp_path)
    except Absent as reason:
        pytest.skip(str(reason))
    assert outcome.refusal == ""
    assert outcome.verification
    assert outcome.verification.outputs
