"""Operators called with arrays of other libraries, lists and numbers: kind, values and dtype of what comes back."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds
from copying import copy_example

import opwright
from opwright.errors import ArgumentError
from opwright.library import custom_op
from opwright_codegen.cli import main

pytestmark = pytest.mark.oracle
aten = opwright.ops.aten
RANDOM = seeds.numpy_generator(0)
A, B = RANDOM.uniform(0.1, 1, (2, 3, 4)), RANDOM.uniform(0.1, 1, (5, 4))
V = A[0, :, 0]
# An operator, and arguments of which arrays are made those of each library.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("everywhere.soft_threshold", (A,), {"limit": 0.3}),
    ("everywhere.haversine", (V, V + 1, V / 2, V), {}),
    ("everywhere.squared_distances", (A, B), {}),
    ("everywhere.standardize", (A.astype(np.float32),), {}),
    ("everywhere.peak", (A,), {"dim": -2, "keepdim": True}),
    ("everywhere.moving_mean", (A, 2), {}),
    ("aten.add", (A, A), {"alpha": 2}),
    ("aten.mul", (A, 3), {}),
    ("aten.exp", (A,), {}),
    ("aten.gelu", (A.astype(np.float32),), {}),
    ("aten.sum", (A,), {}),
    ("aten.sum", (A, [0]), {}),
    ("aten.softmax.int", (A, -1), {}),
    ("aten.matmul", (A, B.T.copy()), {}),
    ("aten.cat", ([A, A], 1), {}),
    ("aten.permute", (A, [2, 0, 1]), {}),
    ("aten.eq", (A, A), {}),
    ("aten.max.dim", (A, 0), {}),
    ("aten.split", (A, 2, 1), {}),
    ("aten.argsort", (A,), {}),
    ("aten.where.self", (A > 0.5, A, A * 2), {}),
    ("aten.bitwise_and", (np.arange(4), np.arange(4) + 2), {}),
]


@pytest.fixture(scope="module", autouse=True)
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package of the example, with its bindings, generated in a folder of its own."""
    folder = tmp_path_factory.mktemp("everywhere") / "project"
    copy_example("everywhere", folder)
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    yield importlib.import_module("everywhere_ops")
    sys.path.remove(str(folder))


@custom_op("guests::shrink", mutates_args=())
def shrink(x: np.ndarray, limit: float = 0.5) -> np.ndarray:
    """Move x towards 0 by limit."""
    return np.sign(x) * np.maximum(np.abs(x) - limit, 0)


@custom_op("guests::scale_", mutates_args={"x"}, tags=opwright.Tag.inplace)
def scale_(x: opwright.Tensor, factor: float) -> opwright.Tensor:
    """Multiply x by factor, in place."""
    x.numpy()[...] *= factor
    return x


@custom_op("guests::weighed", mutates_args=())
def weighed(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return x times weights."""
    return x * weights


def operator(name: str) -> Any:
    found: Any = opwright.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, list | tuple):
        return [mapped(each, function) for each in value]
    return function(value) if isinstance(value, np.ndarray) else value


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def check(name: str, args: Any, kwargs: Any, make: Callable[[Any], Any], kind: type) -> None:
    function = operator(name)
    found = leaves(function(*mapped(args, make), **kwargs))
    wanted = leaves(function(*args, **kwargs))
    assert len(found) == len(wanted)
    for each, expected in zip(found, wanted, strict=True):
        assert isinstance(each, kind)
        assert np.array_equal(np.asarray(each), expected)
        assert np.asarray(each).dtype == expected.dtype


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_pytorch(name: str, args: Any, kwargs: Any) -> None:
    torch = pytest.importorskip("torch")
    check(name, args, kwargs, torch.from_numpy, torch.Tensor)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_jax(name: str, args: Any, kwargs: Any) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        check(name, args, kwargs, jax.numpy.asarray, jax.Array)


class OwnArray:
    """An array with NumPy's protocol alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Exchanged:
    """An array that speaks DLPack, and names a namespace whose `from_dlpack` makes another."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return Exchanged

    @classmethod
    def from_dlpack(cls, source: Any) -> Exchanged:
        return cls(np.from_dlpack(source))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_arrays_with_numpys_protocol_give_arrays_of_numpy(name: str, args: Any, kwargs: Any) -> None:
    check(name, args, kwargs, OwnArray, np.ndarray)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_arrays_that_speak_dlpack_come_back_by_their_namespace(name: str, args: Any, kwargs: Any) -> None:
    check(name, args, kwargs, Exchanged, Exchanged)


def labelled(array: np.ndarray) -> Any:
    """Return an array with names of dimensions and labels."""
    xarray = pytest.importorskip("xarray")
    dims = "xyz"[: array.ndim]
    return xarray.DataArray(
        array, dims=tuple(dims), coords={dim: np.arange(array.shape[i]) for i, dim in enumerate(dims)}
    )


def tabular(array: np.ndarray) -> Any:
    """Return an array of one or two dimensions as pandas has it, a larger one's first row."""
    pandas = pytest.importorskip("pandas")
    return pandas.Series(array) if array.ndim < 2 else pandas.DataFrame(array if array.ndim == 2 else array[0])


def test_labels_come_back_where_the_shape_does() -> None:
    """All operators of the table: xarray's arrays and pandas'; results of another shape are arrays of NumPy."""
    for make, left_out in ((labelled, ()), (tabular, ("aten.permute", "aten.matmul", "everywhere.squared_distances"))):
        for name, args, kwargs in CALLS:
            if name in left_out:
                continue
            given = leaves(mapped(args, make))
            arrays = [each for each in given if hasattr(each, "to_numpy")]
            if len({each.shape for each in arrays}) > 1:
                with pytest.raises(ArgumentError, match=r"its dimensions are|its labels are not"):
                    operator(name)(*mapped(args, make), **kwargs)
                continue
            found = leaves(operator(name)(*mapped(args, make), **kwargs))
            plain = mapped(args, functools.partial(values_of, make))
            wanted = leaves(operator(name)(*plain, **kwargs))
            for each, expected in zip(found, wanted, strict=True):
                like = next((x for x in arrays if x.shape == expected.shape), None)
                assert type(each) is (np.ndarray if like is None else type(like)), name
                assert np.array_equal(np.asarray(each), expected) and np.asarray(each).dtype == expected.dtype, name
                assert like is None or all(map(np.array_equal, axes(each), axes(like))), name


def values_of(make: Callable[[np.ndarray], Any], array: np.ndarray) -> np.ndarray:
    """Return the values of what a library makes of an array."""
    made: np.ndarray = make(array).to_numpy()
    return made


def axes(array: Any) -> list[Any]:
    """Return the labels of each dimension."""
    return array.axes if hasattr(array, "axes") else [array[dim] for dim in array.dims]


def test_tensors_give_tensors() -> None:
    for name, args, kwargs in CALLS:
        check(name, args, kwargs, opwright.from_numpy, opwright.Tensor)


def test_two_kinds_are_an_error_that_names_both() -> None:
    """Every pair of kinds that are no arrays of NumPy, whichever comes first."""
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    kinds = {
        r"torch\.Tensor": torch.from_numpy,
        r"jaxlib.*ArrayImpl": jax.numpy.asarray,
        r"(opwright\S*\.)?Tensor": opwright.from_numpy,
        r"xarray\S*DataArray": labelled,
        r"pandas\S*Series": tabular,
        r"\S*Exchanged": Exchanged,
    }
    single = np.ones(3, np.float32)
    for first, of_first in kinds.items():
        for second, of_second in kinds.items():
            if first == second:
                continue
            with pytest.raises(ArgumentError, match=rf"got an? ({first} and an? {second}|{second} and an? {first})"):
                weighed(of_first(single), of_second(single))
            for other in (single, [1.0, 1.0, 1.0], 1.0):  # which go with any
                assert type(weighed(of_first(single), other)) is type(of_first(single))


USERS = [call for call in CALLS if call[0].startswith("everywhere.")]


@pytest.mark.parametrize(("name", "args", "kwargs"), USERS)
def test_lists_give_arrays_of_numpy(name: str, args: Any, kwargs: Any) -> None:
    doubles = mapped(args, np.float64)
    found = operator(name)(*mapped(doubles, np.ndarray.tolist), **kwargs)
    assert type(found) is np.ndarray
    assert np.array_equal(found, operator(name)(*doubles, **kwargs))
    assert found.dtype == np.float64


def test_a_number_is_an_array_without_dimensions() -> None:
    assert shrink(-2.0) == -1.5
    assert np.shape(shrink(-2.0)) == ()


def test_lists_beside_arrays_take_their_floating_dtype() -> None:
    single = np.ones(2, np.float32)
    assert weighed(single, [1.5, 2.5]).dtype == np.float32
    assert weighed(np.ones(2), [1.5, 2.5]).dtype == np.float64
    assert np.array_equal(weighed(np.ones(2), [0.1, 0.2]), [0.1, 0.2])
    made = weighed(opwright.ones(2), [1.5, 2.5])
    assert isinstance(made, opwright.Tensor)
    assert made.tolist() == [1.5, 2.5]


def test_what_no_array_is_made_of_is_refused() -> None:
    for wrong in ("abc", ["a", "b"], [[1.0], [1.0, 2.0]], {}, object(), [opwright.ones(2)]):
        with pytest.raises(ArgumentError, match=r"guests::shrink\(\) expected Tensor for argument 'x' \(position 0\)"):
            shrink(wrong)


def test_atens_operators_take_no_lists_as_in_pytorch() -> None:
    with pytest.raises(ArgumentError, match=r"numpy.asarray\(...\) makes an array of it"):
        aten.exp([1.0, 2.0])


def test_functions_of_the_library_take_them_too() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(3)
    assert torch.equal(opwright.add(x, x, alpha=2), x + 2 * x)
    assert torch.equal(opwright.sum(input=x), torch.from_numpy(np.asarray(opwright.sum(x.numpy()))))
    assert isinstance(opwright.cat([x, x]), torch.Tensor)
    assert isinstance(opwright.max(x, 0).values, torch.Tensor)


def test_views_of_pytorch_share_its_memory() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    turned = aten.t(x)
    turned[0, 1] = 9
    assert x[1, 0] == 9


def test_writes_go_to_the_callers_tensor_and_count() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    version = x._version
    assert scale_(x, 3.0) is x
    assert x.tolist() == [3.0, 3.0, 3.0]
    assert x._version == version + 1
    out = torch.empty(3)
    assert opwright.exp(x, out=out) is out
    assert np.array_equal(out.numpy(), opwright.exp(x.numpy()))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "bool", "int8", "complex64"])
def test_dtypes_of_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(4).to(getattr(torch, dtype))
    found = aten.add(x, x)
    assert found.dtype == x.dtype
    assert torch.equal(found, x + x)


def test_conjugates_and_negatives_of_pytorch_are_resolved() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert torch.equal(aten.add(x.conj(), x), (x.conj() + x).resolve_conj())
    assert torch.equal(aten.neg(x.conj().imag), x.imag)


def test_read_only_stays_read_only() -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(
        ArgumentError, match=r"guests::scale_\(\) writes argument 'x' .* jaxlib.*ArrayImpl is read-only"
    ):
        scale_(jax.numpy.ones(3), 2.0)
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="is read-only: pass a copy"):
        scale_(OwnArray(frozen), 2.0)
    with pytest.raises(ArgumentError, match="expected Tensor"):
        scale_([1.0, 2.0], 2.0)


def test_calls_that_come_again_are_as_the_first() -> None:
    """The compiled core takes those of types that it met before, by DLPack's C exchange API."""
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(4):
        assert torch.equal(shrink(x), shrink(x.clone()))
        assert torch.equal(shrink(x.t(), limit=1.0), shrink(x, limit=1.0).t())
        assert torch.equal(opwright.add(x, x, alpha=2), 3 * x)
        assert [each.tolist() for each in opwright.split(x, 1)] == [[row] for row in x.tolist()]
        largest = opwright.max(x, 1)
        assert isinstance(largest.values, torch.Tensor) and largest.indices.tolist() == [2, 2]
        assert opwright.sum(x).shape == ()
        assert aten.t(x).data_ptr() == x.data_ptr()
        assert opwright.flip(x, [0]).tolist() == x.flip(0).tolist()
        assert aten.to.dtype(x, opwright.bfloat16).dtype == torch.bfloat16
    for refused in (x.clone().requires_grad_(), x.to_sparse(), torch.ones(3, device="meta")):
        with pytest.raises(ArgumentError):
            shrink(refused)
    with pytest.raises(ArgumentError, match=r"got a torch.Tensor and a jaxlib"):
        opwright.add(x, pytest.importorskip("jax").numpy.ones(3))
    assert torch.equal(aten.neg(torch.tensor([1 + 2j]).conj().imag), torch.tensor([2.0]))
    assert shrink(torch.ones(0, 3)).shape == (0, 3)
    assert torch.equal(shrink(torch.nn.Parameter(x, requires_grad=False)), shrink(x))


def test_memory_lives_as_long_as_somebody_looks_at_it() -> None:
    torch = pytest.importorskip("torch")
    for _ in range(4):
        x = torch.arange(6.0)
        seen = weakref.ref(x)
        view, made = aten.reshape(x, [2, 3]), shrink(x)
        del x
        torch.full((6,), 9.0)  # which would lie where it lay
        assert view.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        del view
        assert seen() is None
        assert made.tolist() == [0.0, 0.5, 1.5, 2.5, 3.5, 4.5]


def test_several_libraries_are_an_error_that_names_both() -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    x, y = torch.ones(3), jax.numpy.ones(3)
    for function, name in ((weighed, "guests::weighed"), (aten.add, "aten::add"), (aten.add.Tensor, "aten::add")):
        with pytest.raises(ArgumentError, match=rf"{name}.*\(\) got a torch.Tensor and a jaxlib.*ArrayImpl"):
            function(x, y)
    with pytest.raises(ArgumentError, match=r"got a torch.Tensor and a Tensor"):
        weighed(x, opwright.ones(3))


def test_arrays_of_numpy_and_lists_go_with_any_library() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    for other in (np.full(3, 2.0, np.float32), [2.0, 2.0, 2.0], 2.0):
        assert torch.equal(weighed(x, other), torch.full((3,), 2.0))


def test_gradients_go_through_the_packages_binding() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([-1.0, 0.2, 2.0], requires_grad=True)
    for function in (operator("everywhere.soft_threshold"), operator("everywhere.soft_threshold.default")):
        (found,) = torch.autograd.grad(function(x, limit=0.5).sum(), x)
        assert found.tolist() == [1.0, 0.0, 1.0]
    batched = torch.vmap(operator("everywhere.soft_threshold"))(torch.stack([x, x]))
    assert batched.shape == (2, 3)


def test_gradients_without_a_binding_are_refused() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, requires_grad=True)
    for function in (shrink, aten.exp, aten.exp.default):
        with pytest.raises(
            ArgumentError, match=r"requires grad, has a tangent or is traced, and no binding gives it to PyTorch"
        ) as got:
            function(x)
        assert "\n" not in str(got.value)
    with torch.no_grad():
        assert shrink(x).tolist() == [0.5, 0.5, 0.5]


def test_calls_that_came_before_lose_no_tangent_and_take_no_tensor_without_data() -> None:
    """Each class of tensors of PyTorch, where the compiled core has the call of plain ones already."""
    torch = pytest.importorskip("torch")
    x, function = torch.ones(3), torch._C._functorch
    forward = torch.autograd.forward_ad

    class Own(torch.Tensor):
        pass

    def refused(tensor: Any) -> Any:
        for _ in range(3):
            with pytest.raises(ArgumentError):
                shrink(tensor)
        return tensor

    for _ in range(3):
        assert shrink(x).tolist() == [0.5, 0.5, 0.5]
    with forward.dual_level():
        refused(forward.make_dual(x, torch.ones(3)))
        assert shrink(x).tolist() == [0.5, 0.5, 0.5]
    torch.func.jvp(refused, (x,), (x,))
    torch.func.vmap(refused)(x)
    torch.func.grad(lambda z: refused(z).sum())(x)
    torch.func.functionalize(refused)(x)
    with torch._subclasses.FakeTensorMode():
        refused(torch.ones(3))
    for each in (x.as_subclass(Own), x.to_sparse(), torch.ones(3, device="meta")):
        refused(each)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        refused(torch.eye(3).to_sparse_csr())
        refused(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
        refused(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8))
    assert function.peek_interpreter_stack() is None
    z = torch.tensor([1 + 2j, 3 - 1j])
    for _ in range(3):
        assert torch.equal(shrink(z.conj().imag), shrink(-z.imag.clone()))
        assert torch.equal(shrink(z.conj().imag.detach()), shrink(-z.imag.clone()))
    with torch.inference_mode():
        assert shrink(x * 2).tolist() == [1.5, 1.5, 1.5]


def test_jax_traces_through_the_packages_binding() -> None:
    jax = pytest.importorskip("jax")
    threshold = operator("everywhere.soft_threshold")
    found = jax.grad(lambda x: threshold(x, limit=0.5).sum())(jax.numpy.asarray([-1.0, 0.2, 2.0]))
    assert found.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(ArgumentError, match=r"guests::shrink\(\) got an array of JAX that is traced"):
        jax.jit(shrink)(jax.numpy.ones(3))


def test_what_has_no_dense_memory_here_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(
        ArgumentError,
        match=r"cannot take an array of PyTorch for argument 'x' \(position 0\): its layout is torch.sparse_coo",
    ):
        shrink(torch.ones(3).to_sparse())
    with pytest.raises(
        ArgumentError, match=r"cannot take an array of PyTorch for argument 'x' \(position 0\): it is on device meta"
    ):
        shrink(torch.ones(3, device="meta"))


class Broken:
    """An array whose conversion fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ZeroDivisionError("no data")


def test_what_cannot_be_taken_is_named_with_its_argument_and_a_hint_that_helps() -> None:
    """Position or name, what the other library says, and no hint that fails in its turn."""
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    itself: list[Any] = []
    itself.append(itself)
    labels = pandas.Series(["a", "b"], dtype="category")
    tables: list[tuple[Any, str]] = [
        (Broken(), r"Broken for argument 'weights' \(position 1\): ZeroDivisionError: no data"),
        (xarray.Dataset({"a": ("t", [1.0])}), r"for argument 'weights' \(position 1\): TypeError: cannot directly"),
        (labels, r"for argument 'weights' \(position 1\): its elements .*: to_numpy\(dtype, na_value=...\) makes"),
        ([opwright.ones(2), opwright.ones(2)], r"numpy.stack\(...\) makes an array of tensors"),
        (memoryview(b"abc"), r"numpy.asarray\(...\) makes an array of it"),
        *[(each, r"got [^;]*\nDeclaration") for each in ([[1.0], [2.0, 3.0]], [None], ["a"], [10**30], itself)],
        (range(2), r"numpy.asarray\(...\) makes an array of it"),
    ]
    for value, message in tables:
        with pytest.raises(ArgumentError, match=message):
            weighed(np.ones(2), value)
    with pytest.raises(ArgumentError, match=r"aten::add\(\) cannot take .* for position 1: ZeroDivisionError"):
        opwright.add(np.ones(2), other=Broken())


def test_xarray_keeps_its_labels() -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(A[0], dims=("day", "place"), coords={"day": [1, 2, 3]}, name="rain", attrs={"unit": "mm"})
    found = shrink(x, 0.25)
    assert found.identical(x.copy(data=shrink(A[0], 0.25)))
    assert weighed(x, np.full(4, 2.0)).identical(x.copy(data=A[0] * 2))
    assert type(aten.sum(x, [0])) is np.ndarray
    with pytest.raises(ArgumentError, match=r"its labels are not those of another argument: xarray.align"):
        weighed(x, x.assign_coords(day=[1, 2, 4]))
    with pytest.raises(ArgumentError, match=r"its dimensions are \('place', 'day'\)"):
        weighed(x, x.T)
    assert scale_(x, 2.0) is x
    assert np.array_equal(x.values[0], A[0, 0])


def test_pandas_keeps_its_labels() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([-2.0, 0.2, 2.0], index=["a", "b", "c"], name="rain")
    pandas.testing.assert_series_equal(
        shrink(series), pandas.Series([-1.5, 0.0, 1.5], index=["a", "b", "c"], name="rain")
    )
    frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}, index=[7, 8])
    pandas.testing.assert_frame_equal(shrink(frame), frame - 0.5)
    index = pandas.Index([1.0, 2.0], name="level")
    pandas.testing.assert_index_equal(shrink(index), index - 0.5)
    assert type(aten.sum(frame, [0])) is np.ndarray
    with pytest.raises(ArgumentError, match=r"its labels are not those of another argument"):
        weighed(series, series.rename(index={"a": "z"}))
    with pytest.raises(ArgumentError, match=r"its elements are no numbers of one dtype"):
        shrink(pandas.Series(["a", "b"]))


def test_dask_is_left_to_its_binding() -> None:
    array = pytest.importorskip("dask.array")
    with pytest.raises(
        ArgumentError, match=r"guests::shrink\(\) expected Tensor for argument 'x' \(position 0\), got dask"
    ):
        shrink(array.ones(3))
