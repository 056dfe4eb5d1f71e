"""Kernels that are written elsewhere, as Python calls them: lines of `native/__init__.py` and `native/cuda.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.declared.parts import Binding, Elsewhere, FunctionKernel, Jitted, Launch, TritonLaunch
from opwright_codegen.records import dataclass
from opwright_codegen.targets.native.facts import looks_like
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["ElsewhereLine", "elsewhere_lines", "triton_lines"]


@dataclass(frozen=True, slots=True)
class ElsewhereLine:
    """The line of a kernel, and the class of the runtime that it names."""

    text: str
    maker: str


def elsewhere_lines(bindings: Sequence[Binding]) -> list[ElsewhereLine]:
    """Return the lines of kernels on the CPU, each once, in the order of the schemas."""
    found: dict[str, ElsewhereLine] = {}
    for binding in bindings:
        kernel = binding.kernel
        if binding.key != "CPU":
            continue
        if isinstance(kernel, Jitted):
            given = [quoted(text) for text in (binding.base.name, kernel.function.module, kernel.function.name)]
            found.setdefault(
                kernel.name, ElsewhereLine(bracketed(f"{kernel.name} = NumbaArrays(", given, ")"), "NumbaArrays")
            )
        elif isinstance(kernel, Elsewhere):
            found.setdefault(kernel.name, ElsewhereLine(_line(kernel, binding), kernel.maker))
    return list(found.values())


def _line(kernel: Elsewhere, binding: Binding) -> str:
    folder = ["__path__[0]"] if kernel.maker == "TvmFunction" else []
    made = f"{kernel.maker}({', '.join([*folder, *map(quoted, kernel.found)])})"
    items = [*_described(kernel, tuple_text([quoted(dtype) for dtype in kernel.dtypes]))]
    if kernel.writes:
        return bracketed(f"{kernel.name} = {made}.writer(", items, ")")
    items.append(tuple_text([quoted(result.dtype) for result in kernel.results]))
    like = looks_like(kernel, binding.meta)
    if like is not None:
        items.append(str([argument.name for argument in kernel.arguments].index(like)))
    return bracketed(f"{kernel.name} = {made}.kernel(", items, ")")


def _described(kernel: FunctionKernel, dtypes: str) -> Iterator[str]:
    yield from (quoted(kernel.operator), quoted(kernel.convention), dtypes)
    yield tuple_text([quoted(str(argument)) for argument in kernel.arguments])


def triton_lines(bindings: Sequence[Binding]) -> list[ElsewhereLine]:
    """Return the lines of Triton's kernels, each once, in the order of the schemas."""
    found: dict[str, ElsewhereLine] = {}
    for binding in bindings:
        kernel = binding.kernel
        if not isinstance(kernel, TritonLaunch) or binding.key != "CUDA" or kernel.name in found:
            continue
        maker = "TritonWriter" if kernel.writes else "TritonKernel"
        found[kernel.name] = ElsewhereLine(_triton_line(kernel, maker), maker)
    return list(found.values())


def _triton_line(kernel: TritonLaunch, maker: str) -> str:
    launch, default = kernel.launch, Launch()
    items = [quoted(kernel.module), quoted(kernel.function), tuple_text(list(map(quoted, kernel.taken)))]
    items += _described(kernel, tuple_text([quoted(dtype) for dtype in kernel.dtypes]))
    if not kernel.writes:
        items.append(tuple_text([quoted(f"{result.name} {result.dtype}".rstrip()) for result in kernel.results]))
    # A program of Triton handles all elements that are said: it is as one thread of a kernel in CUDA.
    rule = ["threads=1"]
    rule += [
        f"{name}={getattr(launch, name)}"
        for name in ("elements", "ndim")
        if getattr(launch, name) != getattr(default, name)
    ]
    if launch.dims:
        rule.append(f"dims={tuple_text([f'({quoted(name)}, {ndim})' for name, ndim in launch.dims])}")
    if launch.grid != default.grid:
        rule.append(f"grid={quoted(launch.grid)}")
    if launch.rows_of:
        rule.append(f"rows_of={quoted(launch.rows_of)}")
    items += [f"launch=LaunchRule({', '.join(rule)})", f"warps={launch.threads // 32}"]
    if launch.constants:
        said = [f"{quoted(name)}: {text if text[-1].isdigit() else quoted(text)}" for name, text in launch.constants]
        items.append(f"constants={{{', '.join(said)}}}")
    return bracketed(f"{kernel.name} = {maker}(", items, ")")
