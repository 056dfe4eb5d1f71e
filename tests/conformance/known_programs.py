"""Where random programmes are not compared: what PyTorch does otherwise on purpose, or by mistake, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Known(NamedTuple):
    """Actions that are not compared of some tensors, and the reason."""

    reason: str
    actions: tuple[str, ...]  # parts of their names
    holds: Callable[[list[Any], list[Any]], bool]  # of the action's tensors in PyTorch, and of all
    seed: int | None = None  # of a programme that shows it; None where none of 5,000 does (`running_programs.py known`)


def _is_inference_mode(given: list[Any], every: list[Any]) -> bool:
    return bool(torch.is_inference_mode_enabled())


def _is_inference(given: list[Any], every: list[Any]) -> bool:
    return bool(given[0].is_inference())


def _changes_when_turned(x: Any) -> bool:
    """Whether a tensor has another shape when it is turned: all but a square matrix."""
    return x.ndim != 2 or x.shape[0] != x.shape[1]


def _has_other_shape(given: list[Any], every: list[Any]) -> bool:
    return len(given) > 1 and given[0].shape != given[1].shape


def _is_integer_of_gradient(given: list[Any], every: list[Any]) -> bool:
    x, *others = given
    return any(y.requires_grad for y in others) and not (x.is_floating_point() or x.is_complex())


def _shares_memory(given: list[Any], every: list[Any]) -> bool:
    place = given[0].untyped_storage().data_ptr()
    return given[0]._is_view() or any(
        each is not given[0] and each.untyped_storage().data_ptr() == place for each in every
    )


def _is_leaf_of_other_shape(given: list[Any], every: list[Any]) -> bool:
    return given[0].requires_grad and (len(given) == 1 or given[0].shape != given[1].shape)


def _has_view_of_parts(given: list[Any], every: list[Any]) -> bool:
    x = given[0]._base if given[0]._is_view() else given[0]
    return any(each._is_view() and each._base is x and each.dtype != x.dtype for each in every)


def _is_spread(given: list[Any], every: list[Any]) -> bool:
    """Whether a tensor, or what remains of it but for a row, has gaps: PyTorch cannot tell whether it overlaps."""
    x = given[0].detach()
    return not _is_dense(x) or (x.ndim > 0 and not _is_dense(x[1:]))


def _shares_and_is_spread(given: list[Any], every: list[Any]) -> bool:
    x, *others = given
    place = x.untyped_storage().data_ptr()
    return any(
        y.untyped_storage().data_ptr() == place and not (_is_dense(x) and _is_dense(y)) for y in others if y is not x
    )


def _is_dense(x: Any) -> bool:
    step = 1
    for size, stride in sorted(zip(x.shape, x.stride(), strict=True), key=lambda one: (one[1], one[0])):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _is_empty_view(given: list[Any], every: list[Any]) -> bool:
    return given[0].numel() == 0 and given[0].storage_offset() > 0


KNOWN: tuple[Known, ...] = (
    Known("NumPy's empty slice begins where its base does, PyTorch's where it is cut", ("as_strided",), _is_empty_view),
    Known("PyTorch resizes before it says what is wrong", ("out=",), _has_other_shape, 9),
    Known("likewise", ("add(x, x.mT, out=x)",),
          lambda given, every: given[0].ndim > 1 and _changes_when_turned(given[0])),
    Known("in inference mode PyTorch leaves the tensor in its graph", ("detach_",), _is_inference_mode, 172),
    Known("PyTorch lets a write to an inference tensor pass", ("detach_",), _is_inference, 5076),
    Known("in inference mode what PyTorch returns are views", ("unsafe_split", "unsafe_chunk"), _is_inference_mode, 81),
    Known("in inference mode PyTorch counts no writes to what this returns", ("view(dtype)",),
          _is_inference_mode, 1055),
    Known("PyTorch's view of an inference tensor is none", ("view(dtype)",), _is_inference),
    Known("PyTorch gives an integer tensor a gradient", ("y",), _is_integer_of_gradient, 159),
    Known("in PyTorch views go on sharing a version when they share no memory any more", ("x.data =",),
          _shares_memory, 199),
    Known("PyTorch's leaf expects gradients of the shape that it had in graphs that are still there",
          ("x.data = x.mT", "x.data = x[0]", "x.data = y"), _is_leaf_of_other_shape),
    Known("likewise", ("t_()", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "as_strided_"),
          lambda given, every: (
              given[0].requires_grad and not torch.is_grad_enabled() and _changes_when_turned(given[0])), 4393),
    Known("PyTorch takes the parts of complex numbers anew, of the base as it lies by now",
          ("transpose_", "swapaxes_", "swapdims_", "t_()", "squeeze_", "as_strided_"), _has_view_of_parts),
    Known("PyTorch reads what it has written, where it cannot tell that memory is shared",
          ("x[:-1]", "x.mT)", "(x.mT", "x, x.mT"), _is_spread, 292),
    Known("likewise", ("y",), _shares_and_is_spread, 1975),
    Known("of no dimension a view as well; PyTorch gives the tensor itself, with a warning", ("x.mT",),
          lambda given, every: given[0].ndim == 0),
    Known("PyTorch's tensor then has no version, and is no inference tensor either", ("x.data =",),
          lambda given, every: torch.is_inference_mode_enabled() or any(each.is_inference() for each in given), 1615),
)  # fmt: skip


def is_known_error(error: Exception, given: list[Any]) -> bool:
    """Whether PyTorch takes a view for a leaf, whose base was written to since: until its history is looked at."""
    return "a leaf Variable that requires grad is being used" in str(error) and bool(given[0]._is_view())


def is_known_history(tensor: Any) -> bool:
    """Whether a view's history is read off its base here, where PyTorch takes parts of complex numbers anew, and fails
    in inference mode."""
    return bool(tensor._is_view() and tensor.dtype != tensor._base.dtype)


def known_of(name: str, given: list[Any], every: list[Any]) -> list[Known]:
    """What the libraries are known to do otherwise with these tensors; nothing where both should do the same."""
    return [known for known in KNOWN if any(part in name for part in known.actions) and known.holds(given, every)]
