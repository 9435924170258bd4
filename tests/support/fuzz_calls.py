"""Calls of the program with broken files and senseless options, drawn at random for ``tests.sweeps.fuzz``."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.support.mutations import archive, mutated, text

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
_LIKE_VERBS = (*("preprocess", "run", "compare") * 3, "identify")  # the last takes a second or two
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


def calls(originals: dict[str, bytes], seed: int, numbers: Sequence[int], *, runs: float = 0.03) -> Iterator[Call]:
    """Yield calls, each of which follows from ``seed`` and its number; a part ``runs`` of them starts runtimes."""
    for number in numbers:
        rng = Random(f"{seed}/{number}")
        yield _call(originals, number, rng, runs)


def _call(originals: dict[str, bytes], number: int, rng: Random, runs: float) -> Call:
    chosen = rng.random()
    if chosen < 0.12:
        return _call_of_formats(originals, number, rng, runs)
    if chosen < 0.25:
        return _call_of_libraries(originals, number, rng)
    if chosen < 0.28:
        return _call_of_folders(originals, number, rng, runs)
    if chosen < 0.32 and originals.keys() >= set(_RASTERS):
        return _call_of_rasters(originals, number, rng)
    if chosen < 0.38:
        return _call_of_archives(originals, number, rng)
    if chosen < 0.42:
        return _call_of_saved_models(originals, number, rng)
    source = rng.choice(_layers(originals))
    files = {name: content for name, content in originals.items() if Path(name).stem == Path(source).stem}
    broken = rng.choice([*files, source, source]) if rng.random() < 0.9 else ""
    files = {name: mutated(name, each, rng) if name == broken else each for name, each in files.items()}
    starts = rng.random() < runs
    verb = rng.choice(("compare", "convert", "audit", "fix", "reproduce")) if starts else rng.choice(_VERBS)
    words = _arguments(verb, source, rng, starts=starts)
    pipes = (rng.choice([*files]),) if rng.random() < 0.02 else ()
    return Call(number=number, arguments=words, files={"x.npy": originals["x.npy"]} | files, pipes=pipes)


def _layers(originals: dict[str, bytes]) -> list[str]:
    """Return the files that are models or layers by themselves."""
    return [name for name in originals if Path(name).suffix in _ENDS and not name.startswith(_FORMATS)]


_FORMATS = "formats/"
_OF_MODELS = ("inspect {}", "inspect {} --json", "explain {} --all", "plot {} picture.png", "explain {} --json")
_OF_STARTED_MODELS = (
    "audit {}", "audit {} --format json", "audit {} --results r.jsonl", "compare {} {}",
    "convert {} y.onnx", "convert {} y.xml", "convert {} y.json", "convert {} y.onnx --no-verify",
    "convert {} y.xml --no-verify", "convert {} y.tflite --no-verify", "convert {} out --to .onnx --no-verify",
)  # fmt: skip
_OF_IMAGES = (
    "run {} --like opencv:linear --sizes 6,7 --output y.npy",
    "run {} --like opencv:area --scales 0.5 --output y.tif",
    "run {} --like pillow:bicubic --scales 0.5 --output y.zarr",
    "run {}/0 --like torch:area --scales 0.5 --output y.zarr --levels 2",
    "run {} --like opencv:linear --scales 0.5 --output y.zarr --dims c,y,x",
)
_OF_ARRAYS = ("compare image.onnx {}", "compare image.onnx {} --input {}", "run image.onnx --input {} --output y.npy")
_LINES = {"npz": _OF_ARRAYS} | dict.fromkeys(("cog", "ome", "zarr2", "zarr3", "zip"), _OF_IMAGES)


def _call_of_formats(originals: dict[str, bytes], number: int, rng: Random, runs: float) -> Call:
    """Return a call on a model, store or raster of any format, a file or a member of which is changed."""
    form = rng.choice(sorted({name.split("/")[1] for name in originals if name.startswith(_FORMATS)}))
    start = f"{_FORMATS}{form}/"
    files = {name.removeprefix(start): content for name, content in originals.items() if name.startswith(start)}
    main = max((name.split("/")[0] for name in files), key=lambda name: (name.startswith("x.ome"), -len(name)))
    if rng.random() < 0.95:
        broken = rng.choice([*files])
        files[broken] = mutated(broken, files[broken], rng)
    of_models = _OF_STARTED_MODELS if rng.random() < 5 * runs else _OF_MODELS
    line = rng.choice(_LINES.get(form, of_models)).replace("{}", main)
    links = {name: rng.choice(_SPECIAL) for name in files if rng.random() < 0.02}
    pipes = tuple(name for name in files if name not in links and rng.random() < 0.02)
    files |= {"image.onnx": originals["image.onnx"]}
    return Call(number=number, arguments=tuple(line.split()), files=files, pipes=pipes, links=links)


def _call_of_libraries(originals: dict[str, bytes], number: int, rng: Random) -> Call:
    verb, image = rng.choice(_LIKE_VERBS), rng.choice(_IMAGES[:4])
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
    chosen = rng.sample(_layers(originals), 3)
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
