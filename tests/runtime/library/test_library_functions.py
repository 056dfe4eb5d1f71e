"""The functions of `opwright.library` beside those of `torch.library`: what they take and refuse, how long it lasts."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor, dispatch, library
from opwright.dispatch import KeySet
from opwright.errors import ArgumentError, DispatchError, RegistrationError
from opwright.library import Library
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import wrap

_names = (f"functions{number}" for number in itertools.count())
X = wrap(np.ones(2))
ROOT = opwright.ops


@pytest.fixture
def lib() -> Iterator[Library]:
    made = Library(next(_names), "FRAGMENT")
    yield made
    made.destroy()


def one(x: Tensor) -> int:
    return 1


def two(x: Tensor) -> int:
    return 2


def ops(lib: Library) -> Any:
    return getattr(opwright.ops, lib.ns)


def test_define_without_a_library_lasts() -> None:
    name = next(_names)
    library.define(f"{name}::f.two", "(Tensor x) -> int", tags=opwright.Tag.pointwise)
    library.impl(f"{name}::f.two", "cpu", two)
    gc.collect()
    namespace = getattr(opwright.ops, name)
    assert namespace.f(X) == namespace.f.two(X) == 2
    assert namespace.f.two.tags == (opwright.Tag.pointwise,) == ("pointwise",)


def test_define_in_a_library_goes_with_it(lib: Library) -> None:
    library.define(f"{lib.ns}::f", "(Tensor x) -> int", lib=lib)

    @library.impl(f"{lib.ns}::f", ("cpu", "cuda"), lib=lib)
    def kernel(x: Tensor) -> int:
        return 3

    assert kernel(X) == ops(lib).f(X) == 3
    assert set(dispatch.registrations(f"{lib.ns}::f")) == {"CPU", "CUDA"}  # no GPU is asked for
    lib.destroy()
    assert f"{lib.ns}::f" not in registry.operators


def test_the_decorators_of_a_library(lib: Library) -> None:
    @library.define(lib, "f(Tensor x) -> int")
    def f(x: Tensor) -> int:
        return 1

    @library.impl(lib, "f", "CPU")
    def cpu(x: Tensor) -> int:
        return 2

    assert f(X) == 1 and ops(lib).f(X) == 2
    lib.define("g(Tensor x) -> int")
    for_cpu = Library(lib.ns, "IMPL", "CPU")
    library.impl(for_cpu, "g")(two)
    assert set(dispatch.registrations(f"{lib.ns}::g")) == {"CPU"}


@pytest.mark.parametrize(
    "types, key",
    [("cpu", "CPU"), ("cuda", "CUDA"), ("meta", "Meta"), ("default", "CompositeExplicitAutograd"),
     ("AutogradCPU", "AutogradCPU"), ("Meta", "Meta")],
)  # fmt: skip
def test_devices_and_keys(lib: Library, types: str, key: str) -> None:
    lib.define("f(Tensor x) -> int")
    library.impl(ops(lib).f.default, types, one, lib=lib)
    assert set(dispatch.registrations(f"{lib.ns}::f")) == {key}


def test_what_the_functions_refuse(lib: Library) -> None:
    ns = lib.ns
    for name in ("f", "::f", f"{ns}::", f"{ns}::a::f", 3):
        for call in (
            lambda: library.define(name, "(Tensor x) -> int", lib=lib),  # noqa: B023
            lambda: library.impl(name, "cpu", one, lib=lib),  # noqa: B023
            lambda: library.register_fake(name, one, lib=lib),  # noqa: B023
        ):
            with pytest.raises(ValueError, match="name"):
                call()
    for schema in ("f(Tensor x) -> int", "hello", "(Tensor x)"):
        with pytest.raises(ValueError, match="expected a schema like"):
            library.define(f"{ns}::f", schema, lib=lib)
    with pytest.raises(ValueError, match="'pointy' is not a valid Tag"):
        library.define(f"{ns}::f", "(Tensor x) -> int", lib=lib, tags="pointy")
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        library.impl(f"{ns}::f", "cppu", one, lib=lib)
    with pytest.raises(TypeError, match="callable"):
        library.impl(f"{ns}::f", ("cpu", "cuda"), 3, lib=lib)  # type: ignore[call-overload]
    with pytest.raises(RegistrationError, match="does not exist"):
        library.register_fake(f"{ns}::f", one, lib=lib)
    assert not dir(ops(lib)) and not registry.kernels.get(f"{ns}::f")


def test_a_generated_namespace_has_its_definer() -> None:
    with pytest.raises(RegistrationError, match=r"DEF of namespace aten: the first was made at schemas/"):
        Library("aten", "DEF")


def test_a_composite_needs_no_kernel_for_fakes(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1)
    for register in (lambda: lib.impl("f", one, "Meta"), lambda: library.register_fake(f"{lib.ns}::f", one, lib=lib)):
        with pytest.raises(RegistrationError, match="needs no kernel for tensors without data"):
            register()


# Tags

TAGGED = [
    ("out", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", ""),
    ("out", "(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))", ""),
    ("out", "(Tensor x) -> Tensor", "at least one mutable argument"),
    ("out", "(Tensor x, Tensor(a!) out) -> Tensor(a!)", "keyword-only.*'out' is positional"),
    ("out", "(Tensor x, *, Tensor(a!)[] out) -> ()", r"Tensors alone.*'out' is Tensor\[\]"),
    ("out", "(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor(a!))", r"'a', Tensor\(a!\): return 0"),
    ("out", "(Tensor x, *, Tensor(a!) a) -> Tensor(a)", "return 0 is no mutable alias"),
    ("out", "(Tensor x, *, Tensor(a!) a) -> Tensor", "return 0 is no alias"),
    ("out", "(Tensor x, *, Tensor(a!) a) -> ()", "must return all its mutable arguments: it has 1, and 0 returns"),
    ("out", "(Tensor x, *, Tensor! a) -> Tensor!", r"its alias set has no name, write Tensor\(a!\) a and"),
    ("inplace", "(Tensor(a!) x, Tensor y) -> Tensor(a!)", ""),
    ("inplace", "(Tensor! x) -> Tensor!", "its alias set has no name"),
    ("inplace", "() -> Tensor", "at least one positional argument"),
    ("inplace", "(*, Tensor(a!) x) -> Tensor(a!)", "at least one positional argument"),
    ("inplace", "(Tensor x) -> Tensor", "first positional argument to be mutable"),
    ("inplace", "(Tensor(a!)[] x) -> Tensor(a!)[]", "to be a Tensor"),
    ("inplace", "(Tensor(a!) x) -> ()", "exactly one value.*0 returns"),
    ("inplace", "(Tensor(a!) x) -> (Tensor(a!), Tensor)", "exactly one value.*2 returns"),
    ("inplace", "(Tensor(a!) x) -> int", "return 0 is int"),
    ("inplace", "(Tensor(a!) x) -> Tensor", "return 0 is no alias"),
    ("inplace", "(Tensor(a!) x) -> Tensor(a)", "no mutable alias"),
    ("inplace", "(Tensor(a!) x, Tensor(b!) y) -> Tensor(b!)", r"Tensor\(a!\): return 0 is Tensor\(b!\)"),
    ("inplace", "(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "not y too"),
]  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("tag, schema, problem", TAGGED)
def test_tags_hold_schemas_to_their_rules(lib: Library, tag: str, schema: str, problem: str) -> None:
    if problem:
        with pytest.raises(ValueError, match=f"a schema with the tag {tag} .*{problem}"):
            lib.define(f"f{schema}", tags=tag)
        assert not dir(ops(lib))
    else:
        lib.define(f"f{schema}", tags=(tag, tag))
        assert ops(lib).f.default.tags == (tag,)
    torch = pytest.importorskip("torch")
    with torch.library._scoped_library(lib.ns, "FRAGMENT") as theirs:
        if problem:
            with pytest.raises(ValueError):
                theirs.define(f"f{schema}", tags=getattr(torch.Tag, tag))
        else:
            theirs.define(f"f{schema}", tags=getattr(torch.Tag, tag))


# Names


@pytest.mark.oracle
def test_the_names_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    assert set(torch.library.__all__) <= set(library.__all__)


# get_kernel


def test_a_kernel_by_itself(lib: Library) -> None:
    add = library.get_kernel("aten::add.Tensor", "CPU")
    x = opwright.tensor([1.0, 2.0])
    assert add(x, x, alpha=3).tolist() == add.call_boxed(KeySet("CPU"), x, x, alpha=3).tolist() == [4, 8]
    assert np.array_equal(add(np.ones(2), np.ones(2)), [2, 2])
    assert library.get_kernel(opwright.ops.aten.add.Tensor, dispatch.DispatchKey.CPU)(x, x).tolist() == [2, 4]
    with pytest.raises(TypeError, match="a KeySet and then"):
        add.call_boxed(x, x)
    with pytest.raises(ArgumentError, match="missing a value for argument 'other'"):
        add(x)


def test_kernels_of_alias_keys_serve_runtime_keys(lib: Library) -> None:
    lib.define("f(Tensor x) -> int")
    lib.impl("f", one, "CompositeExplicitAutograd")
    lib.impl("f", two, "Autograd")
    name = f"{lib.ns}::f"
    assert [library.get_kernel(name, key)(X) for key in ("CPU", "CUDA", "AutogradCPU")] == [1, 1, 2]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "op, key, error, message",
    [
        ("aten::addd", "CPU", RuntimeError, "aten::addd does not exist"),
        ("aten::add.Tensor", "CPPU", ValueError, "could not parse dispatch key"),
        ("aten::add.Tensor", "Autograd", RuntimeError, "alias key"),
        (3, "CPU", ValueError, "expected an operator"),
        ("aten::add.Tensor", "PrivateUse3", DispatchError, "no kernel for PrivateUse3 for aten::add.Tensor"),
    ],
)
def test_kernels_that_there_are_not(op: Any, key: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        library.get_kernel(op, key)
    torch = pytest.importorskip("torch")
    if key != "PrivateUse3":
        with pytest.raises(error):
            torch.library.get_kernel(op, key)


def test_a_kernel_goes_with_its_library(lib: Library) -> None:
    lib.define("f(Tensor x) -> int")
    over = Library(lib.ns, "IMPL")
    over.impl("f", one, "CPU")
    kernel = library.get_kernel(f"{lib.ns}::f", "CPU")
    assert kernel(X) == 1
    with pytest.warns(UserWarning, match="is overridden"):
        lib.impl("f", two, "CPU")
    assert (kernel(X), ops(lib).f(X)) == (1, 2)  # the one it was
    over.destroy()
    for call in (lambda: kernel(X), lambda: kernel.call_boxed(KeySet("CPU"), X)):
        with pytest.raises(RuntimeError, match=r"has been invalidated: what registered it at .*test_library_functions"):
            call()
    held = library.get_kernel(f"{lib.ns}::f", "CPU")
    lib.destroy()
    with pytest.raises(RuntimeError, match="has been invalidated"):
        held(X)


def test_an_autograd_kernel_by_itself_goes_on_below(lib: Library) -> None:
    lib.define("f(Tensor x) -> int")
    seen: list[KeySet] = []

    def autograd(keyset: KeySet, x: Tensor) -> int:
        seen.append(keyset)
        return 10 + ops(lib).f.default.redispatch(keyset & KeySet.after("AutogradCPU"), x)

    lib.impl("f", one, "CPU")
    lib.impl("f", autograd, "AutogradCPU", with_keyset=True)
    kernel = library.get_kernel(f"{lib.ns}::f", "AutogradCPU")
    with dispatch.include_keys("Autocast"):
        assert kernel(X) == 11
    assert seen == [KeySet(["AutogradCPU", "CPU"])]


# What a garbage-collected library took along


def collected(make: Callable[[], object]) -> None:
    make()
    gc.collect()


def test_every_first_lookup_says_what_was_lost(lib: Library) -> None:
    name = lib.ns
    lib.define("f(Tensor x) -> int")

    def lose() -> None:
        lost = Library(name, "FRAGMENT")
        lost.define("f.two(Tensor x, int n) -> int")
        lost.define("g(Tensor x) -> int")
        lost.impl("f", one, "CPU")

    collected(lose)
    reason = re.escape("made at ") + r".*test_library_functions\.py:\d+, was garbage-collected.*keep a reference"
    for lookup, error in [
        (lambda: ops(lib).g, AttributeError),
        (lambda: ops(lib).f.two, AttributeError),
        (lambda: dispatch.table(f"{name}::f.two"), DispatchError),
        (lambda: library.get_kernel(f"{name}::g", "CPU"), RuntimeError),
        (lambda: ops(lib).f(X), DispatchError),
    ]:
        with pytest.raises(error, match=reason):
            lookup()
    lib.impl("f", two, "CPU")
    lib.define("g(Tensor x) -> int")
    assert ops(lib).f(X) == 2 and ops(lib).g.default
    with pytest.raises(DispatchError) as raised:
        ops(lib).g(X)
    assert "garbage" not in str(raised.value)


def test_a_held_packet_sees_what_is_defined_again(lib: Library) -> None:
    lib.define("f(Tensor x) -> int")
    lib.impl("f", one, "CPU")
    packet, namespace = ops(lib).f, ops(lib)
    lib.destroy()
    assert (f"{lib.ns}::f" in registry.overloads, lib.ns in opwright.ops.__dict__) == (False, False)
    with pytest.raises(ArgumentError, match="no overloads left"):
        packet(X)
    again = Library(lib.ns, "FRAGMENT")
    again.define("f(Tensor x) -> int")
    again.impl("f", two, "CPU")
    assert packet(X) == namespace.f(X) == ops(lib).f(X) == 2
    again.destroy()
    with pytest.raises(AttributeError):
        _ = namespace.f


# Names by which operators travel


def test_operators_are_pickled_and_copied_by_name(lib: Library) -> None:
    lib.define("f.two(Tensor x) -> int")
    operator, packet = ops(lib).f.two, ops(lib).f
    for found in (operator, packet):
        for same in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
            assert same is found
    pickled = pickle.dumps(operator)
    lib.destroy()
    with pytest.raises(DispatchError, match=f"operator {lib.ns}::f.two does not exist"):
        pickle.loads(pickled)


def test_alias_sets_have_names_of_several_letters(lib: Library) -> None:
    lib.define("f(Tensor x, Tensor(a1!) y, Tensor(a2!)[] zs) -> Tensor(a1!)")
    signature = ops(lib).f.default.signature
    assert (signature.written, signature.aliases, signature.returns) == ({1, 2}, (1,), ("Tensor",))
