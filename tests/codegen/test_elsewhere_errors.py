"""Kernels written for Numba, Triton and tvm-ffi: what is said of wrong ones, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import generate

KERNELS = """
def axpy(n, x, y, alpha, out): ...
def turned(n, y, x, alpha, out): ...
def short(n, x, y): ...
def launched(x, y, alpha, out, n, BLOCK): ...
def sized(x, x_shape0, y, alpha, out): ...
"""
HEAD = "- func: NS::axpy(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor\n  meta: pointwise(x, y)\n"
TAIL = "  convention: elementwise\n  dtypes: float32\n"
LAUNCH = "  launch: {elements: 64, constants: {BLOCK: elements}}\n"
WRONG = [
    ("CPU: numba:axpy", TAIL, "4:10", "numba code is expected", "write numba:my_module.my_function"),
    ("CPU: numba:MINE.none", TAIL, "4:10", "MINE has no function 'none'", "looked in"),
    ("CPU: numba:numpy.add", TAIL, "4:10", "'numpy' is no module of this project", 'kernels = ["numpy"]'),
    ("CUDA: numba:MINE.axpy", TAIL, "4:11", "a kernel for Numba serves CPU, not CUDA", "CPU: numba:"),
    ("CUDA: numba:MINE.axpy", "", "4:11", "a kernel for Numba serves CPU, not CUDA", "write 'CPU: numba:…'"),
    (
        "CPU: numba:MINE.short",
        TAIL,
        "4:10",
        "takes another number of arguments than the 5",
        "it gets: n, x, y, alpha, out",
    ),
    ("CPU: numba:MINE.turned", TAIL, "4:10", "takes the arguments in another order", "it gets: n, x, y, alpha, out"),
    (
        "CPU: numba:MINE.axpy",
        "  dtypes: float32\n",
        "4:10",
        "the kernel has no 'convention'",
        "convention: elementwise",
    ),
    ("CPU: numba:MINE.axpy", "  convention: strided\n", "4:10", "the kernel has no 'dtypes'", "dtypes: float32"),
    ("CPU: triton:MINE.launched", TAIL + LAUNCH, "4:10", "a kernel for Triton serves CUDA, not CPU", "CUDA: triton:"),
    ("CUDA: triton:MINE.launched", TAIL, "4:11", "takes 'BLOCK', which no launch has", "constants: {BLOCK: elements}"),
    ("CUDA: triton:MINE.sized", TAIL, "4:11", "takes 'x_shape0', which no launch has", "there are n, x, y, alpha, out"),
    ("CUDA: triton:MINE.axpy", TAIL + LAUNCH, "7:11", "axpy takes no 'BLOCK'", "it takes: n, x, y, alpha, out"),
    ("CPU: tvm_ffi:f", TAIL, "4:10", "tvm_ffi code is expected", "write tvm_ffi:lib/my_library.so::my_function"),
    ("CPU: tvm_ffi:../f.so::f", TAIL, "4:10", "is no path below the package", "tvm_ffi:lib/my_library.so::my_function"),
    ("CPU: tvm_ffi:f-g::f", TAIL, "4:10", "neither a path of a library nor the name of a module", "tvm_ffi:lib"),
    ("CUDA: tvm_ffi:f::f", TAIL, "4:11", "a kernel for tvm-ffi serves CPU, not CUDA", "write 'CPU: tvm_ffi:…'"),
]


@pytest.mark.parametrize(("kernel", "more", "place", "said", "hint"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_where_it_is(
    kernel: str, more: str, place: str, said: str, hint: str, tmp_path: Path
) -> None:
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    text = f"{HEAD.replace('NS', name)}  dispatch:\n    {kernel.replace('MINE', name)}\n{more}"
    run = generate(tmp_path, text)
    assert run.status == 1
    found = run.stderr.replace(name, "MINE")
    assert found.startswith(f"ops.yaml:{place}: error: ") and said in found and hint in found, found
