"""Give broken files and senseless options to every verb, and count what a program must never do.

Models, IRs, pasted layers, JSON files, arrays and options are changed at random. ``python -m tests.sweeps.fuzz
--calls 5000 --seed 3`` exits with 1 where there is any unexpected error, traceback, death, call of more than a minute,
or one that takes more memory than it may. Calls run in one process after the other; ``--only 17`` repeats one of them.
"""

from __future__ import annotations

import io
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ir_interp.files.memory import VARIABLE
from tests.support import generated
from tests.support.mutations import mutated, text
from tests.support.sweeps import aligned

SECONDS = 60.0
"""That a call may take: of processors, its children included, and of a clock. Where the clock alone says so, for others
may keep the machine busy, the call is made once more, and is a hang where it takes as long again."""

WAITED = 5 * SECONDS
SPARE_BYTES = 2**28
"""What a call may take beyond the program's own bound: what Python holds until it is needed again."""

_SLOW = "hang by the clock"
_CALLS_OF_A_WORKER = 400  # then caches begin anew

_NAMES = ("x", "y", "up", "resize", "image")
_LISTS = ("2", "1,1,8,8", "1,1,-1,8", "1,3,2147483648,4", "0,0,0,0", "1,2,3", "8,9", "1e9,1e9", "nan", "0.5,2", "")
_RUNTIMES = ("onnxruntime", "openvino", "tensorrt")
_WORDS = {
    "--semantics": ("runtime", "document", "reference"),
    "--arithmetic": ("exact", "onnxruntime", "openvino"),
    "--what": ("positions", "weights", "kernel", "image"),
    "--against": ("document", "exact", "other.xml", "layer.xml", "model.onnx"),
    "--target": ("onnx:11", "onnx:19", "tensorrt", "openvino", "onnx:99"),
    "--dialect": ("tensorrt", "tflite", "torch", "pillow"),
    "--only": ("native", "decomposed"),
    "--format": ("text", "json", "github", "sarif"),
    "--runtime": _RUNTIMES,
    "--select": ("IRI", "IRI02,IRI011", "IRI02,,"),
    "--ignore": ("IRI022,IRI023", ","),
    "--layer": _NAMES,
    "--axis": ("0", "2", "-1", "9"),
    "--opset": ("7", "11", "18", "21", "0", "999"),
    "--jobs": ("1",),
    "--shape": _LISTS,
    "--sizes": _LISTS,
    "--scales": _LISTS,
    "--input": ("x.npy", "x=x.npy", "x=x.npy,x.npy", "=x.npy", "missing.npy"),
    "--tolerance": ("0.1", "-1"),
    "--size": ("8,9", "100000,100000", "9999999999,2", "0,8", "8", "8,9,10"),
    "--mean": ("127.5", "1,2,3", "1,2", "nan", "1e400"),
    "--std": ("255", "1,2,3", "0", "inf"),
    "--layout": ("nchw", "nhwc", "chw"),
}
_FLAGS = ("--json", "--strict", "--fp16", "--all", "--per-resize", "--bgr")
_OPTIONS = {
    "inspect": ("--json", "--semantics"),
    "audit": ("--format", "--runtime", "--select", "--ignore"),
    "explain": ("--layer", "--shape", "--sizes", "--scales", "--all", "--json"),
    "plot": ("--what", "--layer", "--axis", "--shape", "--sizes", "--scales", "--input", "--against"),
    "run": ("--layer", "--sizes", "--scales", "--arithmetic", "--semantics"),
    "convert": ("--opset", "--dialect", "--semantics", "--only", "--strict", "--fp16", "--shape", "--json"),
    "compare": ("--shape", "--input", "--tolerance", "--per-resize", "--json"),
    "fix": ("--select", "--ignore", "--layer", "--shape", "--json"),
    "reproduce": ("--layer", "--shape"),
}
_LIKE = ("pillow:bicubic", "pillow@12:box", "opencv:linear", "opencv:area", "torch:bicubic", "torch:area", "pillow:")
_IMAGES = ("photo.png", "small.png", "screen.png", "photo.npy", "config.json", "shapes.onnx")
_LIKE_OPTIONS = {
    "preprocess": ("--input", "--mean", "--std", "--layout", "--bgr", "--size"),
    "identify": ("--json",),
    "run": ("--sizes", "--scales", "--semantics", "--layer"),
    "compare": ("--sizes", "--scales", "--json", "--per-resize", "--tolerance"),
}
_HOSTILE = "\x1b[31m\n::error::\u202e"  # in a name of a file
_VERBS = ("inspect",) * 4 + ("audit",) * 4 + ("explain",) * 4 + ("plot",) + ("run",) * 2 + ("convert",) * 8 + ("fix",)
_ENDS = {
    ".onnx": ("xml", "json", "py", "onnx", "tflite"),
    ".xml": ("onnx", "json", "py", "tflite"),
    ".json": ("xml", "onnx", "py", "tflite"),
    ".tflite": ("onnx", "xml", "json", "py"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command, and the files that it finds in its folder."""

    number: int
    arguments: tuple[str, ...]
    files: dict[str, bytes]
    pipes: tuple[str, ...] = ()
    links: dict[str, str] = field(default_factory=dict)

    def lay(self, folder: Path) -> None:
        """Write its files into a folder; pipes, which nobody writes to, and links in place of some."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in self.pipes:
                os.mkfifo(path)
            elif name in self.links:
                path.symlink_to(self.links[name])
            else:
                path.write_bytes(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a call did that none may do."""

    call: Call
    kind: str
    text: str


@dataclass(slots=True, kw_only=True)
class Found:
    """How calls ended, and what they did that none may do."""

    ends: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def calls(originals: dict[str, bytes], seed: int, numbers: Sequence[int], *, runs: float = 0.03) -> Iterator[Call]:
    """Yield calls, each of which follows from ``seed`` and its number; a part ``runs`` of them starts runtimes."""
    for number in numbers:
        rng = Random(f"{seed}/{number}")
        yield _call(originals, number, rng, runs)


def _call(originals: dict[str, bytes], number: int, rng: Random, runs: float) -> Call:
    chosen = rng.random()
    if chosen < 0.25:
        return _call_of_libraries(originals, number, rng)
    if chosen < 0.3:
        return _call_of_folders(originals, number, rng, runs)
    if chosen < 0.33 and originals.keys() >= set(_RASTERS):
        return _call_of_rasters(originals, number, rng)
    if chosen < 0.38:
        return _call_of_archives(originals, number, rng)
    if chosen < 0.42:
        return _call_of_saved_models(originals, number, rng)
    source = rng.choice([name for name in originals if Path(name).suffix in _ENDS])
    files = {name: content for name, content in originals.items() if Path(name).stem == Path(source).stem}
    broken = rng.choice([*files, source, source]) if rng.random() < 0.9 else ""
    files = {name: mutated(name, each, rng) if name == broken else each for name, each in files.items()}
    starts = rng.random() < runs
    verb = rng.choice(("compare", "convert", "audit", "fix", "reproduce")) if starts else rng.choice(_VERBS)
    words = _arguments(verb, source, rng, starts=starts)
    pipes = (rng.choice([*files]),) if rng.random() < 0.02 else ()
    return Call(number=number, arguments=words, files={"x.npy": originals["x.npy"]} | files, pipes=pipes)


def _call_of_libraries(originals: dict[str, bytes], number: int, rng: Random) -> Call:
    verb, image = rng.choice([*_LIKE_OPTIONS]), rng.choice(_IMAGES[:4])
    words = [verb, image]
    match verb:
        case "preprocess":
            words[1:] = ["shapes.onnx", rng.choice(("result.onnx", "shapes.onnx", "config.json"))]
            words += rng.choice((["--config", "config.json"], ["--like", rng.choice(_LIKE), "--size", "8,9"]))
        case "identify":
            words += [rng.choice(("small.png", "photo.npy", "missing.png"))]
        case "run":
            words += ["--like", rng.choice(_LIKE), "--output", rng.choice(("y.npy", "y.png", "photo.png", "y"))]
        case "compare":
            words += ["--like", rng.choice(_LIKE), "--like", rng.choice(_LIKE), "--picture", "picture.png"]
    if verb in ("run", "compare") and rng.random() < 0.8:
        words += ["--sizes", rng.choice(("6,7", "6,7", "100000,100000", "99999999999,1", "0,0"))]
    words += [word for name in _LIKE_OPTIONS[verb] if rng.random() < 0.15 for word in _option(name, rng)]
    files = {name: originals[name] for name in _IMAGES}
    broken = rng.choice([*_IMAGES, ""])
    files |= {broken: mutated(broken, files[broken], rng)} if broken else {}
    shown = {image: _HOSTILE + image} if rng.random() < 0.1 else {}
    files = {shown.get(name, name): content for name, content in files.items()}
    words = [shown.get(word, word) for word in words]
    pipes = (rng.choice([*files]),) if rng.random() < 0.05 else ()
    return Call(number=number, arguments=tuple(words), files=files, pipes=pipes)


_RASTERS = ("map.tif", "cells.tif")


def _call_of_rasters(originals: dict[str, bytes], number: int, rng: Random) -> Call:
    """Return a call on a TIFF file of a map or a microscope, its header broken more often than its pixels."""
    name = rng.choice(_RASTERS)
    content = bytearray(originals[name])
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(min(len(content), rng.choice((300, len(content)))))
        content[start : start + 4] = rng.choice((rng.randbytes(1), rng.randbytes(4), b"\0\0\0\0", b"\xff\xff", b""))
    end = rng.choice((("y.tif",), ("y.tif", "--levels", "2"), ("y.zarr", "--dims", "y,x"), ("y.npy",)))
    words = (
        "run",
        name,
        "--like",
        rng.choice(("opencv:area", *_LIKE)),
        "--scales",
        rng.choice(("0.5", "0.5", "2", "0.001")),
        "--output",
        *end,
    )
    stem = Path(name).stem
    beside = [form.format(stem=stem) for form in rng.sample(_SIDECARS, rng.choice((0, 0, 1, 3)))]
    files = {name: bytes(content)} | {each: _neighbour(originals, rng) for each in beside}
    links = {each: rng.choice(_SPECIAL) for each in beside if rng.random() < 0.2}
    pipes = tuple(each for each in files if each not in links and rng.random() < (0.05 if each == name else 0.3))
    return Call(number=number, arguments=words, files=files, pipes=pipes, links=links)


_SIDECARS = (
    "{stem}.tif.msk", "{stem}.tif.ovr", "{stem}.tif.aux.xml", "{stem}.aux", "{stem}.tfw", "{stem}.wld", "{stem}.tab",
    "{stem}.RPB", "{stem}_RPC.TXT", "{stem}.IMD", "NDTiff.index", "b.ome.tif", ".numba_config.yaml", "matplotlibrc",
)  # fmt: skip


def _neighbour(originals: dict[str, bytes], rng: Random) -> bytes:
    """Return the content of a file that nobody named."""
    statistics = b"<PAMDataset><Metadata><MDI key='STATISTICS_MEAN'>1</MDI></Metadata></PAMDataset>"
    choices = (b"", b"1\n0\n0\n-1\n0\n0\n", statistics, b"<PAMDataset><SRS>x</SRS></PAMDataset>", originals["map.tif"])
    content = rng.choice(choices)
    return mutated("x.xml", content, rng) if content and rng.random() < 0.5 else content


_MEMBERS = (
    "config.json",
    "./config.json",
    "model.weights.h5",
    "../x",
    "/x",
    "a/b",
    "a",
    "zarr.json",
    "c/0/0",
    "y.npy",
    "",
)
_ARCHIVES = (
    "compare image.onnx x.npz",
    "compare image.onnx x.npz --input x.npy",
    "convert x.keras y.onnx",
    "inspect x.keras",
    "audit x.keras",
    "convert x.pt2 y.onnx",
    "run x.zarr.zip --like opencv:linear --sizes 6,7 --output y.zarr",
    "run x.zarr.zip/a --like opencv:linear --sizes 6,7 --output y.npy",
)


def _call_of_archives(originals: dict[str, bytes], number: int, rng: Random) -> Call:
    """Return a call on a ZIP archive of odd members, some of it changed."""
    line = rng.choice(_ARCHIVES)
    name = next(word for word in line.split() if word.startswith("x.") and word != "x.npy").removesuffix("/a")
    members = [(member, rng.choice((b"", b"{}", originals["x.npy"], _CONFIG))) for member in rng.choices(_MEMBERS, k=4)]
    content = archive(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    content = mutated("x.bin", content, rng) if rng.random() < 0.6 else content
    files = {name: content} | {each: originals[each] for each in ("image.onnx", "x.npy")}
    pipes = (name,) if rng.random() < 0.05 else ()
    return Call(number=number, arguments=tuple(line.split()), files=files, pipes=pipes)


_CONFIG = json.dumps({"class_name": "Functional", "module": "keras.models", "config": {"layers": [{}]}}).encode()


def archive(members: Sequence[tuple[str, bytes]], method: int) -> bytes:
    """Return an archive whose members are named as they are, even twice."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a second member of a name
        for name, data in members:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            info.compress_type = method
            file.writestr(info, data)
    return content.getvalue()


_OF_SAVED_MODELS = (
    "saved_model.pb",
    "variables/variables.index",
    "variables/variables.data-00000-of-00001",
    "fingerprint.pb",
)


def _call_of_saved_models(originals: dict[str, bytes], number: int, rng: Random) -> Call:
    """Return a call on the folder of a SavedModel, with pipes, devices and links in it."""
    files = {f"net/{name}": rng.choice((b"", rng.randbytes(40), originals["image.onnx"])) for name in _OF_SAVED_MODELS}
    links = {name: rng.choice(_SPECIAL) for name in files if rng.random() < 0.2}
    pipes = tuple(name for name in files if name not in links and rng.random() < 0.2)
    line = rng.choice(
        ("convert net y.onnx", "inspect net", "audit net", "convert net y.xml", "audit net --results r.jsonl")
    )
    return Call(number=number, arguments=tuple(line.split()), files=files, pipes=pipes, links=links)


_SPECIAL = ("/dev/zero", "/dev/stdin", "/proc/kmsg", "/proc/self/mem", "..", ".", "gone", "bad0.onnx", "bad1.xml")
_FLEETS = (
    "audit zoo",
    "audit zoo --format json",
    "audit zoo --html page.html",
    "audit zoo @list.txt --format sarif",
    "audit @list.txt --format github",
    "identify zoo zoo",
    "fix zoo/bad0.onnx result.onnx --no-verify",
    "convert zoo/bad1.xml result.onnx --no-verify",
    "convert zoo/lite.tflite result.onnx --no-verify",
    "inspect zoo/bad2.tflite",
    "run zoo/big.zarr --like pillow:bicubic --sizes 6,7 --output y.npy",
    "run zoo/image.onnx --input zoo/big.zarr --output small.zarr",
)
_FLEETS_OF_PROCESSES = (
    "audit zoo --results r.jsonl",
    "audit zoo --run --format json",
    "audit @list.txt --results zoo/bad3.jsonl --jobs 2",
    "convert zoo out --to .xml --no-verify",
    "convert @list.txt out --to .onnx --no-verify --jobs 2",
    "convert zoo out --to .json",
)


def _call_of_folders(originals: dict[str, bytes], number: int, rng: Random, runs: float) -> Call:
    """Return a call on a folder of models, some of them changed, among pipes, devices and links."""
    chosen = rng.sample([name for name in originals if Path(name).suffix in _ENDS], 3)
    files = {f"zoo/{name}": mutated(name, originals[name], rng) for name in chosen}
    files |= {f"zoo/{name}": originals[name] for name in ("image.onnx", "lite.tflite") if name in originals}
    special = [
        f"zoo/bad{place}{end}" for place, end in enumerate((".onnx", ".xml", ".tflite", ".jsonl", ".npy", ".png"))
    ]
    special += [f"zoo/big.zarr/{name}" for name in ("zarr.json", ".zarray", "c/0/0")]
    files |= {name: rng.choice((b"", b"{}", originals["x.npy"])) for name in special if rng.random() < 0.6}
    marked = [name for name in files if name in special and rng.random() < 0.7]
    links = {name: rng.choice(_SPECIAL) for name in marked if rng.random() < 0.6}
    listed = rng.choices(["zoo", "@list.txt", "@more.txt", "a\0b", "", *files], k=4)
    files |= {"list.txt": "\n".join(listed).encode(), "more.txt": rng.choice((b"@list.txt", b"zoo", b"\xff"))}
    line = rng.choice(_FLEETS_OF_PROCESSES if rng.random() < 5 * runs else _FLEETS)
    pipes = tuple(name for name in marked if name not in links)
    return Call(number=number, arguments=tuple(line.split()), files=files, pipes=pipes, links=links)


def _arguments(verb: str, source: str, rng: Random, *, starts: bool) -> tuple[str, ...]:
    words, suffix = [verb, source], Path(source).suffix
    match verb:
        case "audit":
            words += ["--run"] * starts
        case "plot":
            words += ["picture.png"]
        case "run":
            words += ["--input", "x.npy", "--output", "y.npy"]
        case "convert":
            end = rng.choice(_ENDS[suffix])
            words += [f"result.{end}", *(["--target", rng.choice(_WORDS["--target"])] if f".{end}" == suffix else [])]
            words += [] if starts else ["--no-verify"]
        case "compare":
            words += [source]
        case "reproduce":
            words += ["folder", "--runtime", rng.choice((*_RUNTIMES, "reference", "reference"))]
        case "fix":
            words += [rng.choice(("result.onnx", source)), *([] if starts else ["--no-verify"])]
    chosen = [name for name in _OPTIONS[verb] if rng.random() < 0.2]
    return (*words, *(word for name in chosen for word in _option(name, rng)))


def _option(name: str, rng: Random) -> list[str]:
    if name in _FLAGS:
        return [name]
    value = rng.choice(_WORDS[name]) if rng.random() < 0.8 else text(rng)
    if name == "--shape" and rng.random() < 0.3:
        value = f"{rng.choice(_NAMES)}:{value}"
    return [name, value.replace("\0", "")]


# Workers


class Worker:
    """A process that answers calls, begun anew where one of them ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answered = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, call: Call, folder: Path) -> Finding | str:
        """Run a call in a folder of its files; return how it ended, or what it did that none may do."""
        found = self._ask(call, folder)
        if isinstance(found, Finding) and found.kind == _SLOW:
            found = self._ask(call, folder)
        return found

    def _ask(self, call: Call, folder: Path) -> Finding | str:
        if self._process is None or self._answered >= _CALLS_OF_A_WORKER:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(folder), list(call.arguments)]) + "\n")
        process.stdin.flush()
        self._answered += 1
        ready, _, _ = select.select([process.stdout], [], [], WAITED)
        line = process.stdout.readline() if ready else ""
        if line:
            judged = _judged(call, json.loads(line))
            if isinstance(judged, Finding):
                self._stop()  # what it took for good, and the peak of its children, is not that of later calls
            return judged
        ending = f"died with status {process.wait()}" if ready else f"did not end in {WAITED:g} s"
        self._stop()
        return Finding(call=call, kind="death" if ready else "hang", text=ending)

    def _start(self) -> None:
        self._stop()
        command = [sys.executable, "-m", "tests.sweeps.fuzz", "--worker"]
        environment = os.environ | {VARIABLE: str(_bound() / 2**30)}  # whatever a model declares
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self._answered = 0

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _judged(call: Call, answer: dict[str, Any]) -> Finding | str:
    """Return how a call ended, or what it did that none may do."""
    errors = answer["errors"]
    for mark in ("error: unexpected", "Traceback (most recent call last)", "Warning:", "Exception ignored"):
        if mark in errors:
            lines = [line for line in errors.splitlines() if line.strip()]
            shown = next(line for line in lines if mark in line) if mark != "Traceback" else lines[-1]
            return Finding(call=call, kind="unexpected", text=shown[:300])
    if answer["code"] not in (0, 1, 2):
        return Finding(call=call, kind="exit code", text=str(answer["code"]))
    if answer["code"] == 2 and not errors.strip() and "--results" not in call.arguments:  # which hold the errors
        return Finding(call=call, kind="no reason", text="exit code 2 without an error")
    for whose in ("bytes", "bytes of children"):
        if answer[whose] > _bound() + SPARE_BYTES:
            return Finding(call=call, kind="memory", text=f"{answer[whose] / 2**30:.1f} GiB, {whose}")
    if answer["seconds"] > SECONDS:
        return Finding(call=call, kind="hang", text=f"{answer['seconds']:.0f} s of processors")
    if answer["clock"] > SECONDS:
        return Finding(call=call, kind=_SLOW, text=f"{answer['clock']:.0f} s, twice")
    if any(unicodedata.category(each) in ("Cc", "Cf") and each not in "\n\t" for each in errors):
        return Finding(call=call, kind="control characters", text=repr(errors[:300]))
    return f"exit code {answer['code']}"


def _bound() -> int:
    return 2 * 2**30


def _work() -> None:
    """Answer calls from the standard input."""
    import matplotlib as mpl

    from ir_interp.cli.main import main
    from ir_interp.files import memory

    mpl.use("agg")
    memory.limit_process()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        folder, arguments = json.loads(line)
        os.chdir(folder)
        answers.write(json.dumps(_answer(main, arguments)) + "\n")
        answers.flush()


def _answer(main: Any, arguments: list[str]) -> dict[str, Any]:
    with open("stdout", "w+b") as printed, open("stderr", "w+b") as errors:  # noqa: PTH123
        os.dup2(printed.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        before, start, began = _peak(reset=True), sum(os.times()[:4]), time.monotonic()
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        seconds, clock, after = sum(os.times()[:4]) - start, time.monotonic() - began, _peak()
        sys.stdout.flush()
        sys.stderr.flush()
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024  # the libraries that they load included
    answer = {"code": code, "errors": said[-20000:], "seconds": seconds, "bytes": after - before}
    return answer | {"bytes of children": children, "clock": clock}


def _peak(*, reset: bool = False) -> int:
    """Return the most memory that this process has held, since it was last reset."""
    with suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


# The sweep


def originals(folder: Path) -> dict[str, bytes]:
    """Return good files by name: samples, a feature pyramid, a loop, a function, weights apart; and IRs of some."""
    from tests.support.originals import write

    write(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def sweep(count: int, seed: int, *, only: int | None = None, runs: float = 0.03, seconds: float = 1e9) -> Found:
    """Make calls, at most for ``seconds``."""
    found, end = Found(), time.monotonic() + seconds
    numbers = range(count) if only is None else [only]
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        good = Path(folder, "good")
        good.mkdir()
        for call in calls(originals(good), seed, numbers, runs=runs):
            if time.monotonic() > end:
                break
            place = Path(folder, str(call.number))
            place.mkdir()
            call.lay(place)
            answer = worker.ask(call, place)
            named = {(place / name).parent / target for name, target in call.links.items()}  # what a link leads to
            leave_out = {os.path.relpath(path, place) for path in named}
            problem = generated.problem(place, frozenset(call.files) | leave_out)
            if problem and isinstance(answer, str):
                answer = Finding(call=call, kind="generated file", text=problem)
            if isinstance(answer, Finding):
                found.findings.append(answer)
                print(f"call {call.number}, {answer.kind}: {answer.text}\n  {call.arguments}", flush=True)
            found.ends[answer if isinstance(answer, str) else answer.kind] += 1
            if only is None:
                shutil.rmtree(place, ignore_errors=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print what is found, and a table."""
    import argparse

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one call, to be repeated")
    parser.add_argument("--runs", type=float, default=0.03, help="part of the calls that start runtimes")
    parser.add_argument("--keep", type=Path, help="a folder for the files of calls with findings")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        _work()
        return 0
    found = sweep(given.calls, given.seed, only=given.only, runs=given.runs)
    for each in found.findings if given.keep else ():
        place = given.keep / f"{given.seed}-{each.call.number}"
        place.mkdir(parents=True, exist_ok=True)
        each.call.lay(place)
        (place / "arguments.json").write_text(json.dumps(each.call.arguments))
    print(aligned([(kind, str(number)) for kind, number in sorted(found.ends.items())]))
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
