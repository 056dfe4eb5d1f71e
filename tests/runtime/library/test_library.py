"""Operators and kernels defined at run time, and their lifetime."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opwright import dispatch
from opwright.backends.registered_backends import register_backend
from opwright.errors import DispatchError, RegistrationError
from opwright.library import Library, register_array_kernel
from opwright.namespaces import ops
from opwright_core.arrays.devices import Backend
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import Tensor, wrap

_names = (f"lib{number}" for number in itertools.count())


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library(next(_names), "DEF")
    yield made
    made.destroy()


def namespace(library: Library) -> Any:
    return getattr(ops, library.ns)


X = wrap(np.ones(2))


def test_define_implement_call(library: Library) -> None:
    assert library.define("f.double(Tensor x, int times=2) -> Tensor") == "f.double"
    library.impl("f.double", lambda x, times=2: wrap(x.array * times), "CPU")
    assert namespace(library).f.double(X).array.tolist() == [2, 2]
    assert namespace(library).f(X, 3).array.tolist() == [3, 3]
    assert namespace(library).f(np.ones(1)).tolist() == [2]


def test_a_schema_may_name_the_namespace(library: Library) -> None:
    name = library.define(f"{library.ns}::f.o(Tensor x) -> Tensor")
    assert name == f"{library.ns}::f.o"
    library.impl(name, lambda x: wrap(x.array + 1), "CPU")
    assert namespace(library).f(X).array.tolist() == [2, 2]
    with pytest.raises(RegistrationError, match=f"elsewhere::f is not in the namespace of its library, {library.ns}"):
        library.define("elsewhere::f(Tensor x) -> Tensor")


def test_kinds() -> None:
    name = next(_names)
    first = Library(name, "DEF")
    with pytest.raises(RegistrationError, match=r"(?s)test_library\.py:\d+.*test_library\.py:\d+"):
        Library(name, "DEF")
    for kind in ("FRAGMENT", "FRAGMENT", "IMPL"):
        Library(name, kind).destroy()
    with pytest.raises(RegistrationError, match="IMPL library cannot define"):
        Library(name, "IMPL").define("f() -> ()")
    first.destroy()
    Library(name, "DEF").destroy()
    with pytest.raises(ValueError, match="Unsupported kind"):
        Library(name, "DEFF")
    with pytest.raises(ValueError, match="reserved"):
        Library("prim", "DEF")


def test_define_twice(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, "CPU")
    for schema in ("f(Tensor x) -> int", "f(Tensor x, int y) -> int"):
        with pytest.raises(RegistrationError, match=r"same name and overload name.*test_library\.py.*test_library\.py"):
            library.define(schema)
    assert namespace(library).f(X) == 1


def test_schema_that_does_not_parse(library: Library) -> None:
    for schema, problem in [
        ("f(asdf x) -> Tensor", "unknown type specifier 'asdf'"),
        ("f(int a=1, int b) -> Tensor", "'b' has no default"),
        ("f(Tensor x", "1:11"),
        ("f(__torch__.torch.classes.mine.Name[]? x) -> ()", r"Unknown custom class type mine\.Name"),
        ("f(Tensor x) -> Dict(str, __torch__.torch.classes.mine.Name)", r"Unknown custom class type mine\.Name"),
    ]:
        with pytest.raises(RegistrationError, match=problem):
            library.define(schema)
    assert not dir(namespace(library))


def test_own_and_foreign_namespaces(library: Library) -> None:
    library.define(f"{library.ns}::f(Tensor x) -> int")
    library.impl(f"{library.ns}::f", lambda x: 1)
    assert namespace(library).f(X) == 1
    with pytest.raises(RegistrationError, match="not in the namespace"):
        library.define("other::g(Tensor x) -> int")
    with pytest.raises(RegistrationError, match="not in the namespace"):
        library.impl("other::g", lambda x: 1)
    name = f"{library.ns}::f"
    library.destroy()
    assert name not in registry.operators


def test_impl_before_define() -> None:
    name = next(_names)
    implementing, defining = Library(name, "IMPL"), Library(name, "FRAGMENT")
    implementing.impl("f", lambda x: 1, "CPU")
    with pytest.raises(AttributeError, match="not defined yet"):
        _ = getattr(ops, name).f
    defining.define("f(Tensor x) -> int")
    assert getattr(ops, name).f(X) == 1
    defining.destroy()
    defining = Library(name, "FRAGMENT")
    defining.define("f(Tensor x) -> int")
    assert getattr(ops, name).f(X) == 1
    implementing.destroy()
    with pytest.raises(DispatchError, match="no kernel"):
        getattr(ops, name).f(X)
    defining.destroy()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_every_order_of_adding_and_removing_gives_the_same_table(order: tuple[int, ...]) -> None:
    name = next(_names)
    keeping = Library(name, "FRAGMENT")
    temporary = Library(name, "FRAGMENT")
    steps = [
        lambda: keeping.define("f(Tensor x) -> int"),
        lambda: keeping.impl("f", one, "CompositeImplicitAutograd"),
        lambda: temporary.impl("f", two, "CPU"),
    ]
    for step in order:
        steps[step]()
    with_both = {key: (entry.kernel, entry.source) for key, entry in dispatch.table(f"{name}::f").items()}
    assert with_both["CPU"] == (two, "kernel")
    assert with_both["AutogradCPU"][1] == "backend fallback"
    assert with_both["AutogradCUDA"] == (one, "math kernel")
    temporary.destroy()
    assert dispatch.table(f"{name}::f")["CPU"].source == "math kernel"
    keeping.destroy()


def one(x: Tensor) -> int:
    return 1


def two(x: Tensor) -> int:
    return 2


def test_what_impl_refuses(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    with pytest.raises(TypeError, match="callable"):
        library.impl("f", 3, "CPU")  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="op_name should be either"):
        library.impl(3, one, "CPU")  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="could not parse dispatch key"):
        library.impl("f", one, "CPPU")
    with pytest.raises(RegistrationError, match="inconsistent dispatch key"):
        Library(library.ns, "IMPL", "CPU").impl("f", one, "CUDA")
    assert not dispatch.registrations(f"{library.ns}::f")


def test_keys_left_out(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    library.impl("f", one)
    assert set(dispatch.registrations(f"{library.ns}::f")) == {"CompositeImplicitAutograd"}
    backend = Library(library.ns, "IMPL", "CPU")
    backend.impl(namespace(library).f.default, two)
    assert set(dispatch.registrations(f"{library.ns}::f")) == {"CompositeImplicitAutograd", "CPU"}


def test_the_newest_serves_as_long_as_its_library(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    library.impl("f", one, "CPU")
    over = Library(library.ns, "IMPL")
    with pytest.raises(RegistrationError, match=r"already has a kernel for CPU, registered at .*test_library\.py:\d+"):
        over.impl("f", two, "CPU", allow_override=False)
    with pytest.warns(UserWarning, match="is overridden"):
        over.impl("f", two, "CPU")
    assert namespace(library).f(X) == 2
    over.destroy()
    assert namespace(library).f(X) == 1


def test_with_keyset(library: Library) -> None:
    library.define("f(Tensor x, *, int y=1) -> int")
    given: list[Any] = []

    def kernel(keyset: dispatch.KeySet, x: Tensor, *, y: int = 1) -> int:
        given.append(keyset)
        return y

    library.impl("f", kernel, "AutogradCPU", with_keyset=True)
    assert namespace(library).f(X, y=4) == 4
    assert given == [dispatch.KeySet(["AutogradCPU", "CPU"])]


def test_a_kernel_that_returns_none(library: Library) -> None:
    """A missing return statement is found at once, not by whoever uses the result."""
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor x) -> (Tensor, Tensor)")
    library.define("h(Tensor x) -> (Tensor?, int)")
    library.define("masked(Tensor x, bool[2] output_mask) -> (Tensor, Tensor)")
    for name, result in (("f", None), ("g", (X, None)), ("h", (None, 1)), ("masked", (None, X))):
        library.impl(name, lambda x, output_mask=None, result=result: result, "CPU")
    for name in ("f", "g"):
        with pytest.raises(
            RuntimeError, match=r"must return Tensor.*, but returned None: is a return statement missing"
        ):
            getattr(namespace(library), name)(X)
    assert namespace(library).h(X) == (None, 1)
    assert namespace(library).masked(X, [False, True]) == (None, X)


def test_fallback(library: Library) -> None:
    library.define("f(Tensor x, *, int y=1) -> int")
    library.impl("f", lambda x, y=1: y, "CPU")
    everywhere = Library("_", "IMPL", "Tracer")
    seen: list[Any] = []

    def fallback(keyset: dispatch.KeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((op.name, kwargs))
        return op.redispatch(keyset & dispatch.KeySet.after("Tracer"), *args, **kwargs)

    everywhere.fallback(fallback, with_keyset=True)
    with dispatch.include_keys("Tracer"):
        assert namespace(library).f(X, y=5) == 5
    everywhere.destroy()
    assert seen == [(f"{library.ns}::f", {"y": 5})]
    with pytest.raises(RegistrationError, match="'_'"):
        library.fallback(fallback, "Tracer")
    with pytest.raises(TypeError, match="callable"):
        Library("_", "IMPL").fallback(3, "Tracer")  # type: ignore[arg-type]


def test_a_fallback_may_go_on_to_a_lower_one(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    library.impl("f", one, "CPU")
    seen: list[str] = []
    everywhere = Library("_", "IMPL")

    def fallback(keyset: dispatch.KeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(keyset.highest().name)
        return op.redispatch(keyset.remove(keyset.highest()), *args, **kwargs)

    for key in ("FrontMode", "Batched"):
        everywhere.fallback(fallback, key, with_keyset=True)
    with dispatch.include_keys("FrontMode", "Autocast", "Batched"):  # Autocast falls through by default
        assert namespace(library).f(X) == 1
        everywhere.destroy()
        assert seen == ["FrontMode", "Batched"]
        with pytest.raises(DispatchError, match="no kernel is registered for Batched"):
            namespace(library).f(X)


def test_destroyed(library: Library) -> None:
    library.define("f(Tensor x) -> int")
    library.impl("f", one, "CPU")
    held = namespace(library).f.default
    library.destroy()
    library.destroy()
    with pytest.raises(AttributeError, match="has no operator 'f'"):
        _ = namespace(library).f
    with pytest.raises(DispatchError, match="no longer defined"):
        held(X)
    with pytest.raises(RegistrationError, match="was destroyed"):
        library.define("g() -> ()")
    with pytest.raises(RegistrationError, match="was destroyed"):
        library.impl("f", one, "CPU")


def test_a_library_that_nobody_kept() -> None:
    name = next(_names)

    def forget() -> None:
        library = Library(name, "DEF")
        library.define("f(Tensor x) -> int")
        library.impl("f", one, "CPU")

    forget()
    gc.collect()
    with pytest.raises(
        AttributeError, match=r"made at .*test_library\.py:\d+, was garbage-collected.*keep a reference"
    ):
        _ = getattr(ops, name).f


# A third backend


class Celled:
    """An array class of no library: a list of cells and a shape."""

    def __init__(self, cells: list[float]) -> None:
        self.cells = cells
        self.shape = (len(cells),)
        self.dtype = "float64"


@pytest.fixture
def celled() -> Iterator[Backend]:
    backend = register_backend(
        "celled",
        "PrivateUse2",
        array_type=Celled,
        from_numpy=lambda array: Celled(array.tolist()),
        to_numpy=lambda array: np.array(array.cells),
    )
    yield backend
    backend.remove()


def test_array_kernels_of_a_third_backend(library: Library, celled: Backend) -> None:
    library.define("scale(Tensor self, *, Scalar by=2) -> Tensor")
    library.define("scale_(Tensor(a!) self, *, Scalar by=2) -> Tensor(a!)")
    library.define("ones(int n, *, Device? device=None) -> Tensor")

    def scale_(array: Celled, by: float) -> None:
        array.cells[:] = [cell * by for cell in array.cells]

    handles = [
        celled.impl(f"{library.ns}::scale", lambda array, by: Celled([cell * by for cell in array.cells])),
        register_array_kernel(f"{library.ns}::scale_", "PrivateUse2", scale_),
        celled.impl(f"{library.ns}::ones", lambda n, device: Celled([1.0] * n)),
    ]
    array = Celled([1.0, 2.0])
    found = namespace(library)
    tensor = wrap(array)
    result = found.scale(tensor)
    assert isinstance(result, Tensor)
    assert (result.array.cells, result.device.type) == ([2, 4], "celled")
    assert found.scale(array, by=3).cells == [3, 6]
    assert found.scale_(tensor) is tensor
    assert found.scale_(array) is array
    assert array.cells == [4, 8]
    assert found.ones(2, device="celled").array.cells == [1, 1]
    with pytest.raises(DispatchError, match="no kernel is registered for CPU"):
        found.scale(X)
    for handle in handles:
        handle.remove()
    with pytest.raises(DispatchError, match="no kernel is registered for PrivateUse2"):
        found.scale(tensor)


def test_an_inplace_array_kernel_must_write(library: Library) -> None:
    library.define("neg_(Tensor(a!) self) -> Tensor(a!)")
    register_array_kernel(f"{library.ns}::neg_", "CPU", lambda array: -array)
    with pytest.raises(RuntimeError, match="must write into 'self'"):
        namespace(library).neg_(wrap(np.ones(1)))


def test_views_from_array_kernels_share_memory(library: Library) -> None:
    library.define("flip(Tensor(a) self) -> Tensor(a)")
    library.define("halves(Tensor(a -> *) self) -> Tensor(a)[]")
    register_array_kernel(f"{library.ns}::flip", "CPU", lambda array: array.T)
    register_array_kernel(f"{library.ns}::halves", "CPU", lambda array: [array[:1], array[1:]])
    base = wrap(np.ones((2, 3)))
    view = namespace(library).flip(base)
    assert view._base is base
    parts = namespace(library).halves(base)
    assert [part._base is base for part in parts] == [True, True]
    assert np.shares_memory(parts[1].array, base.array)
