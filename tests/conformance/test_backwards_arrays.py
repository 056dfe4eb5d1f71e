"""Arrays that lie backwards in memory, which NumPy has and PyTorch has not, give what their copies give."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.testing import samples
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import Tensor

NAMES = sorted(name for name in registry.operators if name.startswith("aten::"))
# What shows how its argument lies, and what draws or leaves memory as it is.
ASKS_LAYOUT = {
    "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "is_contiguous", "is_set_to", "stride",
    "_reshape_alias", "_reshape_alias_copy", "view_as_complex", "view_as_complex_copy",
    "is_non_overlapping_and_dense", "set_", "unsafe_view", "_unsafe_view", "view", "view_copy",
    "storage_offset",
}  # fmt: skip


def backwards(tensor: Tensor) -> Tensor:
    return opwright.from_numpy(np.asarray(np.flip(np.array(np.flip(tensor.array), order="C"))))


def answer(operator: Any, args: Any, kwargs: Any) -> Any:
    """The results as lists, or the kind of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = operator(*args, **kwargs)
        except Exception as error:
            return type(error).__name__
    found = result if isinstance(result, tuple | list) else [result]
    return [each.array.tobytes() if isinstance(each, Tensor) else each for each in found]


@pytest.mark.calls
@pytest.mark.parametrize("letters", ["_a", "bc", "def", "ghijkl", "mnop", "qrs", "tuvwxyz"])
def test_arrays_that_lie_backwards(letters: str) -> None:
    wrong = []
    for name in NAMES:
        operator = registry.operators[name]
        base = operator.base.removeprefix("_")
        if operator.base[0] not in letters or operator.signature.written or {base, operator.base} & ASKS_LAYOUT:
            continue
        if opwright.Tag.nondeterministic_seeded in operator.tags or base.startswith(("empty", "new_empty")):
            continue
        for sample in list(samples(operator, dtypes=[opwright.float32], situations=["contiguous"]))[:2]:
            turned = sample.converted(backwards)
            plain, found = (answer(operator, each.args, each.kwargs) for each in (sample, turned))
            if isinstance(found, str) and found != plain:
                wrong.append(f"{name}{turned}: {found}")
    assert wrong == []
