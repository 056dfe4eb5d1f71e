"""`grad`, `grad_and_value`, `vjp`, `jvp`, `linearize`: derivatives as functions. Semantics: `torch.func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Final, Literal, overload

from opwright.autograd.forward_ad import make_dual, unpack_dual
from opwright.autograd.recording import make_leaf
from opwright.func.backward import gradients_below
from opwright.func.levels import Differentiation, ForwardDifferentiation
from opwright.func.typed import Aux, First, P, Pullback, Result, Ts
from opwright.names.lazy_docstrings import wraps
from opwright.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from opwright_core.arrays.dtypes import INEXACT, dtype_name
from opwright_core.keys import AUTOGRAD
from opwright_core.tensors.tensor import Tensor

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]
_JVP: Final = "jvp(f, primals, tangents)"  # in messages


@overload  # (for a lambda, whose argument has no type else)
def grad(
    func: Callable[Concatenate[Tensor, P], Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Tensor, P], Tensor]: ...
@overload
def grad(
    func: Callable[Concatenate[First, P], Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[First, P], First]: ...
@overload
def grad(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...
@overload
def grad(
    func: Callable[Concatenate[First, P], tuple[Tensor, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[First, P], tuple[First, Aux]]: ...
@overload
def grad(
    func: Callable[P, Tensor], argnums: tuple[int, ...], has_aux: Literal[False] = False
) -> Callable[P, tuple[Any, ...]]: ...
@overload
def grad(func: Callable[P, Any], argnums: int | tuple[int, ...], has_aux: bool = False) -> Callable[P, Any]: ...
@overload
def grad(func: Function, *, has_aux: bool = False) -> Any: ...
def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """Return the function that gives the gradient of `func` with respect to the arguments at `argnums`, a tuple of them
    where that is one. `func` returns a scalar Tensor; with `has_aux`, that and anything else, which is returned too.

    Raises RuntimeError where `func` returns something else. Semantics: `torch.func.grad`.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, result = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, result[1]) if has_aux else found

    return wrapper


@overload
def grad_and_value(
    func: Callable[Concatenate[Tensor, P], Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Tensor]]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[First, P], Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[First, P], tuple[First, Tensor]]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, tuple[Tensor, Aux]]]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[First, P], tuple[Tensor, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[First, P], tuple[First, tuple[Tensor, Aux]]]: ...
@overload
def grad_and_value(
    func: Callable[P, Any], argnums: int | tuple[int, ...], has_aux: bool = False
) -> Callable[P, tuple[Any, Any]]: ...
@overload
def grad_and_value(func: Function, *, has_aux: bool = False) -> Any: ...
def grad_and_value(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """Return the function that gives the gradient, as `grad` does, and what `func` returns.

    Semantics: `torch.func.grad_and_value`.
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def _grad_and_value(
    func: Function, argnums: int | tuple[int, ...], has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    positions = positions_of(argnums, len(args))
    with Differentiation() as level:
        given = [
            _tracked(each, level, "grad") if position in positions else lifted(each, level)
            for position, each in enumerate(args)
        ]
        chosen = tuple([given[position] for position in positions])
        leaves, spec = tree_flatten(chosen[0] if isinstance(argnums, int) else chosen)
        result = func(*given, **(lifted(kwargs, level) if kwargs else kwargs))
        output = pair_of("grad_and_value(f)(*args)", result)[0] if has_aux else result
        _check_scalar(output)
        found = tree_unflatten(_gradients(level, [output], [None], leaves), spec)
        results = tree_map(level.out_of, result)
    return found, results


def positions_of(argnums: Any, count: int) -> list[int]:
    """Return positions from the front. Raises RuntimeError for what is none."""
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    if not several or {*map(type, several)} != {int}:
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], and must be non-empty, but it is {argnums!r}")
    for each in several:
        if not -count <= each < count:
            raise RuntimeError(f"Got argnum={each}, but only {count} positional inputs")
    positions = [each % count for each in several]
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, but they are {argnums!r}")
    return positions


def _tracked(tree: Any, level: Differentiation, name: str) -> Any:
    """Return an argument with its Tensors as ones of the level that require grad."""

    def track(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if value.dtype not in INEXACT:
            raise RuntimeError(
                f"{name}: a Tensor of {dtype_name(value.dtype)} has no gradient: only Tensors of floating point and "
                "complex dtype can require gradients"
            )
        made = level.lift(value)
        if made is value:  # it was an argument twice: it is a leaf already
            return made
        if not made.keys & AUTOGRAD:
            return made.requires_grad_()  # which says whether a tensor of inference mode may be one
        make_leaf(made)
        return made

    return tree_map(track, tree)


def lifted(tree: Any, level: Differentiation) -> Any:
    """Return an argument that is not differentiated with its Tensors as constants of the level, which the function may
    write to."""
    return tree_map(level.lift, tree)


def pair_of(name: str, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{name}: output of function f should be a tuple (output, aux) with has_aux=True, but it is a "
            f"{type(result).__name__}" + (f" of length {len(result)}" if isinstance(result, tuple) else "")
        )
    return result


def _check_outputs(call: str, output: Any, leaves: Sequence[Any]) -> None:
    """Raise RuntimeError unless a function returned tensors, and at least one."""
    if all(each is None for each in leaves):
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {output!r})")
    wrong = next((each for each in leaves if not isinstance(each, Tensor)), leaves)
    if wrong is not leaves:
        raise RuntimeError(f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(wrong)}")


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"Expected f(*args) to return a Tensor, but it returned {type(output).__name__}: grad differentiates one "
            "scalar Tensor (has_aux=True is for further results)"
        )
    if output.ndim:
        raise RuntimeError(
            f"Expected f(*args) to return a scalar tensor, but it has {output.ndim} dims: grad differentiates a scalar "
            "(vjp and jacrev take others)"
        )


def _gradients(
    level: Differentiation, outputs: Sequence[Tensor], grads: Sequence[Tensor | None], inputs: Sequence[Any]
) -> list[Any]:
    """Return the gradients of Tensors among the inputs as values, zeros where outputs do not depend on one."""
    wanted = [each for each in inputs if isinstance(each, Tensor)]
    kept = [(output, given) for output, given in zip(outputs, grads, strict=True) if output.requires_grad]
    if not kept:
        found: Sequence[Any] = [None] * len(wanted)
    else:
        outs, given_grads = zip(*kept, strict=True)
        found = gradients_below(level, outs, given_grads, wanted)
    each = iter(
        [
            level.out_of(value.new_zeros(value.shape)) if made is None else made
            for value, made in zip(wanted, found, strict=True)
        ]
    )
    return [next(each) if isinstance(value, Tensor) else None for value in inputs]


@overload
def vjp(
    func: Callable[[*Ts], tuple[Result, Aux]], *primals: *Ts, has_aux: Literal[True]
) -> tuple[Result, Pullback[*Ts], Aux]: ...
@overload
def vjp(
    func: Callable[[*Ts], Result], *primals: *Ts, has_aux: Literal[False] = False
) -> tuple[Result, Pullback[*Ts]]: ...
@overload
def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any: ...
def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:  # type: ignore[misc]  # mypy takes *Ts for another
    """Return what `func` gives for `primals`, and a function from vectors, one for each output, to their products with
    the jacobian. With `has_aux` the function returns `(output, aux)`, and `aux` comes last.

    Raises RuntimeError where `func` returns no tensors. Semantics: `torch.func.vjp`.
    """
    level = Differentiation()
    with level:
        tracked = _tracked(primals, level, "vjp")
        result = func(*tracked)
        output, aux = pair_of("vjp(f, *primals)", result) if has_aux else (result, None)
        outputs, spec = tree_flatten(output)
        _check_outputs("vjp(f, *primals)", output, outputs)
        leaves, structure = tree_flatten(tracked)
        results = tree_map(level.out_of, output)
        shown_aux = tree_map(level.out_of, aux)
    pullback = _Pullback(level, outputs, spec, leaves, structure)
    return (results, pullback, shown_aux) if has_aux else (results, pullback)


class _Pullback:
    """The function that `vjp` returns: it enters the level again, at the position that it had."""

    def __init__(
        self, level: Differentiation, outputs: list[Tensor], spec: TreeSpec, leaves: list[Any], structure: TreeSpec
    ) -> None:
        self._level = level
        self._outputs = outputs
        self._spec = spec
        self._leaves = leaves
        self._structure = structure

    def __call__(self, *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return a tuple of the products, one for each of the primals. As in PyTorch, the options may follow the
        cotangents: the products can be differentiated, and the graph is kept, whatever they are."""
        if all(each is None or isinstance(each, bool) for each in cotangents[1:3]) and len(cotangents) <= 3:
            cotangents = cotangents[:1]
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        grads, spec = tree_flatten(given)
        if spec != self._spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function: cotangents are {spec}, and outputs {self._spec}"
            )
        with self._level as level:
            return tree_unflatten(_gradients(level, self._outputs, grads, self._leaves), self._structure)


@overload
def jvp(
    func: Callable[[*Ts], tuple[Result, Aux]],
    primals: tuple[*Ts],
    tangents: tuple[*Ts],
    *,
    strict: bool = False,
    has_aux: Literal[True],
) -> tuple[Result, Result, Aux]: ...
@overload
def jvp(
    func: Callable[[*Ts], Result],
    primals: tuple[*Ts],
    tangents: tuple[*Ts],
    *,
    strict: bool = False,
    has_aux: Literal[False] = False,
) -> tuple[Result, Result]: ...
@overload
def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any: ...
def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return what `func` gives for `primals`, a tuple of its arguments, and the product of its jacobian with the
    `tangents`; with `has_aux` the function returns `(output, aux)`, and `aux` comes last.

    With `strict` an output that does not depend on an input raises RuntimeError, and so does what is no tensor.
    Semantics: `torch.func.jvp`.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"{_JVP}: Expected {name} to be a tuple of arguments, but it is {type(given).__name__}")
    values, spec = tree_flatten(primals)
    directions, structure = tree_flatten(tangents)
    if spec != structure or not values:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure, and at least one Tensor: they "
            f"are {spec} and {structure}"
        )
    with ForwardDifferentiation() as level:
        duals = [_dual(*pair) for pair in zip(values, directions, strict=True)]
        result = func(*tree_unflatten(duals, spec))
        output, aux = pair_of(_JVP, result) if has_aux else (result, None)
        leaves, outputs = tree_flatten(output)
        _check_outputs(_JVP, output, leaves)
        parts = [_parts(each, level, strict) for each in leaves]
        shown_aux = tree_map(level.out_of, aux)
    results = tuple(tree_unflatten([part[position] for part in parts], outputs) for position in (0, 1))
    return (*results, shown_aux) if has_aux else results


def _dual(primal: Any, tangent: Any) -> Tensor:
    for name, value in (("primals", primal), ("tangents", tangent)):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to have only Tensors, but there is {type(value).__name__}")
    return make_dual(primal, tangent)


def _parts(output: Any, level: ForwardDifferentiation, strict: bool) -> tuple[Any, Any]:
    primal, tangent = unpack_dual(output)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs, so that its "
                "tangent would be zeros"
            )
        tangent = primal.new_zeros(primal.shape)
    return level.out_of(primal), level.out_of(tangent)


def linearize(func: Callable[[*Ts], Result], *primals: *Ts) -> tuple[Result, Callable[[*Ts], Result]]:
    """Return what `func` gives for `primals`, and the function from tangents to the products with its jacobian there.

    The function calls `func` again each time, for the jacobian's product alone. Semantics: `torch.func.linearize`.
    """
    output = func(*primals)

    def product(*tangents: *Ts) -> Result:
        return jvp(func, primals, tangents)[1]

    return output, product
