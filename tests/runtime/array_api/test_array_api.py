"""The namespace of the Array API standard, against NumPy's, which is one, too."""

from __future__ import annotations

import array
import itertools
import math
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright import array_api as xp

NAMES = list(xp.__array_namespace_info__().dtypes())
BINARY = (
    "add", "bitwise_and", "divide", "equal", "floor_divide", "less", "maximum", "multiply", "pow",
    "remainder", "subtract",
)  # fmt: skip


def numbers(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    rng = seeds.numpy_generator(seed)
    return np.asarray(rng.integers(1, 4, shape)).astype(name)


def of_one_kind() -> list[tuple[str, str]]:
    """The pairs of dtypes whose promotion the standard says."""
    pairs = itertools.product(NAMES, NAMES)
    kinds = [{np.dtype(one).kind, np.dtype(two).kind} for one, two in itertools.product(NAMES, NAMES)]
    known = [
        pair for pair, kind in zip(pairs, kinds, strict=True) if len(kind) == 1 or kind in ({"i", "u"}, {"f", "c"})
    ]
    return [pair for pair in known if np.result_type(*pair).kind != "f" or "float" in pair[0] + pair[1]]


def test_every_name_is_there() -> None:
    assert len(set(xp.__all__)) == len(xp.__all__)
    for name in xp.__all__:
        assert getattr(xp, name) is not None or name == "newaxis"
    for name in (*xp.linalg.__all__, *xp.fft.__all__):
        extension = xp.linalg if name in xp.linalg.__all__ else xp.fft
        assert getattr(extension, name).__name__ == name
    with pytest.raises(AttributeError, match="did you mean 'argsort'"):
        xp.argsorted  # noqa: B018


def test_a_tensor_names_its_namespace() -> None:
    x = opwright.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match=r"expected one of 2021\.12, .*2025\.12, but got '2030\.01'"):
        x.__array_namespace__(api_version="2030.01")
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="no streams"):
        x.to_device("cpu", stream=1)


@pytest.mark.parametrize("name", BINARY)
def test_promotion_is_the_standards(name: str) -> None:
    """Arrays without dimensions count as all others do."""
    compared = 0
    for (one, two), shapes in itertools.product(of_one_kind(), [((3,), ()), ((), (2, 1)), ((2, 1), (3,))]):
        left, right = numbers(one, shapes[0]), numbers(two, shapes[1], 1)
        try:
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(left, right)
        except TypeError:
            continue
        if "bool" in (one, two) and expected.dtype.kind != "b":
            continue
        try:
            found = getattr(xp, name)(xp.asarray(left), xp.asarray(right))
        except opwright.DispatchError:
            assert "complex" in one + two
            continue
        compared += 1
        if np.result_type(one, two).kind in "iu" and expected.dtype.kind == "f":
            assert found.dtype == xp.float32  # the default one
        else:
            assert found.dtype == expected.dtype, (one, two)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    assert compared >= 3


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (), (1, -1, 0)])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "count_nonzero"])
def test_reductions(name: str, axis: Any) -> None:
    for dtype, keepdims in itertools.product(("uint8", "int16", "float64"), (False, True)):
        if dtype != "float64" and name in ("mean", "std", "var"):
            continue
        x = numbers(dtype, (2, 3, 4)) - (1 if name in ("all", "any", "count_nonzero") else 0)
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        found = getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(found.numpy(), expected)
        assert found.dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64", "bool"])
def test_unique(dtype: str) -> None:
    x = numbers(dtype, (3, 4))
    if dtype == "float32":
        x[0, :2] = math.nan
    found, expected = xp.unique_all(xp.asarray(x)), np.unique_all(x.ravel())
    values, indices, inverse, counts = (each.numpy() for each in found)
    np.testing.assert_array_equal(values[: len(expected.values)], expected.values[: len(values)])
    assert counts.sum() == x.size
    assert inverse.shape == x.shape
    np.testing.assert_array_equal(values[inverse], x)
    np.testing.assert_array_equal(x.ravel()[indices], values)
    first = [
        np.flatnonzero((x.ravel() == value) | (math.isnan(abs(value)) & np.isnan(x.ravel())))[0] for value in values
    ]
    assert [place for place, value in zip(indices, values, strict=True) if value == value] == [
        place for place, value in zip(first, values, strict=True) if value == value
    ]


def test_arrays_of_what_others_hold() -> None:
    held = np.arange(3.0)
    assert np.shares_memory(xp.asarray(held).numpy(), held)
    assert not np.shares_memory(xp.asarray(held, copy=True).numpy(), held)
    held.flags.writeable = False
    assert not np.shares_memory(xp.asarray(held).numpy(), held)
    assert xp.asarray(array.array("i", [1, 2])).dtype == xp.int32
    assert xp.asarray([1, 2.5]).dtype == xp.float32
    assert xp.asarray(b"ab").tolist() == [97, 98]
    for given in ([1, 2], 3.0):
        with pytest.raises(ValueError, match="copy=False forbids"):
            xp.asarray(given, copy=False)
    with pytest.raises(ValueError, match="copy=False forbids"):
        xp.asarray(opwright.ones(2), dtype=xp.int8, copy=False)
    assert opwright.asarray([1.0], requires_grad=True).is_leaf
    recorded = opwright.ones(2, requires_grad=True) * 2
    assert opwright.asarray(recorded) is recorded
    assert opwright.asarray(recorded, copy=True).grad_fn is not None
    assert not opwright.asarray(recorded, requires_grad=False).requires_grad


def test_what_the_standard_asks_beyond_operators() -> None:
    x = xp.reshape(xp.arange(12.0), (3, 4))
    assert xp.squeeze(x[:, :1], 1).shape == (3,)
    with pytest.raises(ValueError, match="axis 1 has size 4, not 1"):
        xp.squeeze(x, 1)
    with pytest.raises(ValueError, match="a view of shape"):
        xp.reshape(x.T, (12,), copy=False)
    with pytest.raises(ValueError, match="needs an axis"):
        xp.cumulative_sum(x)
    assert xp.cumulative_sum(x, axis=0, include_initial=True)[0].tolist() == [0.0] * 4
    assert xp.take(x, xp.asarray([-1, 0]), axis=1).shape == (3, 2)
    assert xp.eye(2, 3, k=1).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert xp.arange(5, 0).shape == (0,)
    assert xp.full((2,), xp.asarray(3)).dtype == xp.int64
    assert xp.clip(xp.asarray([1, 200], dtype=xp.uint8), -1, 1000).tolist() == [1, 200]
    assert xp.linalg.solve(xp.eye(2) * 2, xp.asarray([2.0, 4.0])).tolist() == [1.0, 2.0]
    assert complex(opwright.tensor(complex(1, -0.0))).imag.hex() == "-0x0.0p+0"
    assert xp.isdtype(xp.uint8, ("bool", "integral")) and not xp.isdtype(xp.uint8, xp.int8)
    assert not xp.can_cast(xp.uint64, xp.int8) and xp.can_cast(xp.uint16, xp.int32)
    assert xp.finfo(xp.complex64).dtype == xp.float32 and type(xp.finfo(x).eps) is float
    with pytest.raises(TypeError, match="iinfo is for integers"):
        xp.finfo(xp.int8)
    with pytest.raises(RuntimeError, match="no integer dtype holds"):
        xp.result_type(xp.uint64, xp.int8)


def test_gradients_and_transforms_go_through() -> None:
    x = opwright.tensor([1.0, -2.0, 3.0], requires_grad=True)
    xp.sum(xp.abs(xp.fft.rfft(x)) ** 2).backward()
    expected = np.array([2.0, -4.0, 6.0]) * 3 / 2 + np.sum([1.0, -2.0, 3.0])
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)
    rows = opwright.vmap(lambda row: xp.cumulative_sum(row))(opwright.ones(2, 3))
    assert rows.tolist() == [[1.0, 2.0, 3.0]] * 2


def test_shapes_that_broadcast() -> None:
    given = [(), (3,), (2, 1), (0, 1, 1), (2, 3), (4, 1, 3)]
    for shapes in itertools.chain.from_iterable(itertools.product(given, repeat=count) for count in range(4)):
        try:
            expected = np.broadcast_shapes(*shapes)
        except ValueError:
            with pytest.raises(ValueError, match="broadcast_shapes: The size of tensor"):
                xp.broadcast_shapes(*shapes)
        else:
            found = xp.broadcast_shapes(*shapes)
            assert found == expected
            assert type(found) is tuple
    assert opwright.broadcast_shapes() == ()


@pytest.mark.parametrize("axis", [0, -1, 2, -3, (), (0,), (0, 1), (3, 0), (-1, 0), (-1, -2), (1, -2, 4), (-5, -4, -3)])
def test_axes_are_places_of_the_result(axis: int | tuple[int, ...]) -> None:
    """A negative place is counted from the end of the result, in whatever order the places come."""
    x = numbers("int16", (2, 3))
    found, expected = xp.expand_dims(xp.asarray(x), axis), np.expand_dims(x, axis)
    assert found.shape == expected.shape
    assert found.dtype == xp.int16
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("axis", [3, -4, (0, 4), (-5, 0)])
def test_places_out_of_range(axis: int | tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match=r"expand_dims: axis -?\d is out of range for a result of [34] dimensions"):
        xp.expand_dims(xp.ones((2, 3)), axis)
    for repeated in ((0, 0), (1, -3)):
        with pytest.raises(ValueError, match="name one place twice"):
            xp.expand_dims(xp.ones((2, 3)), repeated)


@pytest.mark.parametrize("invert", [False, True])
def test_elements_that_are_in_another_array(invert: bool) -> None:
    integers = [name for name in NAMES if "int" in name]
    for (one, two), shapes in itertools.product(
        itertools.product(integers, repeat=2), [((3, 4), (2,)), ((), (2, 2)), ((5,), ())]
    ):
        if {np.dtype(one).kind, np.dtype(two).kind} == {"i", "u"} and "uint64" in (one, two):
            continue  # no dtype holds both
        left, right = numbers(one, shapes[0]), numbers(two, shapes[1], 1)
        found = xp.isin(xp.asarray(left), xp.asarray(right), invert=invert)
        assert (found.dtype, found.shape) == (xp.bool, left.shape)
        np.testing.assert_array_equal(found.numpy(), np.isin(left, right, invert=invert))


def test_what_is_equal_is_in() -> None:
    """NaN is not even in its own; an array without dimensions is promoted."""
    small = xp.asarray([1, 44], dtype=xp.int8)
    assert xp.isin(small, xp.asarray(300)).tolist() == [False, False]
    found = xp.isin(44, small)
    assert (found.shape, found.dtype, found.item()) == ((), xp.bool, True)
    values = xp.asarray([math.nan, 0.0, math.inf])
    assert xp.isin(values, xp.asarray([math.nan, -0.0, math.inf])).tolist() == [False, True, True]
    assert xp.isin(small, xp.zeros(0, dtype=xp.int8), invert=True).tolist() == [True, True]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (2, 0, 0), (0, 3, 3), (1, 1)])
def test_eigenvalues_of_any_square_matrices(dtype: str, shape: tuple[int, ...]) -> None:
    x = seeds.numpy_generator(0).standard_normal(shape).astype(dtype)
    if "complex" in dtype:
        x = x + 1j * seeds.numpy_generator(1).standard_normal(shape).astype(dtype)
    values, vectors = found = xp.linalg.eig(xp.asarray(x))
    assert found._fields == ("eigenvalues", "eigenvectors")
    assert (values.shape, vectors.shape) == (shape[:-1], shape)
    assert (
        str(values.dtype) == str(vectors.dtype) == ("complex64" if dtype in ("float32", "complex64") else "complex128")
    )
    near = 1e-4 if "32" in dtype or dtype == "complex64" else 1e-10
    np.testing.assert_allclose(
        x @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :], atol=near, rtol=near
    )
    alone = xp.linalg.eigvals(xp.asarray(x))
    assert alone.dtype == values.dtype
    np.testing.assert_allclose(np.sort_complex(alone.numpy()), np.sort_complex(values.numpy()), atol=near, rtol=near)


def test_eigenvalues_are_complex_where_they_are_real() -> None:
    assert xp.linalg.eigvals(xp.eye(2)).tolist() == [1 + 0j, 1 + 0j]
    turn = xp.asarray([[0.0, -1.0], [1.0, 0.0]])
    assert sorted(value.imag for value in xp.linalg.eigvals(turn).tolist()) == pytest.approx([-1, 1])
    with pytest.raises(RuntimeError, match="square"):
        xp.linalg.eig(xp.ones((2, 3)))


def test_several_arrays_are_a_tuple() -> None:
    one, two = xp.arange(2), xp.asarray([2, 3, 4])
    several = {
        "meshgrid": xp.meshgrid(one, two),
        "no meshgrid": xp.meshgrid(),
        "broadcast_arrays": xp.broadcast_arrays(one[:, None], two),
        "no broadcast_arrays": xp.broadcast_arrays(),
        "unstack": xp.unstack(one),
        "nonzero": xp.nonzero(one),
        "devices": xp.__array_namespace_info__().devices(),
    }
    assert {name: type(found) for name, found in several.items()} == dict.fromkeys(several, tuple)
    assert [each.shape for each in several["broadcast_arrays"]] == [(2, 3)] * 2


def test_numbers_and_negative_axes() -> None:
    found = xp.searchsorted(xp.asarray([1, 2, 2, 3]), 2, side="right")
    assert (found.shape, found.dtype, found.item()) == ((), xp.int64, 3)
    assert xp.permute_dims(xp.ones((1, 2, 3)), (-1, 0, -2)).shape == (3, 1, 2)
    assert xp.__array_api_version__ == "2025.12"
