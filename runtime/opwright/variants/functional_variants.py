"""The functional variants of operators that write, the copying ones of views, and those that put a part into a base.

They are found as PyTorch groups operators: by names, and by arguments that are the same but for what is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright_core.dispatch.registry.tables import registry

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Variant", "copy_of", "functional_variant", "scatter_of", "view_of"]

# What a functional factory says of its result, and an out variant reads off `out`.
_OF_RESULT: Final = frozenset(("dtype", "layout", "device", "pin_memory", "non_blocking"))
_READ_OFF: Final = frozenset(("dtype", "device"))


class Variant(NamedTuple):
    """A functional variant: where its arguments stand among those of the operator that writes (or, by name, what they
    are read off the written one), and the argument that each of its results is a new value of; None of no argument."""

    operator: Operator
    sources: tuple[int | str, ...]
    results: tuple[int | None, ...]

    def arguments(self, args: tuple[Any, ...], written: int) -> list[Any]:
        """Return the arguments of the functional call."""
        return [args[each] if isinstance(each, int) else _read(each, args[written]) for each in self.sources]


def _read(name: str, out: Any) -> Any:
    return getattr(out, name) if name in _READ_OFF else None if name != "non_blocking" else False


def functional_variant(operator: Operator) -> Variant | None:
    """Return the functional variant of an operator that writes: `add.Tensor` for `add_.Tensor` and for `add.out`."""
    signature = operator.signature
    of_call = {
        name: signature.types[position]
        for position, name in enumerate(signature.names)
        if not (position in signature.written and operator.arguments[position].is_keyword_only)
    }
    results = _results(operator)
    found: list[tuple[int, Variant]] = []
    for each in _candidates(operator):
        names = each.signature.names
        extra = [name for name in names if name not in of_call]
        is_same = all(
            each.signature.types[names.index(name)] == of_call[name] if name in names else False for name in of_call
        )
        if is_same and set(extra) <= _OF_RESULT and len(each.signature.returns) == len(results):
            sources = tuple([signature.positions[name] if name in of_call else name for name in names])
            found.append((len(extra), Variant(each, sources, results)))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _results(operator: Operator) -> tuple[int | None, ...]:
    """Return for each result of the functional variant which written argument it is a new value of: results of the
    operator, and then what it writes and does not return."""
    aliases = operator.signature.aliases
    return (*aliases, *(position for position in sorted(operator.signature.written) if position not in aliases))


def _candidates(operator: Operator) -> Iterator[Operator]:
    """Yield the operators of the names that a functional variant may have, which write nothing and return no views."""
    base = operator.base
    plain = base if base.endswith("__") else base.removesuffix("_")
    if base.startswith("__i") and base.endswith("__"):
        plain = "__" + base[3:]
    for name in dict.fromkeys((plain, f"{plain}_functional")):
        packet = registry.overloads.get(f"{operator.namespace}::{name}")
        for each in () if packet is None else packet.operators.values():
            signature = each.signature
            if not signature.written and all(alias is None for alias in signature.aliases):
                yield each


def view_of(operator: Operator) -> Operator | None:
    """Return the view that an operator makes of a tensor in place: `transpose.int` for `transpose_`."""
    packet = registry.overloads.get(f"{operator.namespace}::{operator.base.removesuffix('_')}")
    for each in () if packet is None else packet.operators.values():
        if each.signature.names == operator.signature.names and each.signature.types == operator.signature.types:
            return each
    return None


def copy_of(operator: Operator) -> Operator | None:
    """Return the counterpart of a view that copies: `select_copy.int` for `select.int`."""
    _, dot, overload = operator.name.partition(".")
    return registry.operators.get(f"{operator.packet_name}_copy{dot}{overload}")


def scatter_of(operator: Operator) -> Operator | None:
    """Return the counterpart of a view that puts a part into its base: `select_scatter` for `select.int`. It takes the
    base, the part, and the view's other arguments."""
    packet = registry.overloads.get(f"{operator.packet_name}_scatter")
    for each in () if packet is None else packet.operators.values():
        if each.signature.names[2:] == operator.signature.names[1:] and not each.signature.written:
            return each
    return None
