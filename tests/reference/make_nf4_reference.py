#!/usr/bin/env python3
"""Makes tests/reference/data/nf4.safetensors: what bitsandbytes makes of a matrix in 4-bit NormalFloat with double quantization.

  pip install torch bitsandbytes safetensors
  tests/reference/make_nf4_reference.py
"""
import pathlib

import bitsandbytes
import torch
from bitsandbytes.functional import dequantize_4bit, quantize_4bit
from safetensors.torch import save_file

DATA = pathlib.Path(__file__).parent / "data"

weights = 0.02 * torch.randn(112, 320, generator=torch.Generator().manual_seed(3))  # 560 blocks: two whole 256 and a part
weights[5, 64:128] = 0
codes, state = quantize_4bit(weights, blocksize=64, quant_type="nf4", compress_statistics=True)
tensors = {"weights": weights, "codes": codes.flatten().contiguous(), "decoded": dequantize_4bit(codes, state).contiguous()}
save_file(tensors, DATA / "nf4.safetensors",
          metadata={"made_by": f"torch {torch.__version__}, bitsandbytes {bitsandbytes.__version__}"})
print(state.absmax.dtype, state.offset, (tensors["decoded"] - weights).abs().max())
