"""Compare the C++ of pipelines with the pipelines themselves.

``python -m tests.sweeps.pipelines_in_cpp --cases 40 --seed 5`` draws pipelines of OpenCV's resizes, rules of sizes,
crops, padding and arithmetic, compiles them with g++ in one program, and runs each on images of 4 to 90 pixels a side.
All floats must be equal, bit for bit. ``--flags`` are those of the compiler, by default what ``pkg-config opencv4``
prints. Exits with 1 where any differ.
"""

from __future__ import annotations

import argparse
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import IrInterpError, Pipeline
from ir_interp.pipelines import source_code
from ir_interp.pipelines.rules import (
    ByRatio,
    Exactly,
    Inside,
    Multiple,
    NearestMultiple,
    RoundedUp,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
    SizeRule,
)
from ir_interp.pipelines.steps import (
    CentreCrop,
    ImageStep,
    Normalise,
    PadTo,
    Place,
    Product,
    Rescale,
    Resize,
    ReverseChannels,
    Scale,
)

Array = NDArray[Any]
_MAIN = """
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int count, char** arguments) {
    const int height = std::atoi(arguments[2]), width = std::atoi(arguments[3]);
    cv::Mat image(height, width, CV_8UC3);
    std::FILE* file = std::fopen(arguments[4], "rb");
    if (std::fread(image.data, 3, image.total(), file) != image.total()) return 2;
    std::fclose(file);
    std::vector<float> result;
    switch (std::atoi(arguments[1])) {
%s
    }
    file = std::fopen(arguments[5], "wb");
    std::fwrite(result.data(), sizeof(float), result.size(), file);
    std::fclose(file);
}
"""


def rule(draw: random.Random) -> SizeRule:
    """Return a rule of sizes."""
    height, width, rounding = draw.randint(8, 60), draw.randint(8, 60), draw.choice(list(SizeRounding))
    rules: list[SizeRule] = [
        Exactly(height=height, width=width),
        ShorterSide(size=height, longest=draw.choice([None, height + width])),
        SidesWithin(shortest=height, longest=height + width),
        Inside(height=height, width=width, rounding=rounding),
        ByRatio(height=height, width=width, covers=draw.random() < 0.5),
        Multiple(of_size=draw.randint(2, 9), rounding=rounding),
        NearestMultiple(height=height, width=width, of_size=draw.randint(1, 6), keeps_ratio=draw.random() < 0.5),
        RoundedUp(size=SidesWithin(shortest=height, longest=height + width), of_size=draw.randint(2, 9)),
        ShareOfShorterSide(height=draw.random() + 0.2, width=draw.random() + 0.2),
    ]
    return draw.choice(rules)


def drawn(draw: random.Random) -> Pipeline:
    """Return a pipeline."""
    colour = tuple(float(draw.randint(0, 255)) for _ in range(draw.choice([1, 3])))
    roundings = [draw.choice(list(SizeRounding)) for _ in range(2)]
    numbers = tuple(draw.random() + 0.1 for _ in range(draw.choice([1, 3])))
    pixels: list[ImageStep] = [
        Resize(like=f"opencv:{draw.choice(['linear', 'nearest'])}", size=rule(draw)),
        CentreCrop(size=rule(draw), start=roundings[0], padding=roundings[1], colour=colour),
        PadTo(size=Multiple(of_size=16, rounding=SizeRounding.UP), place=draw.choice(list(Place)), colour=colour),
        ReverseChannels(),
    ]
    product = draw.choice(list(Product))
    floats: list[ImageStep] = [
        Rescale(factor=draw.choice([1 / 255, 1 / 127.5]), offset=draw.choice([0.0, -1.0]), product=product),
        Normalise(mean=numbers, deviation=numbers[::-1]),
        Scale(factors=numbers),
    ]
    steps = [step for step in pixels if draw.random() < 0.7] + [step for step in floats if draw.random() < 0.6]
    return Pipeline(steps=tuple(steps), layout=draw.choice(["nchw", "nhwc"]))


def compiled(pipelines: list[Pipeline], folder: Path, flags: list[str]) -> Path:
    """Return a program whose first argument is the number of a pipeline."""
    spaces = [f"namespace n{i} {{\n{_body(pipeline)}\n}}" for i, pipeline in enumerate(pipelines)]
    cases = "\n".join(f"    case {i}: result = n{i}::preprocess(image); break;" for i in range(len(pipelines)))
    head = "\n".join(line for line in source_code.cpp(pipelines[0]).splitlines() if line.startswith("#include"))
    source, program = folder / "pipelines.cpp", folder / "pipelines"
    source.write_text("\n".join([head, *spaces, _MAIN % cases]), encoding="utf-8")
    subprocess.run(["g++", "-O1", "-ffp-contract=off", str(source), "-o", str(program), *flags], check=True)
    return program


def _body(pipeline: Pipeline) -> str:
    return "\n".join(line for line in source_code.cpp(pipeline).splitlines() if not line.startswith("#include"))


def outcome(program: Path, number: int, pipeline: Pipeline, x: Array) -> str:
    """Return a word for what came of a pipeline on an image."""
    try:
        expected = pipeline(x).astype(np.float32)
    except IrInterpError:
        return "refused"
    image, result = program.with_name("image"), program.with_name("result")
    image.write_bytes(x.tobytes())
    run = subprocess.run([str(program), str(number), *map(str, x.shape[:2]), str(image), str(result)], check=False)
    if run.returncode:
        return "WRONG: it failed"
    return "equal" if result.read_bytes() == expected.tobytes() else "WRONG"


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flags", default="")
    asked = parser.parse_args()
    flags = asked.flags or subprocess.check_output(["pkg-config", "--cflags", "--libs", "opencv4"], text=True)
    draw, rng = random.Random(asked.seed), np.random.default_rng(asked.seed)
    pipelines, counts = [drawn(draw) for _ in range(asked.cases)], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(pipelines, Path(folder), shlex.split(flags))
        for number, pipeline in enumerate(pipelines):
            for height, width in rng.integers(4, 90, (5, 2)):
                word = outcome(program, number, pipeline, rng.integers(0, 256, (height, width, 3), np.uint8))
                counts[word] += 1
                if word.startswith("WRONG"):
                    print(f"{word}: {height}x{width}: {pipeline.json()}", flush=True)
    print(dict(counts))
    return int(any(word.startswith("WRONG") for word in counts))


if __name__ == "__main__":
    sys.exit(main())
