"""The same programme in PyTorch and here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import opwright

Programme = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Tensors of either as nested lists, with shape and dtype; the rest as it is."""
    if isinstance(value, (torch.Tensor, opwright.Tensor)):
        numbers = value.detach().numpy()
        rounded = [f"{number:.4g}" for number in numbers.astype(np.float64).ravel()]
        return "tensor", numbers.dtype.name, numbers.shape, rounded
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def outcome(programme: Programme, library: Any) -> Any:
    try:
        return plain(programme(library))
    except Exception as error:
        kind = next(each for each in type(error).__mro__ if each.__module__ == "builtins")
        return "raises", kind.__name__


def check(programme: Programme) -> Any:
    """Run it with both, compare what it returns or the class of what it raises, and give that back."""
    theirs = outcome(programme, torch)
    ours = outcome(programme, opwright)
    assert ours == theirs, f"ours {ours}, PyTorch {theirs}"
    return ours


def message(programme: Programme) -> str:
    """What our error says; PyTorch raises one of the class too."""
    assert check(programme)[0] == "raises"
    try:
        programme(opwright)
    except Exception as error:
        return str(error)
    raise AssertionError
