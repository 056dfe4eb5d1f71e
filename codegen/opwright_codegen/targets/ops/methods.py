"""Target `methods.py`: the operators that are methods and Python operators of Tensor.

Note [Python operators]
`a + b` with two Tensors looks the kernel up at once, as the stub does. What is no number, array or Tensor gets
NotImplemented, so that its own operator is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.names import is_word
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["TEMPLATE", "PythonOperator", "context", "methods_of", "python_operators"]

TEMPLATE = "methods.py.j2"


@dataclass(frozen=True, slots=True)
class PythonOperator:
    """A special method: it returns `value`, an expression over `self` and `other`.

    `operator` handles two Tensors directly, '' where no overload takes them; `rest` are the defaults passed with them.
    `home` is the part and the name of the function that `value` calls with `self` and `other` as they are, '' for
    another expression.
    """

    name: str
    value: str
    is_unary: bool
    is_inplace: bool
    operator: str
    rest: str
    home: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A method whose `self` is not the operator's first argument: those before it come first in the call."""

    name: str
    function: str
    before: tuple[str, ...]


# Special method: the operators that it may be, in order of preference. `r` ones swap their operands.
_BINARY = {
    "add": ("add",), "sub": ("sub",), "mul": ("mul",), "truediv": ("div",), "floordiv": ("floor_divide",),
    "mod": ("remainder",), "pow": ("pow",), "matmul": ("matmul",), "and": ("bitwise_and", "__and__"),
    "or": ("bitwise_or", "__or__"), "xor": ("bitwise_xor", "__xor__"), "lshift": ("bitwise_left_shift", "__lshift__"),
    "rshift": ("bitwise_right_shift", "__rshift__"),
}  # fmt: skip
_COMMUTATIVE = ("add", "mul", "and", "or", "xor")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_UNARY = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}
# Methods in ATen's schemas that are attributes of a Tensor: `x.mT`, without a call.
_ATTRIBUTES = frozenset(("mT", "mH"))


def methods_of(view: NamespaceView, operators: Sequence[PythonOperator]) -> dict[str, tuple[OperatorView, ...]]:
    """Return the packets with an overload that is a method, by base name; names that no attribute has are left out, and
    those of Python operators, which call them."""
    special = {operator.name for operator in operators}
    return {
        base: group
        for base, group in view.packets.items()
        if any("method" in o.operator.variants for o in group)
        and is_word(base)
        and base not in special
        and not (view.namespace == "aten" and base in _ATTRIBUTES)
    }


def python_operators(view: NamespaceView) -> list[PythonOperator]:
    """Return the special methods that a namespace has operators for: ATen's names alone mean Python's operators."""
    if view.namespace != "aten":
        return []
    found = []
    for name, bases in _BINARY.items():
        base = next((b for b in bases if b in view.packets), None)
        if base is not None:
            found.append(_binary(f"__{name}__", base, view))
            found.append(_reflected(name, base, view))
        inplace = next((f"{b}_" for b in bases if f"{b}_" in view.packets), None)
        if inplace is not None:
            found.append(_binary(f"__i{name}__", inplace, view, is_inplace=True))
    found += [_binary(f"__{name}__", name, view) for name in _COMPARISONS if name in view.packets]
    found += [
        PythonOperator(f"__{name}__", f"{_function(base, view)}(self)", True, False, "", "", _place(base, view))
        for name, base in _UNARY.items()
        if base in view.packets
    ]
    return found


def _binary(name: str, base: str, view: NamespaceView, *, is_inplace: bool = False) -> PythonOperator:
    value, home = f"{_function(base, view)}(self, other)", _place(base, view)
    direct = next((o for o in view.packets[base] if _takes_two_tensors(o)), None)
    if direct is None:
        return PythonOperator(name, value, False, is_inplace, "", "", home)
    rest = "".join(f", {p.default}" for p in direct.parameters[2:])
    operator = f"ops.{view.homes[direct.name]}.{direct.private}"
    return PythonOperator(name, value, False, is_inplace, operator, rest, home)


def _reflected(name: str, base: str, view: NamespaceView) -> PythonOperator:
    """Return `number - tensor`: `rsub` where there is one, else the operator itself with swapped operands. `number /
    tensor` multiplies with the reciprocal, as in PyTorch, which rounds otherwise than dividing. Where order is no
    matter the tensor comes first, as in PyTorch: that has a fast path, a number that stands for a tensor has none."""
    home = ""
    if f"r{base}" in view.packets:
        home = _place(f"r{base}", view)
        value = f"{_function(f'r{base}', view)}(self, other)"
    elif name == "truediv" and {"reciprocal", "mul"} <= view.packets.keys():
        value = f"{_function('mul', view)}({_function('reciprocal', view)}(self), other)"
    elif name in _COMMUTATIVE:
        home = _place(base, view)
        value = f"{_function(base, view)}(self, other)"
    else:
        value = f"{_function(base, view)}(other, self)"
    return PythonOperator(f"__r{name}__", value, False, False, "", "", home)


def _function(base: str, view: NamespaceView) -> str:
    return view.calls[base]


def _takes_two_tensors(view: OperatorView) -> bool:
    if view.schema.kind is SchemaKind.OUT or len(view.parameters) < 2:
        return False
    first, second, *rest = view.parameters
    return (
        first.tensors is Tensors.ONE
        and second.tensors is Tensors.ONE
        and all(p.default is not None and p.tensors is Tensors.NONE for p in rest)
        and not any(p.default is None or isinstance(p.argument.type, BaseType) is False for p in rest)
        and not view.is_generic
    )


def context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template shows; None where no operator is a method."""
    operators = python_operators(view)
    groups = methods_of(view, operators)
    if not groups:
        return None
    moved = [found for base, group in groups.items() if (found := _moved(base, group, view)) is not None]
    names = {found.name for found in moved}
    words = {"Tensor", "install_methods"}
    if operators:
        words |= {"Any", "SymBool", "SymFloat", "SymInt", "is_array"}
        words |= {"find2"} if any(operator.operator for operator in operators) else set()
    if moved:
        words.add("Any")
    return {
        "operators": operators,
        "moved": moved,
        "methods": [(base, _home(base, view)) for base in groups if base not in names],
        "imports": import_lines(words, ["numpy as np"] if operators else [], [(".", "ops", "ops")]),
    }


def _home(base: str, view: NamespaceView) -> str:
    """Return the schema module that has the function of a method, and its name where that is another."""
    position = _place(base, view)
    return position.removesuffix(f".{base}")


def _place(base: str, view: NamespaceView) -> str:
    """Return the schema module that has a function, and the function's name: `pointwise.add`."""
    return f"{view.homes[view.packets[base][0].name]}.{view.names.packets[base].function}"


def _moved(base: str, group: tuple[OperatorView, ...], view: NamespaceView) -> Moved | None:
    chosen = next(o for o in group if "method" in o.operator.variants)
    position = next((i for i, p in enumerate(chosen.parameters) if p.argument.name == "self"), 0)
    if position == 0:
        return None
    return Moved(base, view.calls[base], tuple(p.name for p in chosen.parameters[:position]))
