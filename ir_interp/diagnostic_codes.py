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
    """A kind of finding, how it came about, and what to do: the ``remedy``.

    ``test`` is where its claim is held: a file of ``tests/`` and a function in it.
    """

    code: str
    severity: Severity
    summary: str
    story: str
    remedy: str
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
            remedy=(
                "Decide by which behaviour the model was trained: to keep OpenVINO's, set antialias=false, which says "
                "what is computed; to antialias, convert from the ONNX source, or use rank 5."
            ),
            test="executor/test_openvino.py::test_antialias_is_ignored_up_to_rank_4",
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
            remedy=(
                "Write the axes in ascending order, with the sizes in the same order; `ir-interp explain FILE` shows "
                "both readings."
            ),
            test="ir/test_ir_files.py::test_axes_that_are_not_ascending",
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
            remedy="Write one pad for every dimension of the input, which both readings take alike.",
            test="ir/test_ir_files.py::test_a_single_pad",
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
            remedy=(
                "If the model was trained with another coefficient, use mode cubic with cube_coeff, or export again "
                "with -0.5."
            ),
            test="executor/test_openvino.py::test_cube_coeff_is_ignored_by_bicubic_pillow",
        ),
        Rule(
            code="IRI005",
            severity=Severity.ERROR,
            summary="No runtime executes mode area: exact pixel coverage is taken, as TensorFlow's ResizeArea does.",
            story=(
                "The mode came with Caffe's FlowNet2, whose own layer aborts on it. Interpolate-1 lists it, no "
                "converter wrote it and no plugin runs it. Here it is the mean over what an output pixel covers, as "
                "in TensorFlow and OpenCV. For whole factors that is an average pool. `ir-interp convert` writes it "
                "to ONNX as a subgraph, if lengths are known."
            ),
            remedy=(
                "Convert to ONNX, where this program writes sums that runtimes execute: `ir-interp convert model.xml "
                "model.onnx`."
            ),
            test="ir/test_ir_files.py::test_area",
        ),
        Rule(
            code="IRI006",
            severity=Severity.WARNING,
            summary=(
                "ONNX's reference takes scale * length for the output length without rounding it down; its text rounds."
            ),
            story=(
                "The formulas of align_corners and tf_crop_and_resize take the length of the resized tensor. ONNX's "
                "reference implementation takes scale times input length there, which is not whole under "
                "fractional scales; onnxruntime and OpenVINO take the length of the tensor. Two official node tests "
                "expect the reference's reading, and no runtime passes them. With sizes instead of scales all agree."
            ),
            remedy="Give sizes instead of scales, or scales that lead to whole lengths: then all readings agree.",
            test="executor/test_onnxruntime.py::test_fractional_length_is_the_reference_reading",
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
            remedy=(
                "Look at both with `ir-interp explain FILE --layer NAME`, and state the attributes on which they "
                "differ."
            ),
            test="ir/test_ir_files.py::test_a_single_pad",
        ),
        Rule(
            code="IRI008",
            severity=Severity.WARNING,
            summary="OpenVINO's CPU plugin lays pads around other axes where those resized are not height and width.",
            story=(
                "The plugin has kernels for images and volumes, and takes an Interpolate of other axes for one of "
                "images whose channels come last. It moves the axes, but not the pads: of [1, 10, 9, 5] padded by two "
                "at the ends of axes 1 and 3 it pads axes 2 and 3."
            ),
            remedy="Lay the zeros by a Pad in front; so does `ir-interp convert`.",
            test="executor/test_openvino.py::test_pads_go_astray",
        ),
        Rule(
            code="IRI009",
            severity=Severity.NOTE,
            summary="ONNX's operator page makes another length or scale of `scales` than its runtimes.",
            story=(
                "By the page of Resize the scale of its formulas is length_resized / length_original, whatever "
                "`scales` says, and so it is under keep_aspect_ratio_policy. onnxruntime, OpenVINO and ONNX's own "
                "reference take the scale that is given: of 5 pixels by 1.3 they sample 6 outputs with the step "
                "1 / 1.3, the page with 5 / 6. OpenCV, TVM and TensorRT follow the page. In tf_crop_and_resize the "
                "page's length is floor(input_dimension * (roi_end - roi_start) * scale); no runtime looks at the roi "
                "for it."
            ),
            remedy="Give sizes instead of scales: then all agree. `--semantics document` reads the page to the letter.",
            test="onnx/test_onnx_page.py::test_the_note",
        ),
        Rule(
            code="IRI010",
            severity=Severity.NOTE,
            summary="A word that this version of the operator does not have; onnxruntime takes it all the same.",
            story=(
                "Resize has tf_half_pixel_for_nn in operator sets 11 and 12 only, and half_pixel_symmetric from 19 on. "
                "tf2onnx writes the first for nearest resizes in any set. onnxruntime and OpenVINO's frontend do not "
                "ask for the set, and compute what the word means where it is known; ONNX's checker lets it pass."
            ),
            remedy=(
                "Nothing where onnxruntime or OpenVINO runs the model. For others see what `ir-interp audit` says of "
                "them: `ir-interp convert --target` writes what they compute the same."
            ),
            test="onnx/test_onnx_files.py::test_a_word_of_another_operator_set",
        ),
        Rule(
            code="IRI011",
            severity=Severity.WARNING,
            summary="Antialiased cubic with the coefficient -0.75, where those who antialias use -0.5.",
            story=(
                "PyTorch's bicubic antialias, like Pillow's, has the coefficient -0.5; its plain bicubic has -0.75. "
                "Exporters long wrote the default -0.75 for both, so that a model computes something else than the "
                "one it was exported from. Set cubic_coeff_a=-0.5, unless -0.75 was meant."
            ),
            remedy=(
                "If the preprocessing was Pillow's or PyTorch's, set cubic_coeff_a=-0.5: `ir-interp fix` does; else "
                "`--ignore IRI011`."
            ),
            test="audit/test_audit.py::test_mistakes",
        ),
        Rule(
            code="IRI012",
            severity=Severity.WARNING,
            summary="Antialias that adds taps outside the image to its edge pixels; Pillow and PyTorch drop them.",
            story=(
                "With antialias=1 and exclude_outside=0, ONNX's default, taps beyond the image count for its edge "
                "pixel. Pillow and PyTorch drop them and let the rest sum to 1. Exporters that forget "
                "exclude_outside=1 change the pixels along every edge."
            ),
            remedy=(
                "If the preprocessing was Pillow's or PyTorch's, set exclude_outside=1: `ir-interp fix` does; else "
                "`--ignore IRI012`."
            ),
            test="audit/test_audit.py::test_mistakes",
        ),
        Rule(
            code="IRI013",
            severity=Severity.WARNING,
            summary="A scale that gives one pixel less than was probably meant.",
            story=(
                "A length is rounded down: 3 * 0.6666 gives 1, and 2 was meant. Such scales come from ratios that "
                "were written with few digits, or in half precision. Runtimes also round the product differently: 5 * "
                "1.4 is 7 in float32 and 6 exactly. Give sizes."
            ),
            remedy=(
                "Export with sizes, or with a scale a little larger, which `ir-interp fix` writes, and compare the "
                "output shape with that of the original model."
            ),
            test="audit/test_audit.py::test_mistakes",
        ),
        Rule(
            code="IRI014",
            severity=Severity.WARNING,
            summary="Scales that went through half precision.",
            story=(
                "OpenVINO's save_model compresses constants to FP16 by default, the scales of an Interpolate among "
                "them: 2.3 becomes 2.3008, and coordinates drift by a pixel every 3000. Save with "
                "compress_to_fp16=False, give sizes, or convert with `ir-interp convert --fp16`, which keeps "
                "the constants of resizes as they are. The rounding shows where the constant is stored in half "
                "precision. In float32 it shows where every scale fits half precision, one lies beside a simple "
                "fraction such as 23/10, and that one is no ratio of lengths."
            ),
            remedy=(
                "Export the scales in float32, or give sizes; half precision moves every pixel that is far from the "
                "origin. In an ONNX model `ir-interp fix` writes the simplest fraction that the scale may have been. "
                "On a static axis it makes as many pixels as PyTorch: 100 * 2.3 is 229."
            ),
            test="audit/test_audit.py::test_scales_in_half_precision",
        ),
        Rule(
            code="IRI015",
            severity=Severity.WARNING,
            summary="A Resize that ONNX's version converter made of a Resize-10: its coordinates have changed.",
            story=(
                "Resize-10 has no coordinate_transformation_mode and samples asymmetrically. ONNX's version converter "
                "raises it to Resize-11 by adding a roi of zeros and ones, and leaves out the mode, whose default is "
                "half_pixel: [1, 2.667] becomes [2.667, 4.333]. Set coordinate_transformation_mode=asymmetric, and "
                "for nearest nearest_mode=floor where it grows."
            ),
            remedy=(
                "Export again in the newer operator set, or set coordinate_transformation_mode=asymmetric and "
                "nearest_mode to what the old one computed: `ir-interp fix` does."
            ),
            test="audit/test_audit.py::test_what_the_version_converter_leaves",
        ),
        Rule(
            code="IRI016",
            severity=Severity.WARNING,
            summary="A single output that is the first pixel, where PyTorch samples the middle.",
            story=(
                "ONNX's pytorch_half_pixel puts a single output at coordinate 0. PyTorch itself samples (in - 1) / 2: "
                "interpolate of [0, 1, ..., 9] to one pixel is 4.5, and its ONNX export gives 0. Both modes are the "
                "same wherever an axis has more than one output."
            ),
            remedy="Set coordinate_transformation_mode=half_pixel: `ir-interp fix` does; else `--ignore IRI016`.",
            test="audit/test_audit.py::test_mistakes",
        ),
        Rule(
            code="IRI017",
            severity=Severity.NOTE,
            summary="Releases of OpenVINO compute this layer differently.",
            story=(
                "Interpolate-1 leaves coordinates and rounding open. OpenVINO 2021.3 took half_pixel, and for nearest "
                "round_prefer_floor, wherever align_corners is not set. 2021.2 rounded nearest down and ignored pads. "
                "2021.4 and every later release computes the layer as `--semantics runtime` reads it. A model that was "
                "validated in one of the two computes something else today; docs/semantics.md has the table."
            ),
            remedy=(
                "If the model was validated in such a release, convert it with `--semantics openvino-2021.3`, or "
                "openvino-2021.2. Else nothing is to be done."
            ),
            test="ir/test_releases.py::test_the_note",
        ),
        Rule(
            code="IRI021",
            severity=Severity.ERROR,
            summary="A runtime crashes on it.",
            story=(
                "Or corrupts its memory, which may show later and elsewhere: OpenVINO's CPU plugin does so in linear "
                "resizes of rank 6 and in cubic ones of three axes. `ir-interp convert` never writes such "
                "layers."
            ),
            remedy=(
                "Do not run this model there as it is: rewrite the resize with `ir-interp convert model.onnx "
                "portable.onnx --target openvino` (or tensorrt), or convert it."
            ),
            test="audit/test_audit.py::test_verdicts",
        ),
        Rule(
            code="IRI022",
            severity=Severity.WARNING,
            summary="A runtime refuses it.",
            story=(
                "The reason given is the runtime's. `ir-interp convert` writes most of such resizes as a subgraph of "
                "other operations."
            ),
            remedy=(
                "If you use that runtime, rewrite the resize with `ir-interp convert model.onnx portable.onnx "
                "--target tensorrt` (or openvino, onnx:11), or convert it; else say `--severity RUNTIME=note`."
            ),
            test="audit/test_audit.py::test_verdicts",
        ),
        Rule(
            code="IRI023",
            severity=Severity.WARNING,
            summary="A runtime computes something else.",
            story=(
                "The difference is the largest one on values between 0 and 1, in the shape of the resize if that is "
                "known. OpenVINO's own ONNX frontend silently drops antialias, exclude_outside and aspect policies."
            ),
            remedy=(
                "If you use that runtime, convert with `ir-interp convert model.onnx model.xml`, or rewrite with "
                "`--target`: both compute the same there; else say `--severity RUNTIME=note`."
            ),
            test="audit/test_audit.py::test_verdicts",
        ),
        Rule(
            code="IRI024",
            severity=Severity.NOTE,
            summary="The installed runtime does not do what was forecast.",
            story=(
                "Verdicts come from rules about one version of each runtime; `--run` runs the installed one. Where "
                "they disagree, another version is installed, or a rule is wrong: then please report it."
            ),
            remedy=(
                "Trust what was seen; if the installed version is the one named in the table of runtimes, please "
                "report it."
            ),
            test="audit/test_audit.py::test_a_forecast_that_fails",
        ),
        Rule(
            code="IRI025",
            severity=Severity.WARNING,
            summary="No rule covers what a runtime does with it.",
            story=(
                "It may compute the same, something else, or refuse: other ranks and element types than images of "
                "float32 have, for example, are not covered for every runtime."
            ),
            remedy=(
                "Run it there: `ir-interp audit --run` settles it where the runtime is installed. Or rewrite it with "
                "`--target`, which keeps nothing that is unknown; else say `--severity RUNTIME=note`."
            ),
            test="audit/test_audit.py::test_unknown_is_a_verdict_of_its_own",
        ),
        Rule(
            code="IRI031",
            severity=Severity.NOTE,
            summary="TensorRT would not run the layer on DLA.",
            story=(
                "DLA, the accelerator of Jetson and DRIVE devices, takes few of the settings of an IResizeLayer: rank "
                "4, height and width only, by whole scales from 1 to 32 (NEAREST) or to 4 (LINEAR), and some "
                "combinations of coordinates, selector and rounding. Other layers fall back to the GPU; where that "
                "is not allowed, the engine is not built. docs/tensorrt.md has the table. On a GPU this note does "
                "not matter, so `ir-interp audit` gives it with `--select IRI031` only."
            ),
            remedy=(
                "Only for DLA: use whole scales and the settings that docs/tensorrt.md lists, or allow the GPU as a "
                "fallback."
            ),
            test="tensorrt/test_tensorrt.py::test_dla",
        ),
        Rule(
            code="IRI041",
            severity=Severity.WARNING,
            summary="Images reach the model through another resize than in its training.",
            story=(
                "`ir-interp audit --preprocess opencv:linear --trained pillow:bilinear` resizes an image as both calls "
                "do, to the size of the model's input, and counts the values that differ. Where an image shrinks, "
                "Pillow filters and most calls of OpenCV do not, so that edges differ by a hundred and more. Without "
                "`--image` it takes random images, the worst case, in the shapes of photos, video frames, screens and "
                "banners. The finding shows the image on which most values differ. A dynamic height or width is tried "
                "at 224 and 640; `--shape` names another. A difference of 1 is rounding, and a note. Two pipelines "
                "(`--preprocess preprocessor_config.json:pil`) are compared as a whole, then step by step: what each "
                "step of the deployment costs in place of that of the training."
            ),
            remedy=(
                "Resize with the library of the training, or let `ir-interp preprocess` put its resize in front of "
                "the model; docs/accuracy.md leads on from there."
            ),
            test="audit/test_preprocessing.py::test_the_cost_of_another_resize",
        ),
    )
)


def find(code: str) -> Rule:
    """Return the rule of a code, in upper or lower case. Raises ReadError for an unknown code."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise ReadError(f"unknown code {code!r}; {closest(code, RULES)}")
    return rule
