"""Ask ``identify`` about random pairs that the installed image libraries make, and count who is wrongly sure.

``python -m tests.sweeps.identify --cases 25`` takes 18 minutes for so many of each kind: calls alone, by factors, after
and before other steps, saved as JPEG, and pipelines that ``identify`` cannot know. ``--kinds`` chooses some. It exits
with 1 where an answer is wrong and sure, or where the right one is left out of those that fit for calls alone.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageFilter, ImageOps

import ir_interp
from ir_interp.libraries import names
from ir_interp.origins.candidates import Identified
from ir_interp.origins.layouts import effective
from tests.support.libraries import Array, Call, calls, lengths
from tests.support.sweeps import aligned, options

_MODULES = {"pillow": "PIL", "opencv": "cv2"}
_RESULTS = ("call sure", "call and steps sure", "among several", "none fits", "left out", "WRONGLY SURE")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pair of images, the call that made it (None where no known pipeline did), and words that its steps have.

    ``resized`` has the shape of what is resized, and the size that it gets. ``original`` is a JPEG file that is asked
    about in place of ``before``; ``quality`` that of the JPEG that the result is saved as.
    """

    before: Array
    after: Array
    call: Call | None = None
    steps: tuple[str, ...] = ()
    resized: tuple[tuple[int, ...], tuple[int, int]] = ((1, 1), (1, 1))
    quality: int | None = None
    original: bytes = b""


def _picture(rng: np.random.Generator, height: int, width: int, channels: int) -> Array:
    """Return an image of shapes and noise, or of noise alone, or with areas of one colour, or almost grey."""
    rows, columns = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(channels):
        slope, wave, edge = rng.normal(size=3), rng.uniform(3, 40, 2), rng.integers(0, [height, width])
        smooth = 128 + 60 * np.sin(rows / wave[0] + slope[0]) * np.cos(columns / wave[1] + slope[1])
        planes.append(smooth + 70 * ((rows > edge[0]) ^ (columns > edge[1])) * np.sign(slope[2]))
    image = np.stack(planes, 2) + rng.normal(size=(height, width, channels)) * rng.choice([0, 2, 10])
    match rng.integers(4):
        case 0:
            image = rng.integers(0, 256, image.shape)
        case 1:
            image[: height // 2] = image[0, 0]
        case 2:
            image = image.mean(axis=2, keepdims=True) + rng.normal(size=image.shape)
    x = np.clip(image, 0, 255).astype(np.uint8)
    y: Array = x[:, :, 0] if channels == 1 else x
    return y


def _run(call: Call, x: Array, height: int, width: int) -> Array:
    """Return an image, channels last, resized by the library itself."""
    if call.library in ("torch", "torchvision") and call.arguments.get("backend") != "pil":
        planes = np.ascontiguousarray(np.moveaxis(x if x.ndim == 3 else x[:, :, None], -1, 0)[None])
        y = np.moveaxis(call.run(planes, height, width)[0], 0, -1)
        return np.ascontiguousarray(y if x.ndim == 3 else y[:, :, 0])
    return call.run(np.ascontiguousarray(x), height, width)


def _known(channels: tuple[int, ...]) -> list[Call]:
    installed = [name for name in names() if find_spec(_MODULES.get(name, name))]
    every = (call for name in installed for call in calls(name))
    return [call for call in every if call.dtype == "uint8" and call.channels in channels and not call.boxed]


def _pick(rng: np.random.Generator, *channels: int) -> Call:
    known = _known(channels)
    return known[int(rng.integers(len(known)))]


def _sizes(rng: np.random.Generator, least: int = 24) -> tuple[int, int, int, int]:
    height, width = rng.integers(2 * least, 320, 2)
    factor = np.exp(rng.uniform(np.log(0.15), np.log(1.5), 2))
    rows, columns = (max(least, int(length * scale)) for length, scale in zip((height, width), factor, strict=True))
    return int(height), int(width), rows, columns


def _plain(rng: np.random.Generator) -> Case | None:
    """Any image, tiny ones too."""
    call = _pick(rng, 1, 3, 4)
    height, width, rows, columns = lengths(rng)
    if (height, width) == (rows, columns) or (call.library == "torch" and columns == 1):
        return None
    x = _picture(rng, height, width, call.channels)
    after = _run(call, x, rows, columns)
    return Case(before=x, after=after, call=call, resized=(x.shape, (rows, columns)))


def _ordinary(rng: np.random.Generator, *, jpeg: bool = False) -> Case:
    call = _pick(rng, 1, 3)
    height, width, rows, columns = _sizes(rng, 40)
    x = _picture(rng, height, width, call.channels)
    quality = int(rng.integers(30, 101)) if jpeg else None
    after = _run(call, x, rows, columns)
    return Case(before=x, after=after, call=call, resized=(x.shape, (rows, columns)), quality=quality)


def _factors(rng: np.random.Generator) -> Case | None:
    library = [call for call in _known((1, 3)) if call.library == "opencv" or call.library == "torch"]
    call = library[int(rng.integers(len(library)))]
    height, width, *_ = _sizes(rng)
    fy = float(rng.choice([0.5, 0.25, 0.3, 0.75, 0.37, 0.62, 1.3, 1 / 3, 200 / max(height, width)]))
    fx = fy if rng.random() < 0.7 else float(rng.choice([0.5, 0.4, 0.65]))
    x = _picture(rng, height, width, call.channels)
    scaled = Call(
        library=call.library, arguments=call.arguments, dtype="uint8", channels=call.channels, scales=(fy, fx)
    )
    try:
        after = _run(scaled, x, 0, 0)
    except (RuntimeError, ValueError):
        return None
    return Case(before=x, after=after, call=call, resized=(x.shape, (after.shape[0], after.shape[1])))


def _turned(rng: np.random.Generator) -> Case:
    call = _pick(rng, 1, 3)
    height, width, rows, columns = _sizes(rng)
    x, number = _picture(rng, height, width, call.channels), int(rng.integers(2, 9))
    exif = Image.Exif()
    exif[0x0112] = number
    stored = io.BytesIO()
    Image.fromarray(x).save(stored, "PNG", exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(stored)))
    after = _run(call, upright, rows, columns)
    return Case(
        before=x,
        after=after,
        call=call,
        steps=(f"EXIF orientation {number}",),
        resized=(upright.shape, (rows, columns)),
    )


def _channels(rng: np.random.Generator) -> Case:
    height, width, rows, columns = _sizes(rng)
    call = _pick(rng, 3)
    match rng.integers(3):
        case 0:
            x = _picture(rng, height, width, 3)
            prepared, told = x[:, :, ::-1], "channels reversed"
        case 1:
            x = _picture(rng, height, width, 1)
            prepared, told = np.repeat(x[:, :, None], 3, 2), "grey to RGB"
        case _:
            x = _picture(rng, height, width, 4)
            prepared, told = x[:, :, :3], "alpha dropped"
    after = _run(call, np.ascontiguousarray(prepared), rows, columns)
    return Case(before=x, after=after, call=call, steps=(told,), resized=(prepared.shape, (rows, columns)))


def _letterbox(rng: np.random.Generator) -> Case:
    call = _pick(rng, 1, 3)
    height, width, *_ = _sizes(rng)
    size = (int(rng.integers(60, 240)), int(rng.integers(60, 240)))
    scale = min(size[0] / height, size[1] / width)
    rows, columns = (max(1, round(length * scale)) for length in (height, width))
    x = _picture(rng, height, width, call.channels)
    after = np.full((*size, *x.shape[2:]), rng.choice([0, 114, 255]), np.uint8)
    top, left = ((size[0] - rows) // 2, (size[1] - columns) // 2) if rng.random() < 0.6 else (0, 0)
    after[top : top + rows, left : left + columns] = _run(call, x, rows, columns)
    return Case(before=x, after=after, call=call, steps=("padded",), resized=(x.shape, (rows, columns)))


def _crop(rng: np.random.Generator, *, first: bool) -> Case:
    call = _pick(rng, 1, 3)
    height, width, *_ = _sizes(rng, 60)
    x = _picture(rng, height, width, call.channels)
    if first:
        side = int(min(height, width) * rng.choice([1.0, 0.875, 0.7]))
        top, left = (round((length - side) / 2) for length in (height, width))
        middle, size = x[top : top + side, left : left + side], int(rng.integers(30, 120))
        after = _run(call, middle, size, size)
        return Case(before=x, after=after, call=call, steps=("centre crop",), resized=(middle.shape, (size, size)))
    side = int(rng.integers(50, 160))
    size = int(side * rng.choice([0.875, 0.9, 0.95, 1.0]))
    rows, columns = (side, int(side * width / height)) if height <= width else (int(side * height / width), side)
    top, left = (round((length - size) / 2.0) for length in (rows, columns))
    after = _run(call, x, rows, columns)[top : top + size, left : left + size]
    return Case(before=x, after=after, call=call, steps=("centre crop",), resized=(x.shape, (rows, columns)))


def _fit(rng: np.random.Generator) -> Case:
    """``ImageOps.fit``, which resizes a box whose edges lie within pixels, of colours or of their grey."""
    names = ("BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS")
    name, (height, width, rows, columns) = names[int(rng.integers(len(names)))], _sizes(rng)
    x, is_grey = _picture(rng, height, width, 3), rng.random() < 0.3
    image = Image.fromarray(x).convert("L" if is_grey else "RGB")
    after = np.asarray(ImageOps.fit(image, (columns, rows), Image.Resampling[name]))
    arguments = {"resample": name, "mode": image.mode}
    call = Call(library="pillow", arguments=arguments, dtype="uint8", channels=1 if is_grey else 3)
    resized = (np.asarray(image).shape, (rows, columns))
    return Case(before=x, after=after, call=call, steps=("RGB to grey",) if is_grey else (), resized=resized)


def _twice(rng: np.random.Generator) -> Case:
    first, second = (_pick(rng, 3) for _ in range(2))
    x = _picture(rng, int(rng.integers(260, 420)), int(rng.integers(260, 420)), 3)
    sizes = (256, 256) if rng.random() < 0.5 else (x.shape[0] // 2, x.shape[1] // 2)
    rows, columns = (int(each) for each in rng.integers(40, 120, 2))
    middle = _run(first, x, *sizes)
    after = _run(second, middle, rows, columns)
    return Case(before=x, after=after, call=second, steps=("after a resize",), resized=(middle.shape, (rows, columns)))


def _drafted(rng: np.random.Generator) -> Case:
    """A JPEG that Pillow decodes at a fraction of its size, by ``thumbnail`` or before another call."""
    height, width = (int(length) for length in rng.integers(300, 900, 2))
    x, stored = _picture(rng, height, width, 3), io.BytesIO()
    Image.fromarray(x).save(stored, "JPEG", quality=int(rng.integers(60, 96)))
    image = Image.open(io.BytesIO(stored.getvalue()))
    sizes = (int(rng.integers(30, 70)), int(rng.integers(30, 70)))
    call, quality = _pick(rng, 3), int(rng.integers(60, 101)) if rng.random() < 0.5 else None
    if rng.random() < 0.5:
        call = Call(library="pillow", arguments={"resample": "BICUBIC", "mode": "RGB"}, dtype="uint8", channels=3)
        image.thumbnail(sizes, reducing_gap=float(rng.choice([2.0, 3.0])))
        after, shape = np.asarray(image), (1, 1, 3)
    else:
        image.draft("RGB", (2 * sizes[1], 2 * sizes[0]))
        draft = np.asarray(image)
        after, shape = _run(call, draft, *sizes), draft.shape
    resized = (shape, (after.shape[0], after.shape[1]))
    return Case(
        before=x, after=after, call=call, steps=("Image.draft",), resized=resized, quality=quality,
        original=stored.getvalue(),
    )  # fmt: skip


def _unknown(rng: np.random.Generator, *, jpeg: bool = False) -> Case:
    """A pipeline that nothing here knows: a blur, a crop or a shift somewhere, another gamma, a value changed."""
    case = _ordinary(rng, jpeg=jpeg)
    assert case.call is not None
    rows, columns = case.after.shape[:2]
    match rng.integers(5):
        case 0:
            x = np.asarray(Image.fromarray(case.before).filter(ImageFilter.GaussianBlur(0.6)))
            after = _run(case.call, x, rows, columns)
        case 1:
            after = _run(case.call, case.before[3:, 5:-2], rows, columns)
        case 2:
            linear = np.clip(255 * (case.before / 255) ** 2.2, 0, 255).astype(np.uint8)
            after = (255 * (_run(case.call, linear, rows, columns) / 255) ** (1 / 2.2)).astype(np.uint8)
        case 3:
            after = np.clip(case.after.astype(int) + rng.integers(-1, 2, case.after.shape), 0, 255).astype(np.uint8)
        case _:
            after = np.asarray(Image.fromarray(case.after).filter(ImageFilter.UnsharpMask(1, 60, 0)))
    return Case(before=case.before, after=after, quality=case.quality)


_KINDS: dict[str, Callable[[np.random.Generator], Case | None]] = {
    "alone": _plain,
    "factors": _factors,
    "EXIF": _turned,
    "channels": _channels,
    "letterbox": _letterbox,
    "crop after": partial(_crop, first=False),
    "crop before": partial(_crop, first=True),
    "fit": _fit,
    "twice": _twice,
    "JPEG": partial(_ordinary, jpeg=True),
    "draft": _drafted,
    "unknown": _unknown,
    "unknown JPEG": partial(_unknown, jpeg=True),
}


def _asked(case: Case, folder: Path) -> Identified:
    if case.quality is None and not case.original:
        return ir_interp.identify([(case.before, case.after)])
    before, after = folder / "before.png", folder / ("after.jpg" if case.quality else "after.png")
    Image.fromarray(case.before).save(before)
    if case.original:
        before = folder / "before.jpg"
        before.write_bytes(case.original)
    Image.fromarray(case.after).save(after, quality=case.quality or 0)  # which PNG ignores
    return ir_interp.identify([(before, after)])


def _judged(case: Case, answer: Identified) -> str:
    """Return which of the results an answer is."""
    if case.call is None:
        return "WRONGLY SURE" if answer.is_sure else "among several" if answer.fitting else "none fits"
    specs = [effective(call.spec, [(*case.resized, None)]) for call in _installations(case.call)]
    fitting = [each for each in answer.fitting if any(_is_of(text, case.resized, specs) for text in each.calls)]
    if not fitting:
        return "WRONGLY SURE" if answer.is_sure else "left out" if answer.fitting else "none fits"
    told = " ".join(fitting[0].steps)
    return (
        "among several"
        if not answer.is_sure
        else "call and steps sure"
        if all(each in told for each in case.steps)
        else "call sure"
    )


def _installations(call: Call) -> list[Call]:
    """Return a call in all installations: OpenCV leaves IPP out if a factor is not the ratio of the sizes."""
    if call.library != "opencv" or "ipp" in call.arguments:
        return [call]
    return [call, replace(call, arguments={**call.arguments, "ipp": False})]


def _is_of(text: str, resized: tuple[tuple[int, ...], tuple[int, int]], specs: Sequence[Any]) -> bool:
    (op,) = ir_interp.load(text)
    return bool(effective(op.spec, [(*resized, None)]) in specs)


def main() -> int:
    """Print how many of the pairs were named alone, among others, or wrongly."""
    parser = options(__doc__)
    parser.add_argument("--kinds", nargs="*", default=list(_KINDS), choices=list(_KINDS))
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    rows, bad = [("kind", *_RESULTS, "seconds")], 0
    with TemporaryDirectory() as folder:
        for kind in arguments.kinds:
            count, done, start = dict.fromkeys(_RESULTS, 0), 0, time.perf_counter()
            while done < arguments.cases:
                case = _KINDS[kind](rng)
                if case is None or not case.after.size:
                    continue
                answer = _asked(case, Path(folder))
                result = _judged(case, answer)
                if result in ("WRONGLY SURE", "left out") or (result == "none fits" and case.call is not None):
                    shapes = f"{list(case.before.shape)} to {list(case.after.shape)}, quality {case.quality}"
                    print(f"{result}, {kind}: {case.call}, {shapes}: {answer.text}", flush=True)
                count[result] += 1
                done += 1
            rows.append((kind, *(str(count[each]) for each in _RESULTS), f"{time.perf_counter() - start:.0f}"))
            bad += count["WRONGLY SURE"] + (count["left out"] + count["none fits"] if kind == "alone" else 0)
    print(aligned(rows))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
