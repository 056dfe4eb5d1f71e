"""`custom_op`: an operator from a Python function, its schema from the annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from numpy.typing import NDArray

from opwright.cost.tables import COSTS
from opwright.dimensions.declared import Dimensions
from opwright.inspection import schema as _schema
from opwright.library.custom_ops.definition import CustomOpDef, DeviceTypes
from opwright.library.custom_ops.metas import cost_said
from opwright.library.schema_inference import InferredSchema, annotated_arrays, infer
from opwright.library.schema_tags import check_tagged
from opwright.metadata.tags import Tag, as_tags
from opwright_core.dispatch.registry.rule_table import BATCHING
from opwright_core.tensors.tensor import Tensor

__all__ = ["custom_op"]

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


A = TypeVar("A", bound=NDArray[Any])
A_in = TypeVar("A_in", bound=NDArray[Any], contravariant=True)
R_out = TypeVar("R_out", covariant=True)
OfTensors = TypeVar("OfTensors", covariant=True)


class ArraysCall(Protocol[A_in, P, R_out, OfTensors]):
    """The types of a call where the function takes an array first: with an array those of the function, with a Tensor
    Tensors."""

    @overload
    def __call__(self, array: A_in, /, *args: P.args, **kwargs: P.kwargs) -> R_out: ...
    @overload
    def __call__(self, tensor: Tensor, /, *args: Any, **kwargs: Any) -> OfTensors: ...
    @overload
    def __call__(self, **kwargs: Any) -> Any: ...


class ArraysOpDef(CustomOpDef[..., Any], Generic[A_in, P, R_out, OfTensors]):
    """The type of custom operators whose function takes an array first, for type checkers."""

    if TYPE_CHECKING:
        __call__: ArraysCall[A_in, P, R_out, OfTensors]


class Define(Protocol):
    """The decorator, for type checkers. A function on arrays is an operator on Tensors, too, which its annotations do
    not say: where another argument comes before the array, what it takes and returns stays open."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], NDArray[Any]], /
    ) -> ArraysOpDef[A, P, NDArray[Any], Tensor]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], tuple[NDArray[Any], ...]], /
    ) -> ArraysOpDef[A, P, tuple[NDArray[Any], ...], tuple[Tensor, ...]]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[A, P], R], /) -> ArraysOpDef[A, P, R, R]: ...
    @overload
    def __call__(self, function: Callable[..., NDArray[Any]], /) -> CustomOpDef[..., Any]: ...
    @overload
    def __call__(self, function: Callable[..., tuple[NDArray[Any], ...]], /) -> CustomOpDef[..., Any]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> CustomOpDef[P, R]: ...


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] | None = (),
    meta: str | None = None,
    cost: str | Callable[..., Any] | None = None,
    dims: str = "",
) -> Define: ...
@overload
def custom_op(
    name: str,
    fn: Callable[P, R],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] | None = (),
    meta: str | None = None,
    cost: str | Callable[..., Any] | None = None,
    dims: str = "",
) -> CustomOpDef[P, R]: ...
def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] | None = (),
    meta: str | None = None,
    cost: str | Callable[..., Any] | None = None,
    dims: str = "",
) -> Any:
    """Define an operator, `namespace::name` or `namespace::name.overload`, whose kernel is a Python function; a
    decorator where `fn` is left out. Returns a CustomOpDef.

    `mutates_args` are the names of the arguments that the function writes to, or "unknown" for all. `device_types`:
    for which devices the function is (None: all). `schema`, `(Tensor x) -> Tensor`, is taken instead of the one that
    the annotations say. Parameters annotated `numpy.ndarray` are given as arrays. With the tag `inplace` the operator
    writes to its first argument and returns it; with `out`, to keyword-only ones. `meta`, `pointwise(x)`, says what
    results look like, as `CustomOpDef.register_meta` does. `cost`, `3 * numel(x)`, says what a call costs, as in schema
    files, or is a function of the arguments that returns the number of operations. `dims`,
    `n d, m d -> n m; d sum, linear(a, b)`, names dimensions, what cutting each costs, and the tensors in which the
    operator is linear, as in schema files.

    The operator lives as long as what is returned. Raises ValueError for annotations that say no schema, and where
    schema and `mutates_args` disagree; RegistrationError for a name that is taken. Semantics:
    `torch.library.custom_op`.
    """
    _check_name(name)

    def define(function: Function) -> CustomOpDef[..., Any]:
        known = as_tags(tags)
        if schema is None:
            parts = infer(function, mutates_args, known)
        else:
            parts = _given(name, schema, mutates_args, known, function)
        said = None if cost is None else cost_said(name, parts.declaration, cost, meta)
        dimensions = _schema.dimensions(name, parts.declaration, dims) if dims else None
        made: CustomOpDef[..., Any] = CustomOpDef(name, function, parts, device_types, known, meta)
        if dimensions is not None:
            rule, whole, groups = dimensions
            made._registered.give("dims", BATCHING, Dimensions(sharding=rule, whole=whole, linear=groups))
        if said is not None:
            made._registered.give("cost", COSTS, said)
        return made

    return define if fn is None else define(fn)


def _check_name(name: str) -> None:
    namespace, separator, rest = name.partition("::")
    base, dot, overload = rest.partition(".")
    words = (namespace, base, overload) if dot else (namespace, base)
    if not separator or not all(word.isidentifier() for word in words):
        raise ValueError(f"{name!r} is no qualified name of an operator: write namespace::name")


def _given(
    name: str,
    schema: str,
    mutates_args: str | Iterable[str],
    tags: tuple[Tag, ...],
    function: Function,
) -> InferredSchema:
    """Return the parts of a schema that was written out, which must agree with `mutates_args` and the tags."""
    if not schema.lstrip().startswith("("):
        raise ValueError(f'{name}: expected a schema without a name, like "(Tensor x) -> Tensor", got "{schema}"')
    parsed = _schema.parse_definition(f"{name}{schema}")
    written = [argument.name for argument in parsed.arguments if argument.is_write]
    if mutates_args != "unknown" and set(written) != set(mutates_args):
        raise ValueError(
            f"{name}: mutates_args is {sorted(mutates_args)}, but the schema {schema} says that the operator writes to "
            f"{sorted(written)}: make these agree"
        )
    check_tagged(parsed, tags)
    mutated = tuple(position for position, argument in enumerate(parsed.arguments) if argument.is_write)
    return InferredSchema(_schema.declaration_of(parsed), mutated, *annotated_arrays(function))
