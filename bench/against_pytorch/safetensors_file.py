"""Reads and writes fp32 tensors in safetensors files; needs PyTorch only."""

import ctypes
import json
import struct

import torch


def write_tensors(path, tensors):
    """`tensors`: (name, fp32 tensor) pairs."""
    tensors = [(name, tensor.detach().contiguous()) for name, tensor in tensors]
    header, offset = {}, 0
    for name, tensor in tensors:
        end = offset + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in tensors:
            file.write(ctypes.string_at(tensor.data_ptr(), 4 * tensor.numel()))


def read_tensors(path):
    """{name: fp32 tensor}."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin).view(entry["shape"])
    return tensors
