"""Each command in a folder full of settings for every library, and of neighbours of the files that it names.

The kernel logs which files are opened, by Python or by a library, in any process: only the named ones are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command

import ir_interp
from ir_interp.cli.main import app
from tests.support import framework_originals
from tests.support.graphs import save_model
from tests.support.loops import VARIABLE
from tests.support.places import ROOT
from tests.support.watched import CAN_WATCH, listening

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}> {
    y = Resize <mode = "linear"> (x, "", s)
}"""
SETTINGS = (
    ".numba_config.yaml", "matplotlibrc", "matplotlib/matplotlibrc", "dask.yaml", ".dask/dask.yaml", "distributed.yaml",
    "zarr.yaml", ".zarr/zarr.yaml", ".netrc", "_netrc", ".env", "sitecustomize.py", "usercustomize.py", "pyvenv.cfg",
    "python311._pth", "setup.cfg", "tox.ini", ".pdbrc", ".pythonrc", "plugins.xml", "openvino.conf", "hardware.json",
    "keras.json", ".keras/keras.json", "tensorflow.cfg", "gdalrc", ".gdal/gdalrc", "gdalvrt.xsd", "proj.db", "proj.ini",
    "openblas.conf", ".openblasrc", "fsspec.json", ".config/fsspec/conf.json", ".aws/config", ".boto", "ort.json",
    "onnxruntime.config", "typer.toml", "click.cfg", "rich.toml", ".xarray.yaml", "numpy.py", "PIL.py", "yaml.py",
    "ld.so.preload", "libopenvino_onnx_frontend.so", "libonnxruntime_providers_shared.so", "site.cfg",
    "threadpoolctl.py",
)  # fmt: skip
NEIGHBOURS = (
    "a.onnx.data", "a.onnx_data", "a.bin", "a.data", "a.json", "a.mapping", "a.ort", "a.onnx.json", "config.json",
    "preprocessor_config.json", "b.mapping", "b.xml.bin", "b.onnx", "g.png.aux.xml", "g.pgw", "g.png.msk", "g.png.ovr",
    "x.npy.json", "x.npz", "t.tif.msk", "t.tif.ovr", "t.aux", "t.wld", "t.imd", "t_MTL.txt", "metadata.json",
    "NDTiff.index", "saved_model.pb", "fingerprint.pb",
)  # fmt: skip
COMMANDS = (
    "run g.png --like pillow:bicubic --sizes 20,25 --output out.png",
    "run a.onnx --input x.npy --output out.npy",
    "run t.tif --like pillow:bicubic --sizes 20,25 --output out.tif",
    "run s.zarr --like pillow:bicubic --sizes 20,25 --output out.zarr",
    "inspect a.onnx",
    "explain b.xml",
    "plot a.onnx out.svg --axis 2",
    "audit a.onnx b.xml",
    "convert a.onnx out.xml",
    "fix a.onnx out.onnx",
    "identify g.png h.png",
)
MORE = (
    "audit a.onnx --run --html out.html",
    "convert b.xml out.onnx",
    "convert a.onnx out2.onnx --target tensorrt",
    "compare a.onnx b.xml --per-resize",
    "preprocess c.onnx out3.onnx --like pillow:bicubic --size 8,8",
    "reproduce reference:single-output out4",
)
FRAMEWORKS = (
    "keras/net.keras", "h5/net.h5", "saved/net", "graph/net.pb", "paddle/net.pdmodel", "program/net.pt2",
    "tflite/net.tflite",
)  # fmt: skip
COMMANDS_OF_FRAMEWORKS = (
    "inspect {0}", "audit {0}", "audit {0} --results out{1}.jsonl", "convert {0} out{1}.onnx", "convert {0} out{1}.xml",
    "compare {0} out{1}.onnx",
)  # fmt: skip
BESIDE_MODELS = (
    "config.json", "metadata.json", "model.weights.h5", "keras.json", "net.json", "net.yaml", "net.index",
    "net.data-00000-of-00001", "net.mapping", "net.pdopt", "net.pdiparams.info", "net.pdmodel.info", "fingerprint.pb",
    "saved_model.pb", "checkpoint", "__model__", "__params__", "constants.pt", "data.pkl", "version", "net.so",
)  # fmt: skip
WEIGHTS = {".xml": (".bin",), ".pdmodel": (".pdiparams",)}
DRIVER = """
import json, sys
from pathlib import Path
sys.path.insert(0, ROOT)
from tests.support.watched import opened_in
from ir_interp.cli.main import entry
answers = []
for line in json.loads(sys.argv[1]):
    sys.argv[1:] = line.split()
    with opened_in(Path()) as opened:
        try:
            entry()
        except SystemExit as end:
            code = end.code
    answers.append((line, code, sorted(opened)))
Path("../answers.json").write_text(json.dumps(answers))
"""


def fill(folder: Path, url: str) -> None:
    """Write the files that commands name, and others that name a server, a folder of code, or commands."""
    for name in (*SETTINGS, *NEIGHBOURS):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"cache_dir: planted\nbackend: module://planted\n# <GDAL_WMTS>{url}</GDAL_WMTS>\nurl = {url}\n")
    save_model(folder / "a.onnx", TEXT)
    save_model(folder / "c.onnx", TEXT.replace("1,1,8,8", "1,3,8,8").replace("1,1,k,l", "1,3,k,l"))
    pixels = np.arange(2000, dtype=np.uint8).reshape(40, 50)
    Image.fromarray(pixels).save(folder / "g.png")
    Image.fromarray(pixels[::2, ::2]).save(folder / "h.png")
    np.save(folder / "x.npy", np.zeros((1, 1, 8, 8), np.float32))


def stores(folder: Path) -> None:
    """Write a GeoTIFF and a Zarr store."""
    rasterio, zarr = pytest.importorskip("rasterio"), pytest.importorskip("zarr")
    profile: dict[str, Any] = {"driver": "GTiff", "width": 50, "height": 40, "count": 1, "dtype": "uint8"}
    with rasterio.open(folder / "t.tif", "w", **profile, transform=rasterio.Affine(2, 0, 0, 0, -2, 0)) as file:
        file.write(np.zeros((1, 40, 50), np.uint8))
    zarr.create_array(folder / "s.zarr", data=np.zeros((40, 50), np.uint8), chunks=(20, 25))


@pytest.mark.skipif(not CAN_WATCH, reason="the log is one of Linux")
@pytest.mark.parametrize("commands", [COMMANDS, pytest.param(MORE, marks=pytest.mark.long)], ids=["some", "others"])
def test_no_command_opens_a_file_that_it_does_not_name(commands: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with listening() as listener:
        fill(folder, listener.url)
        stores(folder)
        ir_interp.convert(folder / "a.onnx", folder / "b.xml", verify=False)
        (folder / "t.tif.msk").unlink()  # which is refused unopened
        check_opened(commands, folder)
        assert listener.connections == 0


@pytest.mark.long
@pytest.mark.skipif(not CAN_WATCH, reason="the log is one of Linux")
def test_no_framework_opens_a_file_that_its_model_does_not_name(tmp_path: Path) -> None:
    """With the frameworks that are installed; a folder of a model has neighbours, too."""
    folder = tmp_path / "folder"
    with listening() as listener:
        fill(folder, listener.url)
        framework_originals.write(folder)
        models = [each for each in FRAMEWORKS if (folder / each).exists()]
        if not models:
            pytest.skip("no framework is installed")
        for model in models:
            for name in BESIDE_MODELS:
                path = folder / Path(model).parent / name
                if not path.exists():
                    path.write_text(f"cache_dir: planted\nurl = {listener.url}\n")
        lines = [line.format(model, number) for number, model in enumerate(models) for line in COMMANDS_OF_FRAMEWORKS]
        check_opened(lines, folder)
        assert listener.connections == 0


def test_every_command_is_tried() -> None:
    program: Any = get_command(app)
    assert {line.split()[0] for line in (*COMMANDS, *MORE)} == set(program.list_commands(None))


def check_opened(commands: Sequence[str], folder: Path) -> None:
    """Run commands in a folder, in one process, and assert that they open no file there but those that they name."""
    script, beside = folder.parent / "driver.py", folder.parent
    for place in ("home", "temporary"):
        (beside / place).mkdir()
    script.write_text(DRIVER.replace("ROOT", repr(str(ROOT))))
    own = {"HOME": str(beside / "home"), "TMPDIR": str(beside / "temporary"), VARIABLE: "1"}
    done = subprocess.run(
        [sys.executable, "-P", str(script), json.dumps(commands)],
        cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads((beside / "answers.json").read_text())
    assert [line for line, *_ in answers] == list(commands)
    for line, code, opened in answers:
        assert code in (0, 1), (line, code, done.stderr)
        named = set(line.split())
        weights = {str(Path(word).with_suffix(end)) for word in named for end in WEIGHTS.get(Path(word).suffix, ())}
        others = {name for name in opened if not _is_own(name, named | weights)}
        assert others == set(), line
    assert not (folder / "planted").exists()


def _is_own(name: str, named: set[str]) -> bool:
    """Return whether a file is a named one, in a named folder, or temporary."""
    path = Path(name)
    is_temporary = any(part.startswith(".ir-interp-") or ".partial" in part for part in path.parts)
    return is_temporary or any(str(place) in named for place in (path, *path.parents))
