"""The diagnostic codes: what each means, its background, its remedy, and the test that proves it.

First a kind of finding, then the findings of a reading and those of an audit, then ``RULES`` of all; last the choice
of codes by their beginnings or by their kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.records import Record


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"  # a runtime refuses the resize, or crashes
    WARNING = "warning"  # outputs differ, between runtimes or from what was likely meant
    NOTE = "note"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Record):
    """A kind of finding: its ``summary``, its background (``story``), and what to do about it (``remedy``).

    ``test`` is the test that proves it: a file of ``tests/`` and a function in it.
    """

    code: str
    severity: Severity
    summary: str
    story: str
    remedy: str
    test: str


READINGS = (
    Rule(
        code="IRI001",
        severity=Severity.WARNING,
        summary="The runtime ignores antialias here; the operator page does not.",
        story=(
            "By the page of Interpolate, the attribute antialias widens the kernel of `linear` where an axis "
            "shrinks. OpenVINO's CPU plugin reads the attribute but has no such kernel up to rank 4: its outputs "
            "are those of antialias=false, while the core's reference implementation antialiases. With rank 5 the "
            "plugin antialiases too. A model that was trained with antialiasing loses it silently. `--semantics "
            "document` computes what the page specifies, and `ir-interp plot` shows the difference."
        ),
        remedy=(
            "Choose the behaviour that the model was trained with. To keep OpenVINO's, set antialias=false, which "
            "states what is computed. To antialias, convert from the ONNX source, or use rank 5."
        ),
        test="executor/test_openvino.py::test_antialias_is_ignored_up_to_rank_4",
    ),
    Rule(
        code="IRI002",
        severity=Severity.WARNING,
        summary="Axes are not ascending: OpenVINO sorts them before it assigns sizes, the operator page does not.",
        story=(
            "OpenVINO keeps the axes of Interpolate-1 in a sorted set. With axes=3,2 and sizes 4, 3 it resizes "
            "axis 2 to 4. The page pairs the first axis with the first size, so axis 2 gets size 3. "
            "Interpolate-4 and -11 take axes as an input and keep their order."
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
            "Files of 2019 and 2020 store pads_begin and pads_end as one number, which padded both height and "
            "width. OpenVINO now converts Interpolate-1 to Interpolate-4, where pads are listed by dimension and "
            "missing ones are 0. The single number then pads the batch: an input of one image gives two."
        ),
        remedy="Write one pad for every dimension of the input; both readings then agree.",
        test="ir/test_ir_files.py::test_a_single_pad",
    ),
    Rule(
        code="IRI004",
        severity=Severity.WARNING,
        summary="OpenVINO's CPU plugin computes bicubic_pillow with -0.5, whatever the value of cube_coeff.",
        story=(
            "Pillow's bicubic filter uses the coefficient -0.5, and the plugin's kernel has it built in. The "
            "core's reference implementation reads cube_coeff, whose default is -0.75. OpenVINO's own "
            "preprocessing writes that default, so plugin and reference disagree on it."
        ),
        remedy=(
            "Write cube_coeff=-0.5. If the model was trained with another coefficient, use mode cubic with cube_coeff."
        ),
        test="executor/test_openvino.py::test_cube_coeff_is_ignored_by_bicubic_pillow",
    ),
    Rule(
        code="IRI005",
        severity=Severity.ERROR,
        summary="No runtime executes mode area; it is read as exact pixel coverage, like TensorFlow's ResizeArea.",
        story=(
            "The mode came with Caffe's FlowNet2, whose own layer aborts on it. Interpolate-1 lists it, but no "
            "converter wrote it and no plugin runs it. Here it is the mean over the area that an output pixel "
            "covers, as in TensorFlow and OpenCV. For integer factors that is an average pool. `ir-interp convert` "
            "writes it to ONNX as a subgraph if the dimensions are static."
        ),
        remedy=("Convert to ONNX, as sums that runtimes execute: `ir-interp convert model.xml model.onnx`."),
        test="ir/test_ir_files.py::test_area",
    ),
    Rule(
        code="IRI006",
        severity=Severity.WARNING,
        summary=("ONNX's reference uses scale * size as the output size without rounding it down; its text rounds."),
        story=(
            "The formulas of align_corners and tf_crop_and_resize use the size of the resized tensor. ONNX's "
            "reference implementation uses scale times input size instead, which is fractional for fractional "
            "scales; onnxruntime and OpenVINO use the size of the tensor. Two official node tests "
            "expect the reference's reading, and no runtime passes them."
        ),
        remedy="Use sizes instead of scales, or scales that give integer sizes; all readings then agree.",
        test="executor/test_onnxruntime.py::test_fractional_length_is_the_reference_reading",
    ),
    Rule(
        code="IRI007",
        severity=Severity.WARNING,
        summary="The readings of this layer differ.",
        story=(
            "The runtime, the operator page and the reference implementation do not agree on this layer, in a way "
            "that has no code of its own. `ir-interp explain FILE --layer NAME` shows the taps of each reading."
        ),
        remedy=(
            "Compare the readings with `ir-interp explain FILE --layer NAME`, and set the attributes on which "
            "they differ explicitly."
        ),
        test="ir/test_ir_files.py::test_a_single_pad",
    ),
    Rule(
        code="IRI008",
        severity=Severity.WARNING,
        summary="OpenVINO's CPU plugin pads the wrong axes if the resized axes are not height and width.",
        story=(
            "The plugin has kernels for images and volumes, and treats an Interpolate along other axes as one of "
            "channels-last images. It moves the axes but not the pads: for an input of [1, 10, 9, 5] with two "
            "zeros at the ends of axes 1 and 3, it pads axes 2 and 3."
        ),
        remedy="Add the zeros with a Pad in front, as `ir-interp convert` does.",
        test="executor/test_openvino.py::test_pads_go_astray",
    ),
    Rule(
        code="IRI009",
        severity=Severity.NOTE,
        summary="ONNX's operator page derives another size or scale from `scales` than its runtimes do.",
        story=(
            "By the page of Resize, the scale in its formulas is length_resized / length_original, whatever the "
            "value of `scales`, also under keep_aspect_ratio_policy. onnxruntime, OpenVINO and ONNX's own "
            "reference use the value of `scales`. Example: for 5 pixels and a scale of 1.3 they sample 6 outputs "
            "with the step 1 / 1.3, the page with 5 / 6. OpenCV, TVM and TensorRT follow the page. In "
            "tf_crop_and_resize the page's size is floor(input_dimension * (roi_end - roi_start) * scale); "
            "runtimes ignore the roi there."
        ),
        remedy="Use sizes instead of scales; all then agree. `--semantics document` follows the page literally.",
        test="onnx/test_onnx_page.py::test_the_note",
    ),
    Rule(
        code="IRI010",
        severity=Severity.NOTE,
        summary="An attribute value that this version of the operator does not have; onnxruntime accepts it.",
        story=(
            "Resize has tf_half_pixel_for_nn in operator sets 11 and 12 only, and half_pixel_symmetric from 19 on. "
            "tf2onnx writes the first for nearest resizes in any operator set. onnxruntime and OpenVINO's frontend "
            "do not check the set and compute the value's meaning; ONNX's checker accepts it."
        ),
        remedy=(
            "Nothing to do for onnxruntime and OpenVINO. For other runtimes check `ir-interp audit`; `ir-interp "
            "convert --target` writes a resize that they compute identically."
        ),
        test="onnx/test_onnx_files.py::test_a_word_of_another_operator_set",
    ),
)


AUDIT_RULES = (
    Rule(
        code="IRI011",
        severity=Severity.WARNING,
        summary="Antialiased cubic with the coefficient -0.75; libraries that antialias use -0.5.",
        story=(
            "PyTorch's antialiased bicubic, like Pillow's, has the coefficient -0.5; its plain bicubic has -0.75. "
            "Exporters long wrote the default -0.75 for both, so the exported model differs from its original. "
            "Set cubic_coeff_a=-0.5, unless -0.75 was intended."
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
        summary="Antialias that adds out-of-bounds samples to the edge pixels; Pillow and PyTorch drop them.",
        story=(
            "With antialias=1 and exclude_outside=0, ONNX's default, the weights of out-of-bounds samples are "
            "added to the edge pixel. Pillow and PyTorch drop these samples and rescale the other weights to a "
            "sum of 1. Exporters that forget exclude_outside=1 change the pixels along every edge."
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
        summary="A scale that gives one pixel less than probably intended.",
        story=(
            "Output sizes are rounded down: 3 * 0.6666 gives 1, although 2 was intended. Such scales come from "
            "ratios that were written with few digits or in half precision. Runtimes also round the product "
            "differently: 5 * 1.4 is 7 in float32 and 6 exactly."
        ),
        remedy=(
            "Export with sizes, or with a slightly larger scale, which `ir-interp fix` writes. Then compare the "
            "output shape with that of the original model."
        ),
        test="audit/test_audit.py::test_mistakes",
    ),
    Rule(
        code="IRI014",
        severity=Severity.WARNING,
        summary="Scales that were rounded to half precision.",
        story=(
            "OpenVINO's save_model compresses constants to FP16 by default, including the scales of an "
            "Interpolate: 2.3 becomes 2.3008, and coordinates drift by one pixel every 3000. Save with "
            "compress_to_fp16=False, use sizes, or convert with `ir-interp convert --fp16`, which keeps "
            "the constants of resizes. The rounding is certain if the constant is stored in half precision. In "
            "float32 it is inferred if every scale fits half precision, one is close to a simple fraction such as "
            "23/10, and that one is not a ratio of sizes."
        ),
        remedy=(
            "Export the scales in float32, or use sizes; half precision moves every pixel that is far from the "
            "origin. In an ONNX model `ir-interp fix` writes the simplest fraction that the scale may have been. "
            "On a static axis it gives as many pixels as PyTorch: 100 * 2.3 is 229."
        ),
        test="audit/test_audit.py::test_scales_in_half_precision",
    ),
    Rule(
        code="IRI015",
        severity=Severity.WARNING,
        summary="A Resize that ONNX's version converter derived from a Resize-10: its coordinates have changed.",
        story=(
            "Resize-10 has no coordinate_transformation_mode and samples asymmetrically. ONNX's version converter "
            "upgrades it to Resize-11 by adding a roi of zeros and ones, and leaves out the mode, whose default is "
            "half_pixel: [1, 2.667] becomes [2.667, 4.333]. The old resize is coordinate_transformation_mode="
            "asymmetric, with nearest_mode=floor for a nearest resize that grows."
        ),
        remedy=(
            "Export again in the newer operator set, or let `ir-interp fix` set "
            "coordinate_transformation_mode=asymmetric and the old nearest_mode."
        ),
        test="audit/test_audit.py::test_what_the_version_converter_leaves",
    ),
    Rule(
        code="IRI016",
        severity=Severity.WARNING,
        summary="A single output that is the first pixel; PyTorch samples the middle.",
        story=(
            "ONNX's pytorch_half_pixel puts a single output at coordinate 0. PyTorch itself samples (in - 1) / 2: "
            "interpolate of [0, 1, ..., 9] to one pixel is 4.5, and its ONNX export gives 0. With more than one "
            "output along an axis, both modes are the same."
        ),
        remedy="Set coordinate_transformation_mode=half_pixel: `ir-interp fix` does; else `--ignore IRI016`.",
        test="audit/test_audit.py::test_mistakes",
    ),
    Rule(
        code="IRI017",
        severity=Severity.NOTE,
        summary="Releases of OpenVINO compute this layer differently.",
        story=(
            "Interpolate-1 leaves coordinates and rounding open. OpenVINO 2021.3 used half_pixel, and for nearest "
            "round_prefer_floor, unless align_corners was set. 2021.2 rounded nearest down and ignored pads. "
            "2021.4 and every later release compute the layer as `--semantics runtime` reads it. A model that was "
            "validated in 2021.2 or 2021.3 gives other results today; docs/semantics.md has the table."
        ),
        remedy=(
            "If the model was validated in such a release, convert it with `--semantics openvino-2021.3` or "
            "openvino-2021.2. Otherwise there is nothing to do."
        ),
        test="ir/test_releases.py::test_the_note",
    ),
    Rule(
        code="IRI018",
        severity=Severity.WARNING,
        summary="Scales that were quantised like an image.",
        story=(
            "A tool that quantises every constant also quantises the scales of a resize: 1, 1, 2, 2 in steps of 2/255 "
            "is 1.0039, 1.0039, 2, 2. The batch and the channels then count as resized, which onnxruntime and "
            "OpenVINO refuse for most modes, and coordinates drift."
        ),
        remedy=(
            "Exclude the scales from quantisation. In an ONNX model, `ir-interp fix` writes the simplest fraction "
            "within half a step of each scale."
        ),
        test="fix/test_quantised_scales.py::test_scales_of_levels",
    ),
    Rule(
        code="IRI019",
        severity=Severity.WARNING,
        summary="Constant sizes in a model of dynamic size.",
        story=(
            "An exporter that traces a model records the sizes of the traced input: in a feature pyramid, the sizes "
            "[1, 256, 64, 64] of a level. The inputs are declared dynamic, but the model works at the traced size "
            "only: elsewhere, the result is added to or concatenated with a tensor of another size. The resize alone "
            "is the same in every runtime. ONNX's shape inference, or OpenVINO's reshape of an IR, shows the mistake:"
            " the shapes of the model are consistent at one size of its inputs, contradict each other at two and "
            "three times that size, and are consistent at all three with scales instead. A constant size that "
            "contradicts nothing, such as that of a classifier's image, is no mistake."
        ),
        remedy=(
            "In an ONNX model, `ir-interp fix` writes the scales that mean the same at the size at which the model "
            "works, compares both models there, and runs the repaired one at two and three times that size. Sizes "
            "that are no multiple of the network's strides may need an export that computes the sizes from shapes. An"
            " IR is repaired in its source, and converted again."
        ),
        test="fix/test_constant_sizes.py::test_a_pyramid_then_works_at_other_sizes",
    ),
    Rule(
        code="IRI021",
        severity=Severity.ERROR,
        summary="A runtime crashes on it.",
        story=(
            "The runtime crashes or corrupts its memory, which may surface later and elsewhere. OpenVINO's CPU "
            "plugin does so in linear resizes of rank 6 and in cubic ones of three axes. `ir-interp convert` never "
            "writes such layers."
        ),
        remedy=(
            "Do not run this model in that runtime: rewrite the resize with `ir-interp convert model.onnx "
            "portable.onnx --target openvino` (or tensorrt), or convert the model."
        ),
        test="audit/test_audit.py::test_verdicts",
    ),
    Rule(
        code="IRI022",
        severity=Severity.WARNING,
        summary="A runtime refuses it.",
        story=(
            "The reason is the runtime's own. `ir-interp convert` writes most such resizes as a subgraph of "
            "other operations."
        ),
        remedy=(
            "If you use that runtime, rewrite the resize with `ir-interp convert model.onnx portable.onnx "
            "--target tensorrt` (or openvino, onnx:11), or convert the model; otherwise name the runtimes that you "
            "do use: `--deploy onnxruntime`."
        ),
        test="audit/test_audit.py::test_verdicts",
    ),
    Rule(
        code="IRI023",
        severity=Severity.WARNING,
        summary="A runtime computes something else.",
        story=(
            "The reported difference is the largest one on values between 0 and 1, in the shape of the resize if "
            "that is static. OpenVINO's own ONNX frontend silently drops antialias, exclude_outside and aspect "
            "policies."
        ),
        remedy=(
            "If you use that runtime, convert with `ir-interp convert model.onnx model.xml`, or rewrite with "
            "`--target`: both results compute the same there. Otherwise name the runtimes that you do use, as in "
            "`--deploy onnxruntime,openvino-converted`; openvino-converted is the IR that `convert` writes."
        ),
        test="audit/test_audit.py::test_verdicts",
    ),
    Rule(
        code="IRI024",
        severity=Severity.WARNING,
        summary="The installed runtime does not behave as predicted.",
        story=(
            "Verdicts come from rules about one version of each runtime; `--run` runs the installed one. If they "
            "disagree, another version is installed, or a rule is wrong."
        ),
        remedy=(
            "Trust the result of `--run`. If the installed version is the one in the table of runtimes, please "
            "report the disagreement, with the model and the JSON that the command beside the finding prints."
        ),
        test="audit/test_audit.py::test_a_wrong_prediction",
    ),
    Rule(
        code="IRI025",
        severity=Severity.WARNING,
        summary="No rule covers how a runtime computes it.",
        story=(
            "The runtime may compute the same, something else, or refuse. For example, the rules of some runtimes "
            "cover float32 images only, and no other ranks and element types."
        ),
        remedy=(
            "Run it: `ir-interp audit --run` settles the question if the runtime is installed. Or rewrite the "
            "resize with `--target`, which keeps nothing that is unknown. Otherwise name the runtimes that you do use: "
            "`--deploy onnxruntime`."
        ),
        test="audit/test_audit.py::test_unknown_is_a_verdict_of_its_own",
    ),
    Rule(
        code="IRI026",
        severity=Severity.NOTE,
        summary="Sums of 8-bit products may saturate, so that outputs depend on the processor.",
        story=(
            "x86 processors without VNNI have one instruction for products of bytes. It multiplies two unsigned by two "
            "signed bytes and adds both products in 16 bits: 255 * 127 + 255 * 127 = 64,770 becomes 32,767. "
            "onnxruntime uses it on processors with AVX2, OpenVINO also on older ones. Outputs of an INT8 model then "
            "differ by many levels from those on other processors. The finding bounds the error: each pair of weights "
            "of an output channel, times 255, against 32,767. Inputs of the model may stay far below the bound. "
            "`convert` and `compare` add exactly on every processor, and report the same bound."
        ),
        remedy=(
            "Quantise weights to 7 bits (onnxruntime: reduce_range=True), whose sums fit. Or keep the model: "
            "onnxruntime adds exactly with the session option session.x64quantprecision=1, OpenVINO when it compiles "
            "with LP_TRANSFORMS_MODE=NO. `ir-interp fix --select IRI026` writes an ONNX model with unsigned weights, "
            "whose sums saturate nowhere; with VNNI, its convolutions take up to three times as long."
        ),
        test="audit/test_byte_products.py::test_the_finding",
    ),
    Rule(
        code="IRI027",
        severity=Severity.ERROR,
        summary="A resize that cannot be read.",
        story=(
            "The node contradicts itself, or its operator set does not define it: a mode that ONNX does not have, "
            "sizes and scales at once, an Upsample of operator set 10 or later. Nothing is predicted for it; `--run` "
            "shows what the installed runtimes do. OpenVINO, for example, runs an Upsample of any operator set, and "
            "of sizes and scales takes the sizes. All other resizes of the file are audited as usual."
        ),
        remedy=(
            "`ir-interp fix` repairs a node with one possible meaning. An Upsample becomes a Resize that computes "
            "what Upsample-9 does. An empty mode becomes the default, nearest. Sizes or scales go if the shapes of "
            "the model contradict them; scales stay if both mean the same. Every other such node stays as it is, "
            "and `convert` refuses it by name: export the model again, or correct the node."
        ),
        test="fix/test_invalid_nodes.py::test_an_upsample_becomes_what_it_was_in_operator_set_9",
    ),
    Rule(
        code="IRI028",
        severity=Severity.NOTE,
        summary="TensorRT refuses the model because of a node other than a resize.",
        story=(
            "With `--run`, TensorRT's own importer and builder read the whole model, without a GPU, if they are "
            "installed: the Python packages tensorrt or tensorrt_rtx, or onnxruntime-ep-nv-tensorrt-rtx-cu13. The "
            "finding quotes TensorRT's reason, and names the release. Resizes have verdicts of their own."
        ),
        remedy=(
            "Change that node, or leave it to another runtime; `ir-interp convert --target tensorrt` rewrites resizes "
            "only."
        ),
        test="tensorrt/test_importer.py::test_a_model_that_it_refuses",
    ),
    Rule(
        code="IRI029",
        severity=Severity.NOTE,
        summary="QNN leaves nodes to the CPU provider, or does not run the model.",
        story=(
            "With `--run --runtime onnxruntime-qnn`, onnxruntime creates a session of the whole model with QNN, if "
            "the package onnxruntime-qnn is installed. The finding names the nodes that QNN's NPU does not take, "
            "resizes or others, or quotes why the session fails. Each piece of a model between such nodes costs a "
            "copy from the NPU and back."
        ),
        remedy=(
            "`ir-interp convert --target onnxruntime-qnn` rewrites resizes so that they stay on the NPU; replace the "
            "other nodes in the original program, or accept the copies."
        ),
        test="runtimes/test_qnn.py::test_an_audit_names_what_is_left_to_the_cpu",
    ),
    Rule(
        code="IRI030",
        severity=Severity.NOTE,
        summary="A runtime computes it, except for some images.",
        story=(
            "The prediction holds for all images but those that the finding names. An example is antialias of int32 in "
            "onnxruntime: it raises an exception for an output that int32 does not hold, as cubic may give for values "
            "beyond 1.5e9. If several threads meet such outputs at once, the process ends with a segmentation fault."
        ),
        remedy=(
            "Keep such images away from the model: check them first, or clip their values. `--target` rewrites a "
            "resize as sums for a runtime that computes it with an exception."
        ),
        test="audit/test_audit.py::test_an_exception_to_a_prediction_is_a_note",
    ),
    Rule(
        code="IRI031",
        severity=Severity.NOTE,
        summary="TensorRT would not run the layer on DLA.",
        story=(
            "DLA, the accelerator of Jetson and DRIVE devices, supports few settings of an IResizeLayer: rank "
            "4, height and width only, integer scales from 1 to 32 (NEAREST) or to 4 (LINEAR), and some "
            "combinations of coordinates, selector and rounding. Other layers fall back to the GPU; if that "
            "is not allowed, the engine is not built. docs/tensorrt.md has the table. On a GPU this note does "
            "not matter, so `ir-interp audit` shows it with `--select IRI031` only."
        ),
        remedy=(
            "For DLA only: use integer scales and the settings that docs/tensorrt.md lists, or allow the GPU as a "
            "fallback."
        ),
        test="tensorrt/test_tensorrt.py::test_dla",
    ),
    Rule(
        code="IRI041",
        severity=Severity.WARNING,
        summary="Before the model, images are resized differently than in training.",
        story=(
            "`ir-interp audit --preprocess opencv:linear --trained pillow:bilinear` resizes an image with both "
            "calls to the size of the model's input, and counts the values that differ. When an image shrinks, "
            "Pillow filters and most calls of OpenCV do not, so edges differ by a hundred and more. Without "
            "`--image` the images are random, the worst case, in the shapes of photos, video frames, screens and "
            "banners. The finding shows the image on which most values differ. A dynamic height or width is tried "
            "at 224 and 640, or at the size of `--shape`. A difference of 1 is rounding, and a note. Two pipelines "
            "(`--preprocess preprocessor_config.json:pil`) are compared as a whole, then step by step, with the "
            "cost of each step of the deployment that differs from the training."
        ),
        remedy=(
            "Resize with the library of the training, or let `ir-interp preprocess` put its resize in front of "
            "the model; docs/accuracy.md has the details."
        ),
        test="audit/test_preprocessing.py::test_the_cost_of_another_resize",
    ),
)


RULES = {rule.code: rule for rule in (*READINGS, *AUDIT_RULES)}


def find(code: str) -> Rule:
    """Return the rule of a code in upper or lower case. Raises ReadError for an unknown code."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise ReadError(f"unknown code {code!r}; {closest(code, RULES)}")
    return rule


FAILURES = {
    "differs": ("IRI00", "IRI023"),
    "refused": ("IRI021", "IRI022"),
    "unknown": ("IRI025", "IRI027"),
    "mistake": ("IRI01",),
}
"""Kinds of findings, by the beginnings of their codes."""
ON_REQUEST = "IRI031"
"""The finding that is reported only where it is selected."""

CONSTANT_SIZES = "IRI019"
"""The finding about constant sizes in a model of dynamic size."""
BYTE_PRODUCTS = "IRI026"
"""The finding about sums of 8-bit products."""
UNREAD = "IRI027"
"""The finding about a resize that cannot be read."""
REFUSED_MODEL = "IRI028"
"""The finding about a model that TensorRT refuses because of another node."""
LEFT_TO_CPU = "IRI029"
"""The finding about nodes that QNN leaves to the CPU provider."""
ON_RUN = ("IRI024", REFUSED_MODEL, LEFT_TO_CPU)
"""The findings of ``--run`` alone."""
EXCEPTION = "IRI030"
"""The finding about images that a runtime does not compute."""


def check_codes(words: Sequence[str], known: Sequence[str] = tuple(RULES)) -> None:
    """Raise SpecError, with the closest of ``known``, for a word that no code among these begins with."""
    for word in words:
        if not word or not any(code.startswith(word) for code in known if code in RULES):
            raise SpecError(f"no code begins with {word!r}; {closest(word, known)}")


def is_chosen(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Say whether a code is selected, and not ignored more precisely than it is selected."""
    chosen = max((len(word) for word in select or ("",) if code.startswith(word)), default=-1)
    unwanted = max((len(word) for word in ignore if code.startswith(word)), default=-1)
    return chosen > unwanted


def fails(code: str, severity: Severity, on: Sequence[str]) -> bool:
    """Say whether a finding is among the kinds ``on``; a note is only where its code is written in full."""
    return code in on or (severity is not Severity.NOTE and code.startswith(codes_of(on)))


def codes_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the beginnings of the codes that some kinds of findings, or codes, stand for; every code's for none.

    Raises SpecError for other words.
    """
    check_codes([word for word in kinds if word not in FAILURES], (*FAILURES, *RULES))
    return tuple(code for word in kinds for code in FAILURES.get(word, (word,))) or ("",)
