"""`NAME_dask.py`: the operators of a package as functions on Dask's arrays.

Which dimensions are cut into blocks is said in the package (`batching/`): what `dims` and
`meta` say. The runtime half builds the graphs.
"""

from __future__ import annotations

from opwright_codegen.declared.parts import Family
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, OptionalType
from opwright_codegen.targets.bindings.framework import Framework, Package
from opwright_codegen.views.operators import OperatorView

__all__ = ["FRAMEWORK"]

_FAMILIES = frozenset(("Along", "Elementwise", "Everything", "Folded", "Leading", "Product", "Reducing", "Windows"))


def _refusal(package: Package, operator: OperatorView) -> str | None:
    """Return why Dask cannot have an operator, None where it can."""
    schema, tags = operator.schema, operator.operator.tags
    if schema.kind is not SchemaKind.FUNCTIONAL or schema.mutated_arguments:
        return "it writes an argument, and Dask's arrays are not written to"
    if operator.operator.is_view_like:
        return "its result shares memory with an argument, and Dask's arrays do not"
    if "dynamic_output_shape" in tags or "data_dependent_output" in tags:
        return "what its result looks like depends on data, which a graph does not have"
    if "nondeterministic_seeded" in tags:
        return "it is random, and each worker would draw from a generator of its own"
    tensors = (BaseType("Tensor"), OptionalType(BaseType("Tensor")))
    if any(each.type.is_tensor_like and each.type not in tensors for each in schema.arguments):
        return "it takes a list of tensors"
    if not schema.returns or any(each.type != BaseType("Tensor") for each in schema.returns):
        return "it returns something else than tensors"
    if not package.bindings_of(operator):
        return "no kernel serves it"
    family, sharding = package.blocks.get(operator.name), package.shardings.get(operator.name)
    if sharding is not None and sharding.rule:
        return None
    if family is None or family.name not in _FAMILIES or _has_sizes(family):
        return "nothing says how blocks of its result follow from blocks of its arguments (dims)"
    return None


def _has_sizes(family: Family) -> bool:
    """Whether an argument gives the sizes of the result, which blocks would have to share out."""
    return family.name == "Along" and any(key == "size" for key, _ in family.keywords)


FRAMEWORK = Framework(_refusal)
