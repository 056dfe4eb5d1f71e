"""An `autograd.Function` under `vmap`: called by the rule it has, or by one that is made of its methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.autograd.function import Function, check_setup_context
from opwright.batching.batching import Batching
from opwright.batching.registered import VmapInfo, batched_results, taken
from opwright.levels.mode_kernels import mapped, values_at
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["call_batched"]


def call_batched(level: Batching, function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a Function for all samples, in modes below the level. Raises RuntimeError for one that says not how."""
    if not level.any_batched(args):
        return function.apply(*args, **kwargs)
    check_setup_context(function)
    has_rule = function.vmap is not Function.vmap
    if has_rule and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden "
            "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
            "avoid ambiguity."
        )
    values, in_dims = taken(level, args)
    if has_rule:
        returned = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *values, **kwargs)
        return batched_results(level, function.__name__, returned)
    if not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and "
            "implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    made = _Generated(level, function, in_dims, kwargs)
    return made.outside(level, made.as_function().apply(*values))


class _Generated:
    """A Function for batches, made of one for samples: each of its methods is called for all samples at once."""

    def __init__(self, level: Batching, function: type[Function], in_dims: Sequence[Any], kwargs: dict[str, Any]):
        self.function = function
        self.kwargs = kwargs
        self.in_dims = in_dims
        self.size, self.randomness = level.size, level.randomness
        self.is_batched: list[bool] = []  # of each output

    def level(self) -> Batching:
        """Return a level for a call of one method."""
        return Batching(self.size, self.randomness)

    def outside(self, level: Batching, outputs: Any) -> Any:
        """Return the outputs of the Function for batches as tensors of the level."""
        each = iter(self.is_batched)
        return mapped(outputs, lambda value: level.put(value, 0) if next(each) else value)

    def inside(self, level: Batching, values: Sequence[Any]) -> list[Any]:
        """Return inputs as tensors of a level."""
        return [
            [level.put(*pair) for pair in zip(value, dim, strict=True)] if type(dim) is list else level.put(value, dim)
            for value, dim in zip(values, self.in_dims, strict=True)
        ]

    def as_function(self) -> type[Function]:
        """Return the Function for batches."""
        made = self

        class Batched(Function):
            """A Function for a batch of samples."""

            generate_vmap_rule = True

            @staticmethod
            def forward(*values: Any) -> Any:
                with made.level() as level:
                    outputs = made.function.forward(*made.inside(level, values), **made.kwargs)
                    made.is_batched = []
                    return mapped(outputs, lambda each: made.taken(level, each))

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                with made.level() as level:
                    context = _Context(ctx, level)
                    made.function.setup_context(context, tuple(made.inside(level, inputs)), made.outside(level, output))

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                with made.level() as level:
                    given = [
                        grad if grad is None or not is_batched else level.put(grad, 0)
                        for grad, is_batched in zip(grads, made.is_batched, strict=True)
                    ]
                    found = made.function.backward(_Context(ctx, level), *given)
                    results = found if isinstance(found, tuple) else (found,)
                    return tuple([made.gradient(level, *pair) for pair in zip(results, made.in_dims, strict=False)])

            @staticmethod
            def jvp(ctx: Any, *tangents: Any) -> Any:
                with made.level() as level:
                    given = made.inside(level, tangents)
                    found = made.function.jvp(_Context(ctx, level), *given)
                    each = iter(made.is_batched)
                    return mapped(found, lambda value: _tangent(level, value, next(each)))

        Batched.__name__ = f"Vmapped{self.function.__name__}"
        return Batched

    def taken(self, level: Batching, output: Tensor) -> Tensor:
        """Return the value of an output, its batch first, and note whether it has one."""
        value = level.front(output)
        self.is_batched.append(value is not None)
        return output if value is None else value

    def gradient(self, level: Batching, grad: Any, dim: int | None) -> Any:
        """Return the gradient of an input as a value: the sum over the samples, for one that is the same for all."""
        if grad is None:
            return None
        value = level.front(grad)
        if dim is None:
            return grad if value is None else aten["sum.dim_IntList"](value, [0])
        found = level.repeated(grad) if value is None else value
        return aten["movedim.int"](found, 0, dim)


def _tangent(level: Batching, value: Any, is_batched: bool) -> Any:
    if value is None:
        return None
    found = level.front(value)
    return level.repeated(value) if found is None and is_batched else value if found is None else found


class _Context:
    """The context that methods for samples see: what it keeps are values, what it shows are tensors of a level."""

    def __init__(self, ctx: Any, level: Batching) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_level", level)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep the values of tensors for `backward`."""
        self._ctx.save_for_backward(*self._kept("_dims_for_backward", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep the values of tensors for `jvp`."""
        self._ctx.save_for_forward(*self._kept("_dims_for_forward", tensors))

    def _kept(self, name: str, tensors: tuple[Any, ...]) -> list[Any]:
        values, dims = taken(self._level, tensors)
        setattr(self._ctx, name, dims)
        return values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """Return what was kept."""
        kept = self._ctx.saved_tensors
        dims = self._ctx._dims_for_forward if self._ctx._is_in_jvp else self._ctx._dims_for_backward
        return tuple([self._level.put(*pair) for pair in zip(kept, dims, strict=True)])

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs were written to."""
        self._ctx.mark_dirty(*[values_at(self._level, each) for each in args])

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self._ctx.mark_non_differentiable(*[values_at(self._level, each) for each in args])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)
