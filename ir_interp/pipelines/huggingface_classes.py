"""Hugging Face's image processors by class: defaults that a ``preprocessor_config.json`` may omit, and refusals.

Source: the classes of transformers 5.23, with both backends; ``python -m tests.sweeps.pipelines`` compares them.
Differences of transformers 4: 4.16.0 and 4.27.4, with the files that they write. Refused classes are no pipeline of the
known steps: the classes of transformers 5.24; ``python -m tests.sweeps.pipeline_effects`` names one that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Numbers = tuple[float, ...]
CROP, PAD = "do_center_crop", "do_pad"
_IMAGENET: tuple[Numbers, Numbers] = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_HALF: tuple[Numbers, Numbers] = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
_CLIP: tuple[Numbers, Numbers] = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
LANCZOS, BILINEAR, BICUBIC = 1, 2, 3
"""Numbers of Pillow's filters."""


class Family(Enum):
    """Classes that process images in the same order and by the same rules."""

    PLAIN = "resize, crop, rescale, normalise"
    SHARE = "the shorter side to size / crop_pct, then a crop to size, below 384 pixels"
    ENLARGED = "the shorter side to size * 256 / 224, then a crop"
    CROPPED_SHARE = "the shorter side to size / crop_pct, then a crop to crop_size"
    OFFSET = "rescaled with an offset, normalised twice"
    REVERSED = "blue first, never normalised"
    CROPPED_FIRST = "a share of the shorter side, cropped and resized"
    DETECTION = "fits two sides, padded in the corner after normalisation"
    MULTIPLE = "rounded down to multiples"
    NEAREST_MULTIPLE = "near a size, in multiples"
    LONGER_SIDE = "the longer side to a size, padded in the corner after normalisation"
    UP_TO_MULTIPLE = "sides rounded up to multiples"
    FLIPPED = "resized, blue first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A class: its family and defaults, the keys that it ignores, and the switches that are refused.

    ``stable`` are the values of keys for which transformers 4 and 5 agree, where they do not agree for all.
    """

    family: Family
    ignores: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    has_pillow: bool = True
    stable: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def _square(size: int) -> dict[str, int]:
    return {"height": size, "width": size}


def _processor(
    size: Mapping[str, int],
    resample: int,
    statistics: tuple[Numbers, Numbers] | None,
    family: Family = Family.PLAIN,
    ignores: tuple[str, ...] = (),
    refuses: tuple[str, ...] = (),
    stable: Mapping[str, Any] | None = None,
    has_pillow: bool = True,
    **others: Any,
) -> Processor:
    """Return a class; ``statistics`` are mean and deviation, None for a class that does not normalise."""
    defaults: dict[str, Any] = {
        "do_resize": True,
        "size": size,
        "resample": resample,
        CROP: False,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": statistics is not None,
        PAD: False,
        "default_to_square": "shortest_edge" not in size,
    }
    if statistics is not None:
        defaults |= {"image_mean": list(statistics[0]), "image_std": list(statistics[1])}
    return Processor(
        family=family,
        ignores=frozenset(ignores),
        refuses=frozenset(refuses),
        has_pillow=has_pillow,
        stable=stable or {},
        defaults=defaults | others,
    )


def _cropped(shortest: int, crop: int, resample: int, statistics: tuple[Numbers, Numbers], **others: Any) -> Processor:
    return _processor(
        {"shortest_edge": shortest}, resample, statistics, do_center_crop=True, crop_size=_square(crop), **others
    )


_TO_RGB: Mapping[str, Any] = {"do_convert_rgb": True}
_DETECTION = _processor(
    {"shortest_edge": 800, "longest_edge": 1333},
    BILINEAR,
    _IMAGENET,
    Family.DETECTION,
    ignores=(CROP,),
    do_pad=True,
    max_size=1333,
)
_MASKS = _processor(
    {"shortest_edge": 800, "longest_edge": 1333},
    BILINEAR,
    _IMAGENET,
    Family.UP_TO_MULTIPLE,
    ignores=(CROP, PAD, "_max_size"),
    refuses=("pad_size",),
    size_divisor=32,
)
_CODEBOOK = tuple(
    f"codebook_{key}"
    for key in (
        "size", "crop_size", "resample", "image_mean", "image_std", "rescale_factor", "do_resize", "do_center_crop",
        "do_rescale", "do_normalize", "do_map_pixels",
    )
)  # fmt: skip
_MASKING = (
    "return_image_mask", "return_codebook_pixels", "input_size_patches", "total_mask_patches",
    *(f"mask_group_{key}" for key in ("min_patches", "max_patches", "min_aspect_ratio", "max_aspect_ratio")),
)  # fmt: skip
_PAN_AND_SCAN = tuple(f"pan_and_scan_{key}" for key in ("min_crop_size", "max_num_crops", "min_ratio_to_activate"))

PROCESSORS: Mapping[str, Processor] = {
    "Beit": _processor(_square(224), BICUBIC, _HALF, ignores=(PAD,), crop_size=_square(224)),
    "Bit": _cropped(224, 224, BICUBIC, _CLIP, **_TO_RGB),
    "Blip": _processor(_square(384), BICUBIC, _CLIP, ignores=("size_divisor",), **_TO_RGB),
    "Chameleon": _cropped(512, 512, LANCZOS, ((1.0,) * 3, (1.0,) * 3), rescale_factor=0.0078, **_TO_RGB),
    "ChineseCLIP": _cropped(224, 224, BICUBIC, _CLIP, **_TO_RGB),
    "CLIP": _cropped(224, 224, BICUBIC, _CLIP, **_TO_RGB),
    "ConditionalDetr": _DETECTION,
    "ConvNext": _processor({"shortest_edge": 384}, BICUBIC, _HALF, Family.SHARE, ignores=(PAD,), crop_pct=224 / 256),
    "DeformableDetr": _DETECTION,
    "DeiT": _processor(_square(256), BICUBIC, _HALF, do_center_crop=True, crop_size=_square(224)),
    "Detr": _DETECTION,
    "DPT": _processor(
        _square(384),
        BICUBIC,
        _HALF,
        Family.NEAREST_MULTIPLE,
        refuses=(CROP, PAD),
        stable={"keep_aspect_ratio": False, "ensure_multiple_of": 1},
        keep_aspect_ratio=False,
        ensure_multiple_of=1,
    ),
    "EfficientNet": _processor(
        _square(346),
        BICUBIC,
        _HALF,
        Family.OFFSET,
        ignores=(PAD,),
        stable={"rescale_offset": False},
        crop_size=_square(289),
        include_top=True,
        rescale_offset=False,
    ),
    "Flava": _processor(
        _square(224),
        BICUBIC,
        _CLIP,
        ignores=(PAD, *_CODEBOOK, *_MASKING),
        do_center_crop=True,
        crop_size=_square(224),
    ),
    "Gemma3": _processor(
        _square(224),
        BILINEAR,
        _HALF,
        ignores=(CROP, PAD, *_PAN_AND_SCAN),
        refuses=("do_pan_and_scan",),
        **_TO_RGB,
    ),
    "GLPN": _processor({}, BILINEAR, None, Family.MULTIPLE, ignores=(CROP, PAD), size_divisor=32),
    "GroundingDino": _DETECTION,
    "LayoutLMv2": _processor(
        _square(224), BILINEAR, None, Family.FLIPPED, ignores=(CROP, PAD, "do_rescale", "do_normalize")
    ),
    "LayoutLMv3": _processor(_square(224), BILINEAR, _HALF, ignores=(PAD,)),
    "Levit": _cropped(224, 224, BICUBIC, _IMAGENET, family=Family.ENLARGED),
    "Llava": _cropped(224, 224, BICUBIC, _CLIP, refuses=(PAD,), **_TO_RGB),
    "Mask2Former": _MASKS,
    "MaskFormer": _MASKS,
    "MobileNetV1": _cropped(256, 224, BILINEAR, _HALF),
    "MobileNetV2": _cropped(256, 224, BILINEAR, _HALF, ignores=(PAD,)),
    "MobileViT": _processor(
        {"shortest_edge": 224},
        BICUBIC,
        None,
        Family.REVERSED,
        ignores=(PAD, "do_flip_channels"),  # no release reads this key of older files
        do_center_crop=True,
        crop_size=_square(256),
        do_flip_channel_order=True,
    ),
    "OneFormer": _processor(
        {"shortest_edge": 800, "longest_edge": 1333},
        BILINEAR,
        _IMAGENET,
        ignores=(CROP, PAD, "_max_size", "class_info_file", "repo_path", "num_text", "metadata"),
        **_TO_RGB,
    ),
    "OwlViT": _processor(_square(768), BICUBIC, _CLIP, crop_size=_square(768), **_TO_RGB),
    "Perceiver": _processor(
        _square(224),
        BICUBIC,
        _IMAGENET,
        Family.CROPPED_FIRST,
        ignores=(PAD,),
        stable={CROP: False},
        do_center_crop=True,
        crop_size=_square(256),
    ),
    "PoolFormer": _cropped(224, 224, BICUBIC, _IMAGENET, family=Family.CROPPED_SHARE, crop_pct=0.9),
    "PI0": _processor(
        {"max_height": 224, "max_width": 224},
        BICUBIC,
        _HALF,
        has_pillow=False,
        do_pad=True,
        pad_size=_square(224),
        default_to_square=False,
        **_TO_RGB,
    ),
    "PPChart2Table": _processor(_square(1024), BICUBIC, _CLIP),
    "PromptDepthAnything": _processor(
        _square(384),
        BICUBIC,
        _HALF,
        Family.NEAREST_MULTIPLE,
        ignores=(CROP, "size_divisor", "prompt_scale_to_meter", "do_convert_rgb"),
        refuses=(PAD,),
        keep_aspect_ratio=False,
        ensure_multiple_of=1,
    ),
    "Pvt": _processor(_square(224), BICUBIC, _IMAGENET),
    "RTDetr": _processor(
        _square(640),
        BILINEAR,
        _IMAGENET,
        Family.DETECTION,
        ignores=(CROP,),
        do_normalize=False,
        default_to_square=False,
    ),
    "Sam": _processor(
        {"longest_edge": 1024},
        BILINEAR,
        _IMAGENET,
        Family.LONGER_SIDE,
        ignores=("amg_box_nms_thresh",),  # of masks
        do_pad=True,
        pad_size=_square(1024),
        **_TO_RGB,
    ),
    "Sam2": _processor(_square(1024), BILINEAR, _IMAGENET, has_pillow=False, **_TO_RGB),
    "Sam3": _processor(_square(1008), BILINEAR, _HALF, has_pillow=False, **_TO_RGB),
    "Sapiens2": _processor(
        {"height": 1024, "width": 768},
        BILINEAR,
        _IMAGENET,
        ignores=("keypoint_heatmap_downscale_factor", "keypoint_heatmap_sigma"),
        refuses=(PAD,),
        has_pillow=False,
    ),
    "Segformer": _processor(_square(512), BILINEAR, _IMAGENET, ignores=(CROP, PAD)),
    "Siglip": _processor(_square(224), BICUBIC, _HALF, default_to_square=False, **_TO_RGB),
    "TextNet": _processor(
        {"shortest_edge": 640},
        BILINEAR,
        _IMAGENET,
        Family.UP_TO_MULTIPLE,
        ignores=(PAD,),
        crop_size=_square(224),
        size_divisor=32,
        **_TO_RGB,
    ),
    "Tipsv2": _processor(_square(448), BILINEAR, None, has_pillow=False, **_TO_RGB),
    "Tipsv2Dpt": _processor(_square(448), BILINEAR, None, has_pillow=False, **_TO_RGB),
    "ViT": _processor(_square(224), BILINEAR, _HALF),
}
"""Classes by their name without ``ImageProcessor``."""


_NAMES = {
    "cuts an image into patches or tiles": """
        Aria Cohere2Vision CohereCompass Cosmos3Edge DeepseekOcr2 Eomt Ernie4_5_VLMoe Ernie4_5_VL_Moe Gemma4
        Gemma4Unified Glm46V Glm4v Glm5Next GlmImage Glmga GotOcr2 GraniteDocling HYV4VL HunYuanVL Idefics2 Idefics3
        Inkling Inkling2 Kimi_K25 Kosmos2_5 Lfm2Vl Llama4 LlavaNext LlavaOnevision MiniCPMOcr MiniCPMV4_6 MiniMaxM3VL
        Mllama Molmo2 MuseGlimmer NemotronH_Omni_Reasoning_V3 NeoMME Ovis2 PaddleOCRVL PerceptionLM Phi4Multimodal
        Pix2Struct Qwen2VL Siglip2 SmolVLM Step3p7 UltraVBert UnlimitedOcr VideoLlama3
    """,
    "resizes floats": """
        DINOv3ViT DepthPro Owlv2 PPDocLayoutV4 PPOCRV5ServerDet PPOCRV5ServerRec PPOCRV6SmallRec RfDetr UVDoc ZoeDepth
    """,
    "computes sizes by a rule that is not supported": """
        Apertus1p5 BridgeTower DeepseekVL DeepseekVLHybrid Emu3 Fuyu Janus PPLCNet Pixtral Vilt Yolos
    """,
    "resizes by arithmetic of its own": "SLANeXt",
    "takes several images, boxes, masks or videos": """
        EfficientLoFTR LightGlue SegGpt SuperGlue Tvp VideoLlava VideoMAE VitMatte VitPose Vivit
    """,
    "turns, trims or shrinks an image by its content or shape": "Donut Nougat PPFormulaNet",
    "resizes tensors without antialias": "PPDocLayoutV2 PPDocLayoutV3",
    "pads in a way that is not supported": "CHMv2 Swin2SR",
    "returns indices of colours": "ImageGPT",
    "turns colours to grey in some releases of transformers only": "SuperPoint",
    "takes image_size and a transform of its own": "Idefics",
    "reads the configuration of timm; pass that file": "TimmWrapper",
}
REASONS: Mapping[str, str] = {name: reason for reason, names in _NAMES.items() for name in names.split()}
"""The reason by the name of a class without ``ImageProcessor``."""
