"""Tables of what ``run.py`` took: ``python benchmarks/tables.py FILE.json ...`` prints the medians of several runs."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cases import GROWTH

Times = dict[str, float]
OTHERWISE = "*"
"""Behind the name of an engine that computes something else: its time is shown, and is never the best."""
OWN = ("ours", "fast")
PEERS = ("onnxruntime", "openvino", "torch", "opencv", "pillow")
GROUPS = ("uint8", "float32", "float16")  # what the names of images begin with


def tables(times: dict[str, dict[str, Times]]) -> str:
    """Return a table for each suite."""
    return "\n".join(f"{suite}: milliseconds\n{_table(rows)}" for suite, rows in times.items() if rows)


def _table(times: dict[str, Times]) -> str:
    """Return milliseconds, with the ratios of both of ours to the best peer, and the geometric means of these."""
    taken = {name.removesuffix(OTHERWISE) for row in times.values() for name in row}
    shown = [name for name in (*OWN, *PEERS, "copy") if name in taken]
    own = [name for name in OWN if name in shown]
    lines = [f"| case | {' | '.join(shown)} | {' | '.join(f'{name}/best' for name in own)} |"]
    lines.append("|---" + "|---:" * (len(shown) + len(own)) + "|")
    for case, row in times.items():
        ratios = [_ratio(row, name) for name in own]
        cells = [*(_cell(row, name) for name in shown), *(f"{each:.2f}" if each else "" for each in ratios)]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    groups = [group for group in GROUPS if any(case.startswith(group) for case in times)]
    for group in groups if len(groups) > 1 else [""]:
        rows = [row for case, row in times.items() if case.startswith(group)]
        means = [_mean(rows, lambda row, name=name: _ratio(row, name)) for name in own]
        lines.append(f"| geometric mean{group and ', '}{group} |{' |' * len(shown)} {' | '.join(means)} |")
    if "onnxruntime" in taken:
        means = [_mean(rows, lambda row, name=name: _of(row, name, "onnxruntime")) for name in own]
        lines.append(f"| geometric mean, of onnxruntime's |{' |' * len(shown)} {' | '.join(means)} |")
    return "\n".join(lines)


def _ratio(row: Times, name: str) -> float | None:
    """Return the time of one of ours over that of the best peer."""
    best = min((row[peer] for peer in PEERS if peer in row), default=None)
    return row[name] / best if best and name in row else None


def _of(row: Times, name: str, peer: str) -> float | None:
    return row[name] / row[peer] if name in row and peer in row else None


def _mean(rows: list[Times], ratio: Callable[[Times], float | None]) -> str:
    found = [each for row in rows if (each := ratio(row))]
    return f"{math.exp(statistics.fmean(map(math.log, found))):.2f}" if found else ""


def _cell(row: Times, engine: str) -> str:
    """Return the milliseconds of an engine; with a star where it computes something else."""
    for name in (engine, engine + OTHERWISE):
        if name in row:
            return f"{row[name] * 1e3:.2f}{name.removeprefix(engine)}"
    return ""


def growth_table(growth: dict[str, Times]) -> str:
    """Return our time per output element against the size of the image."""
    if not growth:
        return ""
    lines = ["", "| growth | ms | ns per output element |", "|---|---:|---:|"]
    for case in GROWTH:
        seconds = growth[case.name]["ours"]
        lines.append(f"| {case.name} | {seconds * 1e3:.2f} | {seconds * 1e9 / math.prod(case.out_shape):.2f} |")
    return "\n".join(lines)


def means(runs: dict[int, list[dict[str, dict[str, Times]]]]) -> str:
    """Return the geometric means of the ratios of several runs, each on so many threads; the first are one thread's."""
    shown = [(name, threads) for name in OWN for threads in runs]
    lines = ["| suite |" + "".join(f" {name}, {threads} thread{'s' * (threads > 1)} |" for name, threads in shown)]
    lines.append("|---" * (len(shown) + 1) + "|")
    for title, suite, group, peer in _MEANS:
        cells = []
        for name, threads in shown:
            each = [_rows(run, suite, group) for run in runs[threads]]
            cells.append(", ".join(_mean(rows, partial(_to, name=name, peer=peer)) for rows in each))
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


_MEANS = (
    ("uint8, height x width x 3", "images", "uint8", ""),
    ("float32, height x width x 3", "images", "float32", ""),
    ("float16, height x width x 3", "images", "float16", ""),
    ("feature maps, of the best of four", "maps", "", ""),
    ("feature maps, of the best of onnxruntime, OpenVINO and PyTorch", "maps", "", "runtimes"),
    ("feature maps, of onnxruntime's", "maps", "", "onnxruntime"),
    ("bytes of Pillow", "libraries", "pillow", ""),
    ("bytes of OpenCV", "libraries", "opencv", ""),
)
_RUNTIMES = ("onnxruntime", "openvino", "torch")


def _rows(run: dict[str, dict[str, Times]], suite: str, group: str) -> list[Times]:
    return [row for case, row in run[suite].items() if case.startswith(group)]


def _to(row: Times, name: str, peer: str) -> float | None:
    if peer == "runtimes":
        return _ratio({each: seconds for each, seconds in row.items() if each in (name, *_RUNTIMES)}, name)
    return _of(row, name, peer) if peer else _ratio(row, name)


def medians(runs: list[dict[str, dict[str, Times]]]) -> dict[str, dict[str, Times]]:
    """Return the median of each time over several runs of the same cases."""
    return {
        suite: {
            case: {
                name: statistics.median(run[suite][case][name] for run in runs if name in run[suite][case])
                for name in row
            }
            for case, row in rows.items()
        }
        for suite, rows in runs[0].items()
    }


def main() -> None:
    """Print the medians of the runs whose files are named."""
    runs = [json.loads(Path(name).read_text(encoding="utf-8"))["times"] for name in sys.argv[1:]]
    print(tables(medians(runs)))


if __name__ == "__main__":
    main()
