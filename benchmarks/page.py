"""Measure the tables of benchmarks/README.md: ``python benchmarks/page.py FOLDER``; nothing else should run meanwhile.

Three runs of ``run.py`` on one thread and three on two, whose figures go to the folder; then what each of the other
scripts prints. A run that is in the folder is not repeated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tables import means, medians, tables

_HERE = Path(__file__).parent
_RUNS, _THREADS = 3, (1, 2)
_OTHERS = ("floors.py", "memory.py", "startup.py", "steps.py")


def main() -> None:
    """Run what is not there yet, and print the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the figures of each run are kept")
    parser.add_argument("--rounds", default="7", help="rounds of every case")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = {
        threads: [_run(arguments.folder, threads, number, arguments.rounds) for number in range(_RUNS)]
        for threads in _THREADS
    }
    print(means(runs), tables(medians(runs[1])), sep="\n\n", flush=True)
    for name in _OTHERS:
        print(f"\n{name}", flush=True)
        subprocess.run([sys.executable, _HERE / name], check=True)


def _run(folder: Path, threads: int, number: int, rounds: str) -> dict[str, dict[str, dict[str, float]]]:
    kept = folder / f"{threads}-{number}.json"
    if not kept.exists():
        command = [sys.executable, _HERE / "run.py", "--threads", str(threads), "--rounds", rounds, "--json", kept]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    times: dict[str, dict[str, dict[str, float]]] = json.loads(kept.read_text(encoding="utf-8"))["times"]
    return times


if __name__ == "__main__":
    main()
