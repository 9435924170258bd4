"""The operations of Paddle that OpenVINO's frontend converts.

Source: OpenVINO 2026.4, asked about each operation of Paddle 3.3 (``tests/sweeps/paddle_models.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = """
    abs arg_max arg_min assign assign_value atan2 batch_norm bicubic_interp_v2 bilinear_interp bilinear_interp_v2
    bmm box_coder cast ceil clip concat conditional_block conv2d conv2d_transpose cos cumsum deformable_conv
    deformable_conv_v1 depthwise_conv2d depthwise_conv2d_transpose dequantize_linear dropout elementwise_add
    elementwise_div elementwise_floordiv elementwise_max elementwise_min elementwise_mod elementwise_mul
    elementwise_pow elementwise_sub elu equal exp expand_as_v2 expand_v2 eye feed fetch fill_any_like
    fill_constant fill_constant_batch_size_like flatten_contiguous_range flip floor gather gather_nd gelu
    generate_proposals_v2 greater_equal greater_than grid_sampler group_norm hard_sigmoid hard_swish index_select
    layer_norm leaky_relu less_equal less_than linear_interp_v2 linspace lod_array_length log logical_and
    logical_not logical_or logical_xor lookup_table_v2 matmul matmul_v2 matrix_nms max_pool2d_with_index
    max_pool3d_with_index memcpy meshgrid multiclass_nms3 nearest_interp nearest_interp_v2 not_equal one_hot_v2
    p_norm pad3d partial_concat partial_sum pool2d pool3d pow prior_box quantize_linear range reduce_all
    reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum relu relu6 reshape2 reverse rnn roi_align
    roll round rsqrt scale scatter scatter_nd_add select_input set_value shape share_data sigmoid silu sin slice
    softmax softplus softshrink split sqrt squeeze2 stack strided_slice sum swish take_along_axis tanh tanh_shrink
    tensor_array_to_tensor tile top_k_v2 transpose2 tril_triu trilinear_interp_v2 unique unsqueeze2 unstack where
    where_index while write_to_array yolo_box
"""
CONVERTED = frozenset(_NAMES.split())
"""None of them reaches outside a program, to files, to other machines or to code: so these alone are run."""


def first_unknown(operations: Iterable[str]) -> str | None:
    """Return the first type of operation that OpenVINO does not convert; None if it converts all."""
    return next((operation for operation in operations if operation not in CONVERTED), None)
