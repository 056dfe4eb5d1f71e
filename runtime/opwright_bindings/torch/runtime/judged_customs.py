"""Custom operators of PyTorch as the gate sees them beside their calls: functions, rules for `vmap`, autocast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from opwright_bindings.torch.runtime.calls import overload_named, theirs_of

__all__ = [
    "autocast_problem",
    "fakes_agree",
    "function_behind",
    "has_casts",
    "has_rule",
    "results_share_memory",
    "vmap_problem",
]


def _definition(name: str) -> Any:
    return torch._library.custom_ops.OPDEFS.get(name.removeprefix("torch:"))


def function_behind(name: str) -> Callable[..., Any] | None:
    """Return the function of a custom operator, None for any other operator."""
    definition = _definition(name)
    return None if definition is None else definition._init_fn


def has_rule(name: str) -> bool:
    """Whether a custom operator has a rule for `vmap`."""
    definition = _definition(name)
    return definition is not None and definition._vmap_fn is not None


def has_casts(name: str) -> bool:
    """Whether a custom operator says to what autocast casts its arguments."""
    definition = _definition(name)
    return definition is not None and bool(definition._autocast_dtype)


def results_share_memory(name: str, values: Sequence[Any]) -> bool:
    """Whether results of a custom operator's function share memory with each other, and with no argument."""
    function = function_behind(name)
    if function is None:
        return False
    theirs = [theirs_of(each) for each in values]
    results = function(*theirs)
    if not isinstance(results, tuple | list):
        return False
    given = {_memory(each) for each in theirs if isinstance(each, torch.Tensor)}
    made = [_memory(each) for each in results if isinstance(each, torch.Tensor)]
    return len({*made}) < len(made) and not given & {*made}


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


def vmap_problem(name: str, values: Sequence[Any]) -> str | None:
    """Return how `torch.vmap` differs from a loop, for a batch of each tensor, at each dimension."""
    overload, theirs = overload_named(name.removeprefix("torch:")), [theirs_of(each) for each in values]
    for place, tensor in enumerate(theirs):
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            continue
        samples = [tensor.clone(), tensor * 0.5, tensor + 1]

        def one(given: torch.Tensor, place: int = place) -> Any:
            return _called(overload, [*theirs[:place], given, *theirs[place + 1 :]])

        wanted = [_several(one(each)) for each in samples]
        for dim in range(tensor.dim() + 1):
            try:
                found = _several(torch.vmap(one, in_dims=dim)(torch.stack(samples, dim)))
                for number, result in enumerate(found):
                    torch.testing.assert_close(result, torch.stack([each[number] for each in wanted]), equal_nan=True)
            except Exception as error:
                text = str(error).partition("\n")[0]
                return f"a batch of {overload._schema.arguments[place].name} at dimension {dim}: {text}"
    return None


def fakes_agree(name: str, values: Sequence[Any]) -> bool:
    """Whether PyTorch's own fake mode, on fakes of the CPU's tensors, says what the results of a call look like."""
    overload, theirs = overload_named(name.removeprefix("torch:")), [theirs_of(each) for each in values]
    try:
        with FakeTensorMode() as mode:
            fake = _called(overload, torch.utils._pytree.tree_map_only(torch.Tensor, mode.from_tensor, theirs))
        real = _called(overload, theirs)
        return [*map(_look, fake)] == [*map(_look, real)]
    except Exception:
        return False


def _look(tensor: torch.Tensor) -> Any:
    return tuple(tensor.shape), tensor.dtype, tensor.stride()


def _called(overload: torch._ops.OpOverload, values: Sequence[Any]) -> Sequence[torch.Tensor]:
    """Return the results of a call with all arguments in order."""
    names = [each.name for each in overload._schema.arguments if each.kwarg_only]
    count = len(values) - len(names)
    return _several(overload(*values[:count], **dict(zip(names, values[count:], strict=True))))


def _several(results: Any) -> Sequence[torch.Tensor]:
    return results if isinstance(results, tuple | list) else (results,)


def autocast_problem(name: str, values: Sequence[Any]) -> str | None:
    """Return how the dtypes of fake results in a region of autocast are others than those of real ones."""
    overload, theirs = overload_named(name.removeprefix("torch:")), [theirs_of(each) for each in values]
    for dtype in (torch.bfloat16, torch.float16):
        with torch.no_grad(), torch.autocast("cpu", dtype):
            real = _called(overload, theirs)
            with FakeTensorMode() as mode:
                given = [mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in theirs]
                fake = _called(overload, given)
        for one, other in zip(real, fake, strict=True):
            if one.dtype != other.dtype:
                return f"in autocast to {dtype} the fake kernel says {other.dtype}, the operator returned {one.dtype}"
    return None
