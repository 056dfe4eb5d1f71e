"""Functions of a kernel or rule module, read from its source: nothing is imported, nothing runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernels.annotations import Annotations, statements
from opwright_codegen.kernels.roles import plain, role_of
from opwright_codegen.records import dataclass
from opwright_codegen.source import Source, Span

__all__ = ["KernelFunction", "Parameter", "functions_of", "names_defined"]

_UNSAID: Final = ("", "Any", "object")  # annotations that say nothing of what a function returns
_PLAN: Final = re.compile(r"\bPlan\b")
_DEF: Final = re.compile(r"\bdef\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its annotation as text ('' where there is none), its role, and how it is passed."""

    name: str
    annotation: str = ""
    is_keyword: bool = False
    is_required: bool = True
    role: str = ""


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function at the top level of a module; `signature` has all its parameters, those of `*` and `**` aside.

    `vararg` is the name after `*`, with its `vararg_annotation`; `takes_keywords` says that there is a `**`; `returns`
    is the annotation as text, `doc` the docstring.
    """

    module: str
    name: str
    signature: tuple[Parameter, ...]
    vararg: str | None = None
    takes_keywords: bool = False
    returns: str = ""
    doc: str = ""
    vararg_annotation: str = ""
    vararg_role: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of all parameters."""
        return tuple(parameter.name for parameter in self.signature)

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """Return the names of parameters that may be passed by position."""
        return tuple(parameter for parameter in self.signature if not parameter.is_keyword)

    @property
    def makes_plans(self) -> bool:
        """Whether it says that it returns plans: it is a rule, not a kernel."""
        return bool(_PLAN.search(self.returns))

    @property
    def may_make_plans(self) -> bool:
        """Whether it returns plans, as far as it says what."""
        return self.returns in _UNSAID or self.makes_plans

    @property
    def batches(self) -> bool:
        """Whether it is a batching rule, `function(info, in_dims, ...)`, by the names of its parameters."""
        return self.parameters[:2] == ("info", "in_dims")

    @property
    def takes_xp(self) -> bool:
        """Whether the array module comes first."""
        return self.parameters[:1] == ("xp",)

    @property
    def takes_out(self) -> bool:
        """Whether it can write into an array, passed as `out=`."""
        return "out" in self.parameters


def functions_of(module: str, path: Path) -> Mapping[str, KernelFunction]:
    """Return the functions at the top level of a module, by name. Raises SchemaError if it is no Python source."""
    stat = path.stat()
    return _functions_of(module, path, stat.st_mtime_ns, stat.st_size)


def names_defined(path: Path) -> frozenset[str]:
    """Return what stands behind `def` anywhere in a file, which is found without parsing it."""
    stat = path.stat()
    return _defined(path, stat.st_mtime_ns, stat.st_size)


@cache
def _defined(path: Path, _changed: int, _size: int) -> frozenset[str]:
    return frozenset(_DEF.findall(path.read_text("utf-8", "replace")))


@cache
def _functions_of(module: str, path: Path, _changed: int, _size: int) -> Mapping[str, KernelFunction]:
    data = path.read_bytes()
    try:
        tree = ast.parse(data)
    except SyntaxError as error:
        source = Source(str(path), data.decode("utf-8", "replace"))
        starts = source.line_starts()
        line = min(max(error.lineno or 1, 1), len(starts))
        at = min(starts[line - 1] + max((error.offset or 1) - 1, 0), len(source.text))
        raise SchemaError("kernel-module", f"{module}: {error.msg}", Span(source, at, at + 1)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SchemaError("kernel-module", f"{module} is not Python source: {error}") from None
    functions = {}
    annotations = Annotations(tree.body)
    for node in (each for each in statements(tree.body) if isinstance(each, ast.FunctionDef)):
        functions[node.name] = KernelFunction(
            module,
            node.name,
            tuple(_parameters(node.args, annotations)),
            node.args.vararg.arg if node.args.vararg else None,
            node.args.kwarg is not None,
            annotations.text(node.returns),
            ast.get_docstring(node) or "",
            plain(written := annotations.text(node.args.vararg.annotation) if node.args.vararg else ""),
            role_of(written),
        )
    return functions


def _parameters(arguments: ast.arguments, annotations: Annotations) -> Iterator[Parameter]:
    positional = (*arguments.posonlyargs, *arguments.args)
    required = len(positional) - len(arguments.defaults)
    for place, argument in enumerate(positional):
        yield _parameter(argument, annotations, False, place < required)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, annotations, True, default is None)


def _parameter(argument: ast.arg, annotations: Annotations, is_keyword: bool, is_required: bool) -> Parameter:
    written = annotations.text(argument.annotation)
    return Parameter(argument.arg, plain(written), is_keyword, is_required, role_of(written))
