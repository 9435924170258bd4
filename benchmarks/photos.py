"""A folder of photos: ``ir-interp run photos/`` against scripts of Pillow and of OpenCV of the same meaning.

python -m benchmarks.photos FOLDER --count 200 --rounds 5

Photos are JPEG of 640x480, with noise and slopes; each becomes JPEG of quality 75 and 224x224 pixels, antialiased:
linear, and area for OpenCV, whose linear does not antialias. Every program runs in a process of its own, once without
files and once with all, in turns; the difference is its time for the photos. The result is the median of the ratios of
neighbouring turns, in processor time and in wall time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

_SIDE = 224
_PILLOW = f"""
import sys
from pathlib import Path
from PIL import Image
Path(sys.argv[2]).mkdir()
for path in sorted(Path(sys.argv[1]).iterdir()):
    with Image.open(path) as image:
        image.resize(({_SIDE}, {_SIDE}), Image.Resampling.BILINEAR).save(Path(sys.argv[2]) / path.name)
"""
_OPENCV = f"""
import sys
from pathlib import Path
import cv2
cv2.setNumThreads(1)
Path(sys.argv[2]).mkdir()
for path in sorted(Path(sys.argv[1]).iterdir()):
    y = cv2.resize(cv2.imread(str(path)), ({_SIDE}, {_SIDE}), interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(Path(sys.argv[2]) / path.name), y, [cv2.IMWRITE_JPEG_QUALITY, 75])
"""


def main() -> None:
    """Make the photos, run all programs in turns, and print a line for each peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    photos, one = given.folder / "photos", given.folder / "one"
    _make(photos, given.count)
    _make(one, 1)
    own = [sys.executable, "-m", "ir_interp", "run"]
    more = ["--size", f"{_SIDE},{_SIDE}", "--quality", "75", "--quiet", "--output"]
    commands = {
        "linear": lambda source, made: [*own, str(source), "--kernel", "linear", *more, str(made)],
        "area": lambda source, made: [*own, str(source), "--kernel", "area", *more, str(made)],
        "Pillow": lambda source, made: [sys.executable, "-c", _PILLOW, str(source), str(made)],
        "OpenCV": lambda source, made: [sys.executable, "-c", _OPENCV, str(source), str(made)],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(given.rounds):
        for name, command in commands.items():
            (cpu, wall), (cpu_of_one, wall_of_one) = (
                _timed(command(source, given.folder / "made"), given.folder / "made") for source in (photos, one)
            )
            count = given.count - 1
            times[name].append((1000 * (cpu - cpu_of_one) / count, 1000 * (wall - wall_of_one) / count))
    for ours, peer in (("linear", "Pillow"), ("area", "OpenCV")):
        pairs = list(zip(times[ours], times[peer], strict=True))
        cpu_ratio, wall_ratio = (statistics.median(a[i] / b[i] for a, b in pairs) for i in (0, 1))
        milliseconds = [statistics.median(values) for name in (ours, peer) for values in [[t[1] for t in times[name]]]]
        print(
            f"{ours} against {peer}: {milliseconds[0]:.1f} and {milliseconds[1]:.1f} ms a photo, "
            f"ratio of processor time {cpu_ratio:.2f}, of wall time {wall_ratio:.2f}"
        )


def _make(folder: Path, count: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    slopes = np.add.outer(np.arange(480), np.arange(640))[..., None] / 5 + np.array([0, 20, 40])
    for number in range(count):
        x = np.clip(slopes + rng.integers(0, 16, (480, 640, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(x).save(folder / f"{number:05}.jpg", quality=90)


def _timed(command: list[str], made: Path) -> tuple[float, float]:
    """Return the processor time and the wall time of a command that writes a folder."""
    shutil.rmtree(made, ignore_errors=True)
    os.sync()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    main()
