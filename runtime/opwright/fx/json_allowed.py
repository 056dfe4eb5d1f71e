"""The lists of what a graph in JSON may call and be named: built up, since anybody may have written the text."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import unicodedata
from collections.abc import Container
from typing import Any, Final

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright_core.arrays import sizes
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import Tensor

__all__ = ["FUNCTIONS", "TensorMethod", "constant_fault", "is_name", "is_parameter"]

# Functions besides operators. None of them reads or sets an attribute by a name, calls an argument, or returns what
# does: so no attrgetter, methodcaller, itemgetter, call; and no function that writes into an argument but setitem.
_OPERATORS: Final = (
    "abs", "add", "and_", "concat", "contains", "countOf", "eq", "floordiv", "ge", "getitem", "gt", "index", "indexOf",
    "inv", "invert", "is_", "is_not", "le", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg", "not_", "or_", "pos",
    "pow", "rshift", "setitem", "sub", "truediv", "truth", "xor",
)  # fmt: skip
FUNCTIONS: Final[dict[str, Any]] = {
    **{f"operator.{name}": getattr(operator, name) for name in _OPERATORS},
    **{f"math.{name}": getattr(math, name) for name in ("ceil", "floor", "sqrt", "trunc")},
    **{f"builtins.{name}": getattr(builtins, name) for name in ("abs", "max", "min", "pow", "round")},
    **{f"opwright.{name}": getattr(sizes, name) for name in sizes.__all__ if name.startswith("sym_")},
}
# Methods besides those that are operators: of these names, none reaches a file, memory that is not the tensor's, or the
# history (`numpy`, `data_ptr`, `backward`, `register_hook` are left out).
_METHODS: Final = frozenset(
    [
        "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "cpu", "dim", "double", "element_size", "float",
        "half", "int", "is_complex", "is_contiguous", "is_floating_point", "is_nonzero", "is_same_size", "is_signed",
        "long", "ndimension", "nelement", "new_tensor", "numel", "short", "size", "storage_offset", "stride", "tolist",
        "unique",
    ]
)  # fmt: skip
# What the code of a graph calls by these names.
_OF_CODE: Final = frozenset(["self", "opwright", "operator", "math", "getattr", "float", "complex", "slice"])


class TensorMethod:
    """A method of Tensor that a graph in JSON calls. Raises TypeError when it is called on anything but a tensor."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__qualname__ = f"Tensor.{name}"
        self._function = getattr(Tensor, name)

    @classmethod
    def named(cls, name: Any) -> TensorMethod | None:
        """Return the method of that name, if graphs in JSON may call it."""
        if not is_name(name) or name.startswith("_"):
            return None
        is_known = f"aten::{name}" in registry.overloads or name in _METHODS
        return cls(name) if is_known and callable(getattr(Tensor, name, None)) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method of the first argument, a tensor."""
        if not args or not isinstance(args[0], Tensor):
            found = type(args[0]).__name__ if args else "nothing"
            raise TypeError(
                f"the graph calls the method {self.__name__} of {found}: graphs that from_json read call methods of "
                "tensors alone"
            )
        return self._function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorMethod) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash((TensorMethod, self.__name__))

    def __repr__(self) -> str:
        return f"<method {self.__name__} of tensors>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorMethod, (self.__name__,)


def is_name(text: Any) -> bool:
    """Whether a text may stand in code as a name. Private names of Python are none, nor are names that Python reads as
    other ones (letters that Unicode has several times)."""
    return (
        isinstance(text, str)
        and text.isidentifier()
        and not keyword.iskeyword(text)
        and not text.startswith("__")
        and unicodedata.is_normalized("NFKC", text)
    )


def is_parameter(text: Any) -> bool:
    """Whether a text may be the name of an input: one that hides nothing which the code of a graph calls."""
    return is_name(text) and text not in _OF_CODE


def constant_fault(name: str, names: Container[str]) -> str | None:
    """Return what is wrong with the name of a constant; None for one that a module can have, `w` or `block.w`."""
    first, *_ = parts = name.split(".")
    if not all(map(is_name, parts)):
        return "is no name"
    if hasattr(GraphModule, first) or first in vars(GraphModule({}, Graph())):
        return "is a name of GraphModule's own"
    if any(".".join(parts[:end]) in names for end in range(1, len(parts))):
        return "lies within another constant"
    return None
