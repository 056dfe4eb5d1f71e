"""Placements judged by PyTorch's own validator: those of rules must be right, and all others of few tensors are tried.

It computes an operator on what each of two ranks has, and compares what is put together with the whole. What is right
and no rule says is missing: a row of placements that DTensor would have to redistribute instead.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Final
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor._ops import strategy_validation as validation
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._pytree import tree_leaves, tree_map

from opwright.dimensions.cutting import lengthened
from opwright.dimensions.deriving import rule_of
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.calls import overload_named, theirs_of
from opwright_bindings.torch.runtime.sharding import Sharded
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["judge", "verdict"]

_RANKS: Final = 2
_TRIED: Final = 1500  # placements of operands and results, each of which is a call and more
_ROUGH: Final = (torch.float16, torch.bfloat16)  # numbers that are not as near as the validator wants them
_Verdict = tuple[list[str], list[str]]  # rows that are wrong, and rows that are missing


@contextlib.contextmanager
def judge() -> Iterator[Callable[[Operator, Sequence[Any]], tuple[str, Sequence[str]]]]:
    """Have this process play ranks, and give what says which rows of a call are wrong, "" where none is, and which are
    missing."""
    is_mine = not dist.is_initialized()
    if is_mine:
        dist.init_process_group("fake", rank=0, world_size=_RANKS, store=FakeStore())  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _judged
    finally:
        if is_mine:
            dist.destroy_process_group()


def _judged(operator: Operator, values: Sequence[Any]) -> tuple[str, Sequence[str]]:
    wrong, missing = verdict(operator, values)
    return "; ".join(wrong), missing


def verdict(operator: Operator, values: Sequence[Any], most: int = _TRIED) -> _Verdict:
    """Return what PyTorch says of the rows of a call, given all its arguments, ours; what is missing is looked for
    among at most `most` rows. Nothing is wrong with an operator that PyTorch is not given, nor with one that it does
    not take here, or that writes: the validator calls it again with the same tensors."""
    if operator.signature.written:
        return [], []
    try:
        overload = overload_named(operator.name)
        values = _longer(operator, values)
        own = _arrays(operator.call(*values))  # (which refuses what may end the process in PyTorch)
        rows = Sharded(Arguments(operator, overload._schema)).rows([theirs_of(each) for each in values], {})
        keywords = [each.name for each in overload._schema.arguments if each.kwarg_only]
        theirs = [theirs_of(each) for each in values]
        count = len(theirs) - len(keywords)
        args, kwargs = tuple(theirs[:count]), dict(zip(keywords, theirs[count:], strict=True))
        whole = validation._check_ground_truth(overload(*args, **kwargs))
    except (AttributeError, RuntimeError, TypeError, ValueError, IndexError):  # (results may be no tensors)
        return [], []
    if whole is None or not _is_alike(whole, own):
        return [], []
    tensors = [each for _, each in validation.extract_tensors_from_args(args, kwargs)]
    if any(each.dtype in _ROUGH for each in tensors):
        return [], []
    results = whole if isinstance(whole, list) else [whole]
    ins, outs = [tuple([tuple(each.shape) for each in side]) for side in (tensors, results)]
    keys = {
        validation.normalize_combo_key((tuple(map(str, own)), tuple(map(str, made))), ins, outs) for made, own in rows
    }
    keys = {key for key in keys if {*key[0]} != {"R"} and _is_taken(key[0], tensors)}
    options = [validation.get_1d_input_placements_for_tensor(each, include_partial=True) for each in tensors]
    tried = prod(map(len, options)) * len(validation.get_1d_output_placements_for_tensor(results[0]))

    def stats(wrong_only: bool) -> Any:
        found = validation.ComparisonStats()
        with mock.patch.multiple(validation, _query_dtensor_rules=lambda *_: keys, _negate_tensors_in_tree=_negated):
            validation._validate_aten_op_for_sample(
                overload, args, kwargs, whole, _RANKS, wrong_only, False, 0, "", found
            )
        return found

    missing = stats(False).false_negatives if tried <= most else []
    wrong = [f"{_shown(each)}: {_why(overload, args, kwargs, whole, each)}" for each in stats(True).false_positives]
    return wrong, [_shown(each) for each in missing]


def _shown(found: Any) -> str:
    return f"{' '.join(found.input_placements)} -> {' '.join(found.output_placements)}"


def _negated(tree: Any) -> Any:
    """Return arguments with other signs; positions, which are integers, stay, as they would end the process."""
    return tree_map(lambda each: -each if isinstance(each, torch.Tensor) and each.is_floating_point() else each, tree)


def _why(overload: Any, args: Any, kwargs: Any, whole: Any, found: Any) -> str:
    """Return how results differ, which the validator does not keep."""
    ways = [tuple(map(validation.parse_placement, side)) for side in (found.input_placements, found.output_placements)]
    with LocalTensorMode(_RANKS):
        mesh = init_device_mesh("cpu", (_RANKS,))
        each = [
            validation.validate_aten_combination(overload, args, kwargs, whole, tuple(ways), _RANKS, mesh, shift)
            for shift in (0, 1)
        ]
    return next((why for _, why in each if why), "other values with other signs").partition("\n")[0]


def _arrays(result: Any) -> list[Any]:
    results = result if isinstance(result, (list, tuple)) else [result]
    return [each.resolve_conj().resolve_neg().detach().numpy() for each in results if isinstance(each, Tensor)]


def _is_alike(whole: Any, own: Sequence[Any]) -> bool:
    """Whether PyTorch takes the arguments as we do: its inner operators do not know of dimensions from the end."""
    theirs = [each.resolve_conj().resolve_neg().numpy() for each in (whole if isinstance(whole, list) else [whole])]
    pairs = list(zip(theirs, own, strict=False))
    return len(theirs) == len(own) and all(one.shape == other.shape and _is_close(one, other) for one, other in pairs)


def _is_close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True))


def _is_taken(placements: Sequence[str], tensors: Sequence[torch.Tensor]) -> bool:
    """Whether the validator makes such operands: its shares of integers are fractions."""
    pairs = zip(placements, tensors, strict=True)
    return all(each.dtype.is_floating_point or each.dtype.is_complex or "P" not in way for way, each in pairs)


def _longer(operator: Operator, values: Sequence[Any]) -> list[Any]:
    """Return the arguments with tensors that ranks may have in equal parts."""
    arrays = _arrays(tree_leaves(list(values)))
    given = iter(lengthened(rule_of(operator, list(values)), arrays, _RANKS))

    def put(value: Any) -> Any:
        if isinstance(value, Tensor):
            return wrap(next(given).copy())
        return [put(each) for each in value] if isinstance(value, (list, tuple)) else value

    return [put(each) for each in values]
