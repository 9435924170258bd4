"""What is timed: a resize, in the words of every engine that can do it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One resize: an input of ``shape`` and ``dtype`` to ``sizes`` along ``axes``.

    ``like`` names the call of an image library whose bytes are made, as ``ir-interp run --like`` takes it.
    """

    name: str
    mode: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    coordinates: str = "half_pixel"
    antialias: bool = False
    dtype: str = "float32"
    like: str = ""

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The lengths of the output."""
        sizes = dict(zip(self.axes, self.sizes, strict=True))
        return tuple(sizes.get(axis, length) for axis, length in enumerate(self.shape))


def _image(name: str, mode: str, shape: tuple[int, ...], sizes: tuple[int, ...], **more: object) -> Case:
    return Case(name=name, mode=mode, shape=shape, sizes=sizes, axes=(2, 3), **more)  # type: ignore[arg-type]


def _photos(
    sides: tuple[int, int], sizes: tuple[int, int], *modes: str, dtypes: tuple[str, ...] = ("uint8", "float32")
) -> list[Case]:
    """Return resizes of an image as people have them: height x width x 3, of each type."""
    cases = []
    for dtype in dtypes:
        for mode in modes:
            kernel, _, antialias = mode.partition(" ")
            corner = kernel in ("nearest", "area")
            cases.append(
                Case(
                    name=f"{dtype} {sides[1]}x{sides[0]} to {sizes[1]}x{sizes[0]} {mode}",
                    mode=kernel,
                    shape=(*sides, 3),
                    sizes=sizes,
                    axes=(0, 1),
                    coordinates="asymmetric" if corner else "half_pixel",
                    antialias=bool(antialias),
                    dtype=dtype,
                )
            )
    return cases


def _library(call: str, sides: tuple[int, int], sizes: tuple[int, int]) -> Case:
    name = f"{call} {sides[1]}x{sides[0]} to {sizes[1]}x{sizes[0]}"
    return Case(name=name, mode="", shape=(*sides, 3), sizes=sizes, axes=(0, 1), dtype="uint8", like=call)


HD = (1, 3, 1080, 1920)
MAPS = [
    _image("nearest x2 64x128x128", "nearest", (1, 64, 128, 128), (256, 256), coordinates="asymmetric"),
    _image("nearest 1080p to 640", "nearest", HD, (640, 640), coordinates="asymmetric"),
    _image("linear x2 64x128x128", "linear", (1, 64, 128, 128), (256, 256)),
    _image("linear x2 256x20x20", "linear", (1, 256, 20, 20), (40, 40)),
    _image("linear corners x4 16x64x64", "linear", (1, 16, 64, 64), (256, 256), coordinates="align_corners"),
    _image("linear 1080p to 640", "linear", HD, (640, 640)),
    _image("linear antialias 1080p to 640", "linear", HD, (640, 640), antialias=True),
    _image("linear uint8 1080p to 640", "linear", HD, (640, 640), dtype="uint8"),
    _image("cubic x2 3x512x512", "cubic", (1, 3, 512, 512), (1024, 1024)),
    _image("cubic antialias 1080p to 224", "cubic", HD, (224, 224), antialias=True),
    Case(
        name="trilinear x2 8x32x64x64",
        mode="linear",
        shape=(1, 8, 32, 64, 64),
        sizes=(64, 128, 128),
        axes=(2, 3, 4),
    ),
    _image("linear x2 batch 16", "linear", (16, 16, 64, 64), (128, 128)),
    Case(
        name="linear NHWC 1080p to 640",
        mode="linear",
        shape=(1, 1080, 1920, 3),
        sizes=(640, 640),
        axes=(1, 2),
    ),
    _image("linear float16 x2 64x128x128", "linear", (1, 64, 128, 128), (256, 256), dtype="float16"),
]
GROWTH = [
    _image(f"linear x2 {side}x{side}", "linear", (1, 1, side, side), (2 * side, 2 * side))
    for side in (64, 128, 256, 512, 1024, 2048, 4096)
]

CAMERA, THUMB = (3279, 4928), (567, 852)
UHD, FULL = (2160, 3840), (1080, 1920)
VGA, SMALL, DOUBLE = (480, 640), (224, 224), (448, 448)
_EVERY = ("nearest", "linear", "cubic", "linear antialias", "cubic antialias", "area")
IMAGES = [
    *_photos(CAMERA, THUMB, *_EVERY),
    *_photos(UHD, FULL, "linear", "area"),
    *_photos(VGA, SMALL, "nearest", "linear", "cubic", "linear antialias"),
    *_photos(VGA, (640, 640), "linear", "cubic"),
    *_photos(SMALL, DOUBLE, "linear", "cubic"),
    *_photos(CAMERA, THUMB, "linear", dtypes=("float16",)),
    *_photos(VGA, SMALL, "linear", "cubic", dtypes=("float16",)),
    *_photos(SMALL, DOUBLE, "linear", "cubic", dtypes=("float16",)),
]
LIBRARIES = [
    _library(call, sides, sizes)
    for sides, sizes in ((CAMERA, THUMB), (VGA, SMALL))
    for call in ("pillow:bilinear", "pillow:bicubic", "pillow:lanczos", "opencv:linear", "opencv:cubic", "opencv:area")
]
SUITES = {"maps": MAPS, "images": IMAGES, "libraries": LIBRARIES}
CASES = [case for suite in SUITES.values() for case in suite]
