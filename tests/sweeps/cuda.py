"""Run random Resizes of images in onnxruntime's CUDA provider, and compare with the predictions, which are by source.

``python -m tests.sweeps.cuda --cases 1000 --seed 1`` needs an NVIDIA GPU and ``pip install onnxruntime-gpu`` instead of
onnxruntime; otherwise it is skipped, with a line that says so. Each model runs in a process of its own. It exits with 1
where too many predictions are wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ir_interp.converters.audit.probe import Ran
from tests.support.runtimes import Array, Child, Crashed, Refused
from tests.sweeps.runtimes import MOST_WRONG, Seen, native, saved

NAME, _PROVIDER = "onnxruntime-cuda", "CUDAExecutionProvider"


def missing() -> str:
    """Return why nothing can be run here; empty if it can."""
    import onnxruntime  # type: ignore[import-untyped, unused-ignore]

    if _PROVIDER not in onnxruntime.get_available_providers():
        return f"this onnxruntime has no {_PROVIDER}; pip install onnxruntime-gpu in its place"
    with tempfile.TemporaryDirectory() as folder:
        (drawn,) = saved(Path(folder), 1, 1)
        session = onnxruntime.InferenceSession(str(drawn.path), providers=[_PROVIDER])
        return "" if _PROVIDER in session.get_providers() else "there is no GPU that CUDA can use"


def on_gpu(model: str, x: Array) -> Array:
    """Run a model on the GPU, and what CUDA does not take on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # By default convolutions use TF32; a Resize does not, and neither should a sum that stands for one.
    providers = [(_PROVIDER, {"use_tf32": "0"}), "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model, options, providers=providers)
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


class OnGpu(Seen):
    """What models come to in the CUDA provider."""

    def __init__(self, child: Child) -> None:
        super().__init__(NAME)
        self.child = child

    def of(self, models: list[Path], arrays: list[Path]) -> list[Ran]:
        """Return what becomes of models."""
        return [self._one(model, array) for model, array in zip(models, arrays, strict=True)]

    def _one(self, model: Path, array: Path) -> Ran:
        answer = self.child.call(on_gpu, str(model), np.load(array))
        if isinstance(answer, Refused):
            return Ran(refusal=answer.text)
        return Ran(crash=answer.text) if isinstance(answer, Crashed) else Ran(output=answer)


def main(arguments: list[str]) -> int:
    """Compare; return 1 if too many predictions are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder, Child() as child:
        drawn = list(saved(Path(folder), options.cases, options.seed))
        came = [each for _, each in native(OnGpu(child), drawn)]
    wrong, unknown = (sum(word in each for each in came) for word in ("predicted", "unknown"))
    print(f"CUDA: {dict(sorted(Counter(came).items()))}; wrong {wrong}, unknown {unknown} of {len(came)}")
    return int(wrong > MOST_WRONG * len(came))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
