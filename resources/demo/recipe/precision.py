"""Precision: the type in which matrices are multiplied.

Parameters, the stream between layers, routers and norms are float32. Where the CPU multiplies
bfloat16 itself, products take and give it (summing in float32), some four times as fast; and so is
what lies between two of them: attention's softmax, the experts' SiLU, the optimizer's iterations.
"""

import torch


def _product_type() -> torch.dtype:
    is_fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if is_fast else torch.float32


PRODUCT_TYPE = _product_type()
