"""Zarr arrays: the bits of ``resize``, what is done stays done, and nothing stands under the name before it is all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray

import ir_interp
from ir_interp import Antialias, Linear, ResizeSpec, Scales, Sizes, SpecError
from ir_interp.cli.main import main
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.large import stores
from ir_interp.large.stores import Request, resize_store
from tests.support.graphs import save_model

Array = NDArray[Any]
SOFT = ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING), axes=(0, 1), target=Scales((0.25, 0.25)))


def _store(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str = "uint8") -> Array:
    x = (np.random.default_rng(0).random(shape) * 250).astype(dtype)
    names = ("y", "x", "c")[: len(shape)]
    made = zarr.create_array(path, data=x, chunks=chunks, dimension_names=names, attributes={"made": "by hand"})
    assert made.chunks == chunks
    return x


def _nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize(("shape", "chunks"), [((400, 390), (64, 50)), ((300, 260, 3), (100, 100, 1))])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_a_store_has_the_bits_of_the_whole(
    tmp_path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str
) -> None:
    x = _store(tmp_path / "big.zarr", shape, chunks, dtype)
    found = resize_store(
        Request(source=tmp_path / "big.zarr", destination=tmp_path / "small.zarr", spec=SOFT), _nothing
    )
    wanted = ir_interp.resize(x, SOFT)
    made = zarr.open_array(tmp_path / "small.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), wanted)
    assert found == (shape, wanted.shape)
    assert made.dtype == x.dtype
    assert dict(made.attrs) == {"made": "by hand"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["big.zarr", "small.zarr"]


def test_a_pyramid_is_of_levels_each_of_the_one_before(tmp_path: Path) -> None:
    x = _store(tmp_path / "big.zarr", (400, 390), (100, 100))
    half = ResizeSpec(kernel=SOFT.kernel, axes=(0, 1), target=Scales((0.5, 0.5)))
    resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "p.zarr", spec=half, levels=3), _nothing)
    group = zarr.open_group(tmp_path / "p.zarr", mode="r")
    for level in "123":
        x = ir_interp.resize(x, half)
        np.testing.assert_array_equal(np.asarray(group[level][...]), x)  # type: ignore[index]
    ome: Any = group.attrs["ome"]
    (scales,) = ome["multiscales"]
    assert scales["axes"] == [{"name": "y"}, {"name": "x"}]
    transformations = scales["datasets"][2]["coordinateTransformations"]
    assert transformations == [{"type": "scale", "scale": [8, 8]}, {"type": "translation", "translation": [3.5, 3.5]}]


class _StoppedError(Exception):
    pass


def test_what_is_done_stays_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = _store(tmp_path / "big.zarr", (640, 640), (64, 64))
    request = Request(source=tmp_path / "big.zarr", destination=tmp_path / "small.zarr", spec=SOFT, memory=2**20)

    def stop(_: str, done: int, total: int) -> None:
        if done == 9:
            raise _StoppedError

    with pytest.raises(_StoppedError):
        resize_store(request, stop)
    assert not (tmp_path / "small.zarr").exists()
    with (tmp_path / "small.zarr.partial.done").open("a") as journal:
        journal.write("1/7.")  # the program was killed while it wrote this
    told: list[int] = []
    resize_store(request, lambda _, done, total: told.append(done))
    assert told[0] >= 9
    assert told[1:] == list(range(told[0] + 1, told[-1] + 1))
    made = zarr.open_array(tmp_path / "small.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, SOFT))
    monkeypatch.setattr(stores, "Dealer", None)
    with pytest.raises(IrInterpError, match=r"small.zarr is there already; remove it, or choose another name$"):
        resize_store(request, _nothing)


def test_another_resize_does_not_go_on_with_it(tmp_path: Path) -> None:
    _store(tmp_path / "big.zarr", (64, 64), (16, 16))
    (tmp_path / "small.zarr.partial.done").write_text("{}\n")
    with pytest.raises(
        IrInterpError, match=r"tells of another resize, not finished; remove it and small.zarr.partial$"
    ):
        resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "small.zarr", spec=SOFT), _nothing)


def test_a_killed_program_goes_on(tmp_path: Path) -> None:
    x = _store(tmp_path / "big.zarr", (6000, 6000), (200, 200))
    node = 'Resize <mode = "linear", axes = [0, 1]> (x, , s)'
    text = f"g (uint8[6000, 6000] x, float[2] s) => (uint8[H, W] y) {{ y = {node} }}"
    model = save_model(tmp_path / "resize.onnx", text)
    command = [sys.executable, "-m", "ir_interp", "run", str(model), "--scales", "0.5,0.5", "--memory", "512MiB"]
    command += ["--input", str(tmp_path / "big.zarr"), "--output", str(tmp_path / "small.zarr")]
    with subprocess.Popen(command) as running:
        journal = tmp_path / "small.zarr.partial.done"
        for _ in range(3000):
            if journal.exists() and len(journal.read_text().splitlines()) > 20:
                break
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    before = len(journal.read_text().splitlines())
    assert 20 < before < 225
    assert not (tmp_path / "small.zarr").exists()
    assert subprocess.run(command, check=False).returncode == 0
    (op,) = ir_interp.load(tmp_path / "resize.onnx")
    made = zarr.open_array(tmp_path / "small.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, op.spec, scales=(0.5, 0.5)))


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zarr.create_group(tmp_path / "g.zarr").create_array("0", shape=(8, 8), chunks=(4, 4), dtype="u1")
    out = tmp_path / "o.zarr"
    with pytest.raises(ReadError, match=r"a group of Zarr; expected an array in it, as in g.zarr/0; it has 0$"):
        resize_store(Request(source=tmp_path / "g.zarr", destination=out, spec=SOFT), _nothing)
    with pytest.raises(ReadError, match="no array of Zarr"):
        resize_store(Request(source=tmp_path / "n.zarr", destination=out, spec=SOFT), _nothing)
    sized = ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((4, 4)))
    with pytest.raises(SpecError, match=r"^levels need scales, each level of the one before; this resize has sizes$"):
        resize_store(Request(source=tmp_path / "g.zarr" / "0", destination=out, spec=sized, levels=2), _nothing)
    layer = "samples/interpolate1_corners/layer.xml"
    assert main(["run", layer, "--input", "x.npy", "--output", "y.npy", "--levels", "2"]) == 2
    assert main(["run", layer, "--input", "x.zarr", "--output", "y.npy"]) == 2
    assert main(["run", layer, "--input", "x.zarr", "--output", "y.zarr", "--memory", "much"]) == 2
    said = capsys.readouterr().err
    assert "error: --levels has no effect on x.npy, which is no .zarr" in said
    assert "error: --input 'x.zarr' and --output 'y.npy': expected both to be .zarr, or none" in said
    assert "'much' is no amount of memory; expected one as in 512MiB, 1.5GiB" in said
