"""Zarr arrays: the bits of ``resize``, what is done stays done, and nothing stands under the name before it is all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from numcodecs import Blosc, Delta
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, GzipCodec, TransposeCodec

import ir_interp
from ir_interp import Antialias, Linear, Pad, ResizeSpec, Scales, Sizes, SpecError
from ir_interp.cli.main import main
from ir_interp.errors import IrInterpError, ReadError, ShapeError
from ir_interp.large import stores, zarr_arrays
from ir_interp.large.layout import Dealer, Layout, Work
from ir_interp.large.stores import Request, resize_store
from ir_interp.large.zarr_arrays import ZarrArray
from tests.support.graphs import save_model

Array = NDArray[Any]
SOFT = ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING), axes=(0, 1), target=Scales((0.25, 0.25)))


def _store(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str = "uint8") -> Array:
    x = (np.random.default_rng(0).random(shape) * 250).astype(dtype)
    names = ("y", "x", "c")[: len(shape)]
    more: Any = {"dimension_names": names, "attributes": {"made": "by hand"}, "compressors": GzipCodec(level=1)}
    made = zarr.create_array(path, data=x, chunks=chunks, **more)
    assert made.chunks == chunks
    return x


class _OfLevel1(Dealer):
    """Fails for a copy, which needs no pixels."""

    def __init__(self, layout: Layout, *others: Any) -> None:
        assert layout.work.shape != layout.work.out_shape
        super().__init__(layout, *others)


def _stored(array: Path) -> dict[str, bytes]:
    """Return the chunks of a Zarr array, by key."""
    files = (each for each in array.rglob("*") if each.is_file() and not each.name.startswith((".z", "zarr.")))
    return {str(each.relative_to(array)): each.read_bytes() for each in files}


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
    assert made.compressors == (GzipCodec(level=1),)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["big.zarr", "small.zarr"]


def test_a_pyramid_is_of_levels_each_of_the_one_before(tmp_path: Path) -> None:
    x = _store(tmp_path / "big.zarr", (400, 390), (100, 100))
    half = ResizeSpec(kernel=SOFT.kernel, axes=(0, 1), target=Scales((0.5, 0.5)))
    resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "p.zarr", spec=half, levels=3), _nothing)
    group = zarr.open_group(tmp_path / "p.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(group["0"][...]), x)  # type: ignore[index]
    for level in "123":
        x = ir_interp.resize(x, half)
        np.testing.assert_array_equal(np.asarray(group[level][...]), x)  # type: ignore[index]
    ome: Any = group.attrs["ome"]
    (scales,) = ome["multiscales"]
    assert scales["axes"] == [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    assert [each["path"] for each in scales["datasets"]] == ["0", "1", "2", "3"]
    transformations = scales["datasets"][3]["coordinateTransformations"]
    assert transformations == [{"type": "scale", "scale": [8, 8]}, {"type": "translation", "translation": [3.5, 3.5]}]


UNITS: list[dict[str, Any]] = [
    {"name": "c", "type": "channel"},
    {"name": "y", "type": "space", "unit": "micrometer"},
    {"name": "x", "type": "space", "unit": "micrometer"},
]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_pyramid_of_a_group_has_its_units(tmp_path: Path, zarr_format: Any) -> None:
    moves = [{"type": "scale", "scale": [1, 0.25, 0.25]}, {"type": "translation", "translation": [0, 10, 20]}]
    scales = [{"axes": UNITS, "datasets": [{"path": "deep/0", "coordinateTransformations": moves}]}]
    omero = {"channels": [{"label": "DAPI"}]}
    said: dict[str, Any] = {"multiscales": scales, "omero": omero}
    said = {"ome": {"version": "0.5", **said}} if zarr_format == 3 else said
    zarr.open_group(tmp_path / "i.zarr", zarr_format=zarr_format, mode="w").attrs.update(said)
    x = (np.random.default_rng(0).random((2, 40, 60)) * 250).astype("u2")
    zarr.create_array(tmp_path / "i.zarr/deep/0", data=x, chunks=(1, 16, 16), zarr_format=zarr_format)
    spec = ResizeSpec(kernel=SOFT.kernel, axes=(1, 2), target=Scales((0.5, 0.5)))
    request = Request(source=tmp_path / "i.zarr/deep/0", destination=tmp_path / "p.zarr", spec=spec, levels=1)
    resize_store(request, _nothing)
    attributes: Any = dict(zarr.open_group(tmp_path / "p.zarr", mode="r").attrs)
    ome = attributes["ome"] if zarr_format == 3 else attributes
    (image,) = ome["multiscales"]
    assert (image["axes"], ome["omero"]) == (UNITS, omero)
    if zarr_format == 3:
        assert zarr.open_array(tmp_path / "p.zarr/0", mode="r").metadata.dimension_names == ("c", "y", "x")  # type: ignore[union-attr]
    assert (image if zarr_format == 2 else ome)["version"] == {2: "0.4", 3: "0.5"}[zarr_format]
    assert image["datasets"][1]["coordinateTransformations"] == [
        {"type": "scale", "scale": [1, 0.5, 0.5]}, {"type": "translation", "translation": [0, 10.125, 20.125]}
    ]  # fmt: skip
    named = [str(tmp_path / "i.zarr/deep/0"), "--like", "opencv:area", "--scales", "0.5", "--dims", "y,x"]
    assert main(["run", *named, "--output", str(tmp_path / "n.zarr"), "--quiet"]) == 0
    assert zarr.open_array(tmp_path / "n.zarr", mode="r").shape == (2, 20, 30)


@pytest.mark.parametrize(
    ("image", "described"),
    [
        ({"axes": ["c", "y", "x"]}, [{"name": "c", "type": "channel"}, *({"name": n, "type": "space"} for n in "yx")]),
        ({}, "axes [{'name': 't', 'type': 'time'}, {'name': 'c', 'type': 'channel'}, "),
        ({"axes": ["y", "x"]}, "axes [{'name': 'y', 'type': 'space'}, {'name': 'x', "),
        ({"axes": [{"type": "space"}] * 3}, "axes [{'type': 'space'}, "),
        ({"axes": 3}, "axes 3; expected a name for each of 3"),
        ({"axes": "cyx", "datasets": 3}, "malformed multiscales"),
        ({"axes": "cyx", "coordinateTransformations": [3]}, "malformed multiscales"),
        ({"axes": "cyx", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}, "malformed multiscales"),
        (
            {"axes": "cyx", "coordinateTransformations": [{"type": "scale", "path": "scales"}]},
            "transformation {'type': 'scale', 'path': 'scales'}; expected the values of a scale or a translation",
        ),
    ],
)
def test_axes_of_groups(tmp_path: Path, image: dict[str, Any], described: Any) -> None:
    """Those of 0.3 are names, those before have none."""
    multiscales = [{"datasets": [{"path": "0"}], **image}]
    zarr.open_group(tmp_path / "i.zarr", zarr_format=2, mode="w").attrs.update({"multiscales": multiscales})
    zarr.create_array(tmp_path / "i.zarr/0", shape=(2, 8, 8), chunks=(1, 4, 4), dtype="u1", zarr_format=2)
    if isinstance(described, str):
        problem = f"^{tmp_path}/i.zarr/0: the OME-Zarr metadata around it cannot be read: {re.escape(described)}"
        with pytest.raises(ReadError, match=problem):
            zarr_arrays.opened(tmp_path / "i.zarr/0")
        return
    opened = zarr_arrays.opened(tmp_path / "i.zarr/0")
    assert opened.image is not None
    assert (opened.image.axes, opened.names) == (described, ["c", "y", "x"])


@pytest.mark.parametrize("shape", [(300, 260, 3), (300, 260)])
def test_a_pyramid_of_other_axes_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    names = ("y", "x", "c") if len(shape) == 3 else ("c", "t")
    zarr.create_array(tmp_path / "a.zarr", shape=shape, dtype="u1", chunks=(100,) * len(shape), dimension_names=names)
    request = Request(source=tmp_path / "a.zarr", destination=tmp_path / "p.zarr", spec=SOFT, levels=1)
    with pytest.raises(SpecError, match=r"^levels are written as OME-Zarr, whose axes are time, channel and"):
        resize_store(request, _nothing)
    assert not (tmp_path / "p.zarr.partial").exists()


STORED: dict[str, dict[str, Any]] = {
    "Zarr 2, filtered": {"zarr_format": 2, "compressors": Blosc("lz4", 5), "filters": [Delta("u2")]},
    "Zarr 2, by columns": {"zarr_format": 2, "compressors": None, "order": "F"},
    "Zarr 2, nested": {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "Zarr 2, swapped": {"zarr_format": 2, "dtype": ">u2"},
    "shards": {"chunks": (32, 32), "shards": (128, 128)},
    "swapped": {"dtype": ">u2"},
    "plain": {"compressors": None, "fill_value": 7},
    "transposed": {"compressors": BloscCodec(cname="lz4"), "filters": [TransposeCodec(order=(1, 0))]},
    "named as in Zarr 2": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", STORED)
def test_level_0_is_copied_as_it_is_stored(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codecs that lose something would lose it again otherwise. A chunk of fill values stays absent."""
    x = (np.random.default_rng(0).random((400, 390)) * 250).astype("u2")
    x[:64, :50] = STORED[name].get("fill_value", 0)
    given = {"chunks": (64, 50), "dtype": "u2"} | STORED[name]
    zarr.create_array(tmp_path / "a.zarr", shape=x.shape, **given)[...] = x
    half = ResizeSpec(kernel=SOFT.kernel, axes=(0, 1), target=Scales((0.5, 0.5)))
    request = Request(source=tmp_path / "a.zarr", destination=tmp_path / "p.zarr", spec=half, levels=1)
    with monkeypatch.context() as patched:
        patched.setattr(stores, "Dealer", _OfLevel1)
        resize_store(request, _nothing)
    assert _stored(tmp_path / "a.zarr") == _stored(tmp_path / "p.zarr/0")
    np.testing.assert_array_equal(np.asarray(zarr.open_array(tmp_path / "p.zarr/0")[...]), x)
    np.testing.assert_array_equal(np.asarray(zarr.open_array(tmp_path / "p.zarr/1")[...]), ir_interp.resize(x, half))


def test_a_damaged_chunk_is_named_by_its_source(tmp_path: Path) -> None:
    _store(tmp_path / "big.zarr", (64, 64), (16, 16))
    (tmp_path / "big.zarr/c/1/2").write_bytes(b"no gzip")
    half = ResizeSpec(kernel=SOFT.kernel, axes=(0, 1), target=Scales((0.5, 0.5)))
    request = Request(source=tmp_path / "big.zarr", destination=tmp_path / "p.zarr", spec=half, levels=1)
    with pytest.raises(ReadError, match=rf"^{tmp_path}/big.zarr: a chunk cannot be read: "):
        resize_store(request, _nothing)
    assert not (tmp_path / "p.zarr").exists()


@pytest.mark.parametrize("name", STORED)
def test_how_it_is_stored_stays(tmp_path: Path, name: str) -> None:
    x = (np.random.default_rng(0).random((400, 390)) * 250).astype("u2")
    array = zarr.create_array(tmp_path / "a.zarr", shape=x.shape, **{"chunks": (64, 50), "dtype": "u2"} | STORED[name])
    array[...] = x
    resize_store(Request(source=tmp_path / "a.zarr", destination=tmp_path / "b.zarr", spec=SOFT), _nothing)
    made = zarr.open_array(tmp_path / "b.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, SOFT))
    assert made.metadata.to_dict() == {**array.metadata.to_dict(), "shape": (100, 97)}


def test_missing_pixels_take_no_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = _store(tmp_path / "a.zarr", (300, 260), (100, 100), "float32")
    x[30:90, 100:180] = np.nan
    zarr.open_array(tmp_path / "a.zarr", mode="r+")[...] = x
    node = 'Resize <mode = "linear", antialias = 1> (X, , s)'
    text = f"g (float[300, 260] X) => (float[150, 130] Y) <float[2] s = {{0.5, 0.5}}> {{ Y = {node} }}"
    model = save_model(tmp_path / "half.onnx", text)
    (op,) = ir_interp.load(model)
    wanted = op.run(x, nodata=np.nan, valid=0.5)
    np.save(tmp_path / "x.npy", x)
    for source in ("a.zarr", "x.npy"):
        output = tmp_path / f"small-{source}"
        line = ["run", str(model), "--input", str(tmp_path / source), "--output", str(output)]
        assert main([*line, "--nodata", "nan", "--valid", "0.5", "--quiet"]) == 0, capsys.readouterr().err
        made = np.load(output) if source == "x.npy" else np.asarray(zarr.open_array(output, mode="r")[...])
        assert made.tobytes() == wanted.tobytes()
    assert np.isnan(wanted).any()


def test_an_axis_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    _store(tmp_path / "a.zarr", (300, 260, 3), (100, 100, 3))
    spec = ResizeSpec(kernel=SOFT.kernel, axes=(1, 2), target=Scales((0.25, 0.25)))
    said = "axis 2 of size 3 would become empty; is it the axis to resize?"
    with pytest.raises(ShapeError, match=f"^{re.escape(said)}$"):
        resize_store(Request(source=tmp_path / "a.zarr", destination=tmp_path / "b.zarr", spec=spec), _nothing)


@pytest.mark.parametrize(
    ("scale", "levels", "problem"),
    [
        (2.0, 1, "axis 0 grows from 300 to 600; expected levels that shrink, as by 0.5"),
        (0.25, 30, "axis 0 of size 1 would become empty at level 5; expected at most 4 levels"),
    ],
)
def test_levels_shrink(tmp_path: Path, scale: float, levels: int, problem: str) -> None:
    _store(tmp_path / "a.zarr", (300, 260), (100, 100))
    spec = replace(SOFT, target=Scales((scale, scale)))
    with pytest.raises(ShapeError, match=f"^{re.escape(problem)}$"):
        resize_store(
            Request(source=tmp_path / "a.zarr", destination=tmp_path / "b.zarr", spec=spec, levels=levels), _nothing
        )


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
    with pytest.raises(IrInterpError, match=r"small.zarr exists already; remove it, or choose another name$"):
        resize_store(request, _nothing)


def test_another_resize_does_not_go_on_with_it(tmp_path: Path) -> None:
    _store(tmp_path / "big.zarr", (64, 64), (16, 16))
    (tmp_path / "small.zarr.partial.done").write_text("{}\n")
    with pytest.raises(IrInterpError, match=r"records another, unfinished resize; remove it and small.zarr.partial$"):
        resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "small.zarr", spec=SOFT), _nothing)


_KILLED = """
import os, signal, sys
from contextlib import contextmanager
from ir_interp.cli import main, printed_results

@contextmanager
def bar(quiet, what=""):
    yield lambda what, done, total: done == 9 and os.kill(os.getpid(), signal.SIGKILL)

printed_results.progress_bar = bar
main.main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="no signal kills a process at once")
def test_a_killed_program_goes_on(tmp_path: Path) -> None:
    x = _store(tmp_path / "big.zarr", (640, 640), (64, 64))
    node = 'Resize <mode = "linear", axes = [0, 1]> (X, , s)'
    model = save_model(tmp_path / "m.onnx", f"g (uint8[640, 640] X, float[2] s) => (uint8[H, W] Y) {{ Y = {node} }}")
    command = ["run", str(model), "--scales", "0.5,0.5", "--input", str(tmp_path / "big.zarr")]
    command += ["--output", str(tmp_path / "small.zarr"), "--quiet"]
    assert subprocess.run([sys.executable, "-c", _KILLED, *command], check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "small.zarr").exists()
    assert 9 <= len((tmp_path / "small.zarr.partial.done").read_text().splitlines()) - 1 < 25
    assert main(command) == 0
    (op,) = ir_interp.load(model)
    made = zarr.open_array(tmp_path / "small.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, op.spec, scales=(0.5, 0.5)))


def test_two_runs_do_not_write_one_store(tmp_path: Path) -> None:
    _store(tmp_path / "big.zarr", (64, 64), (16, 16))
    request = Request(source=tmp_path / "big.zarr", destination=tmp_path / "small.zarr", spec=SOFT)

    def again(*_: object) -> None:
        resize_store(request, _nothing)

    with pytest.raises(IrInterpError, match=r"another run is writing .*small.zarr.partial.done; wait until it ends"):
        resize_store(request, again)
    resize_store(request, _nothing)


class _Counted:
    """An array of Zarr that counts how often each of its pieces is read."""

    def __init__(self, array: Any) -> None:
        self._array, self.read = array, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)

    def get_basic_selection(self, piece: Any, out: Any) -> None:
        self.read[str(piece)] += 1
        self._array.get_basic_selection(piece, out=out)


@pytest.mark.parametrize("scale", [0.25, 0.3, 2.0, 0.07])
def test_each_chunk_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    x = _store(tmp_path / "big.zarr", (320, 330), (64, 64))
    source = _Counted(zarr.open_array(tmp_path / "big.zarr", mode="r"))
    monkeypatch.setattr(stores, "opened", lambda *_: ZarrArray(array=source, label="big.zarr"))
    request = Request(source=tmp_path / "big.zarr", destination=tmp_path / "s.zarr", spec=SOFT)
    resize_store(replace(request, target={"scales": (scale, scale)}), _nothing)
    assert len(source.read) == 30
    assert set(source.read.values()) == {1}
    made = zarr.open_array(tmp_path / "s.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, SOFT, scales=(scale, scale)))


def test_an_array_of_zarr_2_is_read(tmp_path: Path) -> None:
    x = np.arange(64 * 64, dtype=">u2").reshape(64, 64)
    zarr.create_array(tmp_path / "big.zarr", data=x, chunks=(16, 16), zarr_format=2)
    resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "s.zarr", spec=SOFT), _nothing)
    made = zarr.open_array(tmp_path / "s.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x.astype("u2"), SOFT))


def test_blocks_may_lie_in_pads_alone(tmp_path: Path) -> None:
    x = _store(tmp_path / "big.zarr", (64, 64), (16, 16))
    spec = replace(SOFT, pads=(Pad(axis=0, begin=160, end=3),))
    resize_store(Request(source=tmp_path / "big.zarr", destination=tmp_path / "s.zarr", spec=spec), _nothing)
    made = zarr.open_array(tmp_path / "s.zarr", mode="r")
    np.testing.assert_array_equal(np.asarray(made[...]), ir_interp.resize(x, spec))


@pytest.mark.parametrize(("memory", "widths"), [(2**30, [16]), (2**28, [4, 4, 4, 4]), (2**20, [1] * 16)])
def test_strips_are_as_wide_as_memory_lets_them(memory: int, widths: list[int]) -> None:
    work = Work(SOFT, (65536, 65536), np.dtype(np.uint8), ((4096,) * 16,) * 2)
    strips = list(stores.strips(Layout(work, ((1024,) * 16,) * 2), memory))
    assert [len(strip) / 16 for strip in strips] == widths
    assert len({place for strip in strips for place in strip}) == 256


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zarr.create_group(tmp_path / "g.zarr").create_array("0", shape=(8, 8), chunks=(4, 4), dtype="u1")
    out = tmp_path / "o.zarr"
    with pytest.raises(ReadError, match=r"a Zarr group; expected an array in it, as in g.zarr/0; it has 0$"):
        resize_store(Request(source=tmp_path / "g.zarr", destination=out, spec=SOFT), _nothing)
    with pytest.raises(ReadError, match=r"n.zarr: does not exist"):
        resize_store(Request(source=tmp_path / "n.zarr", destination=out, spec=SOFT), _nothing)
    sized = ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((4, 4)))
    with pytest.raises(SpecError, match=r"^levels need scales, applied to each level in turn; this resize has sizes$"):
        resize_store(Request(source=tmp_path / "g.zarr" / "0", destination=out, spec=sized, levels=2), _nothing)
    layer = "samples/interpolate1_corners/layer.xml"
    assert main(["run", layer, "--input", "x.npy", "--output", "y.npy", "--levels", "2"]) == 2
    assert main(["run", layer, "--input", "x.zarr", "--output", "y.npy"]) == 2
    one = str(tmp_path / "s.zarr")
    zarr.create_array(one, shape=(8, 8), chunks=(4, 4), dtype="u1")
    assert main(["run", one, "--like", "pillow:box", "--sizes", "4", "--output", str(out)]) == 2
    assert main(["run", one, "--like", "pillow:box", "--sizes", "4,4", "--output", one]) == 2
    assert main(["run", layer, "--input", "x.zarr", "--output", "y.zarr", "--memory", "much"]) == 2
    said = capsys.readouterr().err
    assert "error: --levels has no effect on x.npy, which is not a .zarr store" in said
    assert "error: --sizes 4: one size for two axes; expected height and width, as in 4,4" in said
    assert f"error: {one} is an input and would be overwritten; choose another name" in said
    assert "error: --input 'x.zarr' is a Zarr array; --output 'y.npy' must end in .zarr" in said
    assert "'much' is not an amount of memory; expected one as in 512MiB, 1.5GiB" in said


@pytest.mark.parametrize(
    ("moved", "more"), [(False, ()), (False, ("--dims", "y,x")), (False, ("--dims", "0,1")), (True, ())]
)
def test_a_store_is_resized_as_a_library_does(tmp_path: Path, *, moved: bool, more: tuple[str, ...]) -> None:
    x = (np.random.default_rng(0).random((90, 70, 3)) * 255).astype("u1")
    stored, names = (np.moveaxis(x, -1, 0), ("c", "y", "x")) if moved else (x, ("y", "x", "c"))
    zarr.create_array(tmp_path / "a.zarr", data=np.ascontiguousarray(stored), chunks=(20,) * 3, dimension_names=names)
    line = ["run", str(tmp_path / "a.zarr"), "--like", "pillow:bicubic", "--scales", "0.5", *more, "--quiet"]
    assert main([*line, "--output", str(tmp_path / "b.zarr")]) == 0
    made = np.asarray(zarr.open_array(tmp_path / "b.zarr", mode="r")[...])
    wanted = ir_interp.resize(x, ir_interp.spec("pillow:bicubic"), scales=(0.5, 0.5))
    np.testing.assert_array_equal(np.moveaxis(made, 0, -1) if moved else made, wanted)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--dims", "y,z", "--output", "b.zarr"), "error: no axis 'z'; expected one of y, x, c\n"),
        (("--dims", "y,", "--output", "b.zarr"), "error: --dims 'y,': expected names or numbers with commas"),
        (("--output", "b.npy"), "error: FILE 'a.zarr' is a Zarr array; --output 'b.npy' must end in .zarr\n"),
        (("--output", "b.zarr", "--layer", "up"), "error: --layer has no effect with --like, which resizes a.zarr\n"),
        (("--output", "b.zarr", "--memory", "10MiB"), "error: --memory 10MiB is too little: the program itself takes "),
    ],
)
def test_a_call_on_a_store_names_mistakes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    zarr.create_array("a.zarr", shape=(9, 8, 3), dtype="u1", chunks=(9, 8, 3), dimension_names=("y", "x", "c"))
    assert main(["run", "a.zarr", "--like", "pillow:box", "--scales", "0.5", *more]) == 2
    assert capsys.readouterr().err.startswith(said)
    assert not Path("b.zarr").exists()
