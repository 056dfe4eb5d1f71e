"""A backend of few kernels, and the fallback by way of NumPy for the rest: every operator as on the CPU, whether its
arrays share memory with NumPy's, have strides and kernels for views, or neither."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fallen_back
import numpy as np
import pytest
from declared import functional_of, of_kind
from fallen_back import Held
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample

import opwright
from opwright.testing.training_step import operators_of, operators_of_training
from opwright_codegen.schema.model import SchemaKind

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_classifier.py"
UNINITIALISED = ("empty", "empty_strided", "empty_like", "empty_permuted", "new_empty", "new_empty_strided")
# What such a backend cannot do, by what its error says: look at memory that only kernels of its own know.
REFUSED = ("needs a kernel of its own for this", "a write to this tensor would be lost")
KINDS = list(fallen_back.KINDS)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings(), fallen_back.backend(request.param):
        warnings.simplefilter("ignore")
        yield request.param


def held(values: Any) -> Any:
    return opwright.tensor(values, device="held")


CALLS: dict[str, Callable[[Any], Any]] = {
    "x + 1": lambda x: x + 1,
    "x.sum()": lambda x: x.sum(),
    "x.t()": lambda x: x.t(),
    "zeros": lambda x: opwright.zeros(2, 3, device=x.device),
    "clone": lambda x: x.clone(),
    "softmax": lambda x: x.softmax(-1),
    "x @ x.t()": lambda x: x @ x.t(),
    "x[0]": lambda x: x[0],
    "x[[1, 0]]": lambda x: x[opwright.tensor([1, 0])],
    "x[x > 2]": lambda x: x[x > 2],
    "argmax": lambda x: x.argmax(1),
    "to": lambda x: x.to(opwright.float64),
    "max": lambda x: x.max(0).values,
    "split": lambda x: x.split(1)[1],
    "rand": lambda x: (opwright.manual_seed(3), opwright.rand(4, device=x.device))[1],
    "x * a number of the CPU": lambda x: x * opwright.tensor(2.0),
    "add_": lambda x: x.clone().add_(x),
    "resize_": lambda x: x.clone().resize_(1, 2),
    "out=": lambda x: opwright.add(x, x, out=opwright.empty(0, device=x.device)),
    "frexp": lambda x: x.frexp().mantissa,
    "item": lambda x: x.sum().item(),
    "gradient": lambda x: opwright.func.grad(lambda y: (y * y).softmax(-1)[:, 0].sum())(x),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_ordinary_calls(kind: str, name: str) -> None:
    x = opwright.arange(6.0).reshape(2, 3)
    expected, found = CALLS[name](x), CALLS[name](x.to("held"))
    if not isinstance(expected, opwright.Tensor):
        assert found == expected
        return
    assert (type(found.array), found.device.type) == (Held, "held")
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found.cpu().numpy(), expected.numpy())


def outcome(function: Any, one: Sample, convert: Callable[[Any], Any]) -> Any:
    if "nondeterministic_seeded" in function.tags:
        opwright.manual_seed(7)
    try:
        return function(*map(convert, one.args), **{name: convert(value) for name, value in one.kwargs.items()})
    except (RuntimeError, ValueError, TypeError, IndexError, OverflowError, NotImplementedError) as error:
        return error


def on_host(value: Any) -> Any:
    if isinstance(value, list):
        return [on_host(each) for each in value]
    return opwright.from_numpy(value) if isinstance(value, np.ndarray) else value


def on_device(kind: str, value: Any) -> Any:
    """The argument with its arrays on the device, with their strides where it has any."""
    if isinstance(value, list):
        return [on_device(kind, each) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    return opwright.as_tensor(fallen_back.KINDS[kind][0]["from_numpy"](value))


def differences(found: Any, expected: Any, name: str, has_strides: bool) -> list[str]:
    """What differs between two outcomes; nothing where both are errors, or the backend may refuse."""
    if isinstance(found, Exception):
        is_allowed = isinstance(expected, Exception) or any(text in str(found) for text in REFUSED)
        return [] if is_allowed else [f"{name}: {found!r}"]
    if isinstance(expected, Exception):
        return [f"{name}: {expected!r} on the CPU alone"]
    if isinstance(expected, list | tuple):
        return [each for a, b in zip(found, expected, strict=True) for each in differences(a, b, name, has_strides)]
    if not isinstance(expected, opwright.Tensor):
        return [] if found == expected or found != found else [f"{name}: {found} {expected}"]
    facts = [(str(each.dtype), tuple(each.shape), each.stride() if has_strides else ()) for each in (found, expected)]
    if facts[0] != facts[1] and expected.numel():
        return [f"{name}: {facts}"]
    # (what the CPU has kernels of its own for may go another way, over other operators: other roundings)
    is_same = name.partition(".")[0] in UNINITIALISED or np.allclose(
        found.detach().cpu().double().numpy() if expected.dtype.itemsize == 2 else found.detach().cpu().numpy(),
        expected.detach().double().numpy() if expected.dtype.itemsize == 2 else expected.detach().numpy(),
        rtol=1e-5,
        atol=1e-5,
        equal_nan=True,
    )
    return [] if is_same else [f"{name}: {found} {expected}"]


@pytest.mark.parametrize("kind", ["shared"], indirect=True)
def test_every_operator(kind: str) -> None:
    """A first sample of each. (With other kinds of arrays the same: `--slow` runs them, and more samples.)"""
    assert not _different(kind, 1)


@pytest.mark.slow
def test_every_operator_and_array(kind: str) -> None:
    assert not _different(kind, 4)


def _different(kind: str, count: int) -> list[str]:
    found: list[str] = []
    for name in of_kind(SchemaKind.FUNCTIONAL):
        if name in NO_SAMPLES or name in OF_THE_CPU:
            continue
        function = opwright.ops.aten.__getattr__(name.partition(".")[0])
        function = getattr(function, name.partition(".")[2] or "default")
        for one, _ in zip(SAMPLES[name](), range(count), strict=False):
            if kind == "copies" and not all(
                each.flags.c_contiguous for each in one.args if isinstance(each, np.ndarray)
            ):
                continue  # what comes out may follow from strides
            there = _placed(function, one)
            expected = outcome(function, one, on_host)
            found += differences(outcome(function, there, partial(on_device, kind)), expected, name, kind == "shared")
    return found


# Operators that are told the CPU, or asked about strides.
OF_THE_CPU = ("to.device", "sym_stride.int")


def _placed(function: Any, one: Sample) -> Sample:
    names = [argument.name for argument in function.schema.arguments]
    if "device" not in names or {**dict(zip(names, one.args, strict=False)), **one.kwargs}.get("device") is not None:
        return one
    return Sample(one.args, {**one.kwargs, "device": "held"})


WRITING = ["add_.Tensor", "mul_.Scalar", "cumsum_", "index_add_", "sort.values_stable", "addmm.out", "clamp_", "tril_"]


@pytest.mark.parametrize("name", WRITING)
def test_variants_that_write(kind: str, name: str) -> None:
    base, _, overload = name.partition(".")
    function = getattr(getattr(opwright.ops.aten, base), overload or "default")
    one = next(each for each in SAMPLES[functional_of(name)]() if each.args[0].dtype == np.float32)
    results = []
    for convert in (on_host, partial(on_device, kind)):
        args = [convert(each) for each in one.args]
        outs = {}
        if function.schema.kind is SchemaKind.OUT:
            written = [function.signature.names[position] for position in sorted(function.signature.written)]
            plain = getattr(getattr(opwright.ops.aten, base), functional_of(name).partition(".")[2] or "default")
            made = plain(*args, **{key: convert(value) for key, value in one.kwargs.items()})
            made = made if isinstance(made, tuple) else (made,)
            outs = {key: opwright.empty_like(each) for key, each in zip(written, made, strict=True)}
        else:
            args[0] = args[0].clone()
        result = function(*args, **{key: convert(value) for key, value in one.kwargs.items()}, **outs)
        targets = list(outs.values()) or [args[0]]
        returned = result if isinstance(result, tuple) else (result,)
        assert all(a is b for a, b in zip(returned, targets, strict=True))
        results.append(targets)
    assert not [each for a, b in zip(*reversed(results), strict=True) for each in differences(a, b, name, False)]


@pytest.mark.parametrize("kind", ["strides", "shared"], indirect=True)
def test_views_share_memory(kind: str) -> None:
    x = held([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert x.detach().array is x.array
    column = x.t()[1]
    assert (column.stride(), column.storage_offset(), column._base is x) == ((3,), 1, True)
    column.mul_(10)
    x[0, 0] = 7.0
    x[:, 2].zero_()
    assert x.tolist() == [[7.0, 10.0, 0.0], [3.0, 40.0, 0.0]]
    assert column.tolist() == [10.0, 40.0]
    y = held([1.0, 2.0]).requires_grad_()
    z = y * 2
    z[0].mul_(5)
    z.sum().backward()
    assert y.grad.tolist() == [10.0, 2.0]


def test_a_copy_in_place_of_a_view_cannot_be_written_to() -> None:
    with fallen_back.backend("copies"):
        x = held([[0.0, 1.0], [2.0, 3.0]])
        with pytest.warns(UserWarning, match="aten::t makes a view of its argument, and backend 'held' can make none"):
            turned = x.t()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert x.t().tolist() == [[0.0, 2.0], [1.0, 3.0]]  # it says so once
        with pytest.raises(RuntimeError, match=r"a write to this tensor would be lost.*clone\(\) it first"):
            turned.add_(1)
        with pytest.raises(RuntimeError, match="a write to this tensor would be lost"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x[0, 1] = 5.0
        assert turned.clone().add_(1).tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_views_can_be_refused_and_calls_warned_of() -> None:
    with fallen_back.backend("copies", warn=True, error_on_views=True):
        with pytest.warns(UserWarning, match="aten::sin runs on the CPU: backend 'held' has no kernel"):
            x = held([[1.0, 2.0]]).sin()
        with (
            pytest.warns(UserWarning, match="aten::t runs"),
            pytest.raises(RuntimeError, match=r"can make none. Register a kernel of aten::as_strided"),
        ):
            x.t()


def test_what_cannot_be_written_or_held_is_said() -> None:
    described = {"from_numpy": lambda array: Held(np.array(array, np.float32)), "to_numpy": lambda x: x.data.copy()}
    made = opwright.register_backend("held", array_type=Held, **described)
    handle = made.fall_back_to_numpy()
    try:
        x = opwright.ones(2, device="held").mul_(3)
        x[:] = x + held([1.0, 2.0])
        assert x.add_(1).tolist() == [5.0, 6.0]  # a new array takes the place of the old one
        with opwright.no_grad():
            other = x.detach()
        with pytest.raises(RuntimeError, match=r"aten::mul_.Scalar cannot write to 'self'.*no kernel of aten::copy_"):
            x.mul_(2)
        with pytest.raises(RuntimeError, match=r"'held' cannot hold an array of int64.*made one of float32"):
            x.argmax()
        assert other.tolist() == x.tolist() == [5.0, 6.0]
        handle.remove()
        with pytest.raises(opwright.DispatchError, match="no kernel is registered for PrivateUse1"):
            x.sin()
    finally:
        handle.remove()
        made.remove()


def test_a_kernel_of_its_own_comes_first(kind: str) -> None:
    x = held([1.0, 2.0])
    handle = opwright.library.register_array_kernel("aten::sin", "PrivateUse1", lambda self: Held(self.data + 100))
    assert x.sin().tolist() == [101.0, 102.0]
    handle.remove()
    assert x.sin().tolist() == opwright.tensor([1.0, 2.0]).sin().tolist()


def test_an_operator_of_the_cpu_alone(kind: str) -> None:
    @opwright.library.custom_op("fallen::half", mutates_args=(), device_types="cpu")
    def half(x: np.ndarray) -> np.ndarray:
        return x / 2

    assert half(held([2.0])).tolist() == [1.0]


def losses(device: str) -> list[float]:
    """The training of the examples on a device: its losses."""
    example = runpy.run_path(str(EXAMPLE))
    points, labels = example["spirals"](40, opwright.float32)
    start = example["initial"](8, opwright.float32)
    parameters = {name: each.detach().to(device).requires_grad_() for name, each in start.items()}
    losses: list[float] = example["train"](parameters, points.to(device), labels.to(device), steps=10, report=False)
    return losses


def test_twenty_kernels_train_the_classifier_of_the_examples() -> None:
    assert len(fallen_back.TWENTY) == 20
    with fallen_back.backend("copies", fallen_back.TWENTY), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = losses("held")
    expected = losses("cpu")
    assert found[-1] < found[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_operators_of_a_training_step_are_those_of_the_example() -> None:
    assert sorted(operators_of_training()) == sorted(operators_of(losses))
