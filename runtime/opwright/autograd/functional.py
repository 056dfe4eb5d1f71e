"""Derivatives of functions of tensors, as torch.autograd.functional has them.

`inputs` are a Tensor or a tuple of them, and so is what each returns. With `create_graph` the results can be
differentiated themselves; with `strict` an output that does not depend on an input is a RuntimeError, not zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.autograd import forward_ad
from opwright.autograd.differentiate import grad
from opwright.autograd.modes import enable_grad
from opwright.dispatch.aten import aten
from opwright.tensors.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Any]


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """Return the outputs, and v times the Jacobian for each input; without `v` for one output of one element."""
    with enable_grad():
        several, given = _inputs("vjp", inputs)
        given = _prepared(given, create_graph)
        are_several, outputs = _outputs("vjp", func(*given), strict)
        direction = _direction("vjp", v, outputs, "output")
        found = _gradients("vjp", outputs, given, direction, create_graph, strict)
    return _shown(outputs, are_several, create_graph), _shown(found, several, create_graph)


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """Return the outputs, and the Jacobian times v for each output. `v` may be left out for one input of one element.

    It is the gradient of the product that `vjp` gives, so that only gradients are needed.
    """
    with enable_grad():
        _, given = _inputs("jvp", inputs)
        direction = _direction("jvp", v, given, "input")
        given = _prepared(given, create_graph)
        are_several, outputs = _outputs("jvp", func(*given), strict)
        dummies = tuple(aten["zeros_like.default"](each).requires_grad_() for each in outputs)
        products = _gradients("jvp", outputs, given, dummies, True, strict)
        found = _gradients("jvp", products, dummies, direction, create_graph, strict)
    return _shown(outputs, are_several, create_graph), _shown(found, are_several, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of each element of each output by each of each input, of shape output + input.

    A tuple for several outputs, of tuples for several inputs. `strategy` is "reverse-mode", a pass for each element of
    an output, or "forward-mode", a call for each element of an input. `vectorize` has no effect: passes are looped.
    Raises ValueError for another strategy.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f"Expected strategy to be 'forward-mode' or 'reverse-mode', but got: {strategy!r}")
    if strategy == "forward-mode":
        if create_graph or strict:
            what = "create_graph=True" if create_graph else "strict=True"
            raise NotImplementedError(
                f"jacobian with strategy='forward-mode' does not support {what}; use reverse-mode"
            )
        return _forward_jacobian(func, inputs)
    with enable_grad():
        several, given = _inputs("jacobian", inputs)
        given = _prepared(given, create_graph)
        are_several, outputs = _outputs("jacobian", func(*given), strict)
        rows = [_rows(output, given, create_graph, strict) for output in outputs]
    shown = [_shown(row, several, create_graph) for row in rows]
    return tuple(shown) if are_several else shown[0]


def _rows(output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    """Return the Jacobian of one output."""
    found: list[tuple[Tensor, ...]] = []
    for element in aten["reshape.default"](output, [-1]):
        if not element.requires_grad:
            if strict:
                raise RuntimeError(_independent("jacobian", 0))
            found.append(tuple(aten["zeros_like.default"](each) for each in inputs))
            continue
        one = aten["ones_like.default"](element)
        found.append(_gradients("jacobian", (element,), inputs, (one,), create_graph, strict))
    columns = zip(*found, strict=True) if found else [()] * len(inputs)
    return tuple(_stacked(column, output, each) for column, each in zip(columns, inputs, strict=True))


def _stacked(values: Sequence[Tensor], output: Tensor, value: Tensor) -> Tensor:
    shape = [*output.shape, *value.shape]
    made: Tensor
    if not values:
        made = aten["zeros.default"](shape, dtype=value.dtype, device=value.device)
    else:
        made = aten["reshape.default"](aten["stack.default"](list(values)), shape)
    return made


def _forward_jacobian(func: Function, inputs: Tensors) -> Any:
    """Return the Jacobian by forward mode: one call for each element of an input."""
    several, given = _inputs("jacobian", inputs)
    columns: list[list[list[Tensor]]] = []  # by input, by its element, by output
    for place, value in enumerate(given):
        columns.append([])
        for number in range(value.numel()):
            direction = aten["zeros.default"]([value.numel()], dtype=value.dtype, device=value.device)
            aten["fill_.Scalar"](aten["select.int"](direction, 0, number), 1)
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(value.detach(), aten["reshape.default"](direction, list(value.shape)))
                duals = (*given[:place], dual, *given[place + 1 :])
                _, outputs = _outputs("jacobian", func(*duals), False)
                pairs = [forward_ad.unpack_dual(each) for each in outputs]
                columns[-1].append(
                    [
                        aten["zeros_like.default"](pair.primal) if pair.tangent is None else pair.tangent
                        for pair in pairs
                    ]
                )
    are_several, outputs = _outputs("jacobian", func(*given), False)
    rows = []
    for number, output in enumerate(outputs):
        row = []
        for value, column in zip(given, columns, strict=True):
            parts = [aten["reshape.default"](each[number], [-1]) for each in column]
            table = (
                aten["stack.default"](parts, 1)
                if parts
                else aten["zeros.default"]([output.numel(), 0], dtype=value.dtype)
            )
            row.append(aten["reshape.default"](table, [*output.shape, *value.shape]).detach())
        rows.append(tuple(row) if several else row[0])
    return tuple(rows) if are_several else rows[0]


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function with one element as result: tensors of the shapes of inputs i and j.

    `outer_jacobian_strategy` "forward-mode" differentiates the gradients forward. Raises RuntimeError where the
    function has another result.
    """
    several, given = _inputs("hessian", inputs)
    is_forward = outer_jacobian_strategy == "forward-mode"

    def gradients(*values: Tensor) -> Any:
        if is_forward:
            values = tuple(each if each.requires_grad else each.requires_grad_() for each in values)
        found = jacobian(_scalar("hessian", func), values, create_graph=True, strict=strict)
        return found if isinstance(found, tuple) else (found,)

    if is_forward:
        given = tuple(each.detach() for each in given)
    found = jacobian(gradients, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Tensors]:
    """Return the output, and v times the Hessian of a function with one result of one element."""
    with enable_grad():
        several, given = _inputs("vhp", inputs)
        direction = _direction("vhp", v, given, "input")
        given = _prepared(given, create_graph)
        _, outputs = _outputs("vhp", _scalar("vhp", func)(*given), strict)
        slopes = _gradients("vhp", outputs, given, None, True, strict)
        found = _gradients("vhp", slopes, given, direction, create_graph, strict)
    return _detached(outputs[0], create_graph), _shown(found, several, create_graph)


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Tensors]:
    """Return the output, and the Hessian times v: what `vhp` gives, by way of a `jvp` of the gradients."""
    with enable_grad():
        several, given = _inputs("hvp", inputs)
        direction = _direction("hvp", v, given, "input")
        given = _prepared(given, create_graph)
        _, outputs = _outputs("hvp", _scalar("hvp", func)(*given), strict)
        slopes = _gradients("hvp", outputs, given, None, True, strict)
        dummies = tuple(aten["zeros_like.default"](each).requires_grad_() for each in slopes)
        products = _gradients("hvp", slopes, given, dummies, True, strict)
        found = _gradients("hvp", products, dummies, direction, create_graph, strict)
    return _detached(outputs[0], create_graph), _shown(found, several, create_graph)


# -- what they share


def _inputs(name: str, inputs: Tensors) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(inputs, tuple)
    return several, _checked(name, "inputs", inputs if isinstance(inputs, tuple) else (inputs,))


def _checked(name: str, what: str, values: tuple[Any, ...]) -> tuple[Tensor, ...]:
    for place, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{place} has type {type(value).__name__}."
            )
    return values


def _prepared(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Return the inputs with a place of their own in the graph, behind the caller's where results are to have one."""
    if create_graph:
        return tuple(
            aten["view.default"](each, list(each.shape)) if each.requires_grad else each.detach().requires_grad_()
            for each in inputs
        )
    return tuple(each.detach().requires_grad_() for each in inputs)


def _outputs(name: str, outputs: Any, strict: bool) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(outputs, tuple)
    found = _checked(name, "outputs of the user-provided function", outputs if several else (outputs,))
    if strict:
        for place, output in enumerate(found):
            if not output.requires_grad:
                raise RuntimeError(_independent(name, place))
    return several, found


def _independent(name: str, place: int) -> str:
    return (
        f"Output {place} of the function given to {name} is independent of the inputs. This is not allowed in strict "
        "mode."
    )


def _scalar(name: str, func: Function) -> Function:
    """Return the function wrapped: it must return one Tensor of one element."""

    def call(*inputs: Tensor) -> Tensor:
        output = func(*inputs)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if output.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return aten["reshape.default"](output, [])  # type: ignore[no-any-return]

    return call


def _direction(name: str, v: Tensors | None, values: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    """Return `v`, checked against what it goes along with; ones for one tensor of one element."""
    if v is None:
        if len(values) != 1 or values[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None in {name} if the user-provided function has a single {what} with a "
                "single element."
            )
        return (aten["ones_like.default"](values[0].detach()),)
    given = _checked(name, "v", v if isinstance(v, tuple) else (v,))
    if len(given) != len(values):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(values)} but got {len(given)}.")
    for place, (each, value) in enumerate(zip(given, values, strict=True)):
        if each.shape != value.shape:
            raise RuntimeError(
                f"v has invalid size at index {place}: should be {list(value.shape)} but got {list(each.shape)}."
            )
    return given


def _gradients(
    name: str,
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    direction: tuple[Tensor, ...] | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Tensor, ...]:
    """Return the gradients of the outputs that require any, zeros for inputs that these do not depend on."""
    places = [place for place, output in enumerate(outputs) if output.requires_grad]
    found: Sequence[Tensor | None] = (None,) * len(inputs)
    if places:
        found = grad(
            [outputs[place] for place in places],
            inputs,
            None if direction is None else [direction[place] for place in places],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    results = []
    for place, (value, gradient) in enumerate(zip(inputs, found, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"The output of the function given to {name} is independent of input {place}. This is not allowed "
                    "in strict mode."
                )
            gradient = aten["zeros_like.default"](value.detach())
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The derivative of the function given to {name} is independent of input {place}. This is not allowed "
                "in strict mode when create_graph=True."
            )
        results.append(gradient)
    return tuple(results)


def _detached(value: Tensor, create_graph: bool) -> Tensor:
    return value if create_graph else value.detach()


def _shown(values: tuple[Tensor, ...], several: bool, create_graph: bool) -> Tensors:
    shown = tuple(_detached(each, create_graph) for each in values)
    return shown if several else shown[0]
