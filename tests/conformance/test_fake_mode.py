"""Tensors without data: the meta device and FakeTensorMode."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import opwright
from opwright import library
from opwright.fake import (
    DataDependentOutputError,
    DynamicOutputShapeError,
    FakeKernelError,
    FakeTensor,
    FakeTensorMode,
    is_fake,
)
from opwright.symbolic import GuardOnDataDependentError, ShapeEnv


@pytest.fixture
def mode() -> FakeTensorMode:
    return FakeTensorMode()


def test_importing_opwright_loads_neither_fakes_nor_sympy() -> None:
    program = (
        "import sys, opwright; opwright.add(opwright.ones(2), 1); "
        "print([name for name in sys.modules if name.startswith('opwright.fake') or name.endswith('.fakes')"
        " or name.partition('.')[0] in ('sympy', 'cupy', 'lark', 'jinja2', 'yaml')"
        " or name.startswith('opwright.symbolic.') and name.rpartition('.')[2] not in ('numbers', 'questions')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_meta_tensors_have_everything_but_data() -> None:
    x = opwright.empty(3, 4, device="meta")
    y = (x + opwright.ones(4, device="meta")).t()
    assert (y.shape, y.stride(), y.dtype, y.device.type) == ((4, 3), (1, 4), opwright.float32, "meta")
    assert y.is_meta and not is_fake(y)
    assert repr(x) == "tensor(..., device='meta', size=(3, 4))"


def test_a_fake_claims_its_tensors_device_dtype_and_layout(mode: FakeTensorMode) -> None:
    real = opwright.from_numpy(np.zeros((4, 6), np.float16)[:, ::2].T)
    fake = mode.from_tensor(real)
    assert isinstance(fake, FakeTensor) and is_fake(fake) and not isinstance(real, FakeTensor)
    assert (fake.shape, fake.stride(), fake.dtype, fake.device) == (real.shape, real.stride(), real.dtype, real.device)
    assert repr(mode.from_tensor(opwright.ones(2, 3))) == "FakeTensor(..., size=(2, 3))"


def test_the_same_tensor_has_the_same_fake(mode: FakeTensorMode) -> None:
    real = opwright.ones(3)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    assert mode.from_tensor(fake) is fake
    assert FakeTensorMode().from_tensor(real) is not fake


def test_a_fake_is_forgotten_with_its_tensor(mode: FakeTensorMode) -> None:
    real = opwright.ones(3)
    seen = weakref.ref(mode.from_tensor(real))
    del real
    gc.collect()
    assert seen() is None


def test_views_share_storage_with_their_bases_fake(mode: FakeTensorMode) -> None:
    real = opwright.ones(4, 5)
    part = real[1:, 2]
    fake_part = mode.from_tensor(part)
    fake = mode.from_tensor(real)
    assert fake_part._base is fake
    assert fake_part.untyped_storage() is fake.untyped_storage()
    assert (fake_part.stride(), fake_part.storage_offset()) == (part.stride(), part.storage_offset()) == ((5,), 7)
    assert fake.t()[2].storage_offset() == 2


def test_writing_counts_versions_over_all_views(mode: FakeTensorMode) -> None:
    fake = mode.from_tensor(opwright.ones(4))
    view = fake[1:]
    assert fake._version == 0
    view.add_(1)
    opwright.mul(fake, 2, out=fake)
    assert fake._version == view._version == 2


def test_new_tensors_are_fake_within_the_mode(mode: FakeTensorMode) -> None:
    with mode:
        made = [
            opwright.empty(2, device="cuda:1"),
            opwright.zeros([2, 3]),
            opwright.tensor([[1, 2]], device="cuda"),
            opwright.arange(5),
            opwright.randn(3),
            opwright.eye(3),
        ]
    assert all(map(is_fake, made))
    assert [str(each.device) for each in made[:3]] == ["cuda:1", "cpu", "cuda"]
    assert made[2].dtype == opwright.int64 and made[3].shape == (5,)
    assert not is_fake(opwright.zeros(2))


def test_what_composites_make_of_fakes_is_fake_outside_the_mode(mode: FakeTensorMode) -> None:
    with mode:
        cuda = opwright.ones(3, 4, device="cuda")
    for made in (
        opwright.zeros_like(cuda),
        cuda.new_full([2], 1.5),
        cuda.to(opwright.float64),
        opwright.softmax(cuda, -1),
        cuda @ cuda.t(),
        cuda[:, None, 1],
        cuda[cuda.new_zeros(2, dtype=opwright.int64)],
    ):
        assert is_fake(made) and made.device.type == "cuda"
    assert cuda.cpu().device.type == "cpu" and is_fake(cuda.cpu())


def test_numbers_and_tensors_without_dimensions_join_any_device(mode: FakeTensorMode) -> None:
    with mode:
        cuda, scalar, vector = opwright.ones(3, device="cuda"), opwright.tensor(2.0), opwright.ones(3)
    assert (cuda + 1).device.type == (cuda * scalar).device.type == (scalar - cuda).device.type == "cuda"
    assert opwright.ops.aten.add.Tensor(cuda, 2).device.type == "cuda"
    with pytest.raises(RuntimeError, match="at least two devices, cuda and cpu"):
        cuda + vector
    with pytest.raises(RuntimeError, match="at least two devices"):
        opwright.cat([cuda, vector])


def test_real_tensors_among_fake_ones_are_an_error_with_the_way_out(mode: FakeTensorMode) -> None:
    real, fake = opwright.ones(3), mode.from_tensor(opwright.ones(3))
    with pytest.raises(FakeKernelError, match=r"aten::add.Tensor: argument 'other' is a real tensor.*from_tensor"):
        fake + real
    with mode, pytest.raises(FakeKernelError, match="allow_non_fake_inputs"):
        opwright.sin(real)
    with mode, pytest.raises(FakeKernelError, match="argument 'tensors' is a real tensor"):
        opwright.cat([fake, real])


def test_real_tensors_are_converted_where_the_mode_allows_it() -> None:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    real, fake = opwright.ones(3), mode.from_tensor(opwright.ones(2, 3))
    assert is_fake(fake + real)
    with mode:
        assert is_fake(real.view(3, 1))
    with pytest.raises(FakeKernelError, match="argument 'self' is a real tensor, and what would be written"):
        real.add_(fake[0])
    assert real.tolist() == [1, 1, 1]


def test_two_modes_do_not_mix(mode: FakeTensorMode) -> None:
    first, second = mode.from_tensor(opwright.ones(3)), FakeTensorMode().from_tensor(opwright.ones(3))
    for call in (lambda: first + second, lambda: opwright.cat([first, second]), lambda: mode.from_tensor(second)):
        with pytest.raises(FakeKernelError, match="two FakeTensorModes"):
            call()


def test_modes_nest_and_leave_things_as_they_were(mode: FakeTensorMode) -> None:
    inner = FakeTensorMode()
    with mode:
        with inner:
            first = opwright.ones(2)
        second = opwright.ones(2)
    assert first.array.place.mode is inner and second.array.place.mode is mode
    with pytest.raises(ZeroDivisionError), mode:
        1 / 0  # noqa: B018
    assert not is_fake(opwright.ones(1))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[0].item(),
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        lambda x: bool(x[0]),
        lambda x: int(x[0]),
        lambda x: float(x[0]),
        lambda x: x.data_ptr(),
        lambda x: opwright.equal(x, x),
        lambda x: opwright.allclose(x, x),
        lambda x: np.asarray(x),
    ],
)
def test_reading_data_says_what_read_it_and_what_to_do(mode: FakeTensorMode, read: object) -> None:
    with pytest.raises(DataDependentOutputError, match=r"\(\) reads the data of a fake tensor \(.*on cpu\)"):
        read(mode.from_tensor(opwright.ones(3)))  # type: ignore[operator]


def test_a_shape_that_depends_on_data_says_so(mode: FakeTensorMode) -> None:
    fake = mode.from_tensor(opwright.ones(3))
    with pytest.raises(DynamicOutputShapeError, match="ShapeEnv"):
        opwright.nonzero(fake)
    with pytest.raises(DynamicOutputShapeError, match="ShapeEnv"):
        fake[fake > 0]


def test_errors_are_those_of_the_real_operator(mode: FakeTensorMode) -> None:
    a, b = opwright.ones(2, 3), opwright.ones(4, 3)
    for call in (lambda x, y: x + y, lambda x, y: x @ y, lambda x, y: x.view(7), lambda x, y: opwright.cat([x, y], 1)):
        with pytest.raises(RuntimeError) as real:
            call(a, b)
        with pytest.raises(RuntimeError) as fake:
            call(mode.from_tensor(a), mode.from_tensor(b))
        assert str(real.value) == str(fake.value)


def test_out_is_resized_and_in_place_checks_hold(mode: FakeTensorMode) -> None:
    with mode:
        x, out = opwright.ones(3, 4), opwright.empty(0)
        assert opwright.sin(x, out=out) is out and out.shape == (3, 4)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            opwright.ones(4).add_(x)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            opwright.ones(1, 4).expand(3, 4).add_(x)
        with pytest.raises(RuntimeError, match="can't be cast"):
            opwright.ones(3, dtype=opwright.int64).add_(1.5)


def test_gradients_are_claimed_too(mode: FakeTensorMode) -> None:
    assert mode.from_tensor(opwright.ones(2).requires_grad_()).requires_grad


def test_copies_of_fakes_are_fake(mode: FakeTensorMode) -> None:
    fake = mode.from_tensor(opwright.ones(2, 3).t())
    for made in (copy.copy(fake), copy.deepcopy(fake), fake.clone()):
        assert is_fake(made) and made is not fake and made.stride() == (1, 3)


def test_fake_tensors_are_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match="from_tensor"):
        FakeTensor()


# Fake kernels of users


@pytest.fixture
def lib() -> library.Library:
    return library.Library("fake_demo", "FRAGMENT")


def test_a_fake_kernel_says_what_results_look_like(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("double_rows(Tensor x) -> Tensor")
    fake = mode.from_tensor(opwright.ones(2, 3))
    with pytest.raises(opwright.DispatchError, match=r'register_fake\("fake_demo::double_rows"\)'):
        opwright.ops.fake_demo.double_rows(fake)

    @library.register_fake("fake_demo::double_rows", lib=lib)
    def _(x: opwright.Tensor) -> opwright.Tensor:
        assert is_fake(x)
        return opwright.empty(2 * x.shape[0], x.shape[1], dtype=x.dtype, device=x.device)

    found = opwright.ops.fake_demo.double_rows(fake)
    assert is_fake(found) and found.shape == (4, 3)
    with pytest.raises(opwright.RegistrationError, match="already has a kernel for Meta"):
        library.register_fake("fake_demo::double_rows", lambda x: x, lib=lib, allow_override=False)
    with library._scoped_library("fake_demo", "FRAGMENT") as over:
        library.register_fake("fake_demo::double_rows", lambda x: x.new_empty(5), lib=over)
        assert opwright.ops.fake_demo.double_rows(fake).shape == (5,)
    assert opwright.ops.fake_demo.double_rows(fake).shape == (4, 3)


def test_a_fake_kernel_that_reads_data_is_named(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("reading(Tensor x) -> Tensor")
    library.register_fake("fake_demo::reading", lambda x: x.new_empty([x.sum().item()]), lib=lib)
    with pytest.raises(DataDependentOutputError, match=r"in the fake kernel of fake_demo::reading.*new_dynamic_size"):
        opwright.ops.fake_demo.reading(mode.from_tensor(opwright.ones(3)))


def test_a_fake_kernel_must_not_return_data(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("real(Tensor x) -> Tensor")
    kept = opwright.ones(3)
    library.register_fake("fake_demo::real", lambda x: kept, lib=lib)
    with pytest.raises(FakeKernelError, match="fake kernel of fake_demo::real returned a tensor with data"):
        opwright.ops.fake_demo.real(mode.from_tensor(opwright.ones(3)))


def test_a_fake_kernel_returns_what_is_declared(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("pair(Tensor x) -> (Tensor, Tensor)")
    library.register_fake("fake_demo::pair", lambda x: x.new_empty([1]), lib=lib)
    with pytest.raises(RuntimeError, match="fake_demo::pair"):
        opwright.ops.fake_demo.pair(mode.from_tensor(opwright.ones(3)))


def test_a_meta_result_is_on_the_arguments_device(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("on_meta(Tensor x) -> Tensor")
    lib.impl("on_meta", lambda x: opwright.empty(x.shape, device="meta"), "Meta")
    found = opwright.ops.fake_demo.on_meta(mode.from_tensor(opwright.ones(3)))
    assert is_fake(found) and found.device.type == "cpu"
    assert opwright.ops.fake_demo.on_meta(opwright.ones(3, device="meta")).is_meta


def test_get_ctx_is_for_fake_kernels(lib: library.Library, mode: FakeTensorMode) -> None:
    assert library.get_ctx() is None  # as PyTorch's
    lib.define("sized(Tensor x) -> Tensor")
    library.register_fake("fake_demo::sized", lambda x: x.new_empty([library.get_ctx().new_dynamic_size()]), lib=lib)
    with pytest.raises(DynamicOutputShapeError, match=r"fake_demo::sized.*ShapeEnv"):
        opwright.ops.fake_demo.sized(mode.from_tensor(opwright.ones(3)))


def test_an_operator_that_only_writes_needs_no_fake_kernel(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("write_(Tensor(a!) x, Tensor y) -> ()")
    fake = mode.from_tensor(opwright.ones(3))
    assert opwright.ops.fake_demo.write_(fake, fake) is None
    assert fake._version == 1


def test_indexing_takes_lists_arrays_and_numbers(mode: FakeTensorMode) -> None:
    with mode:
        x = opwright.ones(4, 5, device="cuda")
    assert x[[0, 2]].shape == x[np.array([0, 1])].shape == (2, 5)
    x[0] = 1.0
    x[1, [0, 2]] = np.zeros(2, np.float32)
    x[x > 0] = 0
    assert x._version == 3 and x.device.type == "cuda"


def test_tensors_move_to_a_device(mode: FakeTensorMode) -> None:
    x = mode.from_tensor(opwright.ones(2))
    assert [str(x.to(where).device) for where in ("cuda", "meta", opwright.device("cuda:1"))] == [
        "cuda",
        "meta",
        "cuda:1",
    ]
    assert x.to("cuda", opwright.float64).dtype == opwright.float64
    assert opwright.ones(2).to("meta").is_meta
    with pytest.raises(FakeKernelError, match="has no data"):
        opwright.ones(2, device="meta").to("cpu")


def test_a_fake_kernel_may_return_its_argument(lib: library.Library, mode: FakeTensorMode) -> None:
    lib.define("same(Tensor x) -> Tensor")
    library.register_fake("fake_demo::same", lambda x: x, lib=lib)
    fake = mode.from_tensor(opwright.ones(3))
    assert opwright.ops.fake_demo.same(fake) is fake


def test_a_dynamic_size_is_known_within_its_bounds(lib: library.Library) -> None:
    lib.define("bounded(Tensor x) -> Tensor")

    @library.register_fake("fake_demo::bounded", lib=lib)
    def _(x: opwright.Tensor) -> opwright.Tensor:
        return x.new_empty([library.get_ctx().new_dynamic_size(min=2, max=9)])

    mode = FakeTensorMode(shape_env=ShapeEnv())
    size = opwright.ops.fake_demo.bounded(mode.from_tensor(opwright.ones(4))).shape[0]
    assert size >= 2 and size <= 9 and size != 10 and not size > 9
    with pytest.raises(
        GuardOnDataDependentError, match=r"u0 == 5[\s\S]*2 <= u0 <= 9[\s\S]*a size of fake_demo::bounded"
    ):
        assert size == 5
    for wrong in ({"min": -1}, {"min": 1.5}, {"max": "a"}):
        library.register_fake(
            "fake_demo::bounded",
            lambda x, w=wrong: library.get_ctx().new_dynamic_size(**w),
            lib=lib,
        )
        with pytest.raises(ValueError, match="new_dynamic_size"):
            opwright.ops.fake_demo.bounded(mode.from_tensor(opwright.ones(4)))


def test_equal_sizes_share_a_symbol_and_small_ones_are_numbers() -> None:
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(opwright.ones(5, 1, 0, 3, 5))
    assert x.shape[0] is x.shape[4] and x.shape[1] == 1 and x.shape[2] == 0 and str(x.shape[3]) == "s1"
    y = mode.from_tensor(opwright.ones(7, 2))
    assert str(y.stride()[0]) == str(y.shape[1])
    assert env.guards == []
    z = y + mode.from_tensor(opwright.ones(2))
    assert z.shape == y.shape
    if y.shape[0] > 4:
        assert [str(guard.expression) for guard in env.guards] == [f"{y.shape[0]} > 4"]
    assert mode.from_tensor(opwright.ones(3, 3), static_shapes=True).shape == (3, 3)
