"""Every declared operator and variant against PyTorch: values, dtypes, shapes, strides and classes of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from declared import functional_of, of_kind, operators
from invariants import INVARIANTS
from samples import NO_SAMPLES, SAMPLES, sampled, samples_of, takes_an_array
from sampling import Sample

import opwright
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, copied, difference, dtype_of, numpy_of, to_opwright, to_torch, value_difference  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

from exactness import is_as_exact  # noqa: E402
from known_differences import is_known  # noqa: E402

# Contents are arbitrary.
UNINITIALISED = ("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "resize_", "resize")
UNINITIALISED += ("empty_permuted", "resize_as_", "resize_as")
# Other numbers of the same distribution come of the same seed: PyTorch draws them by other methods.
DRAWN_OTHERWISE = ("poisson", "binomial")

# oneDNN's kernels of these are asked only on some CPUs, and give NaN at infinity: PyTorch's own are the oracle.
BESIDE_ONEDNN = ("gelu",)

# Of permuted operands, whose products NumPy lays out as it likes.
PERMUTING = ("einsum",)


def ours(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def theirs(name: str) -> Any:
    base, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops.aten, base), overload or "default")
    return torch.backends.mkldnn.flags(enabled=False)(found) if base.rstrip("_") in BESIDE_ONEDNN else found


def has_values(name: str) -> bool:
    return name.partition(".")[0] not in UNINITIALISED + DRAWN_OTHERWISE


def found_difference(name: str, one: Sample, mine: Any, other: Any, where: str = "") -> str | None:
    """What makes our result another than PyTorch's, unless that is known, or ours is as exact; of decompositions that
    are not unique, what makes other what they should share."""
    invariants = INVARIANTS.get(name.partition(".")[0])
    if invariants is None or isinstance(mine, Exception) or isinstance(other, Exception):
        problem = difference(mine, other, values=has_values(name))
    else:
        problem = difference(mine, other, values=False) or shared_difference(invariants, mine, other)
    if problem is None or is_known(name, one, where + problem):
        return None
    if invariants is None and problem.startswith("values"):
        return None if is_as_exact(name, one, mine, other, theirs(functional_of(name))) else where + problem
    return where + problem


def shared_difference(invariants: Callable[[list[Any]], list[Any]], mine: Any, other: Any) -> str | None:
    """What makes other what decompositions should share."""
    ours, theirs = (results if isinstance(results, tuple) else (results,) for results in (mine, other))
    shared = invariants([each.array for each in ours]), invariants([numpy_of(each) for each in theirs])
    found = (value_difference(a, b, normwise=True) for a, b in zip(*shared, strict=True))
    return next((problem for problem in found if problem is not None), None)


def thinned(every: list[Sample], step: int) -> list[Sample]:
    return every if len(every) < 12 else every[::step]


def compare(name: str, each: Callable[[Sample], str | None], step: int = 1) -> None:
    """Fail with what differs, of all samples together, or of every `step`-th of many."""
    found = []
    for one in thinned(samples_of(name), step):
        opwright.manual_seed(7)
        torch.default_generator.manual_seed(7)
        problem = each(one)
        if problem is not None:
            found.append(f"{name}{one}: {problem}")
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:12]), pytrace=False)


@pytest.mark.parametrize("name", sampled(SchemaKind.FUNCTIONAL))
def test_functional(name: str) -> None:
    def each(one: Sample) -> str | None:
        mine, other = call(ours(name), one, to_opwright), call(theirs(name), one, to_torch)
        return found_difference(name, one, mine, other)

    compare(name, each)


@pytest.mark.parametrize("name", [name for name in sampled(SchemaKind.INPLACE) if takes_an_array(name)])
def test_in_place(name: str) -> None:
    def each(one: Sample) -> str | None:
        mine_self, their_self = to_opwright(copied(one.args[0])), to_torch(copied(one.args[0]))
        rest = Sample(one.args[1:], one.kwargs)
        mine = call(lambda *args, **kwargs: ours(name)(mine_self, *args, **kwargs), rest, to_opwright)
        other = call(lambda *args, **kwargs: theirs(name)(their_self, *args, **kwargs), rest, to_torch)
        if not isinstance(mine, Exception) and mine is not mine_self:
            return "the result is not self"
        if isinstance(mine, Exception) and value_difference(mine_self.array, copied(one.args[0])) is not None:
            return f"self was written to before {mine!r:.200}"
        return found_difference(name, one, mine, other)

    compare(name, each, step=3)


def written(name: str) -> list[str]:
    return [argument.name for argument in operators()[name].schema.out_arguments]


def expected_results(name: str, one: Sample) -> list[Any] | None:
    """What PyTorch writes into empty `out` tensors of the dtypes it would choose; None where it raises."""
    plain = call(theirs(functional_of(name)), one, to_torch)
    if isinstance(plain, Exception):
        return None
    return list(plain) if isinstance(plain, tuple) else [plain]


@pytest.mark.parametrize("filled", [False, True], ids=["resized", "strided"])
@pytest.mark.parametrize("name", of_kind(SchemaKind.OUT))
def test_out(name: str, filled: bool) -> None:
    def each(one: Sample) -> str | None:
        results = expected_results(name, one)
        if results is None or any(not hasattr(result, "dtype") for result in results):
            return None
        mine_outs, their_outs = {}, {}
        # The functional one of a group that writes other arguments too (running means) returns these last.
        for out, result in zip(written(name), results, strict=False):
            shape, dtype = (tuple(result.shape), dtype_of(result)) if filled else ((0,), dtype_of(result))
            if dtype is None:
                return None
            # Every second element of twice as many, which neither side may move.
            their_outs[out], mine_outs[out] = (
                convert(np.zeros((*shape, 2), dtype)[..., 0] if filled else None, dtype)
                for convert in (their_out, our_out)
            )
        mine = call(lambda *args, **kwargs: ours(name)(*args, **kwargs, **mine_outs), one, to_opwright)
        opwright_result = list(mine) if isinstance(mine, tuple) else [mine]
        torch.default_generator.manual_seed(7)
        other = call(lambda *args, **kwargs: theirs(name)(*args, **kwargs, **their_outs), one, to_torch)
        if not isinstance(mine, Exception) and any(
            a is not b for a, b in zip(opwright_result, mine_outs.values(), strict=True)
        ):
            return "the result is not out"
        return found_difference(name, one, mine, other, f"{'strided' if filled else 'resized'} out: ")

    compare(name, each, step=9)


def their_out(array: np.ndarray | None, dtype: np.dtype) -> Any:
    return torch.empty(0, dtype=to_torch(dtype)) if array is None else to_torch(array)


def our_out(array: np.ndarray | None, dtype: np.dtype) -> opwright.Tensor:
    return opwright.empty([0], dtype=dtype) if array is None else opwright.from_numpy(array)


# Operators whose method, as in PyTorch, is another overload's alone.
OF_ANOTHER_OVERLOAD = {"stft", "copy"}  # (`x.copy()` is NumPy's)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sampled(SchemaKind.FUNCTIONAL)
        if "method" in operators()[name].variants and name not in OF_ANOTHER_OVERLOAD
    ],
)
def test_method(name: str) -> None:
    """A method is the operator: one call of each that PyTorch's method of that name answers."""
    base = name.partition(".")[0]
    for one in samples_of(name):
        args = [to_opwright(arg) for arg in one.args]
        if not isinstance(args[0], opwright.Tensor):
            continue
        direct = call(ours(name), one, to_opwright)
        if isinstance(direct, Exception):
            continue
        opwright.manual_seed(7)
        direct = call(ours(name), one, to_opwright)
        opwright.manual_seed(7)
        found = getattr(args[0], base)
        if callable(found):  # else an attribute, as mT
            found = found(*args[1:], **one.kwargs)
        if base in UNINITIALISED:
            assert (found.shape, found.stride(), found.dtype) == (direct.shape, direct.stride(), direct.dtype)
        else:
            assert same(found, direct)
        return


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(same(a, b) for a, b in zip(found, expected, strict=True))
    if not isinstance(expected, opwright.Tensor):
        return bool(found == expected)
    a, b = found.array, expected.array
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


@pytest.mark.parametrize("name", sampled(SchemaKind.FUNCTIONAL))
def test_plain_arrays(name: str) -> None:
    """Arrays in, arrays out: the same values and dtypes as with tensors, the same strides where all are row-major,
    the same errors."""
    for one in thinned(samples_of(name), 7):
        given = [
            leaf for arg in (*one.args, *one.kwargs.values()) for leaf in leaves(arg) if isinstance(leaf, np.ndarray)
        ]
        if not given:
            continue
        opwright.manual_seed(7)
        wrapped = call(ours(name), one, to_opwright)
        opwright.manual_seed(7)
        plain = call(ours(name), one, lambda value: value)
        assert (
            type(plain) is type(wrapped)
            if isinstance(wrapped, Exception)
            else agree(plain, wrapped, has_values(name), name not in PERMUTING and is_row_major(given))
        ), f"{name}{one}: {plain!r}, with tensors {wrapped!r}"


def is_row_major(arrays: list[np.ndarray]) -> bool:
    return all(array.flags.c_contiguous for array in arrays)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def agree(plain: Any, wrapped: Any, values: bool, strides: bool) -> bool:
    if isinstance(wrapped, list | tuple):
        return len(plain) == len(wrapped) and all(
            agree(a, b, values, strides) for a, b in zip(plain, wrapped, strict=True)
        )
    if not isinstance(wrapped, opwright.Tensor):
        return bool(plain == wrapped or plain != plain)
    array = wrapped.array
    if type(plain) is not np.ndarray or (plain.dtype, plain.shape) != (array.dtype, array.shape):
        return False
    if (
        strides and plain.size and plain.strides != array.strides
    ):  # NumPy says nothing about the strides of empty arrays
        return False
    return not values or plain.tobytes() == array.tobytes()


def test_every_operator_has_samples_or_a_reason() -> None:
    missing = [
        name for name in operators() if functional_of(name) not in SAMPLES and functional_of(name) not in NO_SAMPLES
    ]
    assert not missing


def test_every_entry_of_the_table_is_an_operator() -> None:
    known = {functional_of(name) for name in operators()} | operators().keys()
    assert not [name for name in (*SAMPLES, *NO_SAMPLES) if name not in known]
