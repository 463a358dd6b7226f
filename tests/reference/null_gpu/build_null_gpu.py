"""Builds the GPU that computes nothing (null_gpu.c) for the PyTorch that is installed.

What PyTorch's libraries ask of CUDA's and null_gpu.c does not answer becomes a function that returns 0. Needs a CUDA build of PyTorch, gcc
and nm; headers are those that PyTorch's own packages bring.

    python3 build_null_gpu.py FOLDER      # FOLDER/libnull_gpu.so, FOLDER/libcuda.so.1
"""
import importlib.util
import pathlib
import re
import subprocess
import sys

import torch

OF_CUDA = re.compile(r"^(__)?(cu[A-Z]|cuda|cublas|cudnn|cusolver|cusparse|cufft|curand|cufile|nvrtc|nvJitLink|nvml|nccl)\w*$")


def symbols(library, which):
    listed = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True).stdout
    return {re.sub(r"@.*", "", line.split()[-1]) for line in listed.splitlines() if line.strip()}


def headers():
    packages = pathlib.Path(torch.__file__).parents[1] / "nvidia"
    found = sorted({str(header.parent) for header in packages.rglob("cuda_runtime_api.h")})
    return [f"-I{folder}" for folder in found or ["/usr/local/cuda/include"]]


def libraries():
    """PyTorch's, and bitsandbytes' where it is installed."""
    packages = pathlib.Path(torch.__file__).parents[1]
    other = importlib.util.find_spec("bitsandbytes")
    return [*(packages / "torch/lib").glob("*.so"), *(pathlib.Path(other.origin).parent.glob("*cuda*.so") if other else [])]


def main(folder):
    here, out = pathlib.Path(__file__).parent, pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    needed = set()
    for library in libraries():
        needed |= {name for name in symbols(library, "--undefined-only") if OF_CUDA.match(name)}
    subprocess.run(["gcc", "-w", "-O1", "-fPIC", "-shared", *headers(), "-o", out / "own.so", here / "null_gpu.c", "-lpthread"], check=True)
    rest = needed - symbols(out / "own.so", "--defined-only")
    (out / "rest.c").write_text("".join(f"int {name}() {{ return 0; }}\n" for name in sorted(rest)))
    subprocess.run(["gcc", "-w", "-O1", "-fPIC", "-shared", *headers(), "-o", out / "libnull_gpu.so", here / "null_gpu.c", out / "rest.c", "-lpthread"],
                   check=True)
    # What CUDA's own libraries want of the driver when they are loaded.
    driver = {name for name in needed if re.match(r"^cu[A-Z]", name)}
    (out / "driver.c").write_text("".join(f"int {name}() {{ return 0; }}\n" for name in sorted(driver)))
    subprocess.run(["gcc", "-w", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", "-o", out / "libcuda.so.1", out / "driver.c"], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
