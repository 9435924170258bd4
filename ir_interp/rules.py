"""What each diagnostic code means: its rule, how it came about, and the test that settled it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ir_interp.errors import ReadError, closest


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"  # a runtime refuses the resize, or crashes
    WARNING = "warning"  # outputs differ, between runtimes or from what was likely meant
    NOTE = "note"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of finding. ``test`` is where its claim is held: a file of ``tests/`` and a function in it."""

    code: str
    severity: Severity
    summary: str
    story: str
    test: str


def _by_code(rules: Iterable[Rule]) -> dict[str, Rule]:
    return {rule.code: rule for rule in rules}


RULES = _by_code(
    (
        Rule(
            code="IRI001",
            severity=Severity.WARNING,
            summary="The runtime ignores antialias here; the operator page does not.",
            story=(
                "Interpolate has an attribute antialias, and its page widens the kernel of `linear` by it where an "
                "axis shrinks. OpenVINO's CPU plugin reads the attribute and has no such kernel up to rank 4: the "
                "outputs are those of antialias=false, while the core's own reference antialiases. With rank 5 the "
                "plugin does it too. A model that was trained with antialiasing loses it silently; `--semantics "
                "document` shows what the page asks for, and `ir-interp plot` what that changes."
            ),
            test="property/test_openvino.py::test_antialias_is_ignored_up_to_rank_4",
        ),
        Rule(
            code="IRI002",
            severity=Severity.WARNING,
            summary="Axes are not ascending: OpenVINO sorts them before it assigns sizes, the operator page does not.",
            story=(
                "Interpolate-1 holds its axes in a sorted set. So axes=3,2 with sizes 4, 3 makes axis 2 four long, "
                "where the page, which pairs the first axis with the first size, makes it three. Interpolate-4 and "
                "-11 take axes as an input and keep their order. Write the axes of Interpolate-1 in ascending order."
            ),
            test="test_ir_files.py::test_axes_that_are_not_ascending",
        ),
        Rule(
            code="IRI003",
            severity=Severity.WARNING,
            summary="A single pad means dimension 0 in OpenVINO, every resized axis by the operator page.",
            story=(
                "Files of 2019 and 2020 give pads_begin and pads_end as one number, which padded height and width "
                "alike. Since Interpolate-1 is turned into Interpolate-4, pads go by dimension, missing ones are 0, "
                "and the single number pads the batch: an input of one image gives two. Write a pad for every "
                "dimension."
            ),
            test="test_ir_files.py::test_a_single_pad",
        ),
        Rule(
            code="IRI004",
            severity=Severity.WARNING,
            summary="OpenVINO's CPU plugin computes bicubic_pillow with -0.5, whatever cube_coeff says.",
            story=(
                "Pillow's bicubic filter has the coefficient -0.5, and the plugin's kernel has it built in; the "
                "core's reference reads cube_coeff, whose default is -0.75. OpenVINO's own preprocessing writes that "
                "default, so that the two disagree on it. Write cube_coeff=-0.5."
            ),
            test="property/test_openvino.py::test_cube_coeff_is_ignored_by_bicubic_pillow",
        ),
        Rule(
            code="IRI005",
            severity=Severity.ERROR,
            summary="No runtime executes mode area: exact pixel coverage is taken, as TensorFlow's ResizeArea does.",
            story=(
                "The word came with Caffe's FlowNet2, whose own layer aborts on it. Interpolate-1 lists it, no "
                "converter wrote it and no plugin runs it. Here it is the mean over what an output pixel covers, as "
                "in TensorFlow and OpenCV. For whole factors that is an average pool."
            ),
            test="test_ir_files.py::test_area",
        ),
        Rule(
            code="IRI006",
            severity=Severity.WARNING,
            summary=(
                "ONNX's reference takes scale * length, not yet rounded down, for the output length; its text does not."
            ),
            story=(
                "The formulas of align_corners and tf_crop_and_resize take the length of the resized tensor. ONNX's "
                "reference implementation takes scale times input length there, which is no whole number under "
                "fractional scales; onnxruntime and OpenVINO take the length of the tensor. Two official node tests "
                "hold the reference's reading, and no runtime passes them. Give sizes, and all agree."
            ),
            test="property/test_onnxruntime.py::test_fractional_length_is_the_reference_reading",
        ),
        Rule(
            code="IRI007",
            severity=Severity.WARNING,
            summary="The readings of this layer differ.",
            story=(
                "What the runtime computes, what the operator page says and what the reference implementation does "
                "are not the same for this layer, in a way that has no code of its own. `ir-interp explain FILE "
                "--layer NAME` shows each reading's taps."
            ),
            test="test_ir_files.py::test_a_single_pad",
        ),
    )
)


def find(code: str) -> Rule:
    """Return the rule of a code in any case. Raises ReadError for one that there is not."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise ReadError(f"unknown code {code!r}; {closest(code, RULES)}")
    return rule
