"""The examples of `torch.library` and of PyTorch's notes on extending it from Python, with the import lines changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opwright as torch
from opwright import Tensor
from opwright.library import Library, infer_schema

pytestmark = pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")


@pytest.fixture
def mylib() -> Iterator[Library]:
    library = Library("mylib", "FRAGMENT")
    yield library
    library.destroy()


def test_add_in_a_new_namespace() -> None:
    my_lib = Library("foo", "DEF")
    my_lib.define("sum(Tensor self) -> Tensor")
    my_lib.define("add(Tensor self, Tensor other) -> Tensor")

    def add_cpu(self: Tensor, other: Tensor) -> Tensor:
        return torch.from_numpy(self.numpy() + other.numpy())

    my_lib.impl("add", add_cpu, "CPU")
    my_lib.impl("sum", lambda self: self.sum())
    x = torch.tensor([1, 2])
    assert torch.ops.foo.add(x, x).tolist() == [2, 4]
    assert torch.ops.foo.sum(x).item() == 3
    assert torch.add(x, x).tolist() == [2, 4]  # aten's is another
    with pytest.raises(RuntimeError, match="only one Library can be the DEF of namespace foo"):
        Library("foo", "DEF")
    del my_lib
    with pytest.raises(AttributeError, match="garbage-collected"):
        _ = torch.ops.foo.add


def test_a_kernel_for_an_operator_of_aten() -> None:
    my_lib = Library("aten", "IMPL")

    def div_cpu(self: Tensor, other: Tensor) -> Tensor:
        return self * other.reciprocal() + 100

    my_lib.impl("div.Tensor", div_cpu, "CPU")
    x = torch.tensor([1.0, 2.0])
    assert (x / x).tolist() == torch.ops.aten.div.Tensor(x, x).tolist() == [101, 101]
    assert torch.ops.aten.div.Tensor(np.ones(1), np.ones(1)).tolist() == [101]
    my_lib._destroy()
    assert (x / x).tolist() == [1, 1]


def test_overloads_by_name(mylib: Library) -> None:
    mylib.define("scale.int(Tensor x, int by) -> Tensor")
    mylib.define("scale.float(Tensor x, float by) -> Tensor")
    mylib.impl("scale.int", lambda x, by: x * by, "CPU")
    mylib.impl("scale.float", lambda x, by: x * by + 0.25, "CPU")
    x = torch.tensor([1.0])
    assert torch.ops.mylib.scale(x, 2).item() == torch.ops.mylib.scale.int(x, 2).item() == 2
    assert torch.ops.mylib.scale(x, 2.5).item() == torch.ops.mylib.scale.float(x, 2.5).item() == 2.75
    assert torch.ops.mylib.scale.overloads() == ["int", "float"]
    mylib.define("scale.times(Tensor x, Tensor by) -> Tensor")
    assert torch.ops.mylib.scale.overloads() == ["int", "float", "times"]
    with pytest.raises(TypeError, match=r"(?s)no overload of mylib::scale fits.*1\. .*2\. .*3\. "):
        torch.ops.mylib.scale(x, "a")


def test_meta_for_an_existing_operator() -> None:
    meta_lib = Library("aten", "IMPL", "Meta")
    meta_lib.impl("sin", lambda self: self.new_empty([7]))
    assert torch.ops.aten.sin(torch.empty(2, device="meta")).shape == (7,)
    meta_lib._destroy()
    assert torch.ops.aten.sin(torch.empty(2, device="meta")).shape == (2,)


def test_a_fallback_for_a_key() -> None:
    my_lib = Library("_", "IMPL")
    called = []

    def fallback_kernel(op, *args, **kwargs):  # type: ignore[no-untyped-def]
        called.append(op)
        with torch.dispatch.exclude_keys("Autocast"):
            return op(*args, **kwargs)

    my_lib.fallback(fallback_kernel, "Autocast")
    with torch.dispatch.include_keys("Autocast"):
        torch.ones(2).sin()
    assert torch.ops.aten.sin.default in called
    my_lib._destroy()


def test_define_and_impl(mylib: Library) -> None:
    torch.library.define("mylib::sin", "(Tensor x) -> Tensor", lib=mylib)

    @torch.library.impl("mylib::sin", "cpu", lib=mylib)
    def f(x):  # type: ignore[no-untyped-def]
        return torch.from_numpy(np.sin(x.numpy()))

    x = torch.randn(3)
    y = torch.ops.mylib.sin(x)
    assert torch.allclose(y, x.sin())

    def custom_decorator(func):  # type: ignore[no-untyped-def]
        def wrapper(*args, **kwargs):  # type: ignore[no-untyped-def]
            return func(*args, **kwargs) + 1

        return wrapper

    torch.library.define("mylib::sin_plus_one", "(Tensor x) -> Tensor", lib=mylib)

    @torch.library.impl("mylib::sin_plus_one", "cpu", lib=mylib)
    @custom_decorator
    def g(x):  # type: ignore[no-untyped-def]
        return torch.from_numpy(np.sin(x.numpy()))

    assert torch.allclose(torch.ops.mylib.sin_plus_one(x), torch.sin(x) + 1)


def test_get_kernel() -> None:
    original_sin_kernel = torch.library.get_kernel("aten::sin", "CPU")

    def conditional_sin_impl(dispatch_keys, x):  # type: ignore[no-untyped-def]
        if (x < 0).any():
            return original_sin_kernel.call_boxed(dispatch_keys, x)
        return torch.zeros_like(x)

    lib = Library("aten", "IMPL")
    lib.impl("sin", conditional_sin_impl, "CPU", with_keyset=True)
    x_positive = torch.tensor([1.0, 2.0])
    x_mixed = torch.tensor([-1.0, 2.0])
    assert torch.sin(x_positive).tolist() == [0, 0]
    assert np.allclose(torch.sin(x_mixed).numpy(), [-0.8415, 0.9093], atol=1e-4)
    lib._destroy()
    assert torch.sin(x_positive).tolist() != [0, 0]


def test_infer_schema() -> None:
    def foo_impl(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    assert infer_schema(foo_impl, op_name="foo", mutates_args={}) == "foo(Tensor x) -> Tensor"
    assert infer_schema(foo_impl, mutates_args={}) == "(Tensor x) -> Tensor"


def test_fallthrough() -> None:
    lib = Library("fall", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1, "CPU")
    lib.impl("f", lambda x: 2, "AutogradCPU")
    x = torch.ones(1)
    assert torch.ops.fall.f(x) == 2
    lib.impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
    assert torch.ops.fall.f(x) == 1
    with pytest.raises(NotImplementedError, match="should never be called"):
        torch.library.fallthrough_kernel()
