"""`NAME_xarray.py`: the operators of a package as functions on xarray's labelled arrays.

The module lists the overloads of each function, the names of their core dimensions, which `dims` and signatures of
`gufunc` declare, and the overloads that keep the order of elements along the dimensions that they work on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, OptionalType
from opwright_codegen.targets.bindings.framework import Framework, LeftOut, Package, functions
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import OperatorView

__all__ = ["FRAMEWORK"]

_OPTIONS = frozenset(("exclude_dims", "input_core_dims", "join", "keep_attrs", "new_dims"))
_SIGNATURE = re.compile(r"gufunc\(\s*[\"']([^\"']*)->")
_ORDERED = re.compile(r"\s*(scan|like|pointwise)\(")


def _refusal(package: Package, operator: OperatorView) -> str | None:
    """Return the reason why xarray cannot have an operator, None if it can."""
    schema, tags = operator.schema, operator.operator.tags
    if schema.kind is not SchemaKind.FUNCTIONAL or schema.mutated_arguments:
        return "it writes an argument, and labelled arrays are not written to"
    if operator.operator.is_view_like:
        return "its result shares memory with an argument, and labelled arrays do not"
    if "dynamic_output_shape" in tags or "data_dependent_output" in tags:
        return "the shape of its result depends on data, so that no labels are known"
    if "nondeterministic_seeded" in tags:
        return "it is random, and each worker of Dask would draw from a generator of its own"
    tensors = (BaseType("Tensor"), OptionalType(BaseType("Tensor")))
    given = [each for each in schema.arguments if each.type.is_tensor_like]
    if not given or any(each.type not in tensors for each in given):
        return "it takes a list of tensors" if given else "it takes no tensor"
    if not schema.returns or any(each.type != BaseType("Tensor") for each in schema.returns):
        return "it returns something else than tensors"
    if clash := sorted(_OPTIONS & {each.name for each in schema.arguments}):
        return f"its argument {clash[0]!r} has the name of an option"
    if not package.bindings_of(operator):
        return "no kernel serves it"
    if not {operator.name} & {*package.families, *package.blocks} and not _core(package, operator):
        return "neither meta nor dims tells the dimensions that it works on"
    return None


def _core(package: Package, operator: OperatorView) -> str:
    """Return the names of the core dimensions of each operand, `n d, m d`; nothing if they are not named."""
    sharding = package.shardings.get(operator.name)
    operands = sharding.rule.partition("->")[0] if sharding is not None and "->" in sharding.rule else ""
    if operands:
        names = [" ".join(re.findall(r"[A-Za-z_]\w*", each)) for each in operands.split(",")]
        return "" if "*" in operands or not any(names) else ", ".join(names)
    meta = operator.operator.meta
    found = _SIGNATURE.match(meta.text.strip()) if meta is not None else None
    groups = re.findall(r"\(([^)]*)\)", found[1]) if found else []
    return ", ".join(" ".join(re.findall(r"[A-Za-z_]\w*", each)) for each in groups)


def _context(package: Package, taken: Sequence[OperatorView], left_out: Sequence[LeftOut]) -> dict[str, object]:
    """Return the values of the template."""

    def more(overloads: Mapping[str, OperatorView]) -> Iterator[str]:
        named = {overload: _core(package, each) for overload, each in overloads.items()}
        core = [f"{quoted(overload)}: {quoted(text)}" for overload, text in named.items() if text]
        if core:
            yield bracketed("core={", core, "}", 4, 1)
        ordered = [quoted(overload) for overload, each in overloads.items() if _is_ordered(package, each)]
        if ordered:
            yield bracketed("ordered=[", ordered, "]", 4, 1)

    return functions(package, taken, left_out, lambda overloads: list(more(overloads)))


def _is_ordered(package: Package, operator: OperatorView) -> bool:
    """Return whether elements of results belong to the elements of operands at their place: so `meta` declares, or
    `dims`, if all dimensions of results are parallel."""
    meta, sharding = operator.operator.meta, package.shardings.get(operator.name)
    families = (package.families.get(operator.name), package.blocks.get(operator.name))
    is_product = any(each is not None and each.name == "Product" for each in families)
    if is_product or (meta is not None and _ORDERED.match(meta.text)):
        return True
    if sharding is None or "->" not in sharding.rule:
        return False
    results, _, kinds = sharding.rule.partition("->")[2].partition(";")
    return not {*re.findall(r"\w+", results)} & {*re.findall(r"(\w+) \w", kinds)}


FRAMEWORK = Framework(_refusal, _context)
