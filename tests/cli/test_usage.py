"""Options that would do nothing are refused, and so are values that mean nothing."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

NET = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2,2}> {
    [up] y = Resize <mode = "linear"> (x, "", s) }"""
TO_XML = ".onnx to .xml; it goes with"
DESCRIBED_TO_ONNX = ".h5 to .onnx, .keras to .onnx, .pb to .onnx, .pdmodel to .onnx"
FOREIGN_TO_XML = ".h5 to .xml, .keras to .xml, .pb to .xml, .pdmodel to .xml, .pt2 to .xml, .tflite to .xml"
TO_JSON = ".onnx to .json; it goes with .onnx to .xml, .onnx to .onnx, .xml to .xml"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), NET)
    Path("layer.xml").write_text(interpolate('axes="2,3" mode="nearest"', shape=(1, 3, 4, 6), out=(1, 3, 8, 12)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("a.onnx", "b.xml", "--opset", "13"),
            f"--opset has no effect on {TO_XML} .xml to .onnx, .json to .onnx, {DESCRIBED_TO_ONNX}, .tflite to .onnx",
        ),
        (
            ("a.onnx", "b.xml", "--dialect", "tensorrt"),
            f"--dialect has no effect on {TO_XML} .onnx to .json, .onnx to .py, .xml to .json, .xml to .py, "
            ".json to .py, .tflite to .json, .tflite to .py",
        ),
        (
            ("a.onnx", "b.json", "--fp16"),
            f"--fp16 has no effect on {TO_JSON}, .xml to .onnx, {DESCRIBED_TO_ONNX}, .pt2 to .xml",
        ),
        (("layer.xml", "b.onnx", "--fp16"), "--fp16 has no effect on layer.xml, a layer without weights"),
        (
            ("a.onnx", "b.json", "--only", "native"),
            f"--only has no effect on {TO_JSON}, .json to .xml, {FOREIGN_TO_XML}",
        ),
        (
            ("a.onnx", "b.json", "--strict"),
            f"--strict has no effect on {TO_JSON}, .json to .xml, {FOREIGN_TO_XML}",
        ),
        (
            ("a.onnx", "b.xml", "--no-verify", "--shape", "1,2,8,8"),
            "--shape has no effect without verification or freeze",
        ),
        (("a.onnx", "b.xml", "--no-verify", "--input", "x=x.npy"), "--input has no effect without verification"),
    ],
)
def test_options_of_convert_that_do_nothing(
    given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path().iterdir())
    assert command(capsys, "convert", *given) == (2, "", f"error: {said}\n")
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("plot", "a.onnx", "p.png", "--input", "x.npy"),
            "--input has no effect on positions; it goes with --what image",
        ),
        (
            ("plot", "a.onnx", "p.png", "--what", "kernel", "--against", "exact"),
            "--against has no effect on kernel; it goes with --what image",
        ),
        (
            ("plot", "a.onnx", "p.png", "--what", "image", "--axis", "2"),
            "--axis has no effect on an image, which shows two",
        ),
        (("explain", "IRI001", "--all"), "--all has no effect on a code; it goes with the file of a resize"),
        (("explain", "IRI001", "--sizes", "3"), "--sizes has no effect on a code; it goes with the file of a resize"),
        (("explain", "a.onnx", "--all", "--json"), "--all has no effect on JSON, which holds every output"),
        (("compare", "a.onnx", "a.onnx", "--tolerance", "-1"), "--tolerance is -1; expected 0 or more"),
        (("compare", "a.onnx", "a.onnx", "--tolerance", "nan"), "--tolerance is nan; expected 0 or more"),
    ],
)
def test_other_options_that_do_nothing(given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, *given) == (2, "", f"error: {said}\n")


NUMBERS: dict[tuple[str, ...], str] = {
    ("convert", "--seed", "1_0"): "'1_0' is not an integer",
    ("convert", "--opset", "\u0661\u0663"): "'\u0661\u0663' is not an integer",
    ("audit", "--jobs", "1_0"): "'1_0' is not an integer",
    ("audit", "--jobs", "0"): "0 is less than 1",
    ("compare", "--seed", "-1"): "-1 is less than 0",
    ("compare", "--tolerance", "1%"): "'1%' is not a number; expected NUMBER, as in 0.5; see",
    ("audit", "--time-limit", "5s"): "'5s' is not an integer; expected SECONDS, as in 12; see",
    ("compare", "--tolerance", "1_0"): "'1_0' is not a number",
    ("plot", "--axis", "1_0"): "'1_0' is not an integer",
    ("plot", "--shape", "1_0"): "--shape '1_0': expected SIZES",
    ("explain", "--sizes", "1_0"): "--sizes '1_0': expected integers",
    ("explain", "--scales", "1_0"): "--scales '1_0': expected numbers",
    ("compare", "--mean", "1_0"): "--mean '1_0': expected numbers",
}
"""What Python reads as 10 or 13, or what is too little, and what is said of it."""


@pytest.mark.parametrize("given", NUMBERS)
def test_numbers_are_plain_decimals(given: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    name, *option = given
    others = {"convert": ["b.xml"], "compare": ["a.onnx"], "plot": ["p.png"]}
    code, printed, errors = command(capsys, name, "a.onnx", *others.get(name, []), *option)
    assert (code, printed) == (2, "")
    assert NUMBERS[given] in errors


def test_lengths_of_another_rank_than_the_file_resizes(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("b.onnx"), "g (float[n,c,h,w] x) => (float[n,c,p,q] y) <float[4] s = {1,1,2,2}> {y = Resize(x,,s)}")
    code, printed, errors = command(capsys, "explain", "b.onnx", "--shape", "1,2,3", "--sizes", "8,9")
    assert (code, printed, errors) == (2, "", "error: scales [1.0, 1.0, 2.0, 2.0] do not fit 3 axes\n")


# What to do next

ONLY_SUBJECT = "no file, code or class"
CONFIGURATION = '{"image_processor_type": "ViTImageProcesor"}'
UINT8 = "g (uint8[1,3,8,8] x) => (uint8[1,3,8,8] y) { y = Identity(x) }"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("explain CLIPImageProcesor --backend pil", f"{ONLY_SUBJECT} 'CLIPImageProcesor'; did you mean 'CLIPImagePr"),
        ("explain resize", f"{ONLY_SUBJECT} 'resize'; expected one, as in model.onnx, IRI001 or ViTImageProcessor:pil"),
        ("explain audit", "'audit' is a command; add --schema for the schema of its JSON"),
        ("preprocess a.onnx b.onnx --config c.json", "; did you mean 'ViTImageProcessor'?"),
        ("preprocess a.onnx b.onnx --config vit", "vit: is a folder; pass vit/preprocessor_config.json"),
        ("preprocess a.onnx b.onnx --config empty", "empty: is a folder; expected a file"),
        (
            "preprocess a.onnx b.onnx --config vit/preprocessor_config.json",
            "vit/preprocessor_config.json: the backend is unknown: ",
        ),
        (
            "preprocess byte.onnx b.onnx --config vit/preprocessor_config.json --backend pil",
            "input 'x' takes uint8, but rescaling and normalisation return floats; leave out --mean and --std, or ",
        ),
        ("identify a.onnx empty", "empty is a folder, and a.onnx is not; expected two files or two folders"),
        ("identify empty empty", "no file name occurs in both empty and empty; give each resized image the name of "),
        ("fix a.onnx empty", "empty: is a folder; expected the name of a file that ends in .onnx\n"),
        ("convert a.onnx out", "out: has no extension; expected one of .xml, .onnx, .json, .py, .tflite\n"),
        ("convert a.onnx b.onnx --opset 30", "; use --target onnx:30\n"),
        ("convert a.onnx b.xml --freeze", "--freeze has no effect without --shape\n"),
        ("convert a.onnx b.xml --input a.onnx", "a.onnx: not a NumPy array: its header is not that of .npy; expected "),
        ("convert gone.pt2 b.onnx", "gone.pt2: cannot be read: No such file or directory\n"),
        ("run gone.zarr --like pillow:box --sizes 2,2 --output b.zarr", "gone.zarr: does not exist\n"),
    ],
)
def test_a_mistake_is_answered_with_the_way_on(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("empty", "vit"):
        Path(folder).mkdir()
    Path("vit/preprocessor_config.json").write_text(CONFIGURATION.replace("Procesor", "Processor"))
    Path("c.json").write_text(CONFIGURATION)
    save_model(Path("byte.onnx"), UINT8)
    code, printed, errors = command(capsys, *line.split())
    assert (code, printed) == (2, "")
    assert said in errors


def test_a_json_of_single_layers_names_the_file_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("b.onnx"), NET.replace('"linear"', '"linear", antialias = 1').replace("1,1,2,2", "1,1,0.5,0.5"))
    remedy = "; a .json holds one layer for each resize; write a .py, which may use several\n"
    assert command(capsys, "convert", "b.onnx", "b.json")[2].endswith(remedy)
    assert command(capsys, "convert", "b.onnx", "b.py")[0] == 0


def test_a_folder_or_standard_input_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models").mkdir()
    known = ".h5, .json, .keras, .onnx, .pb, .pdmodel, .pt2, .tflite, .xml"
    for name, said in (
        ("models", "models: is a folder; expected the name of a file that ends in {}; `ir-interp audit` takes folders"),
        ("-", "-: standard input is not read; expected the name of a file that ends in {}"),
    ):
        for given, ends in (
            (("inspect", name), known),
            (("explain", name), known),
            (("compare", name, "a.onnx"), ".onnx, .xml"),
        ):
            code, printed, errors = command(capsys, *given)
            assert (code, printed) == (2, "")
            assert set(errors) == set(f"error: {said.format(ends)}\n")
    said = "-: standard input is not read; expected the name of a file that ends in .onnx, .xml, .json, "
    assert said in command(capsys, "convert", "-", "b.xml")[2]
    code, _, errors = command(capsys, "convert", "models", "b.xml")
    remedy = "to convert its models: ir-interp convert models converted --to .xml"
    assert (code, errors) == (2, f"error: models: is a folder; expected a model; {remedy}\n")
    said = "-: standard input is not supported; expected paths of models or folders"
    assert command(capsys, "audit", "-") == (2, "", f"error: {said}\n")


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("y = MaxUnpool <kernel_shape = [2, 2]> (x, x)", "No conversion rule found for operations: MaxUnpool-19"),
        ("y = Slice (x)", "Slice-19 with a message: While validating ONNX node '<Node(Slice): y>': "),
    ],
)
def test_a_refusal_of_the_frontend_names_the_operation(
    node: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(Path("b.onnx"), f"g (float[1,2,8,8] x) => (float[1,2,k,l] y) {{ {node} }}")
    code, _, errors = command(capsys, "convert", "b.onnx", "b.xml")
    assert code == 2
    assert errors.startswith(f"error: b.onnx: OpenVINO's ONNX frontend refuses it: {said}")
    assert ".cpp" not in errors


def test_a_model_that_onnxruntime_optimized_for_one_processor(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = "c = com.microsoft.nchwc.ReorderInput (x)  y = com.microsoft.nchwc.ReorderOutput <channels = 16> (c)"
    sets = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>'
    graph = f"g (float[1,16,8,8] x) => (float[1,16,8,8] y) {{ {nodes} }}"
    onnx.save(onnx.parser.parse_model(f"{sets} {graph}"), "b.onnx")
    code, _, errors = command(capsys, "convert", "b.onnx", "b.xml")
    assert code == 2
    assert errors.endswith("optimized it for one kind of processor; convert the model that it was optimized from\n")


def test_what_does_not_run_can_be_written_all_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir_interp.converters.verify.processes._SECONDS", 0.01)
    code, _, errors = command(capsys, "convert", "a.onnx", "b.xml")
    assert code == 1
    advice = "; nothing was written; --no-verify writes it unverified, and it may compute something else\n"
    assert errors.endswith(advice)
