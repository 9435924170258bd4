"""Calls of image libraries, as the libraries themselves run them and as ``ir_interp`` does."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ir_interp
from ir_interp import ResizeSpec, Scales, Sizes
from ir_interp.libraries import get
from ir_interp.plan.taps import Plan, plan

Array = NDArray[Any]

FILTERS = {
    **dict.fromkeys(("NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS"), 11),
    **dict.fromkeys(("MKS2013", "MKS2021"), 13),
}
"""Those of Pillow, and since when."""
INTERPOLATIONS = ("NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS4", "LINEAR_EXACT", "NEAREST_EXACT")
"""Those of OpenCV, by their numbers there."""
_MODES = {"L": ("uint8", 1), "RGB": ("uint8", 3), "RGBA": ("uint8", 4), "LA": ("uint8", 2), "I;16": ("uint16", 1)}
_PRODUCTS = {"RGBa": ("uint8", 4), "La": ("uint8", 2)}  # colours times alpha
_DEEP_MODES = {"I": ("int32", 1), "F": ("float32", 1)}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a library for images of a type and a number of channels; ``boxed``, of a box somewhere in each.

    ``scaled``, it takes factors instead of sizes, which are drawn for each image: ``scales``. ``wide`` images have
    values of the whole type, which are 16 bits of it otherwise.
    """

    library: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dtype: str
    channels: int
    boxed: bool = False
    scaled: bool = False
    scales: tuple[float, float] | None = None
    wide: bool = False

    def __str__(self) -> str:
        named = ",".join(f"{name}={value}" for name, value in self.arguments.items()) + ",box" * self.boxed
        named += ",scales" * self.scaled + ",wide" * self.wide
        return f"{self.library}:{named} {self.dtype} x{self.channels}"

    @property
    def spec(self) -> ResizeSpec:
        """Return the result of the installed version."""
        return self.of(None)

    def of(self, version: int | None) -> ResizeSpec:
        """Return what it computes in a version."""
        return ir_interp.spec(self.library, version=version, dtype=self.dtype, **self.arguments)

    def placed(self, rng: np.random.Generator, height: int, width: int) -> Call:
        """Return the call with a box in an image of these lengths, of whole numbers or not, where it is to have one."""
        if self.scaled:
            return replace(self, scales=factors(rng))
        if not self.boxed:
            return self
        sides = [np.sort(rng.random(2)) * length for length in (width, height)]
        if rng.random() < 0.25:
            sides = [np.round(side) for side in sides]
        if any(stop - start < 0.1 for start, stop in sides):
            sides = [np.array([0.0, float(length)]) for length in (width, height)]
        (left, right), (upper, lower) = (map(float, side) for side in sides)
        chosen = left, upper, right, lower
        return replace(self, arguments={**self.arguments, "box": chosen}, boxed=False)

    def image(self, rng: np.random.Generator, height: int, width: int) -> Array:
        """Return a random image, in the layout of the library."""
        shape: tuple[int, ...] = (height, width) if self.channels == 1 else (height, width, self.channels)
        if self.library in ("torch", "torchvision") and self.arguments.get("backend") != "pil":
            shape = (1, self.channels, height, width)
        if self.dtype.startswith("float"):
            return rng.random(shape).astype(self.dtype)
        bounds = np.iinfo(self.dtype)
        is_of_type = self.wide or self.library in ("scipy", "skimage") or bounds.bits == 8 or self.dtype == "int16"
        lowest, largest = (bounds.min, bounds.max) if is_of_type else (0, 2**16 - 1)
        return rng.integers(lowest, largest, shape, dtype=np.int64, endpoint=True).astype(self.dtype)

    def run(self, x: Array, height: int, width: int) -> Array:
        """Return an image as the library itself resizes it."""
        scales = {} if self.scales is None else {"scales": self.scales}
        return _RUNS[self.library](x, height, width, {**self.arguments, **scales})

    def bound(self, x: Array, height: int, width: int) -> Plan:
        """Return the plan of what is resized here."""
        target = Sizes((height, width)) if self.scales is None else Scales(self.scales)
        return plan(replace(self.spec, target=target), x.shape)

    def ours(self, x: Array, height: int, width: int, version: int | None = None) -> Array:
        """Return an image as it is resized here."""
        if self.scales is not None:
            return ir_interp.resize(x, self.of(version), scales=self.scales)
        return ir_interp.resize(x, self.of(version), sizes=(height, width))


def _pillow(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    image = importlib.import_module("PIL.Image")
    mode = arguments["mode"]
    found = image.frombytes(mode, x.shape[1::-1], x.tobytes()) if mode in _PRODUCTS else image.fromarray(x)
    assert found.mode == mode
    rest = {name: value for name, value in arguments.items() if name in ("box", "reducing_gap")}
    word = arguments["resample"]
    resample = image.Resampling[word] if isinstance(word, str) else word
    return np.asarray(found.resize((width, height), resample, **rest))


def _opencv(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    cv2 = importlib.import_module("cv2")
    cv2.ipp.setUseIPP(arguments.get("ipp", True))
    word = arguments["interpolation"]
    interpolation = getattr(cv2, f"INTER_{word}") if isinstance(word, str) else word
    if "scales" in arguments:
        fy, fx = arguments["scales"]
        scaled: Array = cv2.resize(x, None, fx=fx, fy=fy, interpolation=interpolation)
        return scaled
    y: Array = cv2.resize(x, (width, height), interpolation=interpolation)
    return y


def _torch(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    torch = importlib.import_module("torch")
    interpolate = importlib.import_module("torch.nn.functional").interpolate
    rest = {name: value for name, value in arguments.items() if name != "scales"}
    if "scales" in arguments:
        scaled: Array = interpolate(torch.from_numpy(x), scale_factor=arguments["scales"], **rest).numpy()
        return scaled
    y: Array = interpolate(torch.from_numpy(x), size=(height, width), **rest).numpy()
    return y


def _torchvision(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    torch = importlib.import_module("torch")
    functional = importlib.import_module(f"torchvision.transforms{_OF_TRANSFORMS[arguments.get('transforms', 'v2')]}")
    mode = functional.InterpolationMode(arguments["interpolation"])
    rest = {name: value for name, value in arguments.items() if name == "antialias"}
    if arguments.get("backend") == "pil":
        image = importlib.import_module("PIL.Image").fromarray(x)
        return np.asarray(functional.resize(image, [height, width], interpolation=mode, **rest))
    y: Array = functional.resize(torch.from_numpy(x), [height, width], interpolation=mode, **rest).numpy()
    return y


_OF_TRANSFORMS = {"v1": ".functional", "v2": ".v2.functional"}


def _jax(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    image = importlib.import_module("jax.image")
    return np.asarray(image.resize(x, (height, width, *x.shape[2:]), **arguments))


def _tensorflow(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    tf, batch = importlib.import_module("tensorflow"), x.reshape(1, *x.shape[:2], -1)
    if arguments.get("half_pixel_centers", True):
        made = tf.image.resize(batch, (height, width), **arguments)
    else:
        operation = getattr(tf.raw_ops, _OF_VERSION_1[arguments["method"]])
        made = operation(images=batch, size=(height, width), align_corners=arguments.get("align_corners", False))
    y: Array = made.numpy().reshape(height, width, *x.shape[2:])
    return y


_OF_VERSION_1 = {
    "bilinear": "ResizeBilinear",
    "nearest": "ResizeNearestNeighbor",
    "bicubic": "ResizeBicubic",
    "area": "ResizeArea",
}


def _scipy(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    ndimage = importlib.import_module("scipy.ndimage")
    rest = {name: value for name, value in arguments.items() if name != "scales"}
    scales = arguments.get("scales", (height / x.shape[0], width / x.shape[1]))
    y: Array = ndimage.zoom(x, (*scales, *(1,) * (x.ndim - 2)), mode="nearest", **rest)
    return y


def _skimage(x: Array, height: int, width: int, arguments: Mapping[str, Any]) -> Array:
    transform = importlib.import_module("skimage.transform")
    shape = (height, width, *x.shape[2:])
    y: Array = transform.resize(x, shape, preserve_range=True, **arguments)
    return y


_RUNS = {
    "jax": _jax,
    "opencv": _opencv,
    "pillow": _pillow,
    "scipy": _scipy,
    "skimage": _skimage,
    "tensorflow": _tensorflow,
    "torch": _torch,
    "torchvision": _torchvision,
}


def calls(library: str, version: int | None = None) -> Iterator[Call]:
    """Yield the calls of a library that are compared, for every type and number of channels."""
    match library:
        case "pillow":
            for mode, (dtype, channels) in (_MODES | _DEEP_MODES).items():
                known = get(library).version(version)
                for name in (name for name, since in FILTERS.items() if since <= known):
                    if mode == "I;16" and known < 12 and name in ("BICUBIC", "LANCZOS"):
                        continue  # sums beyond 16 bits are not known
                    given = {"resample": name, "mode": mode}
                    call = Call(library=library, arguments=given, dtype=dtype, channels=channels)
                    yield from (call, replace(call, boxed=True))
                    if mode != "I;16" and name != "NEAREST":
                        yield replace(call, arguments={**given, "reducing_gap": 2.0})
                        yield replace(call, arguments={**given, "reducing_gap": 1.0}, boxed=True)
        case "opencv":
            for dtype in ("uint8", "uint16", "float32"):
                for channels in (1, 3, 4):
                    for name in INTERPOLATIONS:
                        yield Call(library=library, arguments={"interpolation": name}, dtype=dtype, channels=channels)
                    for name in ("LINEAR", "CUBIC"):
                        own = {"interpolation": name, "ipp": False}
                        yield Call(library=library, arguments=own, dtype=dtype, channels=channels)
                for name in ("LINEAR", "CUBIC", "AREA"):
                    yield Call(library=library, arguments={"interpolation": name}, dtype=dtype, channels=2)
        case "torchvision":
            for dtype in ("uint8", "float32"):
                for channels in (1, 3):
                    for arguments in _TORCHVISION:
                        if (dtype == "uint8" or "backend" not in arguments) and _is_of(arguments, version):
                            yield Call(library=library, arguments=arguments, dtype=dtype, channels=channels)
        case _ if library in ONLY_FLOATS:
            for dtype in ("uint8", "float32"):
                for channels in (1, 3):
                    for arguments in ONLY_FLOATS[library]:
                        if dtype == "float32" or library == "scipy" or _copies(arguments):
                            yield Call(library=library, arguments=arguments, dtype=dtype, channels=channels)
        case _:
            for dtype in ("uint8", "float32"):
                for channels in (1, 3, 5):
                    for arguments in _TORCH:
                        if dtype == "float32" or arguments["mode"] != "area":
                            yield Call(library=library, arguments=arguments, dtype=dtype, channels=channels)


def edges(library: str) -> Iterator[Call]:
    """Yield the calls of a library at its edges: its own enums, factors, odd channels, and further element types."""
    match library:
        case "pillow":
            resampling = importlib.import_module("PIL.Image").Resampling
            for mode, (dtype, channels) in (_MODES | _PRODUCTS | _DEEP_MODES).items():
                for member in resampling:
                    if (mode, member.name) not in (("I;16", "BICUBIC"), ("I;16", "LANCZOS")):
                        own = {"mode": mode, "resample": member if channels % 2 else member.value}
                        call = Call(library=library, arguments=own, dtype=dtype, channels=channels)
                        yield call
                        if mode == "I" and member.name != "NEAREST":
                            yield replace(call, wide=True)
                            yield replace(call, arguments={**own, "reducing_gap": 1.5}, wide=True)
        case "opencv":
            for dtype in ("uint8", "uint16", "int16", "float32"):
                for channels in (1, 2, 3, 4, 5):
                    for name in INTERPOLATIONS:
                        word = name if channels % 2 else INTERPOLATIONS.index(name)
                        own = {"ipp": False} if (name, dtype) == ("LINEAR", "int16") else {}
                        call = Call(
                            library=library, arguments={"interpolation": word, **own}, dtype=dtype, channels=channels
                        )
                        yield from (call, replace(call, scaled=True))
                        if name in ("LINEAR", "CUBIC") and not own:
                            without = {"interpolation": word, "ipp": False}
                            yield replace(call, arguments=without, scaled=True)
        case "torch":
            for dtype in ("uint8", "float32", "float64"):
                for channels in (1, 2, 3, 4, 5, 8):
                    for arguments in _TORCH:
                        if arguments["mode"] != "lanczos" and (dtype, arguments["mode"]) != ("uint8", "area"):
                            call = Call(library=library, arguments=arguments, dtype=dtype, channels=channels)
                            yield from (call, replace(call, scaled=True))
        case "scipy":  # which has no enums
            for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
                for channels in (1, 2, 3, 4, 5, 8):
                    for arguments in ONLY_FLOATS[library]:
                        call = Call(library=library, arguments=arguments, dtype=dtype, channels=channels)
                        yield from (call, replace(call, scaled=True))
        case "skimage":  # which has no enums, and takes no factors
            for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
                for channels in (1, 2, 3, 4, 5, 8):
                    for arguments in ONLY_FLOATS[library]:
                        if dtype.startswith("float") or _copies(arguments):
                            yield Call(library=library, arguments=arguments, dtype=dtype, channels=channels)


_FACTORS = (0.5, 0.25, 1 / 3, 0.1, 0.2, 2.0, 3.0, 1.5, 0.75, 0.7, 1.1, 0.9, 1.001, 0.999, 1.0, 2.05, 2.5, 0.6)


def factors(rng: np.random.Generator) -> tuple[float, float]:
    """Return factors of height and width: those that people write, few digits, or any; one of them often for both."""
    match rng.integers(3):
        case 0:
            height, width = rng.choice(_FACTORS, 2)
        case 1:
            height, width = np.round(rng.uniform(0.1, 4.0, 2), int(rng.integers(1, 4)))
        case _:
            height, width = np.exp(rng.uniform(np.log(0.08), np.log(4.0), 2))
    height, width = (max(float(each), 0.05) for each in (height, width))
    return (height, height) if rng.random() < 0.4 else (height, width)


def _copies(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("method") == "nearest" or arguments.get("order") == 0


ONLY_FLOATS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "jax": (
        {"method": "nearest"},
        {"method": "area"},
        *(
            {"method": method, "antialias": antialias}
            for method in ("linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5")
            for antialias in (True, False)
        ),
    ),
    "scipy": tuple({"order": order, "grid_mode": grid} for order in (0, 1) for grid in (False, True)),
    "skimage": (
        {"order": 0, "anti_aliasing": False},
        {"order": 1},
        *(
            {"order": 1, "mode": mode, "anti_aliasing": smooths}
            for mode in ("reflect", "edge", "symmetric")
            for smooths in (False, True)
        ),
    ),
    "tensorflow": (
        {"method": "nearest"},
        {"method": "area"},
        *(
            {"method": method, "antialias": antialias}
            for method in ("bilinear", "bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
            for antialias in (False, True)
        ),
        *(
            {"method": method, "half_pixel_centers": False, **corners}
            for method in _OF_VERSION_1
            for corners in ({}, {"align_corners": True})
        ),
    ),
}


_TORCH: tuple[dict[str, Any], ...] = (
    {"mode": "nearest"},
    {"mode": "nearest-exact"},
    {"mode": "area"},
    *({"mode": mode, **rest} for mode in ("bilinear", "bicubic") for rest in (
        {}, {"align_corners": True}, {"antialias": True},
    )),
    {"mode": "lanczos", "antialias": True},
)  # fmt: skip


_TORCHVISION: tuple[dict[str, Any], ...] = (
    *(
        {"interpolation": name, **rest, **transforms}
        for name in ("nearest", "nearest-exact", "bilinear", "bicubic")
        for rest in ({}, {"antialias": False}, {"antialias": True})
        for transforms in ({}, {"transforms": "v1"})
    ),
    {"interpolation": "lanczos"},
    *(
        {"interpolation": name, "backend": "pil", **transforms}
        for name in ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
        for transforms in ({}, {"transforms": "v1"})
    ),
)


def _is_of(arguments: Mapping[str, Any], version: int | None) -> bool:
    """Say whether a version of torchvision has a call: tensors of lanczos came later."""
    is_new = arguments["interpolation"] == "lanczos" and "backend" not in arguments
    return not is_new or get("torchvision").version(version) > 16


def lengths(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Return height and width of an image and of the output: tiny, in whole ratios up to 50, slim, or any."""
    kind = rng.integers(5)
    if kind == 4:  # over 100 times as tall as wide, or as wide as tall
        (height, rows), (width, columns) = rng.integers(300, 3000, 2), rng.integers(1, 12, 2)
        if rng.random() < 0.5:
            height, width, rows, columns = width, height, columns, rows
    elif kind == 0:
        height, width, rows, columns = rng.integers(1, 12, 4)
    elif kind == 1:
        ratios = rng.integers(1, 51, 2)
        (height, width), (rows, columns) = (1 + rng.integers(0, 400 // ratios, 2)), ratios
        rows, columns = height * rows, width * columns
        if rng.random() < 0.6:
            height, width, rows, columns = rows, columns, height, width
    else:
        height, width, rows, columns = rng.integers(1, 320, 4)
    return int(height), int(width), int(rows), int(columns)
