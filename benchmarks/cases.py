"""What is timed: a resize, in the words of every engine that can do it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One resize: an input of ``shape`` and ``dtype`` to ``sizes`` along ``axes``."""

    name: str
    mode: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    coordinates: str = "half_pixel"
    antialias: bool = False
    dtype: str = "float32"

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The lengths of the output."""
        sizes = dict(zip(self.axes, self.sizes, strict=True))
        return tuple(sizes.get(axis, length) for axis, length in enumerate(self.shape))


def _image(name: str, mode: str, shape: tuple[int, ...], sizes: tuple[int, ...], **more: object) -> Case:
    return Case(name=name, mode=mode, shape=shape, sizes=sizes, axes=(2, 3), **more)  # type: ignore[arg-type]


HD = (1, 3, 1080, 1920)
CASES = [
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
