"""The out variant of a functional operator, found among the overloads of its name.

The rules are those of `torch._library._out_variant`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opwright_core.dispatch.call.operator import Operator

__all__ = ["check_out_variant", "to_out_variant"]


def to_out_variant(op: Operator, /) -> Operator | None:
    """Return the overload with the tag `out` that takes what `op` takes and writes what it returns; None without one.

    Arguments have to agree in names, types and defaults, and one is written for each result. Raises RuntimeError where
    `op` is not functional. (That an operator with the tag returns what it writes was checked when it was defined.)
    """
    schema = op.schema
    if schema.mutated_arguments or schema.name.base.endswith("_"):
        raise RuntimeError(f"{op.name} has no out variant, since it is not functional: {schema}")
    wanted = list(_inputs(schema))
    siblings: dict[str, Operator] = op.siblings
    for candidate in siblings.values():
        if "out" not in candidate.tags:
            continue
        found = candidate.schema
        if list(_inputs(found)) == wanted and len(found.mutated_arguments) == len(schema.returns):
            return candidate
    return None


def check_out_variant(functional: Operator, out: Operator, /) -> None:
    """Raise AssertionError unless `out` is the out variant that `to_out_variant` finds for `functional`."""
    found = to_out_variant(functional)
    if found is out:
        return
    if found is not None:
        raise AssertionError(f"the out variant of {functional.name} is {found.name}, not {out.name}")
    tagged = [f"  {other.name}{other.declaration}" for other in functional.siblings.values() if "out" in other.tags]
    raise AssertionError(
        f"{functional.name} has no out variant. One is an overload of the same name, has the tag out, takes the same "
        f"arguments (names, types, defaults), and writes one more for each result. "
        f"Overloads with the tag out:\n{chr(10).join(tagged) or '  none'}"
    )


def _inputs(schema: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, type and default of each argument that is only read. A symbolic integer is an int to a caller."""
    for argument in schema.arguments:
        if not argument.is_write:
            yield argument.name, str(argument.type).replace("SymInt", "int"), argument.default
