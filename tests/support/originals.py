"""Good files of every kind that the program reads, in small: what broken ones are made of."""

from __future__ import annotations

import json
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from PIL import Image

from ir_interp import convert
from tests.support import framework_originals
from tests.support.external import save_external
from tests.support.graphs import save_model
from tests.support.places import SAMPLES

_GRAPHS = {
    "loop": """g (float[1, 1, 4, 4] x) => (float[n, 1, 8, 8] y)
        <int64 steps = {2}, bool go = {1}, float[4] scales = {1, 1, 2, 2}> {
            y = Loop (steps, go) <body = step (int64 i, bool before) => (bool after, float[1, 8, 8] up) {
                after = Identity (before)
                big = Resize <mode = "nearest"> (x, , scales)
                axes = Constant <value_ints = [0]> ()
                up = Squeeze (big, axes)
            }>
        }""",
    "choice": """g (float[1, 1, 4, 4] x, bool[1] c) => (float[a, b, h, w] y) <int64[2] sizes = {6, 7}> {
            y = If (c) <
                then_branch = yes () => (float[1, 1, 6, 7] p) {
                    p = Resize <mode = "linear", axes = [2, 3]> (x, , , sizes)
                },
                else_branch = no () => (float[1, 1, 4, 4] q) { q = Identity (x) }
            >
        }""",
    "shapes": """g (float[n, 3, h, w] x) => (float[n, 3, a, b] y)
        <int64[1] two = {2}, int64[1] four = {4}, int64[1] zero = {0}> {
            s = Shape (x)
            nc = Slice (s, zero, two)
            hw = Slice (s, two, four)
            doubled = Mul (hw, two)
            sizes = Concat <axis = 0> (nc, doubled)
            y = Resize <mode = "cubic", coordinate_transformation_mode = "align_corners"> (x, , , sizes)
        }""",
    "crop": """g (float[1, 2, 5, 6] x, float[8] roi) => (float[1, 2, 7, 9] y) <int64[4] sizes = {1, 2, 7, 9}> {
            [up] y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, , sizes)
        }""",
    "image": """g (float[1, 5, 6, 2] x) => (float[1, 9, 8, 2] y) <int64[4] sizes = {1, 9, 8, 2}> {
            y = Resize <mode = "linear"> (x, , , sizes)
        }""",
}
_IRS = ("fpn", "loop", "choice", "shapes", "external-Constant")


def write(folder: Path) -> None:
    """Write them into a folder: samples, graphs of several kinds, weights apart, a .tflite; and IRs of some."""
    for sample in sorted(SAMPLES.iterdir()):
        for form in ("layer.xml", "tensorrt.json"):
            if (sample / form).exists():
                shutil.copy(sample / form, folder / f"{sample.name}{Path(form).suffix}")
        if (sample / "model.onnxtxt").exists():
            text = (sample / "model.onnxtxt").read_text(encoding="utf-8")
            onnx.save(onnx.parser.parse_model(text), folder / f"{sample.name}.onnx")
    onnx.save(runpy.run_path(str(SAMPLES / "fpn.py"))["build"](), folder / "fpn.onnx")
    for name, graph in _GRAPHS.items():
        save_model(folder / f"{name}.onnx", graph)
    for place in ("Constant", "function", "subgraph"):
        name = f"external-{place}"
        (folder / f"{name}.weights").write_bytes(np.ones(256, np.float32).tobytes())
        save_external(folder / f"{name}.onnx", place, f"{name}.weights")
    for name in _IRS:
        (folder / "irs").mkdir(exist_ok=True)
        convert(folder / f"{name}.onnx", folder / "irs" / f"ir-{name}.xml", verify=False)
    if find_spec("ai_edge_litert"):  # it has the schema
        convert(folder / "image.onnx", folder / "lite.tflite", verify=False)
    for path in (folder / "irs").iterdir():
        path.rename(folder / path.name)
    (folder / "irs").rmdir()
    np.save(folder / "x.npy", np.zeros((1, 1, 4, 4), np.float32))
    _write_images(folder)
    _rasters(folder)
    _formats(folder / "formats")


def _write_images(folder: Path) -> None:
    """Write a photo, the same resized, a screenshot, each with what else a library's resize takes."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 14, 4)).astype(np.uint8)
    photo = Image.fromarray(pixels[:, :, :3])
    photo.save(folder / "photo.png")
    photo.resize((7, 6), Image.Resampling.BICUBIC).save(folder / "small.png")
    Image.fromarray(pixels).save(folder / "screen.png")
    np.save(folder / "photo.npy", pixels[:, :, :3])
    (folder / "config.json").write_text(json.dumps(_CONFIG))


_CONFIG = {
    "image_processor_type": "ViTImageProcessorPil",
    "do_resize": True, "size": {"height": 8, "width": 9}, "resample": 3, "do_rescale": True, "rescale_factor": 0.1,
    "do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [1, 2, 3],
}  # fmt: skip


def _rasters(folder: Path) -> None:
    """Write a map and a microscope's image as TIFF, where their libraries are installed."""
    pixels = np.arange(2 * 40 * 50, dtype=np.uint16).reshape(2, 40, 50)
    if find_spec("rasterio") and find_spec("tifffile"):
        import rasterio
        import tifffile

        place = rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6)
        shape = {"count": 2, "height": 40, "width": 50, "dtype": "uint16"}
        with rasterio.open(folder / "map.tif", "w", driver="GTiff", crs="EPSG:32633", transform=place, **shape) as file:
            file.write(pixels)
        axes = {"axes": "CYX", "PhysicalSizeX": 0.25}
        tifffile.imwrite(folder / "cells.tif", pixels, ome=True, photometric="minisblack", metadata=axes)


def _formats(folder: Path) -> None:
    """Write files of further formats, a folder for each: arrays, stores, rasters of several files, whole models."""
    pixels = np.arange(2 * 40 * 50, dtype=np.uint16).reshape(2, 40, 50)
    (folder / "npz").mkdir(parents=True)
    np.savez(folder / "npz/x.npz", x=np.zeros((1, 5, 6, 2), np.float32), y=np.zeros((1, 9, 8, 2), np.float32))
    if find_spec("rasterio") and find_spec("tifffile"):
        import rasterio
        import tifffile

        place = rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6)
        shape = {"count": 2, "height": 40, "width": 50, "dtype": "uint16", "nodata": 7}
        (folder / "cog").mkdir()
        with rasterio.open(folder / "cog/x.tif", "w", driver="COG", crs="EPSG:32633", transform=place, **shape) as file:
            file.write(pixels)
        (folder / "ome").mkdir()
        tifffile.imwrite(folder / "ome/x.ome.tif", pixels[:1], description=_ome("x.ome.tif", "b.tif"), metadata=None)
        tifffile.imwrite(folder / "ome/b.tif", pixels[1:], metadata=None)
    if find_spec("zarr"):
        import zarr

        for version in (2, 3):
            group = zarr.open_group(folder / f"zarr{version}/x.zarr", mode="w", zarr_format=version)
            group.attrs["multiscales"] = _MULTISCALES
            group.create_array("0", data=pixels, chunks=(1, 20, 25))
        inside = folder / "zip/x.zarr.zip"
        inside.parent.mkdir()
        with zarr.storage.ZipStore(inside, mode="w") as store:
            zarr.create_array(store, data=pixels[0], chunks=(20, 25))
    framework_originals.write(folder)


_MULTISCALES: Any = [
    {
        "version": "0.4",
        "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
        "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 0.5]}]}],
    }
]


def _ome(*names: str) -> str:
    """Return the description of an OME-TIFF with a plane in each file."""
    planes = "".join(
        f'<TiffData FirstC="{plane}" IFD="0" PlaneCount="1"><UUID FileName="{name}">urn:uuid:{plane}</UUID></TiffData>'
        for plane, name in enumerate(names)
    )
    size = 'DimensionOrder="XYZCT" Type="uint16" SizeX="50" SizeY="40" SizeZ="1" SizeC="2" SizeT="1"'
    return (
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:0"><Image ID="Image:0">'
        f'<Pixels ID="Pixels:0" {size}>{planes}</Pixels></Image></OME>'
    )
