"""URLs in the contents of files: none is opened; each is refused by name, or is a name inside the folder.

Two witnesses: a server on this machine counts connections, and a file elsewhere is watched.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.safety.test_neighbours import ome
from tests.support.commands import command
from tests.support.external import save_external
from tests.support.graphs import save_model
from tests.support.watched import CAN_WATCH, listening, opened_in

FORMS = (
    "{url}/x", "file://{secret}", "file:{secret}", "memory://x", "zip::{url}/x.zip", "simplecache::{url}/x",
    "filecache::file://{secret}", "zip://x::file://{secret}", "/vsicurl/{url}/x", "//127.0.0.1/x", "s3://bucket/x",
    "reference::{url}/x.json", "local://{secret}",
)  # fmt: skip
GROUP = {"zarr_format": 3, "node_type": "group"}
RUN = ("--like", "opencv:linear", "--sizes", "4,4", "-q", "--output", "out.zarr")

pytestmark = pytest.mark.skipif(not CAN_WATCH, reason="the watch is one of Linux")


@pytest.fixture(params=FORMS)
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a URL; at the end, nobody has connected to it, or opened the file that it names."""
    secret, folder = tmp_path / "elsewhere" / "secret", tmp_path / "folder"
    secret.parent.mkdir()
    folder.mkdir()
    secret.write_bytes(bytes(4096))
    monkeypatch.chdir(folder)
    with listening() as listener, opened_in(secret.parent) as opened:
        yield request.param.format(url=listener.url, secret=secret)
        assert listener.connections == 0
    assert opened == set()


def test_weights_of_an_onnx_model(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_external(Path("a.onnx"), "initialiser", url)
    assert command(capsys, "audit", "a.onnx")[0] == 0  # which needs no weights
    for target in (("a.xml",), ("a.xml", "--freeze", "--shape", "1,1,8,8"), ("b.onnx", "--target", "tensorrt")):
        code, _, errors = command(capsys, "convert", "a.onnx", *target)
        assert (code, errors.startswith("error: a.onnx: ")) == (2, True)
        assert "secret" in errors or Path(url).name in errors


def test_planes_of_an_ome_tiff(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    tifffile = pytest.importorskip("tifffile", reason="pip install 'ir-interp[microscopy]'")
    pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    Path("in").mkdir()
    ome(tifffile, url)
    code, _, errors = command(capsys, "run", "in/a.ome.tif", *RUN)
    assert (code, errors.startswith("error: in/a.ome.tif: ")) == (2, True)
    assert url in errors


def test_overviews_of_a_geotiff(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    profile: dict[str, Any] = {"driver": "GTiff", "width": 8, "height": 8, "count": 1, "dtype": "uint8"}
    with rasterio.open("a.tif", "w", **profile, transform=rasterio.Affine(2, 0, 0, 0, -2, 0)) as file:
        file.write(np.zeros((1, 8, 8), np.uint8))
    with rasterio.open("a.tif", "r+") as file:
        file.update_tags(ns="OVERVIEWS", OVERVIEW_FILE=url)
        file.update_tags(href=url, source=url)
    assert command(capsys, "run", "a.tif", *RUN)[0] == 0  # tifffile reads it, and knows no overviews
    assert command(capsys, "run", "a.tif", *RUN[:-1], "out.tif")[0] == 2


def test_scales_and_attributes_of_a_store(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    axes = [{"name": name, "type": "space"} for name in "yx"]
    scale = [{"type": "scale", "scale": [1.0, 1.0]}]
    datasets = [{"path": path, "coordinateTransformations": scale} for path in ("0", url)]
    ome_zarr = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "source": url, "name": url}]}
    group = zarr.open_group("a.zarr", mode="w", attributes={"ome": ome_zarr, "_ARRAY_DIMENSIONS": [url], "href": url})
    group.create_array("0", shape=(8, 8), dtype="u1", chunks=(8, 8), attributes={"url": url})[:] = 1
    for name in ("a.zarr/0", "a.zarr"):
        code, _, errors = command(capsys, "run", name, *RUN)
        assert (code == 0) == (not errors)


@pytest.mark.parametrize("part", ["codecs", "storage_transformers", "consolidated_metadata"])
def test_parts_of_a_store(part: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    zarr.create_array("a.zarr", data=np.zeros((8, 8), np.uint8), chunks=(8, 8))
    path = Path("a.zarr/zarr.json")
    metadata = json.loads(path.read_text())
    if part == "consolidated_metadata":
        inner = {"kind": "inline", "must_understand": False, "metadata": {url: metadata, f"../{url}": metadata}}
        metadata = GROUP | {"consolidated_metadata": inner, "attributes": {}}
    else:
        metadata[part] = [{"name": url, "configuration": {"url": url}}]
    path.write_text(json.dumps(metadata))
    code, _, errors = command(capsys, "run", "a.zarr", *RUN)
    assert (code, errors.startswith("error: a.zarr")) == (2, True)


def test_lists_configurations_and_programs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line of a list names a file; the URL in a configuration is where somebody found it."""
    Path("models.txt").write_text(f"{url}\n{url}.onnx\n")
    assert command(capsys, "audit", "models.txt")[0] == 2
    config = {
        "_name_or_path": url,
        "auto_map": {"AutoImageProcessor": url},
        "url": url,
        "size": {"height": 8, "width": 8},
    }
    known = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "resample": 2}
    Path("preprocessor_config.json").write_text(json.dumps(config | known))
    save_model(Path("a.onnx"), "g (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Identity (x) }")
    command(capsys, "preprocess", "a.onnx", "b.onnx", "--from", "preprocessor_config.json")


def test_entities_of_an_ir(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.xml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE net SYSTEM "{url}" ['
        f'<!ENTITY e SYSTEM "{url}"><!ENTITY % p SYSTEM "{url}"> %p;]>'
        f'<net name="a" version="11" xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{url}"/>&e;</net>'
    )
    for call in (("inspect", "a.xml"), ("convert", "a.xml", "a.onnx")):
        code, _, errors = command(capsys, *call)
        assert (code, errors.startswith("error: a.xml")) == (2, True)


def test_a_saved_model(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The names of assets, of checkpoints and of the folder of variables are URLs."""
    pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    graph = model.meta_graphs.add()
    graph.meta_info_def.tags.append("serve")
    graph.asset_file_def.append(meta_graph_pb2.AssetFileDef(filename=url))
    graph.saver_def.filename_tensor_name, graph.saver_def.restore_op_name = "name:0", "restore"
    name = graph.graph_def.node.add(name="name", op="Const")
    name.attr["dtype"].type = 7
    name.attr["value"].tensor.dtype = 7
    name.attr["value"].tensor.string_val.append(url.encode())
    name.attr["value"].tensor.tensor_shape.SetInParent()
    graph.graph_def.node.add(name="read", op="ReadFile", input=["name"])
    Path("net").mkdir()
    Path("net/saved_model.pb").write_bytes(model.SerializeToString())
    code, _, errors = command(capsys, "convert", "net", "net.xml")
    assert (code, errors.startswith("error: net")) == (2, True)


def test_weights_of_a_program(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch: Any = pytest.importorskip("torch", reason="pip install 'ir-interp[torch]'")
    net = torch.nn.Conv2d(1, 1, 1)
    torch.export.save(torch.export.export(net, (torch.rand(1, 1, 4, 4),)), "whole.pt2")
    with zipfile.ZipFile("whole.pt2") as file, zipfile.ZipFile("a.pt2", "w") as other:
        for member in file.namelist():
            content = file.read(member)
            if member.endswith("_config.json"):
                config = json.loads(content)
                for entry in config["config"].values():
                    entry["path_name"] = url
                content = json.dumps(config).encode()
            other.writestr(member, content)
    code, _, errors = command(capsys, "convert", "a.pt2", "a.xml")
    assert (code, errors.startswith("error: a.pt2: ")) == (2, True)
