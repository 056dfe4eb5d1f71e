"""Kernels that are written for Numba, Triton or tvm-ffi: what their functions take, by the conventions of C kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.kernel_choices.cuda import DeviceKernel, check_names
from opwright_codegen.kernel_choices.native import Native
from opwright_codegen.kernel_choices.signatures import Language, NativeArgument, signature_of
from opwright_codegen.kernels.forms import NumbaKernel, TritonKernel, TvmKernel
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.read.model import Launch, Operator
from opwright_codegen.read.native import layout_of
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span

__all__ = ["Elsewhere", "TritonLaunch", "check_key", "elsewhere_kernel"]

_NUMBA: Final = Language(
    "elsewhere",
    "Numba",
    "they take Tensor, float, int, bool and Scalar; and lists of float, int, bool",
    ("text",),
)
_TVM: Final = Language(
    "elsewhere",
    "tvm-ffi",
    "they take Tensor, float, int, bool, Scalar and str, each also with '?'",
)
_TRITON: Final = Language(
    "elsewhere",
    "Triton",
    "they take Tensor, float, int, bool and Scalar, each also with '?'",
    ("text",),
)
_SIZE: Final = re.compile(r"(\w+)_(shape|stride)(\d|1[0-5])")
_SIZES: Final = {"elementwise": (), "contiguous": ("shape",), "strided": ("shape", "stride")}


@dataclass(frozen=True, slots=True)
class Elsewhere(Native):
    """A kernel that is called as a C kernel is. `maker` is the class of the runtime that finds its function, `found`
    what it is told for that."""

    maker: str = ""
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TritonLaunch(DeviceKernel):
    """A kernel of Triton: `taken` is what its function takes, by name."""

    module: str
    function: str
    taken: tuple[str, ...]


def elsewhere_kernel(
    form: NumbaKernel | TritonKernel | TvmKernel,
    name: str,
    base: Operator,
    key: str,
    modules: KernelModules,
    span: Span,
) -> Elsewhere | TritonLaunch:
    """Return the kernel of a form, called `name`. Raises SchemaError for one that cannot be, or cannot handle it."""
    match form:
        case NumbaKernel():
            return _numba_kernel(form, name, base, key, modules, span)
        case TritonKernel():
            return _triton_kernel(form, name, base, key, modules, span)
        case TvmKernel():
            return _tvm_kernel(form, name, base, key, span)


def _numba_kernel(
    form: NumbaKernel, name: str, base: Operator, key: str, modules: KernelModules, span: Span
) -> Elsewhere:
    """Return the kernel of a function that Numba compiles by a convention. Raises SchemaError for one that is wrong."""
    check_key("Numba", "CPU", key, span)
    function = modules.find_path(form.module, form.name, span)
    arguments, results = signature_of(base, span, _NUMBA)
    for argument in arguments:
        if argument.is_optional:
            message = f"{base.schema.name}: {argument.name!r} may be None, which Numba's pointers cannot tell"
            raise SchemaError("elsewhere-argument", message, span, "write the kernel in C, or as a function on arrays")
    assert base.dtypes  # rules say so
    found = (form.module, form.name)
    layout = _layout(base, _NUMBA, span)
    made = Elsewhere(name, base.name, layout, base.dtypes, arguments, results, maker="NumbaFunction", found=found)
    _check_parameters(function, list(_passed(made.parameters, made.convention)), base, span)
    return made


def _tvm_kernel(form: TvmKernel, name: str, base: Operator, key: str, span: Span) -> Elsewhere:
    """Return the kernel of a function of a tvm-ffi module. Raises SchemaError for one that cannot be."""
    check_key("tvm-ffi", "CPU", key, span)
    arguments, results = signature_of(base, span, _TVM)
    _refuse_lists(base, arguments, _TVM, span)
    assert base.dtypes  # rules say so
    is_path = "/" in form.library or form.library.endswith((".so", ".dylib"))
    if is_path and (form.library.startswith("/") or ".." in form.library.split("/")):
        message = f"{form.library[:60]!r} is no path below the package, or below the folder that it stands in"
        raise SchemaError("elsewhere-library", message, span, "write tvm_ffi:lib/my_library.so::my_function")
    if not is_path and not all(part.isidentifier() for part in form.library.split(".")):
        message = f"{form.library[:60]!r} is neither a path of a library nor the name of a module"
        raise SchemaError("elsewhere-library", message, span, "write tvm_ffi:lib/my_library.so::my_function")
    found = (form.library, form.name)
    layout = _layout(base, _TVM, span)
    return Elsewhere(name, base.name, layout, base.dtypes, arguments, results, maker="TvmFunction", found=found)


def _triton_kernel(
    form: TritonKernel, name: str, base: Operator, key: str, modules: KernelModules, span: Span
) -> TritonLaunch:
    """Return the kernel of a function under `triton.jit`. Raises SchemaError for one that cannot be."""
    check_key("Triton", "CUDA", key, span)
    function = modules.find_path(form.module, form.name, span)
    arguments, results = signature_of(base, span, _TRITON)
    _refuse_lists(base, arguments, _TRITON, span)
    assert base.convention is not None and base.dtypes  # rules say so
    launch = base.launch or Launch()
    made = TritonLaunch(
        name, base.name, layout_of(base.convention)[0], base.dtypes, arguments, results, launch, form.module, form.name,
        function.parameters,
    )  # fmt: skip
    _check_launch(launch, base)
    check_names(made, base)
    _check_taken(made, function, base, span)
    return made


def _layout(base: Operator, language: Language, span: Span) -> str:
    """Return how a convention tells of arrays. Raises SchemaError for one of ranges, which C kernels are called on."""
    assert base.convention is not None  # a rule says so
    layout, is_parallel = layout_of(base.convention)
    if is_parallel:
        message = f"{base.schema.name}: kernels for {language.name} are not called on ranges, in several threads"
        raise SchemaError("elsewhere-argument", message, span, f"write 'convention: {layout}'")
    return layout


def check_key(language: str, wanted: str, key: str, span: Span) -> None:
    """Raise SchemaError unless a kernel is for the key that its language serves."""
    if key != wanted:
        message = f"a kernel for {language} serves {wanted}, not {key}"
        word = language.lower().replace("-", "_")
        raise SchemaError("elsewhere-key", message, span, f"write '{wanted}: {word}:…'")


def _refuse_lists(base: Operator, arguments: Sequence[NativeArgument], language: Language, span: Span) -> None:
    for argument in arguments:
        if argument.is_list:
            message = f"{base.schema.name}: {argument.name!r} is a list, which {language.name} kernels do not take"
            raise SchemaError("elsewhere-argument", message, span, language.takes)


def _passed(parameters: Sequence[NativeArgument], convention: str) -> Iterator[str]:
    """Yield the names of what a function gets by a convention of C, as the header of C kernels has them."""
    told = {"elementwise": (), "contiguous": ("ndim", "shape"), "strided": ("ndim", "shape", "strides")}[convention]
    if convention == "elementwise":
        yield "n"
    for each in parameters:
        yield each.name
        yield from (f"{each.name}_{word}" for word in (told if each.sort == "array" else ()))
        if each.is_list:
            yield f"{each.name}_count"


def _check_parameters(function: KernelFunction, passed: Sequence[str], base: Operator, span: Span) -> None:
    """Raise SchemaError unless a function takes as many arguments, by position, and not in another order."""
    names = [parameter.name for parameter in function.positional]
    hint = f"it gets: {', '.join(passed)}"
    shown = f"{function.module}.{function.name}({', '.join(names)})"
    required = sum(parameter.is_required for parameter in function.signature)
    if required > len(passed) or (function.vararg is None and len(names) < len(passed)):
        message = f"{base.schema.name}: {shown} takes another number of arguments than the {len(passed)} passed"
        raise SchemaError("kernel-arguments", message, span, hint)
    if names[: len(passed)] != passed and sorted(names) == sorted(passed):
        message = f"{base.schema.name}: {shown} takes the arguments in another order"
        raise SchemaError("kernel-arguments", message, span, hint)


def _check_launch(launch: Launch, base: Operator) -> None:
    """Raise SchemaError for what is said of a launch and is not Triton's."""
    span = base.span("launch")
    for word, is_said in (
        ("shared", launch.shared),
        ("shared_limit", launch.shared_limit),
        ("options", launch.options),
    ):
        if is_said:
            hint = "leave it out: Triton's compiler sees to that"
            raise SchemaError("launch-triton", f"{word!r} is not for kernels of Triton", span, hint)
    if launch.threads < 32 or launch.threads & (launch.threads - 1):
        message = f"{launch.threads} threads are no number of warps that Triton launches"
        raise SchemaError("launch-triton", message, span, "a power of two, 32 or more: warps have 32 threads")


def _check_taken(kernel: TritonLaunch, function: KernelFunction, base: Operator, span: Span) -> None:
    """Raise SchemaError for a parameter that a launch has nothing for, and for a constant that nobody takes."""
    known = [each.name for each in kernel.parameters]
    if kernel.convention == "elementwise":
        known.insert(0, "n")
    constants = [name for name, _ in kernel.launch.constants]
    for parameter in function.signature:
        sized = _SIZE.fullmatch(parameter.name)
        is_size = sized is not None and sized[1] in _arrays(kernel) and sized[2] in _SIZES[kernel.convention]
        if is_size or not parameter.is_required or parameter.name in (*known, *constants):
            continue
        sizes = "".join(f", NAME_{word}0" for word in _SIZES[kernel.convention])
        near = nearest(parameter.name, (*known, *constants))
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join((*known, *constants))}{sizes}"
        message = f"{base.schema.name}: {function.module}.{function.name} takes {parameter.name!r}, which no launch has"
        if parameter.name.isupper() and not near:
            hint = f"say it under 'launch': launch: {{elements: 1024, constants: {{{parameter.name}: elements}}}}"
        raise SchemaError("kernel-arguments", message, span, hint)
    for name in constants:
        if name not in function.parameters:
            message = f"{base.schema.name}: {function.module}.{function.name} takes no {name!r}"
            near = nearest(name, function.parameters)
            hint = f"did you mean {near!r}?" if near else f"it takes: {', '.join(function.parameters)}"
            raise SchemaError("kernel-arguments", message, base.span("launch"), hint)


def _arrays(kernel: TritonLaunch) -> set[str]:
    return {each.name for each in kernel.parameters if each.sort == "array"}
