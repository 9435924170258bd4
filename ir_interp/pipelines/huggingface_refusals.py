"""Image processors of Hugging Face that are no pipeline of the known steps, by the reason.

Source: the classes of transformers 5.24; ``python -m tests.sweeps.pipeline_effects`` names a class that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

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
