"""`jacrev`, `jacfwd`, `hessian`: all partial derivatives at once. Semantics: `torch.func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from opwright.batching.batching import Randomness
from opwright.batching.transform import vmap
from opwright.func.levels import Differentiation
from opwright.func.transforms import jvp, lifted, positions_of, vjp
from opwright.names.lazy_docstrings import wraps
from opwright.namespaces import aten
from opwright.pytree import tree_flatten, tree_unflatten
from opwright_core.arrays.dtypes import COMPLEX
from opwright_core.arrays.layouts import count
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["hessian", "jacfwd", "jacrev"]

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]
P = ParamSpec("P")
Aux = TypeVar("Aux")
Differentiated = Callable[Concatenate[Tensor, P], Tensor]  # of the first argument, a Tensor, to one


@overload
def jacrev(
    func: Differentiated[P],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    chunk_size: int | None = None,
) -> Differentiated[P]: ...
@overload
def jacrev(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    chunk_size: int | None = None,
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...
@overload
def jacrev(
    func: Callable[P, Any], argnums: Argnums, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[P, Any]: ...
@overload
def jacrev(func: Function, *, has_aux: bool = False, chunk_size: int | None = None) -> Any: ...
def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """Return the function that gives the jacobian of `func` with respect to the arguments at `argnums`, by one backward
    pass for all elements of the outputs, or for `chunk_size` of them at a time.

    The result has the structure of the outputs; each leaf is an argument's structure, a tuple of these for a tuple of
    `argnums`, with Tensors of the shape of the output and then of the input. With `has_aux` the function returns
    `(output, aux)`, and `aux` is returned too. Raises RuntimeError for complex ones. Semantics: `torch.func.jacrev`.
    """
    _check_chunk_size(chunk_size)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen, inner = _chosen(func, argnums, args, kwargs)
        inputs, in_spec = tree_flatten(chosen)
        _check_real("jacrev", "inputs", inputs)
        found = vjp(inner, *chosen, has_aux=has_aux)
        output, pullback = found[0], found[1]
        outputs, out_spec = tree_flatten(output)
        _check_tensors("jacrev", outputs)
        _check_real("jacrev", "outputs", outputs)

        def rows(*cotangents: Any) -> Any:
            given = tree_unflatten(cotangents, out_spec)
            returned = pullback(*given) if type(given) is tuple and len(given) > 1 else pullback(given)
            return tree_flatten(returned)[0]

        columns = vmap(rows, chunk_size=chunk_size)(*_basis(outputs))
        made = []
        start = 0
        for each in outputs:
            size = count(each.shape)
            parts = [
                aten["view.default"](aten["narrow.default"](column, 0, start, size), [*each.shape, *value.shape])
                for column, value in zip(columns, inputs, strict=True)
            ]
            made.append(_by_argument(parts, in_spec, argnums))
            start += size
        jacobian = tree_unflatten(made, out_spec)
        return (jacobian, found[2]) if has_aux else jacobian

    return wrapper


@overload
def jacfwd(
    func: Differentiated[P],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    randomness: Randomness = "error",
) -> Differentiated[P]: ...
@overload
def jacfwd(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    randomness: Randomness = "error",
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...
@overload
def jacfwd(
    func: Callable[P, Any], argnums: Argnums, has_aux: bool = False, *, randomness: Randomness = "error"
) -> Callable[P, Any]: ...
@overload
def jacfwd(func: Function, *, has_aux: bool = False, randomness: Randomness = "error") -> Any: ...
def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: Randomness = "error"
) -> Function:
    """Return the function that gives the jacobian of `func` as `jacrev` does, by one forward pass for all elements of
    the arguments at `argnums`. `randomness` is that of `vmap`. Semantics: `torch.func.jacfwd`.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen, inner = _chosen(func, argnums, args, kwargs)
        inputs, in_spec = tree_flatten(chosen)
        _check_tensors("jacfwd", inputs)
        _check_real("jacfwd", "inputs", inputs)
        kept: list[Any] = []

        def columns(*tangents: Tensor) -> Any:
            found = jvp(inner, chosen, tree_unflatten(tangents, in_spec), has_aux=has_aux)
            outputs, spec = tree_flatten(found[1])
            _check_real("jacfwd", "outputs", outputs)
            leaves, aux_spec = tree_flatten(found[2]) if has_aux else ([], spec)
            kept[:] = [spec, leaves, aux_spec]
            return outputs, [each for each in leaves if isinstance(each, Tensor)]

        found, aux = vmap(columns, out_dims=(-1, 0), randomness=randomness)(*_basis(inputs))
        sizes = [count(value.shape) for value in inputs]
        made = []
        for each in found:
            parts, start = [], 0
            for value, size in zip(inputs, sizes, strict=True):
                part = aten["narrow.default"](each, -1, start, size)
                parts.append(aten["reshape.default"](part, [*each.shape[:-1], *value.shape]))
                start += size
            made.append(_by_argument(parts, in_spec, argnums))
        spec, leaves, aux_spec = kept
        jacobian = tree_unflatten(made, spec)
        tensors = iter(aux)  # of all samples, which have the same
        shown = [next(tensors)[0] if isinstance(each, Tensor) else each for each in leaves]
        return (jacobian, tree_unflatten(shown, aux_spec)) if has_aux else jacobian

    return wrapper


@overload
def hessian(func: Differentiated[P], argnums: Literal[0] = 0) -> Differentiated[P]: ...
@overload
def hessian(func: Callable[P, Any], argnums: Argnums) -> Callable[P, Any]: ...
@overload
def hessian(func: Function) -> Any: ...
def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """Return the function that gives the second derivatives of `func` with respect to the arguments at `argnums`:
    `jacfwd(jacrev(func))`. Semantics: `torch.func.hessian`."""
    return jacfwd(jacrev(func, argnums), argnums)


def _check_chunk_size(size: Any) -> None:
    if size is not None and (type(size) is not int or size < 1):
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {size!r}")


def _chosen(
    func: Function, argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Function]:
    """Return the arguments at `argnums`, and the function of these."""
    positions = positions_of(argnums, len(args))

    def inner(*values: Any) -> Any:
        modes = active_modes()
        assert modes is not None and isinstance(modes.top, Differentiation)  # that calls this function
        given = list(lifted(args, modes.top))
        for position, value in zip(positions, values, strict=True):
            given[position] = value
        return func(*given, **lifted(kwargs, modes.top))

    return tuple([args[position] for position in positions]), inner


def _check_tensors(name: str, leaves: Sequence[Any]) -> None:
    wrong = next((each for each in leaves if not isinstance(each, Tensor)), None)
    if wrong is not None or not leaves:
        what = "nothing" if wrong is None else type(wrong).__name__
        raise RuntimeError(f"{name}: Expected only Tensors among inputs and outputs, and at least one, but got {what}")


def _check_real(name: str, what: str, leaves: Sequence[Any]) -> None:
    """Raise RuntimeError for a complex tensor: it has two real derivatives, and one number for both is a holomorphic
    function's alone."""
    for position, each in enumerate(leaves):
        if isinstance(each, Tensor) and each.dtype in COMPLEX:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened {what[:-1]} idx: "
                f"{position}. Give it the real view, opwright.view_as_real"
            )


def _basis(values: Sequence[Tensor]) -> list[Tensor]:
    """Return, for tensors taken as one long vector, all vectors that are 1 in one position and 0 elsewhere: the parts
    that belong to each tensor, with the vectors in the first dimension."""
    sizes = [count(value.shape) for value in values]
    total = sum(sizes)
    made, start = [], 0
    for value, size in zip(values, sizes, strict=True):
        part = aten["new_zeros.default"](value, [total, size])
        if size:
            aten["fill_.Scalar"](aten["diagonal.default"](part, -start), 1)
        made.append(aten["view.default"](part, [total, *value.shape]))
        start += size
    return made


def _by_argument(parts: list[Any], spec: Any, argnums: Argnums) -> Any:
    returned = tree_unflatten(parts, spec)
    return returned[0] if isinstance(argnums, int) else returned
