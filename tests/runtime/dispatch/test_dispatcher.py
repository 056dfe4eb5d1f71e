"""Calls: which kernel runs, what it sees, what comes back."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright import dispatch
from opwright.errors import ArgumentError, AutogradError, DispatchError, RegistrationError
from opwright.registering.kernels import register
from opwright.user_kernels.registering import register_fallback
from opwright_core.arrays.storage import resize
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Composite, Shim, UserKernel, Wrapper
from opwright_core.keys import ARRAYS, DENSE_CPU, GRAD, NONDENSE
from opwright_core.tensors.tensor import Tensor, wrap

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def ones(*shape: int, keys: int = 0) -> Tensor:
    tensor = wrap(np.ones(shape))
    tensor.keys |= keys
    return tensor


def add(self: Tensor, other: Tensor, *, alpha: complex = 1) -> Tensor:
    return wrap(self.array + alpha * other.array)


@pytest.fixture
def adding(define: Maker) -> Operator:
    operator = define(ADD)
    register(operator, "CPU", add)
    return operator


# Which kernel


@pytest.mark.parametrize("keys", [("CPU", "Meta"), ("Meta", "CPU"), ("CUDA", "CPU"), ("PrivateUse1", "CUDA")])
def test_the_higher_backend_runs_in_any_order(define: Maker, keys: tuple[str, str]) -> None:
    operator = define("f(Tensor[] a, Tensor? b=None) -> int")
    order = ["CPU", "CUDA", "PrivateUse1", "Meta"]
    for number, key in enumerate(order):
        register(operator, key, lambda a, b=None, number=number: number)
    first, second = (_with_only(key) for key in keys)
    expected = max(map(order.index, keys))
    assert operator([first], second) == expected
    assert operator([second], first) == expected
    assert operator([first, second]) == expected
    assert operator([], first) == order.index(keys[0])


def _with_only(key: str) -> Tensor:
    tensor = ones(1)
    tensor.keys = dispatch.DispatchKey.parse(key).bit
    return tensor


def test_no_tensor_arguments(define: Maker) -> None:
    operator = define("f(Tensor[] a) -> int")
    handle = register(operator, "CPU", lambda a: 1)
    with pytest.raises(DispatchError, match=r"no tensor arguments .*no fallback function"):
        operator([])
    composite = register(operator, "CompositeExplicitAutograd", lambda a: 2)
    assert operator([]) == 2
    composite.remove()
    register(operator, "BackendSelect", lambda a: 3)
    assert operator([]) == 3
    assert operator([ones(1)]) == 1
    handle.remove()


def test_missing_kernels_list_what_is_registered(define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    register(operator, "CUDA", add, where="cuda.py:3")
    register(operator, "SparseCPU", add)
    with pytest.raises(DispatchError, match=r"no kernel is registered for CPU") as error:
        operator(ones(1))
    assert "CUDA (cuda.py:3)" in str(error.value)
    assert "SparseCPU" in str(error.value)


def test_ambiguous_autogradother(define: Maker) -> None:
    operator = define("f(Tensor x) -> int")
    register(operator, "CompositeImplicitAutograd", lambda x: 1)
    register(operator, "QuantizedCPU", lambda x: 2)
    tensor = _with_only("AutogradOther")
    assert dispatch.table(operator)["AutogradOther"].source == "ambiguous autogradother"
    with pytest.raises(DispatchError, match=r"ambiguous_autogradother.*QuantizedCPU"):
        operator(tensor)
    register(operator, "AutogradOther", lambda x: 3)
    assert operator(tensor) == 3
    assert operator(ones(1)) == 1


def test_fallthrough_runs_the_next_key(define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    given: list[dispatch.KeySet] = []

    def kernel(keyset: dispatch.KeySet, x: Tensor) -> Tensor:
        given.append(keyset)
        return x

    register(operator, "AutogradCPU", dispatch.fallthrough_kernel)
    register(operator, "CPU", UserKernel(kernel, with_keyset=True))
    operator(ones(1))
    assert given == [dispatch.KeySet("CPU")]
    register(operator, "CPU", dispatch.fallthrough_kernel)
    with pytest.raises(DispatchError, match="falls through"):
        operator(ones(1))


def test_the_fallthrough_mark_is_no_kernel() -> None:
    with pytest.raises(NotImplementedError):
        dispatch.fallthrough_kernel(1)


def test_boxed_fallback_and_its_removal(adding: Operator) -> None:
    seen: list[tuple[Any, ...]] = []

    def trace(op: Operator, keyset: dispatch.KeySet, args: Any, kwargs: Any) -> Any:
        seen.append((op, args[1:], kwargs))
        return op.redispatch(keyset.remove("Batched"), *args, **kwargs)

    x = ones(2)
    handle = register_fallback("Batched", trace)
    with dispatch.include_keys("Batched"):
        assert adding(x, x, alpha=3).array.tolist() == [4, 4]
        adding(x, x)
        handle.remove()
        with pytest.raises(DispatchError, match="no kernel is registered for Batched"):
            adding(x, x)
    assert seen == [(adding, (x,), {"alpha": 3}), (adding, (x,), {})]


def test_fallthrough_on_one_operator_leaves_others(define: Maker) -> None:
    plain, skipped = define("f(Tensor x) -> int"), define("g(Tensor x) -> int")
    for operator in (plain, skipped):
        register(operator, "CPU", lambda x: 1)
    handle = register_fallback("Autocast", lambda op, keyset, args, kwargs: 2)
    register(skipped, "Autocast", dispatch.fallthrough_kernel)
    with dispatch.include_keys("Autocast"):
        assert (plain(ones(1)), skipped(ones(1))) == (2, 1)
        handle.remove()
        assert (plain(ones(1)), skipped(ones(1))) == (1, 1)


def test_redispatch_keeps_what_was_removed_out(define: Maker) -> None:
    operator = define("f(Tensor x) -> int")
    register(operator, "AutogradCPU", lambda x: operator.redispatch(dispatch.KeySet(["CPU"]), x) + 10)
    register(operator, "CPU", lambda x: 1)
    assert operator(ones(1)) == 11
    assert operator.redispatch(dispatch.KeySet(["CPU"]), ones(1)) == 1
    assert dispatch.redispatch(operator, dispatch.KeySet(["AutogradCPU", "CPU"]), x=ones(1)) == 11


def test_redispatch_knows_an_odd_tensor(define: Maker) -> None:
    """The keyset says which keys; which shim serves them depends on the tensor still."""
    operator = define("f(Tensor x) -> str")
    register(operator, "CPU", Shim(lambda x: "general", lambda x: "dense"))
    assert operator(ones(2, 2)) == operator.redispatch(dispatch.KeySet("CPU"), ones(2, 2)) == "dense"
    nondense = wrap(np.ones((2, 3)).T)
    assert nondense.keys & NONDENSE
    assert operator(nondense) == operator.redispatch(dispatch.KeySet("CPU"), nondense) == "general"


def test_redispatch_to_no_key(define: Maker) -> None:
    operator = define("f() -> int")
    register(operator, "BackendSelect", lambda: operator.redispatch(dispatch.KeySet()))
    with pytest.raises(DispatchError, match="no tensor arguments"):
        operator()
    register(operator, "CompositeExplicitAutograd", lambda: 1)
    assert operator() == 1


def test_none_among_tensors(define: Maker) -> None:
    operator = define("f(Tensor?[] a, Tensor[]? b=None) -> int")
    register(operator, "CPU", lambda a, b=None: len(a))
    assert operator([None, ones(1)]) == operator((None, np.ones(1))) == 2
    with pytest.raises(ArgumentError, match=r"Tensor\[\]\? for argument 'b'.*: element 1 is None"):
        operator([ones(1)], [ones(1), None])
    with pytest.raises(ArgumentError, match=r"expected Tensor\?\[\] for argument 'a'"):
        operator(None)


def test_wrappers_are_bound_to_the_keys_below(define: Maker) -> None:
    operator = define("f(Tensor x) -> str")
    register(operator, "CPU", lambda x: "cpu")
    register(operator, "AutogradCPU", Wrapper(lambda below: lambda x: f"grad({below(x)})"))
    register(operator, "Tracer", Wrapper(lambda below: lambda x: f"trace({below(x)})"))
    with dispatch.include_keys("Tracer"):
        assert operator(ones(1)) == "trace(grad(cpu))"
        with dispatch.below_autograd():
            assert operator(ones(1)) == "trace(cpu)"
        handle = register(operator, "CPU", lambda x: "newer")
        assert operator(ones(1)) == "trace(grad(newer))"
        handle.remove()
        assert operator(ones(1)) == "trace(grad(cpu))"


def test_factories_go_by_their_device(define: Maker) -> None:
    operator = define("zeros(int[] size, *, Device? device=None) -> str")
    register(operator, "CPU", lambda size, **_: "cpu")
    register(operator, "Meta", lambda size, **_: "meta")
    assert (operator([2]), operator([2], device="cpu"), operator([2], device="meta")) == ("cpu", "cpu", "meta")
    assert dispatch.table(operator)["BackendSelect"].source == "kernel"


def test_newest_registration_wins_and_removal_restores(define: Maker) -> None:
    operator = define("f(Tensor x) -> int")
    first = register(operator, "CPU", lambda x: 1)
    second = register(operator, "CPU", lambda x: 2)
    assert operator(ones(1)) == 2
    second.remove()
    second.remove()
    assert operator(ones(1)) == 1
    first.remove()
    with pytest.raises(DispatchError):
        operator(ones(1))


def test_failed_registrations_leave_nothing(adding: Operator) -> None:
    before = dispatch.table(adding)
    with pytest.raises(TypeError, match="callable"):
        register(adding, "CPU", 3)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="could not parse dispatch key"):
        register(adding, "CPP", add)
    with pytest.raises(RegistrationError, match="fallback serves a runtime key"):
        register_fallback("Autograd", add)
    with pytest.raises(RegistrationError, match="multiple times"):
        Operator(adding.name, "(Tensor x) -> Tensor")
    assert dispatch.table(adding) == before
    assert adding(ones(1), ones(1)).array.tolist() == [2]


# Plain arrays


def test_plain_arrays_in_and_out(adding: Operator) -> None:
    result = adding(np.ones(2), np.arange(2.0), alpha=2)
    assert type(result) is np.ndarray
    assert result.tolist() == [1, 3]
    assert ARRAYS in adding.table


def test_an_array_beside_a_tensor_gives_a_tensor(adding: Operator) -> None:
    for args in [(np.ones(2), ones(2)), (ones(2), np.ones(2))]:
        assert isinstance(adding(*args), Tensor)


def test_numpy_scalars_are_arrays_without_dimensions(adding: Operator) -> None:
    result = adding(np.float64(2), np.ones(2))
    assert result.tolist() == [3, 3]


def test_arrays_in_lists(define: Maker) -> None:
    operator = define("cat(Tensor[] tensors) -> Tensor[]")
    register(operator, "CPU", lambda tensors: list(reversed(tensors)))
    a, b = np.ones(1), np.ones(2)
    result = operator((a, b))
    assert [item is given for item, given in zip(result, (b, a), strict=True)] == [True, True]
    assert all(isinstance(item, Tensor) for item in operator([a, ones(1)]))


def test_written_arrays_keep_their_identity(define: Maker) -> None:
    operator = define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")

    def kernel(x: Tensor, *, out: Tensor) -> Tensor:
        out.array[...] = x.array
        return out

    register(operator, "CPU", kernel)
    target = np.zeros(2)
    assert operator(np.ones(2), out=target) is target
    assert operator(ones(2), out=target) is target
    assert target.tolist() == [1, 1]


def test_a_plain_array_cannot_record(define: Maker) -> None:
    operator = define("f_(Tensor(a!) self, Tensor x) -> Tensor(a!)")
    register(operator, "CPU", lambda self, x: self)
    target = np.zeros(2)
    with pytest.raises(AutogradError, match="plain array"):
        operator(target, ones(2, keys=GRAD))
    with dispatch.exclude_keys(dispatch.KeySet(GRAD)):
        assert operator(target, ones(2, keys=GRAD)) is target


def test_a_plain_array_cannot_be_resized(define: Maker) -> None:
    operator = define("f_(Tensor(a!) self) -> Tensor(a!)")

    def kernel(self: Tensor) -> Tensor:
        self.array = np.zeros(3)
        return self

    register(operator, "CPU", kernel)
    with pytest.raises(RuntimeError, match=r"resize a plain array from shape \(2,\) to \(3,\)"):
        operator(np.zeros(2))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_an_empty_plain_array_is_written_as_others_are(define: Maker, shape: tuple[int, ...]) -> None:
    operator = define("f_(Tensor(a!) self) -> Tensor(a!)")
    register(operator, "CPU", lambda self: self)
    for array in (np.zeros(shape), np.zeros(shape).T):
        assert operator(array) is array


@pytest.mark.parametrize("size", [0, 2, 5])
def test_a_plain_array_is_refused_before_it_is_written(define: Maker, size: int) -> None:
    operator = define("fill.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")

    def kernel(x: Tensor, *, out: Tensor) -> Tensor:
        resize(out, (3,), (1,))
        out.array[...] = 1
        return out

    register(operator, "CPU", kernel)
    out = np.zeros(size)
    for x in (np.ones(3), ones(3)):
        with pytest.raises(
            RuntimeError, match=rf"fill\.out\(\) would have to resize .* from shape \({size},\) to \(3,\)"
        ):
            operator(x, out=out)
    assert out.shape == (size,)
    assert not out.any()
    assert operator(np.ones(3), out=ones(size)).shape == (3,)


@pytest.mark.parametrize("key", ["CompositeImplicitAutograd", "CompositeExplicitAutograd"])
@pytest.mark.parametrize("form", [Composite, UserKernel])
def test_composites_see_tensors(define: Maker, key: str, form: Any) -> None:
    operator = define("f(Tensor x, Tensor[] others) -> (str, Tensor, Tensor)")
    register(operator, key, form(lambda x, others: (type(x).__name__ + type(others[0]).__name__, x, others[0])))
    array, other = np.ones(1), np.ones(2)
    assert operator(array, [other]) == ("TensorTensor", array, other)
    kind, *results = operator(array, [ones(2)])
    assert kind == "TensorTensor" and {type(each) for each in results} == {Tensor}


def test_tensors_that_composites_make_are_unwrapped(define: Maker) -> None:
    operator = define("f(Tensor x) -> (Tensor, Tensor[])")
    register(operator, "CompositeExplicitAutograd", Composite(lambda x: (ones(1), [ones(2), x])))
    single, several = operator(np.ones(1))
    assert {type(item) for item in (single, *several)} == {np.ndarray}


def test_array_shims_serve_arrays_alone(define: Maker) -> None:
    operator = define("f(Tensor x) -> str")
    handle = register(operator, "CPU", Shim(lambda x: "general", None, lambda x: f"arrays {type(x).__name__}"))
    assert operator(np.ones(1)) == "arrays ndarray"
    with dispatch.below_autograd():
        assert operator(np.ones(1)) == "general"
    register(operator, "AutogradCPU", lambda x: "a user's kernel")
    assert operator(np.ones(1)) == "a user's kernel"
    handle.remove()


# Binding


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((1, 2, 3), {}, "takes 2 positional arguments but 3 were given; 'alpha' is keyword-only"),
        ((1, 2, 3, 4), {}, "takes 2 positional arguments but 4 were given"),
        ((), {}, r"missing values for arguments 'self' \(position 0\), 'other' \(position 1\)"),
        ((1,), {"aplha": 2}, "no argument 'aplha'; did you mean 'alpha'"),
        ((1, 2), {"other": 3}, r"'other' \(position 1\) is given by position and by name"),
        (("a", None), {}, r"expected Tensor for argument 'self' \(position 0\), got str 'a'"),
        ((None,), {"other": 1}, r"expected Tensor for argument 'self' \(position 0\), got None"),
        ((["a"],), {"other": 1}, r"expected Tensor for argument 'self' \(position 0\), got list \['a'\]"),
        ((1, 2), {"alpha": "x"}, r"expected Scalar for argument 'alpha' \(position 2\), got str 'x'"),
    ],
)
def test_binding_errors_print_the_declaration(
    adding: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ArgumentError, match=problem) as error:
        adding(*args, **kwargs)
    assert str(error.value).endswith(f"Declaration: {adding.name}{adding.declaration}")
    assert isinstance(error.value, TypeError)


def test_long_values_are_cut_short(adding: Operator) -> None:
    with pytest.raises(ArgumentError) as error:
        adding("x" * 1000, 1)
    assert len(str(error.value)) < 300


def test_kernels_see_the_call_as_in_pytorch(define: Maker) -> None:
    """Trailing defaults are left out, names of positional arguments too; keyword-only arguments stay keywords."""
    operator = define("f(int a=1, int b=2, *, int c=3, int[] d=[0,1]) -> ()")
    seen: list[Any] = []
    register(operator, "CompositeExplicitAutograd", lambda *args, **kwargs: seen.append((args, kwargs)))
    calls: list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]] = [
        ((1,), {}, (), {}),
        ((1, 5), {}, (1, 5), {}),
        ((5, 2), {}, (5,), {}),
        ((), {"b": 5}, (1, 5), {}),
        ((), {"b": 5, "a": 4}, (4, 5), {}),
        ((), {"c": 3, "d": [0, 1]}, (), {}),
        ((), {"c": 4, "d": (0, 2)}, (), {"c": 4, "d": [0, 2]}),
        ((True,), {}, (), {}),
    ]
    for args, kwargs, *_ in calls:
        operator(*args, **kwargs)
    assert seen == [(args, kwargs) for _, _, args, kwargs in calls]


def test_defaults_are_not_shared(define: Maker) -> None:
    operator = define("f(int[] d=[0,1]) -> int[]")
    register(operator, "CompositeExplicitAutograd", Composite(lambda d: d))
    operator().append(7)
    assert operator() == [0, 1]


def test_an_argument_called_self_or_keyset(define: Maker) -> None:
    operator = define("f(Tensor self, int keyset, int from) -> int")
    register(operator, "CPU", lambda self, keyset, from_: keyset + from_)
    assert operator(self=ones(1), keyset=2, **{"from": 3}) == 5
    assert operator.redispatch(dispatch.KeySet("CPU"), self=ones(1), keyset=2, **{"from": 3}) == 5


# Results


@pytest.mark.parametrize(
    ("returns", "value", "expected"),
    [
        ("int", True, 1),
        ("float", 1, 1.0),
        ("Tensor?", None, None),
        ("(int, int)", [1, 2], (1, 2)),
        ("int[]", (1, 2), [1, 2]),
        ("(int)", 1, 1),
        ("((int))", [1], (1,)),
        ("((int, str)[])", [[1, "a"]], [[1, "a"]]),
        ("((int, str))", [True, "a"], (1, "a")),
        ("()", None, None),
    ],
)
def test_results_are_converted(define: Maker, returns: str, value: Any, expected: Any) -> None:
    operator = define(f"f(Tensor x) -> {returns}")
    register(operator, "CPU", lambda x: value)
    result = operator(ones(1))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("Tensor", None),
        ("Tensor", 1.0),
        ("Tensor", (1,)),
        ("Tensor", np.ones(1)),
        ("int", 1.5),
        ("()", ()),
        ("()", 1),
        ("(int, int)", 1),
        ("(int, int)", (1,)),
        ("(int, int)", None),
        ("(Tensor, int)", (None, 1.5)),
        ("Tensor[]", 1),
        ("((Tensor))", ones(1)),
        ("((int, int))", (1,)),
        ("(Tensor a, Tensor b)", (1, 2)),
    ],
)
def test_results_of_wrong_types(define: Maker, returns: str, value: Any) -> None:
    operator = define(f"f(Tensor x) -> {returns}")
    register(operator, "CPU", lambda x: value)
    with pytest.raises(RuntimeError, match="must return") as error:
        operator(ones(1))
    assert operator.declaration in str(error.value)


# Operators as objects


def test_pickles_and_copies_by_name(adding: Operator) -> None:
    assert pickle.loads(pickle.dumps(adding)) is adding
    assert copy.deepcopy({"op": adding})["op"] is adding


def test_a_pickle_of_what_is_not_defined(define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    text = pickle.dumps(operator)
    define.close()
    with pytest.raises(DispatchError, match=f"operator {operator.name} does not exist"):
        pickle.loads(text)
    with pytest.raises(DispatchError, match="no longer defined"):
        operator(ones(1))


def test_schema_and_repr(adding: Operator) -> None:
    assert str(adding.schema) == f"{adding.name}{adding.declaration}"
    assert adding.schema.arguments[2].kwarg_only
    assert repr(adding) == f"<Operator {adding.schema}>"


def test_dump(adding: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    dispatch.dump(adding)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(adding.schema)
    assert "CUDA: missing [missing]" in lines
    assert "ADInplaceOrView: fallthrough registered at default [backend fallback]" in lines


def test_table_of_every_runtime_key(adding: Operator) -> None:
    table = dispatch.table(adding.name)
    assert set(table) == {"Undefined", *(key.name for key in dispatch.KeySet.full())}
    assert (table["CPU"].source, table["CPU"].kernel) == ("kernel", add)
    assert (table["AutogradCPU"].source, table["CUDA"].source) == ("backend fallback", "missing")


def test_stub_table_and_call_agree(adding: Operator) -> None:
    """What `call` stores is what a stub would find."""
    x = ones(2)
    adding.call(x, x, 1)
    assert adding.table[DENSE_CPU](x, x, 2).array.tolist() == [3, 3]


def test_sources(define: Maker) -> None:
    operator = define("f(Tensor x) -> Tensor")
    register(operator, "CompositeExplicitAutograd", add)
    register(operator, "Autograd", add)
    sources = {name: entry.source for name, entry in dispatch.table(operator).items()}
    assert sources["CPU"] == sources["Undefined"] == "default backend kernel"
    assert sources["AutogradCUDA"] == "autograd kernel"
    register(operator, "CompositeImplicitAutograd", add)
    assert dispatch.table(operator)["CPU"].source == "default backend kernel"
