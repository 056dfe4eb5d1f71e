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

import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor._ops import strategy_validation as validation
from torch.testing._internal.distributed.fake_pg import FakeStore

from opwright.bindings.torch.arguments import Arguments
from opwright.bindings.torch.calls import overload_named, theirs_of
from opwright.bindings.torch.sharding import Sharded
from opwright.dimensions.cutting import lengthened
from opwright.dimensions.deriving import rule_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["judge", "verdict"]

_RANKS: Final = 2
_TRIED: Final = 1500  # placements of operands and results, each of which is a call and more
_ROUGH: Final = (torch.float16, torch.bfloat16)  # numbers that are not as near as the validator wants them
_Verdict = tuple[list[str], list[str]]  # rows that are wrong, and rows that are missing


@contextlib.contextmanager
def judge() -> Iterator[Callable[[Operator, Sequence[Any]], str]]:
    """Have this process play ranks, and give what says which rows of a call are wrong, "" where none is."""
    with _ranks():
        yield lambda operator, values: "; ".join(verdict(operator, values, most=0)[0])


@contextlib.contextmanager
def _ranks() -> Iterator[None]:
    is_mine = not dist.is_initialized()
    if is_mine:
        dist.init_process_group("fake", rank=0, world_size=_RANKS, store=FakeStore())  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if is_mine:
            dist.destroy_process_group()


def verdict(operator: Operator, values: Sequence[Any], most: int = _TRIED) -> _Verdict:
    """Return what PyTorch says of the rows of a call, given all its arguments, ours; what is missing is looked for
    among at most `most` rows. Nothing is wrong with an operator that PyTorch is not given, nor with one that it does
    not take here."""
    try:
        overload = overload_named(operator.name)
        values = _longer(operator, values)
        rows = Sharded(Arguments(operator, overload._schema)).rows([theirs_of(each) for each in values], {})
        keywords = [each.name for each in overload._schema.arguments if each.kwarg_only]
        theirs = [theirs_of(each) for each in values]
        count = len(theirs) - len(keywords)
        args, kwargs = tuple(theirs[:count]), dict(zip(keywords, theirs[count:], strict=True))
        whole = validation._check_ground_truth(overload(*args, **kwargs))
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return [], []
    tensors = [each for _, each in validation.extract_tensors_from_args(args, kwargs)]
    if whole is None or any(each.dtype in _ROUGH for each in tensors):
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
        with mock.patch.object(validation, "_query_dtensor_rules", lambda *_: keys):
            validation._validate_aten_op_for_sample(
                overload, args, kwargs, whole, _RANKS, wrong_only, False, 0, "", found
            )
        return found

    missing = stats(False).false_negatives if tried <= most else []
    wrong = [f"{_shown(each)}: {_why(overload, args, kwargs, whole, each)}" for each in stats(True).false_positives]
    return wrong, [_shown(each) for each in missing]


def _shown(found: Any) -> str:
    return f"{' '.join(found.input_placements)} -> {' '.join(found.output_placements)}"


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


def _is_taken(placements: Sequence[str], tensors: Sequence[torch.Tensor]) -> bool:
    """Whether the validator makes such operands: its shares of integers are fractions."""
    pairs = zip(placements, tensors, strict=True)
    return all(each.dtype.is_floating_point or each.dtype.is_complex or "P" not in way for way, each in pairs)


def _longer(operator: Operator, values: Sequence[Any]) -> list[Any]:
    """Return the arguments with tensors that ranks may have in equal parts."""
    arrays: list[Any] = []

    def taken(value: Any) -> Any:
        if isinstance(value, Tensor):
            arrays.append(value.resolve_conj().resolve_neg().detach().numpy())
            return value
        return [taken(each) for each in value] if isinstance(value, (list, tuple)) else value

    taken(values)
    given = iter(lengthened(rule_of(operator, list(values)), arrays, _RANKS))

    def put(value: Any) -> Any:
        if isinstance(value, Tensor):
            return wrap(next(given).copy())
        return [put(each) for each in value] if isinstance(value, (list, tuple)) else value

    return [put(each) for each in values]
