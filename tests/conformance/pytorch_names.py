"""What of PyTorch is there and what is not, name by name: the text of docs/pytorch.md, made from both libraries."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

import opwright
import opwright.aten_setup  # names ATen's operators, which the registry is asked for
from opwright_core.dispatch.registry.tables import registry

WIDTH = 150
INTRODUCTION = """\
# What of PyTorch is there

This page is made by comparing the names of PyTorch {version} with ours; a test proves that it is true. A name that is
there does what PyTorch's does, but for what [differences.yaml](differences.yaml) lists: the conformance tests compare
values, dtypes, strides, gradients and errors. Names that begin with an underscore, and modules, are left out.

Where newer versions of PyTorch give other results, Opwright follows them: 2.14.1 and 2.15.0 were run beside it.
`tests/known_versions.py` lists the differences: gradients at bounds and ties, `fmax` and `fmin` of NaN, eight Bessel
functions that have derivatives, bounds of integers, classes of errors.

To write the page anew, in the environment that has PyTorch (`make test ORACLE=1` makes it):
`pytest tests/conformance/test_pytorch_names.py --update-golden`.
"""


@dataclass(frozen=True)
class Group:
    """Names of one kind: PyTorch's, and which of them are ours."""

    title: str
    theirs: frozenset[str]
    ours: frozenset[str]

    @property
    def missing(self) -> list[str]:
        return sorted(self.theirs - self.ours)

    def row(self) -> str:
        there = len(self.theirs & self.ours)
        return f"| {self.title} | {there:,} | {len(self.theirs) - there:,} | {100 * there // len(self.theirs)} % |"


def public(module: Any, wanted: Callable[[Any], bool]) -> frozenset[str]:
    """The public names of a module or class whose values are wanted."""
    return frozenset(
        name for name in dir(module) if not name.startswith("_") and wanted(inspect.getattr_static(module, name))
    )


def is_function(value: Any) -> bool:
    return inspect.isroutine(value) or isinstance(value, property)


def is_callable(value: Any) -> bool:
    return callable(value) or isinstance(value, staticmethod)


def module_group(title: str, theirs: Any, ours: Any, wanted: Callable[[Any], bool] = is_callable) -> Group:
    """The names that a module of PyTorch defines; what it imported from elsewhere does not count."""
    own = getattr(theirs, "__all__", None)
    names = public(theirs, wanted)
    if own is not None:
        names &= frozenset(own)
    else:
        names = frozenset(name for name in names if is_defined_in(getattr(theirs, name), theirs.__name__))
    return Group(title, names, frozenset(name for name in names if hasattr(ours, name)))


def is_defined_in(value: Any, module: str) -> bool:
    """Whether a value comes from the module, or from C++ below it."""
    found = getattr(value, "__module__", None) or ""
    return found.startswith((module, "torch._C")) or not found


def base_names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.removeprefix("aten::") for name in names if name.startswith("aten::"))


def public_operators() -> Group:
    """Operators with overloads, those of PyTorch's private ones aside."""
    theirs = frozenset(
        name for name in base_names(torch._C._dispatch_get_all_op_names()) if not name.startswith(("_", "sym_"))
    )
    return Group("operators and overloads (`ops.aten`)", theirs, base_names(registry.operators))


def groups() -> list[Group]:
    methods = public(torch.Tensor, is_function)
    functions = frozenset(
        name
        for name in public(torch, inspect.isroutine)
        if name in torch.functional.__all__ or inspect.isbuiltin(getattr(torch, name))
    )
    return [
        public_operators(),
        Group("functions (`torch`)", functions, frozenset(name for name in functions if hasattr(opwright, name))),
        Group("methods (`Tensor`)", methods, frozenset(name for name in methods if hasattr(opwright.Tensor, name))),
        module_group("`nn.functional`", torch.nn.functional, opwright.nn.functional, inspect.isroutine),
        module_group("`linalg`", torch.linalg, opwright.linalg, inspect.isroutine),
        module_group("`special`", torch.special, opwright.special, inspect.isroutine),
        module_group("`fft`", torch.fft, getattr(opwright, "fft", None), inspect.isroutine),
        module_group("`library`", torch.library, opwright.library),
        module_group("`autograd`", torch.autograd, opwright.autograd),
        module_group("`autograd.graph`", torch.autograd.graph, opwright.autograd.graph),
        module_group("`autograd.functional`", torch.autograd.functional, opwright.autograd.functional),
        module_group("`autograd.forward_ad`", torch.autograd.forward_ad, opwright.autograd.forward_ad),
        module_group("`func`", torch.func, getattr(opwright, "func", None)),
        module_group("`testing`", torch.testing, opwright.testing),
        module_group("`random`", torch.random, opwright.random),
        module_group("`utils.checkpoint`", torch.utils.checkpoint, opwright.utils.checkpoint),
    ]


def listed(names: list[str]) -> str:
    return "\n".join(textwrap.wrap(" ".join(f"`{name}`" for name in names), WIDTH, break_on_hyphens=False))


def page() -> str:
    """The whole page."""
    found = groups()
    lines = [INTRODUCTION.format(version=torch.__version__.partition("+")[0])]
    lines += ["| names | there | missing | share |", "| --- | --- | --- | --- |", *(group.row() for group in found), ""]
    for group in found:
        if group.missing:
            lines += [f"## Missing: {group.title}", "", listed(group.missing), ""]
    return "\n".join(lines)
