"""Plans: casts of operands, layouts of results, and what `out=` and in-place targets must be."""

from __future__ import annotations

import warnings
from array import array
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import rules
from opwright.creation import construction
from opwright_core.arrays import dtypes
from opwright_core.arrays.dtypes import bfloat16, float32, int64
from opwright_core.arrays.storage import storage_of
from opwright_core.errors import ContractError
from opwright_core.plans.specs import SpecCache
from opwright_core.tensors.tensor import wrap


def run(plan: Any, function: Any = np.add) -> Any:
    return plan.lay_out(function(*plan.operands))


def test_operands_are_cast_before_the_kernel() -> None:
    plan = rules.pointwise(np.array([1, 2], np.int32), np.array([0.5, 0.5], np.float32))
    assert (plan.dtype, plan.compute, plan.shape, plan.strides) == (float32, float32, (2,), (1,))
    assert [operand.dtype for operand in plan.operands] == [float32, float32]
    assert run(plan).tolist() == [1.5, 2.5]


def test_half_computes_in_float32_after_rounding() -> None:
    narrow = np.array([1.0], bfloat16)
    plan = rules.pointwise(narrow, 0.1)
    assert (plan.dtype, plan.compute) == (bfloat16, float32)
    assert plan.operands[1] == np.asarray(0.1).astype(bfloat16).astype(np.float32)
    assert rules.pointwise(narrow, 0.1, exact_scalars=True).operands[1] == np.float32(0.1)
    assert run(plan).dtype == bfloat16
    assert rules.pointwise(narrow, kind="no_opmath").compute is bfloat16


@pytest.mark.parametrize(
    "kind, given, result",
    [
        ("int_to_float", np.int32, "float32"),
        ("int_to_float", np.float64, "float64"),
        ("bool", np.float64, "bool"),
        ("complex_to_float", np.complex64, "float32"),
        ("bool_to_long", np.bool_, "int64"),
        ("default", np.uint8, "uint8"),
    ],
)
def test_kinds(kind: str, given: Any, result: str) -> None:
    assert rules.pointwise(np.zeros(2, given), kind=kind).dtype is dtypes.PUBLIC[result]


def test_python_numbers_are_weak_and_wrap() -> None:
    assert run(rules.pointwise(np.array([1, 2], np.int8), 300)).tolist() == [45, 46]
    assert run(rules.pointwise(np.array([1], np.uint8), 2), np.subtract).tolist() == [255]
    assert rules.pointwise(np.zeros(2, np.int8), 1.5).dtype is float32
    assert rules.pointwise(np.zeros(2, np.float32), 1e300).operands[1] == np.inf


def test_the_memo_follows_the_default_dtype() -> None:
    array = np.zeros(2, np.int64)
    assert rules.pointwise(array, kind="int_to_float").dtype is float32
    dtypes.set_default_dtype("float64")
    try:
        assert rules.pointwise(array, kind="int_to_float").dtype is dtypes.float64
    finally:
        dtypes.set_default_dtype("float32")


def test_results_have_the_declared_strides() -> None:
    transposed = np.zeros((3, 4), np.float32).T
    plan = rules.pointwise(transposed, 1.0)
    assert plan.strides == (1, 4)
    laid_out = plan.lay_out(np.ones((4, 3), np.float32))
    assert (laid_out.strides, laid_out.tolist()) == ((4, 16), [[1.0] * 3] * 4)
    assert rules.pointwise(np.zeros((2, 0, 3), np.float32)).lay_out(np.zeros((2, 0, 3), np.float32)).strides == (
        12,
        12,
        4,
    )


def test_size_one_dimensions_are_restrided_without_a_copy() -> None:
    given = np.zeros((4, 1), np.float32)[:, :, None].transpose(1, 0, 2)
    plan = rules.pointwise(given, 1.0)
    answer = np.ones((1, 4, 1), np.float32)
    laid_out = plan.lay_out(answer)
    assert laid_out.strides == tuple(4 * stride for stride in plan.strides)
    assert np.shares_memory(laid_out, answer)


def test_a_kernel_may_answer_with_its_operand_but_the_result_is_new() -> None:
    array = np.zeros((2, 3), np.float32)
    plan = rules.pointwise(array)
    for answer in (array, array[:]):
        assert not np.shares_memory(plan.lay_out(answer), array)


def test_results_of_another_shape_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"returned shape \[3\], but \[2\] is declared"):
        rules.pointwise(np.zeros(2)).lay_out(np.zeros(3))


def test_scalars_become_zero_dim_arrays() -> None:
    result = run(rules.pointwise(np.array(1.0), np.array(2.0)))
    assert type(result) is np.ndarray
    assert result.shape == ()


# out= and in-place


def test_an_empty_out_is_resized_in_silence_another_with_a_warning() -> None:
    plan = rules.pointwise(np.zeros((3, 2), np.float32).T, 1.0)
    empty = wrap(np.empty(0, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan.target(empty)
    assert (empty.shape, empty.stride()) == ((2, 3), (1, 2))
    other = wrap(np.zeros(5, np.float32))
    with pytest.warns(UserWarning, match=r"since it had shape \[5\].*required output shape \[2, 3\]"):
        plan.target(other)
    assert other.shape == (2, 3)


def test_a_large_enough_storage_is_kept() -> None:
    out = wrap(np.zeros(10, np.float32))
    before = storage_of(out).flat()
    with pytest.warns(UserWarning):
        rules.pointwise(np.zeros((2, 3), np.float32)).target(out)
    assert np.shares_memory(out.array, before)


def test_out_keeps_its_own_strides_and_dtype() -> None:
    plan = rules.pointwise(np.arange(6, dtype=np.float32).reshape(2, 3), 1)
    out = wrap(np.zeros((3, 2)).T)
    target = plan.target(out)
    assert plan.out(target) is None
    plan.store(np.add(*plan.operands), target)
    assert (out.stride(), out.tolist()) == ((1, 2), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_the_kernel_writes_straight_where_it_may() -> None:
    array = np.ones(3, np.float32)
    plan = rules.pointwise(array, array)
    target = plan.inplace(wrap(array))
    assert plan.out(target) is target
    plan.store(np.add(*plan.operands, out=plan.out(target)), target)
    assert array.tolist() == [2.0, 2.0, 2.0]


def test_reductions_do_not_write_over_their_operand() -> None:
    array = np.ones((1, 3), np.float32)
    plan = rules.reduce(array, 0, True)
    assert plan.out(plan.target(wrap(array))) is None


def test_memory_of_the_caller_is_not_resized() -> None:
    with pytest.raises(RuntimeError, match="not resizable"):
        rules.pointwise(np.zeros(3)).target(construction.from_numpy(np.zeros(0)))


def refusals() -> list[tuple[str, Any]]:
    data = np.arange(10, dtype=np.float32)
    expanded = np.broadcast_to(np.zeros((1, 3), np.float32), (2, 3))
    pair = rules.pointwise(data[:5], data[5:])
    return [
        ("can't be cast to the desired output type Long", lambda: pair.target(wrap(np.zeros(5, np.int64)))),
        ("some elements of the input tensor", lambda: pair.target(wrap(data[2:7]))),
        ("some elements of the input tensor", lambda: rules.pointwise(data[:5], data[1:6]).inplace(wrap(data[:5]))),
        ("more than one element of the written-to", lambda: rules.pointwise(expanded).inplace(wrap(expanded))),
        (
            r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]",
            lambda: rules.pointwise(np.zeros(2), np.zeros((3, 2))).inplace(wrap(np.zeros(2))),
        ),
        (
            "result type Float can't be cast to the desired output type Long",
            lambda: rules.pointwise(np.zeros(2, np.int64), 1.5).inplace(wrap(np.zeros(2, np.int64))),
        ),
    ]


@pytest.mark.parametrize("number", range(6))
def test_targets_that_are_refused(number: int) -> None:
    message, call = refusals()[number]
    with pytest.raises(RuntimeError, match=message):
        call()


def test_a_square_matrix_plus_its_transpose_in_place_is_refused() -> None:
    square = np.zeros((3, 3))
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        rules.pointwise(square, square.T).inplace(wrap(square))


# Other rules


def test_reduce() -> None:
    array = np.zeros((2, 3, 4), np.int8)
    plan = rules.reduce(array, (0, -1), kind="int_to_long")
    assert (plan.shape, plan.dims, plan.dtype) == ((3,), (0, 2), int64)
    assert rules.reduce(array, 1, True).shape == (2, 1, 4)
    assert rules.reduce(array).shape == ()
    assert rules.reduce(array.astype(np.float16), 0).compute is float32


def test_factories_refuse_other_strides_than_sizes() -> None:
    assert rules.empty((2, 3), stride=(1, 2)).strides == (1, 2)
    with pytest.raises(RuntimeError, match=r"as many sizes as strides, got \[2, 3\] and \[1\]"):
        rules.empty((2, 3), stride=(1,))


def test_factories_refuse_negative_sizes() -> None:
    assert rules.empty((2, 3)).dtype is float32
    with pytest.raises(RuntimeError, match=r"negative dimension -1: \[2, -1\]"):
        rules.empty((2, -1))


@pytest.mark.oracle
def test_refusals_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    b = torch.arange(10.0)
    expanded = torch.zeros(1, 3).expand(2, 3)
    theirs = [
        lambda: torch.add(b[:5], b[5:], out=torch.zeros(5, dtype=torch.int64)),
        lambda: torch.add(b[:5], b[5:], out=b[2:7]),
        lambda: b[:5].add_(b[1:6]),
        lambda: expanded.add_(1),
        lambda: torch.zeros(2).add_(torch.zeros(3, 2)),
        lambda: torch.zeros(2, dtype=torch.int64).add_(1.5),
    ]
    for (_, ours), other in zip(refusals(), theirs, strict=True):
        with pytest.raises(RuntimeError) as expected:
            other()
        with pytest.raises(RuntimeError) as caught:
            ours()
        assert str(caught.value) == str(expected.value)


def expanded() -> Any:
    return opwright.zeros([1]).expand([3])


def test_operators_that_write_one_value_may_write_to_elements_that_share_memory() -> None:
    where = opwright.tensor([True, False, False])
    assert expanded().fill_(2).tolist() == [2, 2, 2]
    assert expanded().fill_(2).zero_().tolist() == [0, 0, 0]
    assert expanded().masked_fill_(where, 3).tolist() == [3, 3, 3]
    written = expanded()
    written[opwright.tensor([0])] = 4
    assert written.tolist() == [4, 4, 4]
    for refused in ("add_", "copy_"):
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            getattr(expanded(), refused)(opwright.ones([3]))


def test_index_put_writes_into_the_tensors_memory_also_from_its_own_elements() -> None:
    tensor = opwright.arange(4)
    memory = tensor.data_ptr()
    tensor[opwright.tensor([0, 1])] = tensor[opwright.tensor([1, 0])]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):  # as PyTorch
        tensor[opwright.tensor([1, 2, 3])] = tensor[:3]
    tensor[opwright.tensor([1, 2, 3])] = tensor[:3].clone()
    assert (tensor.tolist(), tensor.data_ptr()) == ([1, 1, 0, 2], memory)


def test_forms_are_remembered_within_bounds_and_by_the_default_dtype() -> None:
    specs, key = SpecCache(), "key"
    spec = specs.keep(key, rules.like(np.zeros(2)).spec)
    assert specs[key] is spec
    for number in range(5000):
        specs.keep(number, spec)
    assert len(specs) < 5000
    opwright.set_default_dtype(opwright.float64)
    try:
        assert rules.empty([2]).dtype is opwright.float64
    finally:
        opwright.set_default_dtype(opwright.float32)
    assert rules.empty([2]).dtype is float32


# The result's dtype, and the one that is computed in


def test_a_results_dtype_converts_the_answer_alone() -> None:
    x = np.array([-2.95, -2.5, -1.9], np.float32)
    plan = rules.pointwise(x, dtype=np.int8)
    assert plan.operands[0] is x and plan.compute == np.float32
    assert plan.lay_out(np.floor(x * 10)).tolist() == [-30, -25, -19]
    assert plan.lay_out(np.floor(x.astype(np.float64) * 10)).dtype == np.int8
    for reduced in (rules.reduce(x, dtype=np.int64), rules.scan(x, 0, dtype=np.int64)):
        assert reduced.operands[0] is x and reduced.dtype == np.int64


def test_a_computing_dtype_converts_the_operands() -> None:
    x = np.array([-2.95, -2.5, -1.9], np.float32)
    for plan in (
        rules.pointwise(x, compute_dtype=np.int8),
        rules.reduce(x, compute_dtype=np.int8),
        rules.scan(x, 0, compute_dtype=np.int8),
    ):
        assert plan.operands[0].tolist() == [-2, -2, -1] and plan.dtype == plan.compute == np.int8
    assert rules.pointwise(x, compute_dtype=np.float64, dtype=np.float16).operands[0].dtype == np.float64


KINDS = {"bool": "?", "integer": "bhilBHIL", "floating": "efd", "complex": "FD"}  # NumPy's letters of dtypes


@pytest.mark.parametrize("declared", "".join(KINDS.values()))
@pytest.mark.parametrize("answered", "".join(KINDS.values()))
def test_an_answer_of_another_kind_is_refused(declared: str, answered: str) -> None:
    """One of another size is cast: a kernel may compute float64 for float32."""
    x = np.ones(3, declared)
    plan, target = rules.like(x), np.empty(3, np.complex128)
    if any(declared in letters and answered in letters for letters in KINDS.values()):
        assert plan.lay_out(np.ones(3, answered)).dtype == x.dtype
        plan.store(np.ones(3, answered), target)
        assert target.tolist() == [1, 1, 1]
    else:
        for call in (plan.lay_out, lambda answer: plan.store(answer, target)):
            with pytest.raises(ContractError, match=f"returned dtype {np.dtype(answered)}, but .* is declared"):
                call(np.ones(3, answered))
    assert rules.pointwise(x, dtype=np.complex64).lay_out(np.ones(3, answered)).dtype == np.complex64


@pytest.mark.parametrize(
    "answer",
    [None, [1.0], (1.0,), [[1.0]], [], "1.0", b"1", "", {1.0}, range(1), memoryview(b"12345678"), array("d", [1.0])],
    ids=lambda answer: type(answer).__name__,
)
def test_an_answer_that_is_no_array_is_refused(answer: Any) -> None:
    x = np.ones(1)
    with pytest.raises(ContractError, match="must return an array, but returned"):
        rules.like(x).lay_out(answer)
    with pytest.raises(ContractError, match="must return an array, but returned"):
        rules.like(x).store(answer, x)


@pytest.mark.parametrize("declared", "?ilefdFD")
@pytest.mark.parametrize("answer", [True, 1, 1.0, 1j, np.float32(1), np.int64(1)], ids=repr)
def test_an_answer_may_be_a_number(declared: str, answer: Any) -> None:
    """Python's numbers have no dtype: they are of the declared one, if it holds them. Scalars of NumPy have one."""
    x = np.ones((), declared)
    ranks = "bifc"
    kind = np.asarray(answer).dtype.kind
    is_right = kind == x.dtype.kind if isinstance(answer, np.generic) else ranks.find(kind) <= ranks.find(x.dtype.kind)
    if is_right:
        found = rules.like(x).lay_out(answer)
        assert found.dtype == x.dtype and found == answer
    else:
        with pytest.raises(ContractError, match="returned"):
            rules.like(x).lay_out(answer)
