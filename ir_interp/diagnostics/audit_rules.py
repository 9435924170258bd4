"""Findings of an audit: likely mistakes, and runtimes that differ."""

from __future__ import annotations

from ir_interp.diagnostics.rule import Rule, Severity

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
            "--target tensorrt` (or openvino, onnx:11), or convert the model; otherwise pass `--severity "
            "RUNTIME=note`."
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
            "`--target`: both results compute the same there. Otherwise pass `--severity RUNTIME=note`."
        ),
        test="audit/test_audit.py::test_verdicts",
    ),
    Rule(
        code="IRI024",
        severity=Severity.NOTE,
        summary="The installed runtime does not behave as predicted.",
        story=(
            "Verdicts come from rules about one version of each runtime; `--run` runs the installed one. If they "
            "disagree, another version is installed, or a rule is wrong."
        ),
        remedy=(
            "Trust the result of `--run`. If the installed version is the one in the table of runtimes, please "
            "report the disagreement."
        ),
        test="audit/test_audit.py::test_a_prediction_that_fails",
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
            "resize with `--target`, which keeps nothing that is unknown. Otherwise pass `--severity RUNTIME=note`."
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
            "sizes and scales at once, an Upsample of operator set 10 or later. ONNX gives it no meaning, so nothing "
            "is predicted for it: its verdicts are unknown. All other resizes of the file are audited as usual."
        ),
        remedy=(
            "Export the model again, or correct the node: the finding names the attribute or input and what was "
            "expected. `ir-interp fix` leaves such a node as it is, `convert` refuses it by name."
        ),
        test="audit/test_unread_resizes.py::test_a_row_with_its_error",
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
