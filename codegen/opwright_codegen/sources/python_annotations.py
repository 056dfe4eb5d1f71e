"""Schemas of Python functions from their annotations, as `torch.library.infer_schema` infers them.

Annotations are read from the syntax tree. `opwright.library.infer_schema` reads those of loaded functions: one test
compares the two.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from opwright_codegen.errors import shorten
from opwright_codegen.records import dataclass
from opwright_codegen.schema.defaults import EnumName, Value, spell
from opwright_codegen.sources.python_names import Computed, Names

__all__ = ["NotInferred", "annotated_schema"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_BASES: Final = {
    "Tensor": "Tensor",
    "torch.Tensor": "Tensor",
    "numpy.ndarray": "Tensor",
    "int": "SymInt",
    "torch.SymInt": "SymInt",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "complex": "complex",
    **dict.fromkeys(("torch.types.Number", "Number", "numbers.Number"), "Scalar"),
    **dict.fromkeys(("torch.dtype", "torch.types._dtype"), "ScalarType"),
    **dict.fromkeys(("torch.device", "torch.types.Device", "torch.types._device"), "Device"),
    "torch.Generator": "Generator",
}
_LISTS: Final = ("List", "list", "Sequence", "MutableSequence")
_TUPLES: Final = ("Tuple", "tuple")
_RESULTS: Final = ("Tensor", "Tensor?", "Tensor[]", "SymInt", "float", "bool", "Scalar", "complex", "str")
_DEFAULTS: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "SymInt": (int,),
    "float": (int, float),
    "complex": (int, float, complex),
    "Scalar": (bool, int, float, complex),
    "str": (str,),
    "Device": (str,),
    "ScalarType": (EnumName,),
}
_NUMBER: Final = frozenset(("SymInt", "float", "bool"))  # the union of these is Scalar
_DEPTH: Final = 16  # of annotations within annotations, and of aliases of aliases


class NotInferred(Exception):
    """The message says which parameter, or that the result, has no type of a schema."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    is_keyword: bool


def annotated_schema(
    function: _Function, mutated: Collection[str] | None, names: Names, tags: Collection[str] = ()
) -> str:
    """Return the schema of a function without its name, `(Tensor x, SymInt n=2) -> Tensor`.

    `mutated` are the parameters that the function writes to; None stands for every Tensor. With one of the tags
    `inplace` and `out` the results are the parameters written to.
    Raises NotInferred for annotations and defaults that no schema has.
    """
    parameters = list(_parameters(function))
    missing = sorted(set(mutated or ()).difference(each.name for each in parameters))
    if missing:
        raise NotInferred(f"mutates_args names {shorten(', '.join(missing))}, which is no parameter")
    texts, written = [], []
    for position, each in enumerate(parameters):
        type_ = _parameter_type(each, names)
        if (type_.startswith("Tensor") and mutated is None) or (mutated is not None and each.name in mutated):
            if not type_.startswith("Tensor"):
                raise NotInferred(f"mutates_args names {each.name!r}, which is no Tensor")
            written.append(f"Tensor(a{position}!)")
            type_ = type_.replace("Tensor", written[-1], 1)
        if each.is_keyword and "*" not in texts:
            texts.append("*")
        default = "" if each.default is None else f"={_default(each, type_, names)}"
        texts.append(f"{type_} {each.name}{default}")
    returns = _returns(function.returns, names)
    if written and ("inplace" in tags or "out" in tags):
        returns = written[0] if len(written) == 1 else f"({', '.join(written)})"
    return f"({', '.join(texts)}) -> {returns}"


def _parameters(function: _Function) -> Iterator[_Parameter]:
    given = function.args
    if given.posonlyargs or given.vararg or given.kwarg:
        raise NotInferred("a schema has no positional-only parameters, no *args and no **kwargs")
    defaults = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    for each, default in zip(given.args, defaults, strict=True):
        yield _Parameter(each.arg, each.annotation, default, False)
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _Parameter(each.arg, each.annotation, default, True)


def _parameter_type(parameter: _Parameter, names: Names) -> str:
    if parameter.annotation is None:
        raise NotInferred(f"the parameter {parameter.name!r} has no annotation")
    found = _type(parameter.annotation, names)
    if found is None:
        raise NotInferred(f"{_shown(parameter.annotation)} of the parameter {parameter.name!r} is no type of a schema")
    is_none = isinstance(parameter.default, ast.Constant) and parameter.default.value is None
    return f"{found}?" if is_none and not found.endswith("?") else found


def _default(parameter: _Parameter, type_: str, names: Names) -> str:
    value = names.value(parameter.default) if parameter.default is not None else None
    if isinstance(value, Computed):
        raise NotInferred(f"the default of the parameter {parameter.name!r} is computed: {shorten(value.text)}")
    if not _takes(type_.removesuffix("?"), value):
        raise NotInferred(f"the default of the parameter {parameter.name!r} is no value of {type_}")
    return spell(value)


def _takes(type_: str, value: Value) -> bool:
    if value is None or type_.endswith("[]"):
        items = value if isinstance(value, tuple) else ()
        return value is None or (isinstance(value, tuple) and all(_takes(type_[:-2], item) for item in items))
    if isinstance(value, bool):
        return bool in _DEFAULTS.get(type_, ())
    return isinstance(value, _DEFAULTS.get(type_, ()))


def _type(node: ast.expr, names: Names, depth: int = 0) -> str | None:
    """Return the schema type of an annotation; None if it has none."""
    if depth > _DEPTH:
        return None
    members = _members(node, names, depth)
    if members is not None:
        rest = [each for each in members if not _is_none(each)]
        found = {_type(each, names, depth + 1) for each in rest}
        single = "Scalar" if found == _NUMBER else found.pop() if len(found) == 1 else None
        return single if single is None or len(rest) == len(members) or single.endswith("?") else f"{single}?"
    match node:
        case ast.Constant(value=str(text)):
            quoted = _quoted(text)
            return None if quoted is None else _type(quoted, names, depth + 1)
        case ast.Subscript(slice=inner):
            head = _head(node, names)
            if head == "Annotated" and isinstance(inner, ast.Tuple) and inner.elts:
                return _type(inner.elts[0], names, depth + 1)
            item = _type(inner, names, depth + 1) if head in _LISTS else None
            return f"{item}[]" if item is not None and (item == "Tensor?" or item[-1] not in "?]") else None
        case ast.Name() | ast.Attribute():
            alias = names.assigned(node)
            return _type(alias, names, depth + 1) if alias is not None else _BASES.get(names.dotted(node))
    return None


def _members(node: ast.expr, names: Names, depth: int) -> list[ast.expr] | None:
    """Return the members of a union, `Optional[X]` and `X | Y` among it; None for any other annotation."""
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            before = _members(left, names, depth + 1) if depth <= _DEPTH else None
            return [*(before or [left]), right]
        case ast.Subscript(slice=inner) if _head(node, names) == "Optional":
            return [inner, ast.Constant(None)]
        case ast.Subscript(slice=inner) if _head(node, names) == "Union":
            return inner.elts if isinstance(inner, ast.Tuple) else [inner]
    return None


def _returns(node: ast.expr | None, names: Names, depth: int = 0) -> str:
    if node is None:
        raise NotInferred("the result has no annotation")
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and depth < _DEPTH:
        node = _quoted(node.value) or node
    alias = names.assigned(node)
    if alias is not None and depth < _DEPTH:
        return _returns(alias, names, depth + 1)
    if _is_none(node):
        return "()"
    if isinstance(node, ast.Subscript) and _head(node, names) in _TUPLES:
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not (isinstance(items[-1], ast.Constant) and items[-1].value is ...):
            inner = ", ".join(_result_type(item, names) for item in items)
            return f"(({inner}))" if len(items) == 1 else f"({inner})"
        if len(items) == 2:
            return _result_type(ast.Subscript(ast.Name("list"), items[0]), names)
    return _result_type(node, names)


def _result_type(node: ast.expr, names: Names) -> str:
    found = _type(node, names)
    if found not in _RESULTS:
        raise NotInferred(f"{_shown(node)} is no type of a result")
    return found


def _head(node: ast.Subscript, names: Names) -> str:
    """Return the last word before the brackets: `Optional` for `typing.Optional[…]`."""
    return names.dotted(node.value).rpartition(".")[2]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, "None")


def _quoted(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _shown(node: ast.expr) -> str:
    try:
        return repr(shorten(ast.unparse(node)))
    except RecursionError:
        return "the annotation"
