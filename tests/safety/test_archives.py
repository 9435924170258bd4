"""Archives whose members other readers would see otherwise are refused, as are those that are damaged."""

from __future__ import annotations

import io
import json
import stat
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from tests.support.commands import command
from tests.support.graphs import save_model

NOT_A_PATH = "is not the path of a file in it, as in folder/file"
RESIZE = 'g (float[1,1,2,2] x) => (float[1,1,c,d] [out]) <float[4] s = {1,1,2,2}> { [out] = Resize (x, "", s) }'
LINK = stat.S_IFLNK | 0o777


def part(kind: str, module: str, **config: Any) -> dict[str, Any]:
    return {"class_name": kind, "module": module, "registered_name": None, "config": config}


PLAIN = json.dumps(part("Functional", "keras.src.models.functional", name="net", layers=[]))
HOSTILE = json.dumps(part("Dense", "keras.layers", name="d", activation=part("decode", "keras.applications")))


def archive(name: str, *members: tuple[str, str], mode: int = 0) -> None:
    """Write an archive of members that are written as they are named, even twice."""
    with zipfile.ZipFile(name, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of zipfile, about a second member of a name
        for member, text in members:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = member
            info.external_attr = mode << 16
            file.writestr(info, text)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ("./config.json", NOT_A_PATH),
        ("a/../config.json", NOT_A_PATH),
        ("../config.json", NOT_A_PATH),
        ("/config.json", NOT_A_PATH),
        ("a//config.json", NOT_A_PATH),
        ("a\\config.json", NOT_A_PATH),
        ("C:config.json", NOT_A_PATH),
        ("", NOT_A_PATH),
        ("config.json\0x", NOT_A_PATH),
        ("config.json", "occurs twice; expected one member of each name"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_another_model_than_the_checked_one(
    member: str, problem: str, order: int, capsys: pytest.CaptureFixture[str]
) -> None:
    members = (("config.json", PLAIN), ("model.weights.h5", ""), (member, HOSTILE))
    archive("net.keras", *members[::order])
    text = f"error: net.keras: {member!r} in the archive {problem}\n"
    assert command(capsys, "convert", "net.keras", "net.xml") == (2, "", text)


def test_a_link_in_an_archive(capsys: pytest.CaptureFixture[str]) -> None:
    archive("net.keras", ("config.json", PLAIN), mode=LINK)
    problem = "'config.json' in the archive is a link or a device; expected a file"
    assert command(capsys, "convert", "net.keras", "net.xml") == (2, "", f"error: net.keras: {problem}\n")


@pytest.mark.parametrize("damage", ["encrypted", "method", "data", "checksum"])
def test_a_damaged_archive(damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile("net.keras", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", PLAIN * 9)
    content = bytearray(Path("net.keras").read_bytes())
    entry = content.index(b"PK\1\2")
    match damage:
        case "encrypted":
            content[6] = content[entry + 8] = 1
        case "method":
            content[8] = content[entry + 10] = 77
        case "data":
            content[60:70] = bytes(10)
        case "checksum":
            content[entry + 16] ^= 1
    Path("net.keras").write_bytes(content)
    code, printed, errors = command(capsys, "convert", "net.keras", "net.xml")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: net.keras: not a Keras file, which is a ZIP archive: ")


def test_two_arrays_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), RESIZE.replace("[out]", "y"))
    content = io.BytesIO()
    np.save(content, np.zeros((1, 1, 4, 4), np.float32))
    text: Any = content.getvalue()
    archive("y.npz", ("y.npy", text), ("y.npy", text))
    problem = "'y.npy' in the archive occurs twice; expected one member of each name"
    assert command(capsys, "compare", "a.onnx", "y.npz") == (2, "", f"error: y.npz: {problem}\n")


def test_names_of_tensors_need_not_be_paths(capsys: pytest.CaptureFixture[str]) -> None:
    """numpy.savez takes any name, and PyTorch's exporter writes those that begin with a slash."""
    name = "/model/../up"
    save_model(Path("a.onnx"), RESIZE.replace("[out]", json.dumps(name)))
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    arrays: Any = {"x": x, name: x.repeat(2, axis=2).repeat(2, axis=3)}
    np.savez("y.npz", **arrays)
    code, printed, errors = command(capsys, "compare", "a.onnx", "y.npz", "--json")
    assert (code, errors) == (0, "")
    assert json.loads(printed)["outputs"][0]["name"] == name


def test_a_store_in_an_archive(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x.zarr.zip"
    zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    with zarr.storage.ZipStore(name, mode="w") as store:
        zarr.create_array(store, shape=(4, 4), dtype="u1", chunks=(4, 4))
    with zipfile.ZipFile(name, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        file.writestr("zarr.json", file.read("zarr.json"))
    code, _, errors = command(capsys, "run", name, "--like", "opencv:linear", "--sizes", "8,8", "--output", "y.zarr")
    problem = "'zarr.json' in the archive occurs twice; expected one member of each name"
    assert (code, errors) == (2, f"error: {name}: {problem}\n")


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras, in saving
def test_keras_reads_what_was_checked() -> None:
    tensorflow = pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")
    x = tensorflow.keras.Input((4, 4, 1), batch_size=1)
    tensorflow.keras.Model(x, tensorflow.keras.layers.UpSampling2D(2)(x)).save("net.keras")
    ir_interp.convert("net.keras", "net.xml")
    with zipfile.ZipFile("net.keras", "a") as file:
        file.writestr("./config.json", file.read("config.json"))
    with pytest.raises(ir_interp.ReadError, match=NOT_A_PATH):
        ir_interp.convert("net.keras", "net.xml")
