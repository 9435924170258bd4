"""Programs of PyTorch that hold or name code: none runs, and each is refused by one error."""

from __future__ import annotations

import io
import json
import pickle
import pkgutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir_interp
from tests.support.commands import command

torch: Any = pytest.importorskip("torch", reason="pip install 'ir-interp[torch]'")
pytest.importorskip("onnxscript", reason="pip install 'ir-interp[torch]'")

Members = dict[str, bytes]
MARKER = "marker"
CODE = f"open('{MARKER}', 'w').close()"
CALL = f"__import__('os').mkdir('{MARKER}')"


class Net(torch.nn.Module):  # type: ignore[misc]
    """A resize with a weight, a constant and a size that depends on the input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.constant = torch.ones(3)

    def forward(self, x: Any) -> Any:
        x = x * self.weight + self.constant.sum()
        return torch.nn.functional.interpolate(x, size=(x.shape[2] * 2, 9), mode="bilinear")


class Code:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (CODE,)


def pickled() -> bytes:
    content = io.BytesIO()
    torch.save({"x": Code()}, content)
    return content.getvalue()


def name_of(members: Members, end: str) -> str:
    [name] = [name for name in members if name.endswith(end)]
    return name


def of_model(change: Callable[[Any], object]) -> Callable[[Members], None]:
    """Return an attack that changes the JSON of the model."""

    def attack(members: Members) -> None:
        name = name_of(members, "/models/model.json")
        model = json.loads(members[name])
        change(model)
        members[name] = json.dumps(model).encode()

    return attack


def replaced(end: str) -> Callable[[Members], None]:
    def attack(members: Members) -> None:
        members[name_of(members, end)] = pickled()

    return attack


def unpickled(kind: str, path: str = "") -> Callable[[Members], None]:
    """Return an attack that declares a weight or a constant a pickle."""

    def attack(members: Members) -> None:
        config = name_of(members, f"/data/{kind}/model_{kind}_config.json")
        content = json.loads(members[config])
        [entry] = content["config"].values()
        entry["use_pickle"] = True
        entry["path_name"] = path or entry["path_name"]
        payload = pickle.dumps(Code()) if path else pickled()
        members[f"{config.rpartition('/')[0]}/{entry['path_name']}"] = payload
        members[config] = json.dumps(content).encode()

    return attack


def compiled(members: Members) -> None:
    root = name_of(members, "/archive_format").partition("/")[0]
    members[f"{root}/data/aotinductor/model/x.so"] = b"\x7fELF"


def nodes(model: Any) -> list[Any]:
    found: list[Any] = model["graph_module"]["graph"]["nodes"]
    return found


def expression(text: str) -> Callable[[Any], None]:
    """Return a change of each dimension that is an expression."""

    def change(part: Any) -> None:
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            if key == "expr_str":
                part[key] = text
            elif isinstance(value, dict | list):
                change(value)

    return change


def target(name: str) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        nodes(model)[0]["target"] = name

    return change


def container(context: tuple[str, object]) -> Callable[[Any], None]:
    """Return a change of the container of the inputs."""

    def change(model: Any) -> None:
        [call] = [entry for entry in model["graph_module"]["module_call_graph"] if entry["fqn"] == ""]
        version, spec = json.loads(call["signature"]["in_spec"])
        name, text = context
        spec["children_spec"][0] |= {"type": name, "context": json.dumps(text)}
        call["signature"]["in_spec"] = json.dumps([version, spec])

    return change


def guards(model: Any) -> None:
    model["guards_code"] = [CALL]


ENUM = {"__enum__": True, "fqn": "antigravity:geohash", "name": "x"}
FACTORY = {"default_factory_module": "antigravity", "default_factory_name": "geohash", "dict_context": []}
ATTACKS: dict[str, Callable[[Members], None]] = {
    "sample inputs": replaced("/data/sample_inputs/model.pt"),
    "weight": unpickled("weights"),
    "constant": unpickled("constants"),
    "opaque object": unpickled("constants", "opaque_obj_0"),
    "custom object": unpickled("constants", "custom_obj_0"),
    "legacy weights": lambda members: members.update(
        {name_of(members, "/archive_format").replace("archive_format", "data/weights/model.pt"): pickled()}
    ),
    "compiled code": compiled,
    "expression": of_model(expression(CALL)),
    "expression of attributes": of_model(expression("().__class__.__base__.__subclasses__()")),
    "expression that asks": of_model(expression("input()")),
    "exponent": of_model(expression("9**9**9**9")),
    "operation that reads": of_model(target("torch.ops.aten.from_file.default")),
    "operation that loads": of_model(target("torch.load")),
    "operation that starts": of_model(target("torch.os.system")),
    "operation that calls": of_model(target("_operator.call")),
    "enum": of_model(container(("builtins.dict", [ENUM]))),
    "factory": of_model(container(("collections.defaultdict", FACTORY))),
}


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Members:
    """The members of a program, in whose folder the test runs."""
    monkeypatch.chdir(tmp_path)
    x = torch.rand(1, 2, 4, 5)
    program = torch.export.export(Net().eval(), (x,), dynamic_shapes=({2: torch.export.Dim("height", min=2)},))
    torch.export.save(program, "net.pt2")
    with zipfile.ZipFile("net.pt2") as file:
        content = {name: file.read(name) for name in file.namelist()}
    Path("net.pt2").unlink()
    return content


def write(members: Members) -> None:
    with zipfile.ZipFile("net.pt2", "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_code_of_a_program_runs(attack: str, members: Members, capsys: pytest.CaptureFixture[str]) -> None:
    ATTACKS[attack](members)
    write(members)
    for call in (("inspect", "net.pt2"), ("convert", "net.pt2", "net.onnx")):
        code, printed, errors = command(capsys, *call)
        assert (code, printed) == (2, "")
        assert errors.startswith("error: net.pt2: ")
        assert errors.count("\n") == 1
        assert [str(path) for path in Path().iterdir()] == ["net.pt2"]


def test_guards_are_not_run(members: Members) -> None:
    of_model(guards)(members)
    write(members)
    ir_interp.convert("net.pt2", "net.xml", shapes={"x": (1, 2, 4, 5)})
    assert not Path(MARKER).exists()


def test_a_name_that_ends_a_string(members: Members) -> None:
    of_model(container(("builtins.dict", ["x' + str(" + CALL + ") + '"])))(members)
    write(members)
    with pytest.raises(ir_interp.ReadError, match=r"^net\.pt2: "):
        ir_interp.load("net.pt2")
    assert not Path(MARKER).exists()


NAMES = {
    "outside": "net/../../escaped.txt",
    "absolute": "/tmp/escaped.txt",
    "another spelling": "./net/data/x",
    "another case": "",
    "a link": "net/extra/link",
}


@pytest.mark.parametrize("attack", NAMES)
def test_bad_names_of_members(attack: str, members: Members, capsys: pytest.CaptureFixture[str]) -> None:
    write(members)
    name = NAMES[attack] or name_of(members, "/models/model.json").upper()
    member = zipfile.ZipInfo(name)
    if attack == "a link":
        member.external_attr = 0o120777 << 16
    with zipfile.ZipFile("net.pt2", "a") as file:
        file.writestr(member, b"/etc/passwd")
    for call in (("inspect", "net.pt2"), ("convert", "net.pt2", "net.onnx")):
        code, printed, errors = command(capsys, *call)
        assert (code, printed) == (2, "")
        assert errors.startswith("error: net.pt2: ")
        assert "of the archive" in errors or "in the archive" in errors
        assert [str(path) for path in Path().iterdir()] == ["net.pt2"]


def test_members_that_unpack_to_more_than_the_limit(
    members: Members, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch compresses none, but unpacks them."""
    monkeypatch.setenv("IR_INTERP_MAX_GIB", "0.1")
    with zipfile.ZipFile("net.pt2", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.writestr(name_of(members, "/archive_format").replace("archive_format", "extra/zeros"), bytes(2**28))
    code, _, errors = command(capsys, "inspect", "net.pt2")
    assert code == 2
    assert errors.startswith("error: net.pt2: ")
    assert "IR_INTERP_MAX_GIB" in errors


PRIVATE = (
    "torch._export.serde.serialize",
    "torch._export.serde.serialize.GraphModuleDeserializer",
    "torch._export.serde.serialize.GraphModuleDeserializer._parse_sym_expr",
    "torch._export.serde.serialize.GraphModuleDeserializer.deserialize_operator",
    "torch._export.serde.serialize._SYM_OPS",
    "torch._library.custom_ops.OPDEFS",
    "torch.utils._pytree.importlib",
)


@pytest.mark.parametrize("name", PRIVATE)
def test_another_pytorch_without_a_part_that_keeps_code_from_running(
    name: str, members: Members, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checks replace private parts of PyTorch; without one, a program is refused before it is loaded."""
    write(members)
    owner, _, part = name.rpartition(".")
    holder: Any = pkgutil.resolve_name(owner)
    if name in sys.modules:
        monkeypatch.setitem(sys.modules, name, None)
    else:
        monkeypatch.delattr(holder, part)
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("it was loaded"))
    code, printed, errors = command(capsys, "inspect", "net.pt2")
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: net.pt2: PyTorch {torch.__version__} has no ")
    assert f"{part}, which keeps a program from running code; expected PyTorch 2.13 to 2.15" in errors


def test_another_pytorch_that_keeps_guards_elsewhere(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    of_model(guards)(members)
    write(members)
    load = torch.export.load

    def moved(path: Path) -> Any:
        program = load(path)
        del program._guards_code
        return program

    monkeypatch.setattr(torch.export, "load", moved)
    with pytest.raises(ir_interp.ReadError, match=r"has no ExportedProgram\._guards_code, which keeps"):
        ir_interp.load("net.pt2")
    assert not Path(MARKER).exists()
