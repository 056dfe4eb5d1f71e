"""`Function`: an operation with a backward of its own, written in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from opwright.autograd import anomaly
from opwright.autograd.function_jvp import cells_of, give_tangents
from opwright.autograd.gradients import fit, zeros
from opwright.autograd.modes import enable_grad, is_grad_enabled, no_grad
from opwright.autograd.nodes import Edge, MultipleOutputs, Node, next_sequence
from opwright.autograd.recording import (
    check_inplace,
    check_writable,
    increment_version,
    mark_view,
    rebase_history,
    refresh,
)
from opwright.autograd.saved import Saved, save, save_result, unpack
from opwright.autograd.tangents import ignoring_tangents
from opwright.autograd.views import ViewOfBase
from opwright.dtypes import INEXACT
from opwright.keys import GRAD, TANGENT, VIEW
from opwright.state import active_modes
from opwright.tensor import Tensor, wrap_view

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx(MultipleOutputs):
    """What `forward` and `backward` of a Function share, and the node of its call in the graph.

    Attributes of any other name may be set on it; tensors belong into `save_for_backward`.
    """

    function: type[Function]
    takes_undefined = True
    _is_in_jvp = False  # contexts of custom operators are made without a constructor

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(value, Tensor) and value.edge is not None for value in inputs)
        self.edges: tuple[Edge, ...] = ()
        self.extra = None
        self.outputs = ()
        self.sequence = -1
        self.materialize_grads = True
        self._inputs = len(inputs)
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._saved: Sequence[Saved] | None = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.without_gradient: frozenset[int] = frozenset()  # numbers of outputs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for `backward`, which finds them in `saved_tensors`: to be called once, in forward."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}: keep "
                    "what is no Tensor as an attribute, ctx.name = value"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for `jvp`, which finds them in `saved_tensors`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` wrote to; each must be among its outputs."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are not defined reach `backward` as zeros (so it is at first) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept. Raises RuntimeError where it was freed, or written to since."""
        if self._is_in_jvp:
            return self.saved_for_forward
        saved = self._saved
        if saved is None:
            unpack(None, self)
        return tuple(None if each is NOTHING else unpack(each, self) for each in saved or ())

    saved_variables = saved_tensors

    @property
    def dirty_tensors(self) -> tuple[Tensor, ...]:
        """What `mark_dirty` was given."""
        return self._dirty

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary that a user may keep things in."""
        kept: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return kept

    def name(self) -> str:
        """`MyFunctionBackward`."""
        return type(self).__name__

    saved = ("_saved",)

    def release(self) -> None:
        """Free what was saved, if anything was."""
        if self._saved:
            self._saved = None

    def apply(self, *grads: Any) -> Sequence[Any]:
        """Call `backward`, and check what it returns. Raises RuntimeError."""
        if self.materialize_grads:
            grads = tuple(
                zeros(*output) if grad is None and output is not None else grad  # type: ignore[arg-type]
                for grad, output in zip(grads, self.outputs, strict=True)
            )
        found = self.function.backward(self, *grads)
        results = list(found) if isinstance(found, tuple | list) else [found]
        while len(results) > self._inputs and results[-1] is None:
            results.pop()
        if len(results) != self._inputs:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {self._inputs}, got "
                f"{len(results)})"
            )
        for index, (edge, result) in enumerate(zip(self.edges, results, strict=True)):
            if edge is None:
                if result is not None and not self._is_tensor[index]:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different from None at position {index + 1}, but "
                        "the corresponding forward input was not a Tensor"
                    )
            elif result is not None:
                results[index] = fit(result, edge, self, index)
        return results

    def call_jvp(self, tangents: Sequence[Any]) -> Any:
        """What `jvp` returns for tangents of the inputs; in it `saved_tensors` are those kept for it."""
        self._is_in_jvp = True
        try:
            return self.function.jvp(self, *tangents)
        finally:
            self._is_in_jvp = False

    _is_tensor: tuple[bool, ...] = ()


NOTHING = object()  # stands for a None that was saved


class Function:
    """An operation with its own gradient: subclass it, write `forward` and `backward`, call `apply`.

    `forward(ctx, *inputs)`, or `forward(*inputs)` with `setup_context(ctx, inputs, output)`; `backward(ctx, *grads)`
    returns a gradient, or None, for each input. All are static methods.
    """

    _context: type[FunctionCtx]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} should not be instantiated: call {type(self).__name__}.apply(...)")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._context = type(f"{cls.__name__}Backward", (FunctionCtx,), {"function": cls, "__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The outputs: Tensors and anything else, one or a tuple. Operators in it are not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for `backward`, where `forward` has no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the inputs."""
        raise NotImplementedError("You must implement the backward function for your custom autograd.Function.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation, and record it where an input requires grad. Raises RuntimeError."""
        keys = 0
        for value in args:
            if isinstance(value, Tensor):
                keys |= value.keys
                if value.keys & VIEW:
                    refresh(value)
        modes = active_modes()
        if modes is not None:
            keys = (keys | modes.include) & modes.mask
        cells = cells_of(cls, args) if keys & TANGENT else None
        ctx = cls._context(args)
        is_recorded = is_grad_enabled() and any(ctx.needs_input_grad)
        with no_grad(), ignoring_tangents() if keys & TANGENT else nullcontext():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        several = isinstance(output, tuple)
        outputs = _finish(ctx, args, list(output) if several else [output], is_recorded)
        if cells is not None:
            give_tangents(ctx, args, cells, outputs)
        return tuple(outputs) if several else outputs[0]


def _finish(ctx: FunctionCtx, inputs: Sequence[Any], outputs: list[Any], is_recorded: bool) -> list[Any]:
    """Give the outputs their history, and keep what is to be saved."""
    _check_dirty(ctx, outputs)
    for tensor in ctx._dirty:
        if is_recorded:
            _check_dirty_leaf(tensor)
        check_writable(tensor)
        increment_version(tensor)
    if is_recorded:
        ctx.sequence = next_sequence()
        ctx.edges = tuple(value.edge if isinstance(value, Tensor) else None for value in inputs)
        ctx._is_tensor = tuple(isinstance(value, Tensor) for value in inputs)
        ctx.outputs = [
            (each.shape, each.dtype, each.device) if isinstance(each, Tensor) else None for each in outputs
        ]  # fmt: skip
        if anomaly.is_on():
            anomaly.note(ctx)
    given = {id(value) for value in inputs if isinstance(value, Tensor)}
    results = [_result(ctx, number, each, given, is_recorded, len(outputs)) for number, each in enumerate(outputs)]
    _keep(ctx, outputs, results, is_recorded)
    without = ctx._non_differentiable
    ctx.without_gradient = frozenset(n for n, each in enumerate(outputs) if any(each is one for one in without))
    ctx._dirty = ctx._non_differentiable = ctx._to_save = ()
    return results


def _check_dirty(ctx: FunctionCtx, outputs: Sequence[Any]) -> None:
    returned = {id(each) for each in outputs}
    if any(id(tensor) not in returned for tensor in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )


def _check_dirty_leaf(tensor: Tensor) -> None:
    if tensor.edge is not None and tensor.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_inplace(tensor)


def _result(
    ctx: FunctionCtx, number: int, output: Any, given: set[int], is_recorded: bool, count: int
) -> Any:  # fmt: skip
    if not isinstance(output, Tensor):
        return output
    is_dirty = any(output is tensor for tensor in ctx._dirty)
    is_input = id(output) in given
    if any(output is tensor for tensor in ctx._non_differentiable) or output.dtype not in INEXACT:
        ctx.outputs = [None if place == number else each for place, each in enumerate(ctx.outputs)]
        if is_input and output.edge is not None and not is_dirty:
            return output.detach()
        return output
    if is_dirty:
        return _rebased(ctx, number, output, count) if is_recorded else output
    if is_input:
        output = wrap_view(output, output.array)
        mark_view(output, "custom_function")
    if is_recorded:
        output.edge = ctx, number
        output.keys |= GRAD
        if output.keys & VIEW:
            mark_view(output, "several" if count > 1 else "custom_function")
    return output


def _rebased(ctx: FunctionCtx, number: int, output: Tensor, count: int) -> Tensor:
    extra = output.extra
    if extra is None or extra.base is None:
        output.edge = ctx, number
        output.keys |= GRAD
        if extra is not None and extra.storage is not None:
            extra.storage.rewrites += 1
        return output
    if count > 1:
        raise RuntimeError(
            "If your Function modifies a Tensor inplace that is a view, it must return that Tensor alone: gradients of "
            "several outputs cannot be put into the history of the view's base"
        )
    return rebase_history(output, _WriteByFunction(ctx, output))


class _WriteByFunction(Node):
    """A Function that wrote to a view, as a node of one output: what the base's history holds."""

    __slots__ = ("ctx",)
    saved = ("ctx",)

    def __init__(self, ctx: FunctionCtx, view: Tensor) -> None:
        self.ctx: FunctionCtx = ctx
        place = next(index for index, edge in enumerate(ctx.edges) if edge is view.edge) if view.edge else 0
        self.edges = (ctx.edges[place], *ctx.edges[:place], *ctx.edges[place + 1 :])

    def name(self) -> str:
        """The Function's name."""
        return self.ctx.name()

    def release(self) -> None:
        """Free what the Function saved."""
        self.ctx.release()

    def apply(self, grad: Any) -> Sequence[Any]:
        """The gradients, that of the view first."""
        results = list(self.ctx.apply(grad))
        place = next(index for index, edge in enumerate(self.ctx.edges) if edge is self.edges[0])
        return (results.pop(place), *results)


def _keep(ctx: FunctionCtx, outputs: Sequence[Any], results: Sequence[Any], is_recorded: bool) -> None:
    """Save what `save_for_backward` named: outputs without their edge, which leads to the context and would make a
    cycle; that of a view written to does so by the history of its base."""
    saved: list[Saved] = []
    for tensor in ctx._to_save:
        if tensor is None:
            saved.append(NOTHING)
            continue
        number = next((place for place, each in enumerate(outputs) if each is tensor), None)
        edge = None if number is None else results[number].edge
        is_own = isinstance(edge, ViewOfBase) if type(edge) is not tuple else edge[0] is ctx
        if is_recorded and is_own and number is not None:
            saved.append(save_result(results[number], number))
        else:
            saved.append(save(tensor) if is_recorded else (tensor, tensor._version if not tensor.is_inference() else 0))
    ctx._saved = tuple(saved)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose results cannot be differentiated: doing so is an error, not a wrong gradient."""

    @functools.wraps(backward)
    def call(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outputs = backward(ctx, *grads)
        if not is_grad_enabled() or not any(isinstance(each, Tensor) and each.requires_grad for each in grads):
            return outputs
        several = isinstance(outputs, tuple)
        marked = [_Undifferentiable.mark(each) for each in (outputs if several else (outputs,))]
        return tuple(marked) if several else marked[0]

    return call


class _Undifferentiable(Function):
    """Stands where a gradient cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, anchor: Tensor) -> Tensor:
        return wrap_view(value, value.array)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @classmethod
    def mark(cls, value: Any) -> Any:
        """The value, with this node behind it."""
        if not isinstance(value, Tensor):
            return value
        with enable_grad():
            return cls.apply(value.detach().requires_grad_(), value)
