"""Findings about the reading of a file: definitions of a resize that disagree."""

from __future__ import annotations

from ir_interp.diagnostics.rule import Rule, Severity

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
