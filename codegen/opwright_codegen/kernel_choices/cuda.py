"""CUDA kernels: what the functions of one take, how it is launched, and whether it can handle its operator."""

from __future__ import annotations

from typing import Final

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernel_choices.metas import Meta, Plans
from opwright_codegen.kernel_choices.signatures import FunctionKernel, Language, signature_of
from opwright_codegen.kernels.cuda_files import CudaFile
from opwright_codegen.kernels.forms import NvccKernel, RawKernel
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.launch import GRANTED
from opwright_codegen.read.model import Launch, Operator
from opwright_codegen.read.native import layout_of
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span

__all__ = ["SIZES", "SUFFIXES", "CudaKernel", "DeviceKernel", "check_cuda_meta", "check_names", "cuda_kernel"]

SIZES: Final = 16  # dimensions that a shape has which travels by value, as the runtime packs it
_PARAMETERS: Final = 4096  # bytes that the parameters of a kernel may take on every device
_LISTED: Final = 272  # bytes of a list by value, with its count; a number or an option takes at most 32
_RAW: Final = Language(
    "cuda",
    "CUDA",
    "kernels 'raw:…' take Tensor, float, int, bool and Scalar, each also with '?'; and lists of float, int, bool",
    ("text",),
)
_HOST: Final = Language(
    "cuda",
    "CUDA",
    "they take Tensor, float, int, bool, Scalar and str, each also with '?'; and lists of float, int, bool",
)
# By dtype: the end of a function's name, and the bytes of an element.
SUFFIXES: Final = {
    "bool": ("b8", 1), "complex64": ("c64", 8), "complex128": ("c128", 16),
    "float32": ("f32", 4), "float64": ("f64", 8),
    **{f"{kind}{bits}": (f"{kind[0]}{bits}", bits // 8) for kind in ("uint", "int") for bits in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeviceKernel(FunctionKernel):
    """A kernel on arrays of a CUDA device, and how it is launched."""

    launch: Launch


@dataclass(frozen=True, slots=True)
class CudaKernel(DeviceKernel):
    """A CUDA kernel.

    Of `raw`, the functions are kernels that CuPy compiles; else they are functions of the host, which `opwright build`
    compiles, and which launch kernels themselves.
    """

    file: CudaFile
    raw: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the names of the functions, one for each dtype."""
        return tuple(f"{self.name}_{SUFFIXES[dtype][0]}" for dtype in self.dtypes)


def cuda_kernel(
    form: RawKernel | NvccKernel, base: Operator, key: str, modules: KernelModules, span: Span
) -> CudaKernel:
    """Return the CUDA kernel of an operator. Raises SchemaError for one that cannot be, or cannot handle it."""
    if key != "CUDA":
        message = f"a kernel in CUDA serves CUDA, not {key}"
        raise SchemaError("cuda-key", message, span, "write 'CUDA: raw:…', and for the CPU a kernel of its own")
    is_raw = isinstance(form, RawKernel)
    arguments, results = signature_of(base, span, _RAW if is_raw else _HOST)
    assert base.convention is not None and base.dtypes  # rules say so
    file = modules.cuda_file(form.file, f"{base.namespace}_cuda.h", span)
    launch = base.launch or Launch()
    layout, _ = layout_of(base.convention)  # a grid has its own ranges
    made = CudaKernel(form.name, base.name, layout, base.dtypes, arguments, results, launch, file, is_raw)
    file.check_function(form.name, made.functions, span)
    if is_raw:
        _check_launch(made, base, span)
    return made


def _check_launch(kernel: CudaKernel, base: Operator, span: Span) -> None:
    """Raise SchemaError for what no device, or not every device, does of a launch."""
    limit = max(kernel.launch.shared_limit, GRANTED)
    for dtype in kernel.dtypes:
        wanted = kernel.launch.shared_bytes(SUFFIXES[dtype][1])
        if wanted > limit:
            message = f"{wanted:,} bytes of shared memory (for {dtype}) are more than the {limit:,} that a block has"
            hint = "newer devices have more, up to 232,448: ask for it with 'shared_limit'"
            raise SchemaError("launch-limit", message, base.span("launch"), hint)
    each = {"elementwise": 8, "contiguous": 16 + SIZES * 8, "strided": 16 + SIZES * 16}[kernel.convention]
    taken = sum(each if a.sort == "array" else _LISTED if a.is_list else 32 for a in kernel.parameters)
    if taken + 8 > _PARAMETERS:
        message = f"the functions of {kernel.name!r} take more than {_PARAMETERS:,} bytes of arguments"
        raise SchemaError("launch-limit", message, span, "pass fewer arrays or lists, or use 'convention: elementwise'")
    check_names(kernel, base)


def check_names(kernel: DeviceKernel, base: Operator) -> None:
    """Raise SchemaError for dimensions and rows of what is no array, or may be left out."""
    there = [a.name for a in kernel.arguments if a.sort == "array" and not a.is_optional]
    if kernel.launch.rows_of and kernel.launch.rows_of not in there:
        message = f"{base.schema.name} has no Tensor {kernel.launch.rows_of!r} that is always there, and has rows"
        raise SchemaError("launch-argument", message, base.span("launch"), f"there are {', '.join(there)}")
    for name, _ in kernel.launch.dims:
        if name not in kernel.arrays:
            message = f"'ndim' is about Tensor arguments, and {base.schema.name} has none of the name {name!r}"
            raise SchemaError("launch-argument", message, base.span("launch"), f"there are {', '.join(kernel.arrays)}")


def check_cuda_meta(kernel: DeviceKernel, meta: Meta, span: Span) -> None:
    """Raise SchemaError unless `meta` says what results look like: they are allocated by it."""
    if not kernel.writes and not isinstance(meta, Plans):
        message = f"{kernel.operator} has no 'meta' by which the CUDA kernel's results could be allocated"
        raise SchemaError("cuda-meta", message, span, "add for example 'meta: pointwise(self, other)'")
