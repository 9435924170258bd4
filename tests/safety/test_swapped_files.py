"""A pipe or a link takes the place of a checked file: no command waits or follows it, however late the swap comes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

import ir_interp
from tests.support.external import LENGTH, save_external
from tests.support.places import ROOT
from tests.support.watched import CAN_WATCH, replaced_after

SECONDS = 60.0
"""Far below the time limit of a runtime in a process of its own, which may wait until then."""

# A command, the file that is swapped, and the one after whose uses that happens.
CALLS = {
    "model": ("convert a.onnx y.xml --no-verify", "a.onnx", "a.onnx"),
    "model to be fixed": ("fix a.onnx y.onnx", "a.onnx", "a.onnx"),
    "portable model": ("convert a.onnx y.onnx --target tensorrt", "a.onnx", "a.onnx"),
    "external data": ("convert e.onnx y.xml --no-verify", "weights", "e.onnx"),
    "copied external data": ("convert e.onnx out/y.onnx --target tensorrt --no-verify", "weights", "e.onnx"),
    "frozen model": ("convert e.onnx y.xml --freeze --shape 1,1,8,8 --no-verify", "weights", "e.onnx"),
    "IR": ("convert b.xml y.onnx --no-verify", "b.xml", "b.xml"),
    "constants of an IR": ("convert b.xml y.onnx --no-verify", "b.bin", "b.xml"),
    "rewritten IR": ("convert b.xml y.xml --only decomposed --no-verify", "b.bin", "b.xml"),
    "image": ("run g.png --like pillow:bicubic --sizes 4,4 --output y.npy", "g.png", "g.png"),
    "array": ("run x.npy --like pillow:bicubic --sizes 4,4 --output y.npy", "x.npy", "x.npy"),
    "audited model": ("audit a.onnx", "a.onnx", "a.onnx"),
}
FEW = ("rewritten IR", "array")
RUN = "--like opencv:linear --sizes 4,4 --output"
STORES = {
    "GeoTIFF": (f"run t.tif {RUN} y.tif", "t.tif", "t.tif"),
    "levels of a GeoTIFF": ("run t.tif --like opencv:linear --scales 0.5 --levels 1 --output y.tif", "t.tif", "t.tif"),
    "TIFF of a microscope": (f"run m.ome.tif {RUN} y.zarr --dims y,x", "m.ome.tif", "m.ome.tif"),
    "part of an OME-TIFF": (f"run m.ome.tif {RUN} y.zarr --dims y,x", "n.ome.tif", "m.ome.tif"),
    "part of an OME-TIFF, by itself": (f"run m.ome.tif {RUN} y.zarr --dims y,x", "n.ome.tif", "n.ome.tif"),
    "metadata of a store": (f"run s.zarr {RUN} y.zarr", "s.zarr/zarr.json", "s.zarr/zarr.json"),
    "chunk of a store": (f"run s.zarr {RUN} y.zarr", "s.zarr/c/0/0", "s.zarr/c/0/0"),
    "zipped store": (f"run z.zarr.zip {RUN} y.zarr", "z.zarr.zip", "z.zarr.zip"),
}
FEW_OF_STORES = (("GeoTIFF", False), ("part of an OME-TIFF, by itself", True), ("chunk of a store", True))
# The program in a process in which a pipe takes the place of a file just before Python opens it for the n-th time.
DRIVER = """
import os, sys
number, path, *sys.argv[1:] = sys.argv[1:]
left, path = int(number), os.path.realpath(path)

def swap(event, arguments):
    global left
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)) and os.path.realpath(arguments[0]) == path:
        left -= 1
        if not left:
            os.replace("pipe", path)

sys.addaudithook(swap)
from ir_interp.cli.main import entry
entry()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    np.arange(LENGTH, dtype=np.float32).tofile("weights")
    save_external(Path("e.onnx"), "initialiser", "weights")
    ir_interp.convert(Path("e.onnx"), Path("b.xml"), verify=False)
    save_external(Path("a.onnx"), "Constant", "weights")
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    Image.fromarray(pixels).save("g.png")
    np.save("x.npy", pixels.astype(np.float32))
    return tmp_path


@pytest.fixture
def stores(folder: Path) -> Path:
    """Add a GeoTIFF, an OME-TIFF of two files, and a Zarr store in a folder and in a ZIP file."""
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    tifffile = pytest.importorskip("tifffile", reason="pip install 'ir-interp[microscopy]'")
    zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    profile: dict[str, Any] = {"driver": "GTiff", "width": 8, "height": 8, "count": 1, "dtype": "uint8"}
    with rasterio.open("t.tif", "w", **profile, transform=rasterio.Affine(2, 0, 0, 0, -2, 0)) as file:
        file.write(pixels[None])
    planes = "".join(
        f'<TiffData FirstZ="{z}" IFD="0" PlaneCount="1"><UUID FileName="{name}.ome.tif">urn:uuid:{z}</UUID></TiffData>'
        for z, name in enumerate("mn")
    )
    sizes = 'DimensionOrder="XYZCT" Type="uint8" SizeX="8" SizeY="8" SizeZ="2" SizeC="1" SizeT="1"'
    text = f'<OME UUID="urn:uuid:0"><Image ID="Image:0"><Pixels ID="Pixels:0" {sizes}>{planes}</Pixels></Image></OME>'
    for name in "mn":
        tifffile.imwrite(f"{name}.ome.tif", pixels, description=text, metadata=None)
    zarr.create_array("s.zarr", data=pixels, chunks=(8, 8))
    with ZipFile("z.zarr.zip", "w") as archive:
        for name in ("zarr.json", "c/0/0"):
            archive.write(f"s.zarr/{name}", name)
    return folder


def swaps(line: str, file: str, used: str, *, before: bool) -> int:
    """Swap a file ``before`` or after each of its uses, and return their number. No call waits or fails oddly."""
    content, uses = Path(file).read_bytes(), 0
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    while True:
        for left in Path().glob("y.*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        Path(file).unlink()
        Path(file).write_bytes(content)
        os.mkfifo("pipe")
        driver = ["-c", DRIVER, str(uses + 1), file] if before else ["-m", "ir_interp"]
        swapping = nullcontext() if before else replaced_after(uses + 1, Path(used), Path(file), Path("pipe"))
        with swapping:
            done = subprocess.run(
                [sys.executable, "-P", *driver, *line.split()],
                env=environment, capture_output=True, text=True, check=False, timeout=SECONDS,
            )  # fmt: skip
        if Path("pipe").exists():  # it was not opened so often
            break
        uses += 1
        assert done.returncode in (0, 1, 2), done.stderr
        assert (done.returncode == 2) == done.stderr.startswith("error: "), done.stderr
        assert "unexpected" not in done.stderr
        assert "/proc/self/fd" not in done.stderr
    Path("pipe").unlink()
    assert done.returncode == 0, done.stderr
    return uses


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
@pytest.mark.parametrize(
    "name", [each if each in FEW else pytest.param(each, marks=pytest.mark.long) for each in CALLS]
)
def test_a_pipe_that_takes_the_place_of_a_file(name: str, folder: Path) -> None:
    """After each time that a file was opened, or closed."""
    line, file, used = CALLS[name]
    assert swaps(line, file, used, before=False)


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
@pytest.mark.parametrize(
    ("name", "before"),
    [
        pytest.param(*each, marks=() if each in FEW_OF_STORES else pytest.mark.long)
        for each in product(STORES, (False, True))
    ],
)
def test_a_pipe_that_takes_the_place_of_a_block(name: str, before: bool, stores: Path) -> None:
    """After each time, too, and just before: between any check of the name and the time that it is opened."""
    line, file, used = STORES[name]
    assert swaps(line, file, used, before=before)


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
@pytest.mark.parametrize(("source", "part"), [("m.ome.tif", "n.ome.tif"), ("s.zarr", "s.zarr/c/0/0")])
def test_a_link_that_takes_the_place_of_a_part_is_not_followed(
    source: str, part: str, stores: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Pixels of a file in another folder do not become those of the result, whenever the link is put there."""
    import zarr

    content, uses = Path(part).read_bytes(), 0
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_bytes(content[:-64] + bytes([99]) * 64)
    line = f"run {source} --like opencv:nearest --sizes 8,8 --output y.zarr" + " --dims y,x" * source.endswith("tif")
    while True:
        shutil.rmtree("y.zarr", ignore_errors=True)
        Path(part).unlink()
        Path(part).write_bytes(content)
        Path("pipe").symlink_to(secret)
        done = subprocess.run(
            [sys.executable, "-P", "-c", DRIVER, str(uses + 1), part, *line.split()],
            env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode in (0, 2), done.stderr
        if done.returncode == 0:
            assert (np.asarray(zarr.open_array("y.zarr", mode="r")[...]) != 99).all()
        if Path("pipe").is_symlink():
            break
        uses += 1
    assert uses
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
@pytest.mark.long
@pytest.mark.parametrize("name", ["model", "constants of an IR", "image", "array"])
def test_a_pipe_that_takes_the_place_of_a_file_before_it_is_opened(name: str, folder: Path) -> None:
    line, file, used = CALLS[name]
    assert swaps(line, file, used, before=True)
