"""CUDA kernels: what the functions of one take, how it is launched, and whether it can serve its operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opwright_codegen.bindings.metas import Meta, Plans
from opwright_codegen.bindings.native import NativeArgument
from opwright_codegen.errors import SchemaError
from opwright_codegen.kernels.cuda_files import CudaFile
from opwright_codegen.kernels.forms import NvccKernel, RawKernel
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.launch import GRANTED
from opwright_codegen.read.model import Launch, Operator
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.source import Span

__all__ = ["SIZES", "SUFFIXES", "CudaKernel", "check_cuda_meta", "cuda_kernel"]

SIZES: Final = 16  # dimensions that a shape has which travels by value, as the runtime packs it
_SORTS: Final = {"Tensor": "array", "float": "float", "int": "int", "SymInt": "int", "bool": "bool"}
_PARAMETERS: Final = 4096  # bytes that the parameters of a kernel may take on every device
# By dtype: the end of a function's name, and the bytes of an element.
SUFFIXES: Final = {
    "bool": ("b8", 1), "complex64": ("c64", 8), "complex128": ("c128", 16),
    "float32": ("f32", 4), "float64": ("f64", 8),
    **{f"{kind}{bits}": (f"{kind[0]}{bits}", bits // 8) for kind in ("uint", "int") for bits in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A CUDA kernel: a function for each of `dtypes`, of `arguments` in the schema's order, then `results`.

    Of `raw`, the functions are kernels that CuPy compiles; else they are functions of the host, which `opwright build`
    compiles, and which launch kernels themselves.
    """

    name: str
    operator: str
    convention: str
    dtypes: tuple[str, ...]
    arguments: tuple[NativeArgument, ...]
    results: tuple[str, ...]
    file: CudaFile
    raw: bool
    launch: Launch

    @property
    def outputs(self) -> int:
        """Return how many results there are."""
        return len(self.results)

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the names of the functions, one for each dtype."""
        return tuple(f"{self.name}_{SUFFIXES[dtype][0]}" for dtype in self.dtypes)


def cuda_kernel(
    form: RawKernel | NvccKernel, base: Operator, key: str, modules: KernelModules, span: Span
) -> CudaKernel:
    """Return the CUDA kernel of an operator. Raises SchemaError for one that cannot be, or cannot serve it."""
    if key != "CUDA":
        message = f"a kernel in CUDA serves CUDA, not {key}"
        raise SchemaError("cuda-key", message, span, "write 'CUDA: raw:…', and for the CPU a kernel of its own")
    schema = base.schema
    if schema.kind is not SchemaKind.FUNCTIONAL:
        message = f"{schema.name} writes to an argument, and a CUDA kernel makes new results"
        hint = "declare the operator that returns them, with 'autogen' for the variants that write"
        raise SchemaError("cuda-writes", message, span, hint)
    if not schema.returns or any(str(found.type) != "Tensor" for found in schema.returns):
        message = f"{schema.name} does not return one or several Tensors, as a CUDA kernel does"
        raise SchemaError("cuda-results", message, span, "write the kernel in Python, over CuPy")
    arguments = tuple(NativeArgument(argument.name, _sort(base, argument, span)) for argument in schema.arguments)
    if not any(argument.sort == "array" for argument in arguments):
        message = f"{schema.name} takes no Tensor, whose dtype would say which function is called"
        raise SchemaError("cuda-argument", message, span, "write the kernel in Python, over CuPy")
    if base.dtype_of:
        message = f"{schema.name}: arrays of CUDA kernels are all of one dtype, which 'dtype_of' says otherwise"
        raise SchemaError("cuda-argument", message, span, "write the kernel in Python, over CuPy")
    assert base.convention is not None and base.dtypes  # rules say so
    outs = ["out"] if len(schema.returns) == 1 else [f"out{place}" for place in range(len(schema.returns))]
    results = tuple(found.name or out for found, out in zip(schema.returns, outs, strict=True))
    file = modules.cuda_file(form.file, f"{base.namespace}_cuda.h", span)
    launch, is_raw = base.launch or Launch(), isinstance(form, RawKernel)
    made = CudaKernel(
        form.name, base.name, base.convention, base.dtypes, arguments, results, file, is_raw, launch
    )  # fmt: skip
    file.check_function(form.name, made.functions, span)
    if is_raw:
        _check_launch(made, base, span)
    return made


def _sort(base: Operator, argument: Argument, span: Span) -> str:
    sort = _SORTS.get(str(argument.type))
    if sort is None:
        message = f"{base.schema.name}: {argument.name!r} is a {argument.type}, which CUDA kernels do not take"
        raise SchemaError("cuda-argument", message, span, "they take Tensor, float, int and bool")
    return sort


def _check_launch(kernel: CudaKernel, base: Operator, span: Span) -> None:
    """Raise SchemaError for what no device, or not every device, does of a launch."""
    limit = max(kernel.launch.shared_limit, GRANTED)
    for dtype in kernel.dtypes:
        wanted = kernel.launch.shared_bytes(SUFFIXES[dtype][1])
        if wanted > limit:
            message = f"{wanted:,} bytes of shared memory (for {dtype}) are more than the {limit:,} that a block has"
            hint = "newer devices have more, up to 232,448: ask for it with 'shared_limit'"
            raise SchemaError("launch-limit", message, base.span("launch"), hint)
    arrays = sum(argument.sort == "array" for argument in kernel.arguments) + kernel.outputs
    each = {"elementwise": 8, "contiguous": 16 + SIZES * 8, "strided": 16 + SIZES * 16}[kernel.convention]
    if arrays * each + 8 * (len(kernel.arguments) + 1) > _PARAMETERS:
        message = f"the functions of {kernel.name!r} take more than {_PARAMETERS:,} bytes, with {arrays} arrays"
        raise SchemaError("launch-limit", message, span, "pass fewer, or use 'convention: elementwise'")


def check_cuda_meta(kernel: CudaKernel, meta: Meta, span: Span) -> None:
    """Raise SchemaError unless `meta` says what results look like: they are allocated by it."""
    if not isinstance(meta, Plans):
        message = f"{kernel.operator} has no 'meta' by which the CUDA kernel's results could be allocated"
        raise SchemaError("cuda-meta", message, span, "add for example 'meta: pointwise(self, other)'")
