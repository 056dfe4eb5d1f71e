"""`Function`: an operation with a backward of its own, written in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from opwright.autograd.function_jvp import cells_of, give_tangents, without_tangents_or_grad
from opwright.autograd.function_outputs import NOTHING, finish
from opwright.autograd.gradients import fit, zeros, zeros_for
from opwright.autograd.modes import enable_grad, is_grad_enabled, no_grad
from opwright.autograd.nodes import Edge, MultipleOutputs
from opwright.autograd.recording import refresh
from opwright.autograd.saved import Saved, unpack
from opwright.names.late_bound import late_bound
from opwright_core.arrays.dtypes import INEXACT, as_dtype
from opwright_core.keys import TANGENT, VIEW
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, wrap_view

__all__ = ["Function", "FunctionCtx", "check_setup_context", "once_differentiable"]


class FunctionCtx(MultipleOutputs):
    """The context that `forward` and `backward` of a Function share, and the node of its call in the graph.

    Attributes of any other name may be set on it; tensors belong into `save_for_backward`.
    """

    function: type[Function]
    takes_undefined = True
    saved_for_forward: tuple[Any, ...] = ()
    without_gradient: frozenset[int] = frozenset()  # numbers of outputs
    zeros_like: Sequence[Any] = ()  # shape, dtype and device of each output, None for what is no tensor
    has_setup = False  # whether the Function has a `setup_context`
    _is_in_jvp = False
    _is_in_backward = False
    _grad_dtypes: tuple[Any, ...] | None = None  # of outputs, where they were declared

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(value, Tensor) and value.edge is not None for value in inputs)
        self.edges: tuple[Edge, ...] = ()
        self.extra = None
        self.outputs = ()
        self.sequence = -1
        self.materialize_grads = True
        self._inputs = len(inputs)
        self._buffers: tuple[Tensor | None, ...] | None = None
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._saved: Sequence[Saved] | None = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for `backward`, which finds them in `saved_tensors`: to be called once, in forward."""
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

    def set_output_grad_dtype(self, *dtypes: Any) -> None:
        """Say of each output in which dtype `backward` gets its gradient; None: in whichever it comes, and for outputs
        that have none. Without this it is the output's dtype. To be called once, in forward. Raises RuntimeError."""
        if self._grad_dtypes is not None:
            raise RuntimeError("set_output_grad_dtype can only be called once")
        self._grad_dtypes = tuple(None if each is None else _gradient_dtype(each) for each in dtypes)

    def output(self, number: int) -> Any:
        """Return shape, dtype and device of the gradient of an output; no dtype: it is not looked at."""
        shape, dtype, device = super().output(number)
        return shape, dtype if self._grad_dtypes is None else self._grad_dtypes[number], device

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """Return what `save_for_backward` kept. Raises RuntimeError where it was freed, or written to since."""
        if self._is_in_jvp:
            return self.saved_for_forward
        saved = self._saved
        if saved is None:
            unpack(None, self)
        return tuple(None if each is NOTHING else unpack(each, self) for each in saved or ())

    saved_variables = saved_tensors

    @property
    def input_grad_buffers(self) -> tuple[Tensor | None, ...]:
        """Return zeros for each input that needs a gradient, None for others: what `backward` adds to them is the
        gradient of an input for which it returns None. Raises RuntimeError outside of `backward`."""
        if not self._is_in_backward:
            raise RuntimeError("ctx.input_grad_buffers is there in backward alone: forward has no gradients")
        if self._buffers is None:
            self._buffers = zeros_for(self.edges)
        return self._buffers

    @property
    def dirty_tensors(self) -> tuple[Tensor, ...]:
        """Return what `mark_dirty` was given."""
        return self._dirty

    @property
    def metadata(self) -> dict[Any, Any]:
        """Return a dictionary that a user may keep things in."""
        kept: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return kept

    def name(self) -> str:
        """Return a name such as `MyFunctionBackward`."""
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
                zeros(*like) if grad is None and like is not None else grad
                for grad, like in zip(grads, self.zeros_like, strict=True)
            )
        self._buffers, self._is_in_backward = None, True
        try:
            found = _backward_of(self.function)(self, *grads)
        finally:
            buffers, self._buffers, self._is_in_backward = self._buffers, None, False
        results = list(found) if isinstance(found, tuple) else [found]
        while len(results) > self._inputs and results[-1] is None:
            results.pop()
        if len(results) != self._inputs:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {self._inputs}, got "
                f"{len(results)})"
            )
        if buffers is not None:
            results = [buffer if grad is None else grad for grad, buffer in zip(results, buffers, strict=True)]
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
        """Return the tangents that `jvp` gives for those of the inputs; in it `saved_tensors` are those kept for it."""
        self._is_in_jvp = True
        try:
            return self.function.jvp(self, *tangents)
        finally:
            self._is_in_jvp = False

    _is_tensor: tuple[bool, ...] = ()


class Function:
    """An operation with its own gradient: subclass it, write `forward` and `backward`, call `apply`.

    `forward(ctx, *inputs)`, or `forward(*inputs)` with `setup_context(ctx, inputs, output)`; `backward(ctx, *grads)`
    returns a gradient, or None, for each input. All are static methods.
    """

    _context: type[FunctionCtx]
    generate_vmap_rule = False  # whether `vmap` makes its rule of the methods below

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} should not be instantiated: call {type(self).__name__}.apply(...)")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._context = type(f"{cls.__name__}Backward", (FunctionCtx,), {"function": cls, "__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Return the outputs: Tensors and anything else, one or a tuple. Operators in it are not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for `backward`, where `forward` has no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs."""
        raise NotImplementedError("You must implement the backward function for your custom autograd.Function.")

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs: `backward` by another name, of which a Function has one."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return `(output, out_dims)` for a batch of samples, as a rule of `opwright.library.register_vmap` does."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap static method")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation, and record it where an input requires grad. Raises RuntimeError.

        `setup_context` sees the arguments as `forward` gets them: those given by name in their positions, and defaults.
        """
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            args, kwargs = _bound(cls.forward, args, kwargs)
        modes = active_modes()
        if modes is not None and modes.top is not None:
            return late_bound.levels().call_function(cls, args, kwargs)
        return cls.call(cls.forward, args, kwargs)

    @classmethod
    def call(cls, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do as `apply` where no transform is on, with what is called instead of the class's own `forward`."""
        has_setup = cls.setup_context is not Function.setup_context
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
        ctx.has_setup = has_setup
        is_recorded = is_grad_enabled() and any(ctx.needs_input_grad)
        with without_tangents_or_grad() if keys & TANGENT else no_grad():
            if has_setup:
                output = forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = forward(ctx, *args, **kwargs)
        several = isinstance(output, tuple)
        outputs = finish(ctx, args, list(output) if several else [output], is_recorded)
        if cells is not None:
            give_tangents(ctx, args, cells, outputs)
        return tuple(outputs) if several else outputs[0]


def _gradient_dtype(dtype: Any) -> Any:
    """Return a dtype that a gradient may have. Raises RuntimeError."""
    try:
        found = as_dtype(dtype)
    except TypeError:
        found = None
    if found not in INEXACT or isinstance(dtype, str):
        raise RuntimeError(
            f"set_output_grad_dtype expects each declaration to be a dtype of floating-point or complex numbers, or "
            f"None, but got {dtype!r}"
        )
    return found


def check_setup_context(function: type[Function]) -> None:
    """Raise RuntimeError for a Function whose `forward` and context a transform cannot tell apart."""
    if function.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod: {function.__name__} has forward(ctx, ...) alone. Write "
            "forward(...) without ctx, and setup_context(ctx, inputs, output) for what it saves"
        )


def _backward_of(function: type[Function]) -> Callable[..., Any]:
    """Return the `backward` of a Function, or its `vjp`. Raises RuntimeError where it has both."""
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            f"{function.__name__} has both 'backward' and 'vjp', which are two names of one method: keep one of them"
        )
    return function.vjp


def _bound(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call by position, defaults filled in; those that `forward` takes by name stay so."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) == code.co_argcount:
        return args, kwargs
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


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
    """A node where a gradient cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, anchor: Tensor) -> Tensor:
        return wrap_view(value, value.array)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @classmethod
    def mark(cls, value: Any) -> Any:
        """Return the value, with this node behind it."""
        if not isinstance(value, Tensor):
            return value
        with enable_grad():
            return cls.apply(value.detach().requires_grad_(), value)
