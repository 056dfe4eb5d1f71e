"""Tensor without operators: attributes, keys, views and storages, conversions to Python, requires_grad."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import opwright
from opwright.creation.construction import from_numpy, tensor
from opwright.metadata.view_layouts import as_strided
from opwright.pytree import is_tensor
from opwright_core import keys
from opwright_core.arrays.dtypes import bfloat16, float32
from opwright_core.arrays.storage import resize, storage_of
from opwright_core.tensors.tensor import Tensor, wrap, wrap_view, wrap_views


def test_attributes() -> None:
    x = wrap(np.zeros((2, 3, 4), np.float32))
    assert (x.shape, x.size(), x.size(-1), x.ndim, x.dim(), x.numel()) == ((2, 3, 4), (2, 3, 4), 4, 3, 3, 24)
    assert (x.stride(), x.stride(0), x.storage_offset()) == ((12, 4, 1), 12, 0)
    assert x.dtype is float32
    assert (str(x.device), x.is_cpu, x.is_cuda, x.get_device()) == ("cpu", True, False, -1)
    assert (x.itemsize, x.nbytes, x.element_size()) == (4, 96, 4)
    assert x.data_ptr() == x.array.ctypes.data
    assert is_tensor(x)
    assert not is_tensor(x.array)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(3)
    with pytest.raises(IndexError, match="no dimensions"):
        wrap(np.zeros(())).stride(0)


@pytest.mark.parametrize(
    "array, nondense",
    [
        (np.zeros((2, 3)), False),
        (np.zeros((2, 3)).T, True),
        (np.zeros(()), True),
        (np.zeros((2, 0)), True),
        (np.zeros((2, 3), np.float16), True),
        (np.zeros((2, 3), bfloat16), True),
        (np.zeros((2, 6))[:, ::2], True),
        (np.zeros((4, 1)), False),
        (np.zeros((4, 6))[:, :1], True),
        (np.zeros((1, 4)).T, True),
        (np.zeros(3)[::-1], True),
    ],
)
def test_nondense_marks_all_but_dense_tensors(array: np.ndarray, nondense: bool) -> None:
    assert wrap(array).keys == keys.DENSE_CPU | (keys.NONDENSE if nondense else 0)
    assert wrap_view(wrap(np.zeros(1)), array).keys & keys.NONDENSE == (keys.NONDENSE if nondense else 0)


def test_empty_arrays_have_pytorchs_strides() -> None:
    assert wrap(np.zeros((2, 0, 3))).stride() == (3, 3, 1)


def test_numpy_scalars_become_zero_dim_arrays() -> None:
    x = wrap(np.float32(2.5))
    assert type(x.array) is np.ndarray
    assert (x.shape, x.dtype, x.item()) == ((), float32, 2.5)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble)])
def test_dtypes_no_tensor_has(array: np.ndarray) -> None:
    with pytest.raises(TypeError, match="only supported types are"):
        wrap(array)


def test_foreign_byte_order() -> None:
    with pytest.raises(TypeError, match="byte order"):
        wrap(np.zeros(2, ">f4"))
    assert tensor(np.array([1.5], ">f4")).tolist() == [1.5]


# Views and storages


def test_views_share_storage_and_root_base() -> None:
    base = wrap(np.arange(12.0).reshape(3, 4))
    row = wrap_view(base, base.array[1])
    element = wrap_view(row, row.array[2:])
    assert element._base is base
    assert element.storage_offset() == 6
    assert storage_of(element) is storage_of(base)
    assert element.keys & keys.VIEW
    assert base._base is None
    assert [view.storage_offset() for view in wrap_views(base, list(base.array))] == [0, 4, 8]


def test_a_view_that_nobody_records_requires_grad_as_its_base_does() -> None:
    base = wrap(np.zeros(3)).requires_grad_()
    view = wrap_view(base, base.array[1:])
    assert (view.requires_grad, view.grad_fn) == (True, None)


def test_as_strided_reaches_the_whole_storage() -> None:
    base = wrap(np.arange(12.0))
    tail = wrap_view(base, base.array[8:])
    array = as_strided(storage_of(tail), (3, 2), (4, 1), 1)
    assert array.tolist() == [[1.0, 2.0], [5.0, 6.0], [9.0, 10.0]]
    array[0, 0] = -1
    assert base.tolist()[1] == -1
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 96"):
        as_strided(storage_of(tail), (13,), (1,), 0)
    with pytest.raises(RuntimeError, match="Negative strides"):
        as_strided(storage_of(tail), (2,), (-1,), 5)


def test_storage_of_reversed_arrays_begins_at_the_lowest_address() -> None:
    x = from_numpy(np.arange(6.0).reshape(2, 3)[::-1, ::-1])
    assert (x.stride(), x.storage_offset()) == ((-3, -1), 5)
    assert as_strided(storage_of(x), (6,), (1,), 0).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_bfloat16_storage() -> None:
    x = wrap(np.arange(6).astype(bfloat16))
    assert as_strided(storage_of(x), (2, 2), (1, 3), 1).astype(float).tolist() == [[1.0, 4.0], [2.0, 5.0]]


def test_resize_grows_and_keeps_the_elements() -> None:
    x = wrap(np.arange(4.0))
    resize(x, (2, 3), (3, 1))
    assert x.shape == (2, 3)
    assert x.tolist()[0] == [0.0, 1.0, 2.0]
    memory = x.data_ptr()
    resize(x, (2,), (1,))
    assert (x.tolist(), x.data_ptr()) == ([0.0, 1.0], memory)
    assert x._version == 0


# Python


def test_conversions() -> None:
    one = wrap(np.array([2.75], np.float16))
    assert (float(one), int(one), bool(one), complex(one), one.item()) == (2.75, 2, True, 2.75 + 0j, 2.75)
    assert range(5)[wrap(np.array(3))] == 3
    assert operator.index(wrap(np.array([True]))) == 1
    assert wrap(np.array([[1, 2]], bfloat16)).tolist() == [[1.0, 2.0]]
    assert wrap(np.array(4)).tolist() == 4
    assert len(wrap(np.zeros((3, 2)))) == 3


def failing_conversions() -> list:
    many, none, scalar = wrap(np.zeros(2)), wrap(np.zeros(0)), wrap(np.zeros(()))
    return [
        (lambda: bool(many), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda: bool(none), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: int(many), ValueError, "only one element tensors can be converted to Python scalars"),
        (lambda: float(none), ValueError, "only one element tensors"),
        (lambda: many.item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: operator.index(scalar), TypeError, "only integer tensors of a single element"),
        (lambda: operator.index(many), TypeError, "only integer tensors of a single element"),
        (lambda: len(scalar), TypeError, "len\\(\\) of a 0-d tensor"),
        (lambda: iter(scalar), TypeError, "iteration over a 0-d tensor"),
        (lambda: "a" in many, RuntimeError, "__contains__ only supports Tensor or scalar"),
        (lambda: f"{many:.2f}", TypeError, "unsupported format string"),
        (lambda: many.requires_grad_().numpy(), RuntimeError, "requires grad"),
    ]


@pytest.mark.parametrize("number", range(12))
def test_conversions_that_fail(number: int) -> None:
    call, error, message = failing_conversions()[number]
    with pytest.raises(error, match=message):
        call()


def test_hash_is_identity() -> None:
    x, y = wrap(np.zeros(2)), wrap(np.zeros(2))
    assert {x: 1, y: 2}[x] == 1


def test_format() -> None:
    assert f"{wrap(np.array(1.5)):.2f}" == "1.50"
    assert f"{wrap(np.array([1.5]))}" == "tensor([1.5000], dtype=float64)"


# requires_grad


def test_requires_grad_is_a_bit() -> None:
    x = wrap(np.zeros(2, np.float32))
    assert not x.requires_grad
    x.requires_grad = True
    assert x.keys == keys.DENSE_CPU | keys.GRAD
    assert x.requires_grad_(False) is x
    assert x.keys == keys.DENSE_CPU
    assert x.is_leaf
    assert tensor([1j], requires_grad=True).requires_grad


def test_integers_cannot_require_grad() -> None:
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        wrap(np.zeros(2, np.int64)).requires_grad_()
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        tensor([1], requires_grad=True)
    assert not wrap(np.zeros(2, np.int64)).requires_grad_(False).requires_grad


def test_a_result_cannot_drop_requires_grad() -> None:
    x = wrap(np.zeros(2)).requires_grad_()
    x.edge = object()
    with pytest.raises(RuntimeError, match="leaf variables"):
        x.requires_grad_(False)


# Copies


def both(x: Tensor) -> list[Tensor]:
    return [x, wrap_view(x, x.array[1:])]


def test_pickle_keeps_shared_storage_layout_and_requires_grad() -> None:
    base, part = pickle.loads(
        pickle.dumps(both(wrap(np.asfortranarray(np.arange(6.0).reshape(2, 3))).requires_grad_()))
    )
    assert (base.tolist(), base.stride(), base.requires_grad) == ([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], (1, 2), True)
    assert (part.storage_offset(), part.requires_grad) == (1, True)
    part.array[0, 0] = 9
    assert base.tolist()[1][0] == 9
    narrow = pickle.loads(pickle.dumps(wrap(np.ones(2, bfloat16))))
    assert narrow.dtype is bfloat16
    assert pickle.loads(pickle.dumps(wrap(np.arange(3)[::-1]))).tolist() == [2, 1, 0]


def test_copy_shares_and_deepcopy_does_not() -> None:
    x = wrap(np.zeros((2, 2))).requires_grad_()
    shallow, deep = copy.copy(x), copy.deepcopy(both(x))
    shallow.array[0, 0] = 1
    assert x.tolist()[0][0] == 1
    assert shallow.requires_grad
    assert storage_of(shallow) is storage_of(x)
    deep[1].array[0, 0] = 7
    assert (deep[0].tolist(), x.tolist()) == ([[0.0, 0.0], [7.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]])


def test_recorded_results_do_not_copy() -> None:
    x = wrap(np.zeros(2)).requires_grad_()
    x.edge = object()
    for copier in (copy.deepcopy, copy.copy):
        with pytest.raises(RuntimeError, match="detach"):
            copier(x)
    again = pickle.loads(pickle.dumps(x))
    assert again.is_leaf and again.requires_grad and again.tolist() == [0, 0]


class _Derived(opwright.Tensor):
    pass


def test_a_tensor_is_made_of_sizes_and_of_data() -> None:
    """As older programs for PyTorch make them; of the default dtype."""
    made = opwright.Tensor(2, 3)
    assert type(made) is opwright.Tensor
    assert tuple(made.shape) == (2, 3)
    assert made.dtype == opwright.float32
    assert opwright.Tensor([[1], [2]]).tolist() == [[1.0], [2.0]]
    assert tuple(opwright.Tensor(made.shape).shape) == (2, 3)
    assert type(_Derived(2, 3)) is type(_Derived([1, 2])) is _Derived
    assert opwright.LongTensor([1, 2]).dtype == opwright.int64
    with pytest.raises(TypeError, match=r"data must be a sequence \(got float\)"):
        opwright.Tensor(2.5)
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        opwright.Tensor("x")
