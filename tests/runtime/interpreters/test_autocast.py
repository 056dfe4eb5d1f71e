"""Regions of autocast: what is on where, which tensors are cast, and which casts are kept."""

from __future__ import annotations

import asyncio
import collections
import gc
import threading
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor, autocast
from opwright.amp import cached_cast, custom_bwd, custom_fwd, settings
from opwright.fake import FakeTensorMode
from opwright.utils.checkpoint import checkpoint
from opwright_core.state import active_modes

float16, bfloat16, float32, float64 = opwright.float16, opwright.bfloat16, opwright.float32, opwright.float64


@pytest.fixture(autouse=True)
def nothing_is_on() -> Iterator[None]:
    yield
    assert active_modes() is None
    assert settings.current() == settings.Settings()


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def w() -> Tensor:
    return opwright.tensor([[1.0, -1.0], [0.5, 0.25]], requires_grad=True)


def test_a_step_of_training(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        y = x @ w
        loss = opwright.nn.functional.mse_loss(y, opwright.zeros(2, 2))
    assert (y.dtype, loss.dtype) == (bfloat16, float32)
    loss.backward()
    assert w.grad is not None and w.grad.dtype == float32
    expected = x.t() @ (x @ w.detach()) / 2
    assert opwright.allclose(w.grad, expected, rtol=2e-2)
    assert (x @ w).dtype == float32


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_each_policy(x: Tensor, dtype: Any) -> None:
    short = x.to(dtype)
    with autocast("cpu", dtype):
        assert opwright.mm(x, short).dtype == dtype  # lower_precision
        assert opwright.nn.functional.mse_loss(short, short).dtype == float32  # float32
        assert opwright.cat([short, x]).dtype == float32  # promote
        assert opwright.cat([short, short]).dtype == dtype
        assert short.exp().dtype == dtype  # it has none on the CPU
        assert opwright.bilinear(x, x, opwright.ones(3, 2, 2)).dtype == float32  # unchanged, also what its kernel calls
        with pytest.raises(RuntimeError, match="neither of the lower precision"):
            opwright.cat([x.to(bfloat16 if dtype == float16 else float16), x.to(dtype)])


def test_what_is_never_cast(x: Tensor) -> None:
    with autocast("cpu"):
        assert (x.double() @ x.double()).dtype == float64
        assert (x.int() @ x.int()).dtype == opwright.int32
        assert (x.to(opwright.complex64) @ x.to(opwright.complex64)).dtype == opwright.complex64
        assert opwright.cat([x.double(), x]).dtype == float64
        assert (x.to("meta") @ x.to("meta")).dtype == float32
        with FakeTensorMode():
            fake = opwright.ones(2, 2, device="cuda")
            assert (fake @ fake).dtype == float32
        assert opwright.addmm(x, x, x, out=opwright.empty(2, 2)).dtype == float32
        assert x.clone().addmm_(x, x).dtype == float32


def test_plain_arrays_are_tensors_on_the_cpu() -> None:
    array = np.ones((2, 2), np.float32)
    with autocast("cpu", float16):
        found = opwright.mm(array, array)
    assert isinstance(found, np.ndarray) and found.dtype == np.float16


def test_policies_of_cuda_on_tensors_without_data() -> None:
    with FakeTensorMode(), autocast("cuda"):
        x = opwright.ones(2, 2, device="cuda")
        half = x.half()
        assert (x @ x).dtype == float16
        assert (half.exp().dtype, half.sum().dtype, half.norm().dtype) == (float32,) * 3
        assert half.sum(dtype=float16).dtype == float16
        assert opwright.ones(2, device="cuda", dtype=opwright.int32).sum().dtype == opwright.int64
        assert (opwright.ones(2, 2) @ opwright.ones(2, 2)).dtype == float32  # on the CPU
        with pytest.raises(RuntimeError, match=r"binary_cross_entropy is unsafe .* binary_cross_entropy_with_logits"):
            opwright.nn.functional.binary_cross_entropy(x, x)


def test_regions_of_two_devices_at_once() -> None:
    with FakeTensorMode(), autocast("cuda"), autocast("cpu"):
        ours, theirs = opwright.ones(2, 2), opwright.ones(2, 2, device="cuda")
        assert ((ours @ ours).dtype, (theirs @ theirs).dtype) == (bfloat16, float16)
        assert opwright.is_autocast_enabled("cpu") and opwright.is_autocast_enabled()
        with autocast("cuda", enabled=False):
            assert ((ours @ ours).dtype, (theirs @ theirs).dtype) == (bfloat16, float32)
        # A 0-dim tensor of the CPU may stand beside those of a device: each is cast for its own.
        assert opwright.addcmul(theirs.half(), theirs.half(), opwright.tensor(2.0)).dtype == float16


def test_regions_nest(x: Tensor) -> None:
    seen = []
    with autocast("cpu", float16) as outer:
        assert isinstance(outer, autocast)
        seen.append((x @ x).dtype)
        with autocast("cpu", enabled=False):
            assert not opwright.is_autocast_enabled("cpu")
            seen.append((x @ x).dtype)
            with autocast("cpu", bfloat16):
                seen.append((x @ x).dtype)
            seen.append((x @ x).dtype)
        with outer, outer:
            seen.append((x @ x).dtype)
        with autocast("cpu"):  # without a dtype, it is that of the region around
            seen.append((x @ x).dtype)
    assert seen == [float16, float32, bfloat16, float32, float16, float16]


def test_a_decorated_function(x: Tensor) -> None:
    @autocast("cpu", float16)
    def product(a: Tensor, deep: int) -> list[Any]:
        """What it does."""
        return [(a @ a).dtype, *(product(a, deep - 1) if deep else ())]

    assert product(x, 2) == [float16] * 3
    assert (product.__name__, product.__doc__) == ("product", "What it does.")
    with pytest.raises(TypeError, match="decorates functions, and Tensor cannot be called"):
        autocast("cpu")(x)  # type: ignore[type-var]


def test_a_region_holds_for_its_thread_or_task(x: Tensor) -> None:
    found: list[Any] = []
    region = autocast("cpu")

    def run(barrier: threading.Barrier) -> None:
        found.append((x @ x).dtype)
        with region:
            barrier.wait()
            found.append((x @ x).dtype)
            barrier.wait()

    barrier = threading.Barrier(2)
    with autocast("cpu"):
        threads = [threading.Thread(target=run, args=(barrier,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found.count(float32) == found.count(bfloat16) == 2

    async def task(dtype: Any) -> Any:
        with autocast("cpu", dtype):
            await asyncio.sleep(0)
            return (x @ x).dtype

    async def both() -> Any:
        return await asyncio.gather(task(float16), task(bfloat16))

    assert asyncio.run(both()) == [float16, bfloat16]


def test_setters_hold_until_they_are_set_again(x: Tensor) -> None:
    assert (opwright.get_autocast_dtype("cpu"), opwright.get_autocast_dtype("cuda")) == (bfloat16, float16)
    with autocast("cpu", enabled=False):
        opwright.set_autocast_enabled("cpu", True)
        opwright.set_autocast_dtype("cpu", "float16")
        opwright.set_autocast_cache_enabled(False)
        assert (x @ x).dtype == opwright.get_autocast_dtype("cpu") == float16
        assert opwright.is_autocast_enabled("cpu") and not opwright.is_autocast_cache_enabled()
        opwright.set_autocast_enabled("cpu", False)
        assert (x @ x).dtype == float32
    assert opwright.is_autocast_cache_enabled() and opwright.get_autocast_dtype("cpu") == bfloat16


def test_what_cannot_be() -> None:
    with pytest.warns(UserWarning, match=r"autocast\('cuda'\) does nothing: there is no CUDA device"):
        region = autocast("cuda")
    with region:
        assert not opwright.is_autocast_enabled("cuda")
    for dtype in (float32, float64, opwright.int8):
        with pytest.warns(UserWarning, match=f"casts to bfloat16 or float16, not to {dtype}"):
            region = autocast("cpu", dtype)
        with region:
            assert not opwright.is_autocast_enabled("cpu")
    with pytest.raises(ValueError, match="name of a device, such as 'cpu'; got 3"):
        autocast(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no autocast for the device type 'meta'"):
        autocast("meta")
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        autocast("xpu")
    with pytest.raises(TypeError, match="dtype"):
        autocast("cpu", 3)
    assert opwright.amp.is_autocast_available("cpu") and not opwright.amp.is_autocast_available("meta")


def test_composites_are_cast_as_a_whole(x: Tensor, w: Tensor) -> None:
    calls = []

    class Notes(opwright.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((str(func), opwright.is_autocast_enabled("cpu")))
            return func(*args, **(kwargs or {}))

    with autocast("cpu"), Notes():
        found = opwright.nn.functional.linear(x, w, opwright.ones(2))
    assert found.dtype == bfloat16
    # Operands first, and then what `linear` calls, without autocast.
    assert [name for name, _ in calls[-2:]] == ["aten.t.default", "aten.addmm.default"]
    assert {is_on for _, is_on in calls[1:]} == {False}


# -- casts that are kept


def nodes(tensor: Tensor) -> Any:
    return tensor.grad_fn.next_functions[1][0]


def test_a_parameter_is_cast_once(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        first, second = x @ w, x @ w
        assert nodes(first) is nodes(second)
        with autocast("cpu", enabled=False), autocast("cpu"):
            assert nodes(x @ w) is nodes(first)
        opwright.clear_autocast_cache()
        third = x @ w
        assert nodes(third) is not nodes(first)
        with autocast("cpu", cache_enabled=False):
            assert nodes(x @ w) is not nodes(third)
        assert cached_cast(bfloat16, w) is cached_cast(bfloat16, w)
        assert cached_cast(float16, w) is not cached_cast(float16, w)  # not the region's
    (first.sum() + second.sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [[8.0, 8.0], [12.0, 12.0]]
    with autocast("cpu"):
        assert nodes(x @ w) is not nodes(third)


def test_a_cast_of_a_parameter_that_was_written_to_is_made_anew(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        x @ w
        with opwright.no_grad():
            w.mul_(2)
        assert (x @ w).tolist() == (x.bfloat16() @ w.detach().bfloat16()).tolist()
        w.data = opwright.zeros(2, 2)
        assert (x @ w).tolist() == [[0, 0], [0, 0]]
        with opwright.no_grad():
            w.fill_(1)
        assert (x @ w).tolist() == [[3, 3], [7, 7]]


def test_a_cast_that_was_made_without_history_is_not_used_with_one(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        with opwright.no_grad():
            assert not (x @ w).requires_grad
        assert (x @ w).requires_grad
        with opwright.inference_mode():
            assert (x @ w).is_inference()
        assert not (x @ w).is_inference()


def test_modes_see_the_casts_of_what_they_look_at(x: Tensor, w: Tensor) -> None:
    seen: list[str] = []

    class Notes(opwright.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with autocast("cpu"):
        x @ w
        for _ in range(2):
            with Notes():
                x @ w
    assert seen.count("aten._to_copy.default") == 4


def test_fake_and_real_casts_are_apart(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        with FakeTensorMode(allow_non_fake_inputs=True):
            x @ w
        assert (x @ w).tolist() == (x.bfloat16() @ w.detach().bfloat16()).tolist()


def test_nothing_is_kept_after_a_region(x: Tensor) -> None:
    weights = []
    with autocast("cpu"):
        for _ in range(3):
            weight = opwright.ones(2, 2, requires_grad=True)
            x @ weight
            weights.append(weakref.ref(weight))
    del weight
    gc.collect()
    assert [each() for each in weights] == [None] * 3


def test_backward_twice_through_a_kept_cast(x: Tensor, w: Tensor) -> None:
    with autocast("cpu"):
        (x @ w).sum().backward()
        (x @ w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [[8.0, 8.0], [12.0, 12.0]]


# -- functions and checkpoints


def test_custom_fwd_and_custom_bwd(x: Tensor, w: Tensor) -> None:
    seen: list[Any] = []

    class Product(opwright.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            ctx.save_for_backward(a, b)
            seen.append((a @ b).dtype)
            return a @ b

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Tensor) -> Any:
            seen.append((grad @ grad).dtype)
            a, b = ctx.saved_tensors
            return grad @ b.t(), a.t() @ grad

    class InFloat(Product):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=float32)
        def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            return Product.forward.__wrapped__(ctx, a, b)  # type: ignore[attr-defined, no-any-return]

    with autocast("cpu", float16):
        found = Product.apply(x, w)
        assert InFloat.apply(x.bfloat16(), w).dtype == float32
    found.sum().backward()
    assert seen == [float16, float32, float16]
    seen.clear()
    found = Product.apply(x, w)
    with autocast("cpu"):
        found.sum().backward()
    assert seen == [float32, float32]
    pair = collections.namedtuple("pair", "a b")

    @custom_fwd(device_type="cpu", cast_inputs=float32)
    def forward(ctx: Any, values: Any, *, named: Any) -> Any:
        return values, named

    with autocast("cpu"):
        values, named = forward(SimpleNamespace(), pair([x.half()], x.double()), named={"b": (x.half(), 3)})
    assert type(values) is pair and (values.a[0].dtype, values.b.dtype) == (float32, float64)
    assert named["b"][0].dtype == float32 and named["b"][1] == 3
    with pytest.raises(ValueError, match="name of a device"):
        custom_fwd(device_type=3)  # type: ignore[call-overload]


def test_a_checkpoint_computes_again_in_the_dtypes_of_its_first_call(x: Tensor, w: Tensor) -> None:
    seen: list[Any] = []

    def product(w: Tensor) -> Tensor:
        seen.append((x @ w).dtype)
        return (x @ w).float().sum()

    with autocast("cpu", float16):
        found = checkpoint(product, w)
    found.backward()
    found = checkpoint(product, w)
    with autocast("cpu"):
        found.backward()
    assert seen == [float16, float16, float32, float32]


def test_a_backend_from_outside_has_regions(x: Tensor) -> None:
    """No operator of ours is cast for it; kernels at Autocast are called."""
    with autocast("cpu"), opwright.dispatch.exclude_keys("Autocast"):
        assert not opwright.is_autocast_enabled("cpu")
        assert (x @ x).dtype == float32
        with autocast("cpu"):  # a region within is one again
            assert (x @ x).dtype == bfloat16
    with opwright.dispatch.include_keys("Autocast"):  # by hand: on all devices
        assert opwright.is_autocast_enabled("cpu") and (x @ x).dtype == bfloat16


# -- custom operators


def test_custom_operators_in_regions(x: Tensor, w: Tensor) -> None:
    seen: list[Any] = []

    @opwright.library.custom_op("autocasting::product", mutates_args=())
    def product(a: Tensor, b: Tensor, *, more: Tensor | None = None) -> Tensor:
        found = a @ b
        seen[:] = [a.dtype, b.dtype, None if more is None else more.dtype, found.dtype]
        return found

    product.register_fake(lambda a, b, *, more=None: a.new_empty((a.shape[0], b.shape[1])))
    product.register_autograd(
        lambda ctx, grad: (grad @ ctx.saved_tensors[1].t(), ctx.saved_tensors[0].t() @ grad),
        setup_context=lambda ctx, inputs, keyword_only_inputs, output: ctx.save_for_backward(*inputs),
    )
    with autocast("cpu"):
        product(x, w, more=x)
        assert seen == [float32, float32, float32, bfloat16]  # without a rule, what it calls is cast
        for _ in range(2):
            product.register_autocast("cpu", float16)
        found = product(x, w, more=x)
        assert seen == [float16, float16, float16, float16] and found.dtype == float16
        product(x.double(), w.detach().double())
        assert seen[:2] == [float64, float64]
        with FakeTensorMode() as mode:
            assert product(mode.from_tensor(x), mode.from_tensor(w)).dtype == float16
    found.sum().backward()
    assert w.grad is not None and w.grad.dtype == float32 and w.grad.tolist() == [[4.0, 4.0], [6.0, 6.0]]
    product(x, w.detach())
    assert seen[0] == float32
    with FakeTensorMode(), autocast("cuda"):  # the rule is the CPU's
        found = product(opwright.ones(2, 2, device="cuda"), opwright.ones(2, 2, device="cuda"))
        assert found.dtype == float32
    with pytest.raises(RuntimeError, match="no autocast for the device type 'meta'"):
        product.register_autocast("meta", float16)


def test_a_rule_for_an_operator_of_ours(x: Tensor) -> None:
    library = opwright.library.Library("aten", "IMPL")
    opwright.library.register_autocast("aten::sin", "cpu", bfloat16, lib=library)
    with autocast("cpu"):
        found = opwright.sin(x)
    assert found.dtype == bfloat16 and found.tolist() == opwright.sin(x.bfloat16()).tolist()
    library._destroy()
    with autocast("cpu"):
        assert opwright.sin(x).dtype == float32
