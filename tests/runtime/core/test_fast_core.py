"""The compiled core: it serves what the Python serves, keeps no memory, and gives way where it must."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright.library import Library
from opwright_core.core import VERSION, fast
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.registry.kernel_kinds import LazyWrapper
from opwright_core.dispatch.registry.tables import registry

compiled = pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
FUZZ = Path(__file__).parents[2] / "fuzz_core.py"
INTERPRETERS = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"


def in_process(code: str, **environment: str) -> str:
    """Run code in another process; return what it printed."""
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "OPWRIGHT_PURE": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


def ones(*shape: int, grad: bool = False) -> opwright.Tensor:
    return opwright.ones(*shape).requires_grad_(grad)


# -- the choice


def test_python_runs_where_that_is_asked_for() -> None:
    said = in_process("import opwright; print(*opwright.dispatch.core(), sep='|')", OPWRIGHT_PURE="1")
    assert said == "python|OPWRIGHT_PURE=1 is set\n"


def test_what_runs_is_said() -> None:
    name, reason = opwright.dispatch.core()
    assert name == ("python" if fast is None else "fast")
    assert reason


@pytest.mark.skipif(os.environ.get("OPWRIGHT_PURE", "0") not in ("", "0"), reason="Python alone is asked for")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_core_is_there_where_a_compiler_is() -> None:
    """The tests of the core, which are skipped without it, do not hide that it is missing."""
    assert fast is not None, opwright.dispatch.core().reason


def test_an_extension_of_another_version_gives_way_with_one_line() -> None:
    said = in_process(
        f"""
        import sys, types
        sys.modules["opwright_core._fast"] = types.SimpleNamespace(VERSION={VERSION + 1})
        import opwright
        print((opwright.ones(2) + 1).tolist(), opwright.dispatch.core().name)
        """
    )
    assert "[2.0, 2.0] python" in said
    assert said.count("build it again with `make generate`") == 1


def test_an_extension_that_does_not_load_gives_way() -> None:
    said = in_process(
        """
        import sys
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "opwright_core._fast":
                    raise ImportError("undefined symbol: x")
        sys.meta_path.insert(0, Finder())
        import opwright
        print(opwright.dispatch.core().reason)
        """
    )
    reason = "opwright_core._fast cannot be loaded: undefined symbol: x"
    assert said.startswith(f"{reason}\n")
    assert said.count(f"RuntimeWarning: {reason}. Python runs in its place, slower.") == 1


@compiled
def test_kernels_in_c_are_loaded_with_aten() -> None:
    said = in_process(
        """
        import sys
        import opwright
        print("opwright_kernels._native" in sys.modules, opwright.float32)
        print("opwright_kernels._native" in sys.modules, opwright.ones(2).exp().shape == (2,))
        print("opwright_kernels._native" in sys.modules)
        """
    )
    assert said == "False float32\nFalse True\nTrue\n"


AGAIN = "build it again with `make generate` or `pip install`"
OTHER = f"version {VERSION + 1}, and this Opwright needs {VERSION}: {AGAIN}"
ABSENT = "`make generate` or `pip install` does it, where there is a C compiler"


@compiled
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (f"types.SimpleNamespace(VERSION={VERSION + 1})", f"opwright_kernels._native has {OTHER}"),
        ("None", f"opwright_kernels._native is not built: {ABSENT}"),
    ],
)
def test_kernels_in_c_that_do_not_fit_give_way_with_one_line(found: str, reason: str) -> None:
    """The core runs calls without them; functions of `opwright` have theirs in the core."""
    said = in_process(
        f"""
        import sys, types
        sys.modules["opwright_kernels._native"] = {found}
        import opwright, opwright_core.plans.plan
        x = opwright.ones(2, 3, requires_grad=True)
        ((x.softmax(-1) + opwright.zeros(3, requires_grad=True)) @ opwright.ones(3, 2)).sum().backward()
        print(x.grad.shape, type(opwright_core.plans.plan.cast_array).__name__, *opwright.dispatch.core(), sep="|")
        """
    )
    assert f"(2, 3)|Compiled|partial|opwright_core._fast is built; {reason}\n" in said.replace("Size([2, 3])", "(2, 3)")
    assert said.count(f"RuntimeWarning: {reason}. Python runs in its place, slower.") == 1


@compiled
def test_the_core_takes_kernels_of_its_version_alone() -> None:
    from opwright_kernels import _native

    fast.add_kernels(_native.kernels)  # once more changes nothing
    for other in (fast, None, _native):
        with pytest.raises(ValueError, match="PyCapsule"):
            fast.add_kernels(other)


@compiled
@pytest.mark.parametrize("name", ["opwright_core._fast", "opwright_kernels._native"])
def test_subinterpreters_are_refused(name: str) -> None:
    path = import_module(name).__file__
    said = in_process(
        f"""
        import {INTERPRETERS} as interpreters
        code = '''
        import importlib.machinery, importlib.util
        loader = importlib.machinery.ExtensionFileLoader({name!r}, {path!r})
        spec = importlib.util.spec_from_loader({name!r}, loader)
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            print(error)
        '''
        import textwrap
        interpreters.run_string(interpreters.create(), textwrap.dedent(code))
        """
    )
    assert "main interpreter" in said or "subinterpreters" in said


# -- Tensor


def test_slots_are_slots() -> None:
    made = opwright.Tensor.__new__(opwright.Tensor)
    with pytest.raises(AttributeError, match="array"):
        _ = made.array
    made.array = np.ones(2, np.float32)
    del made.array
    with pytest.raises(AttributeError):
        del made.array
    assert vars(made) == {}
    made.note = made  # type: ignore[attr-defined]
    assert vars(made) == {"note": made}
    with pytest.raises(TypeError):
        opwright.Tensor(1, 2, 3, nonsense=4)  # type: ignore[call-arg]


def test_what_a_tensor_was_given_goes_with_it() -> None:
    """Memory that is used again has no attributes, and a circle through them is found."""
    for place in range(200):
        x = ones(3)
        assert vars(x) == {}
        x.note = place  # type: ignore[attr-defined]
    x.circle = x  # type: ignore[attr-defined]
    found = weakref.ref(x)
    del x
    gc.collect()
    assert found() is None


def test_weak_references_and_cycles() -> None:
    x = ones(3)
    found = weakref.ref(x)
    called: list[int] = []
    weakref.finalize(x, called.append, 1)
    del x
    assert found() is None
    assert called == [1]
    x = ones(3)
    x.array = [x]  # type: ignore[assignment]
    found = weakref.ref(x)
    del x
    gc.collect()
    assert found() is None


class Kept(opwright.Tensor):
    """A subclass whose instances come back once."""

    saved: list[Any] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.saved.append(self)


def test_subclasses_with_attributes_and_finalizers() -> None:
    x = ones(3).as_subclass(Kept)
    x.note = "here"  # type: ignore[attr-defined]
    del x
    (back,) = Kept.saved
    assert (back.note, back.tolist()) == ("here", [1.0, 1.0, 1.0])
    Kept.saved.clear()
    del back
    assert Kept.saved == []  # a finalizer runs once
    assert type(ones(2) + ones(2)) is opwright.Tensor


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(copied: Callable[[Any], Any]) -> None:
    x = ones(2, 3, grad=True)
    assert copied(x).tolist() == x.tolist()
    assert copied(x).requires_grad


def test_chains_of_tensors_are_freed_without_recursion() -> None:
    x = ones(1)
    for _ in range(200_000):
        other = opwright.Tensor.__new__(opwright.Tensor)
        other.edge = x
        x = other
    del x, other


def test_deep_graphs_are_freed_without_recursion() -> None:
    x = ones(2, grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    alive = weakref.ref(y)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    del y
    assert alive() is None


# -- stubs


def test_stubs_are_known_as_functions() -> None:
    for function in (opwright.add, opwright.Tensor.add, opwright.ops.aten.add.Tensor.stub):
        assert isinstance(function, types.FunctionType)
        assert inspect.isfunction(function)
        assert inspect.signature(function).parameters["alpha"].default == 1
        assert function.__module__ == "opwright_aten.ops.pointwise"
        assert repr(function).startswith("<function add")
        assert "__name__" in dir(function)
    assert opwright.add.__name__ == opwright.add.__qualname__ == "add"
    assert pickle.loads(pickle.dumps(opwright.add)) is opwright.add
    assert copy.deepcopy(opwright.add) is copy.copy(opwright.add) is opwright.add
    bound = ones(2).add
    assert bound(ones(2)).tolist() == [2.0, 2.0]
    assert bound.__self__.tolist() == [1.0, 1.0]


class Plain(opwright.Tensor):
    """A subclass, which the core leaves to the Python."""


CALLS: dict[str, Callable[[], Any]] = {
    "positional": lambda: opwright.add(X, Y),
    "named": lambda: opwright.add(X, other=Y),
    "alpha": lambda: opwright.add(X, Y, alpha=2),
    "number": lambda: opwright.mul(X, 2.5),
    "int": lambda: X * 3,
    "python operator": lambda: X + Y,
    "reflected": lambda: 1.0 - X,
    "comparison": lambda: X < Y,
    "method": lambda: X.sub(Y),
    "unary": lambda: opwright.exp(X),
    "broadcast": lambda: X + opwright.ones(1),
    "arrays": lambda: opwright.add(A, A),
    "list": lambda: opwright.cat([X, Y]),
    "list of ints": lambda: opwright.sum(M, [0]),
    "dtype": lambda: opwright.sum(X, dtype=opwright.float64),
    "recorded": lambda: G + Y,
    "recorded, saved": lambda: G * G,
    "recorded, result": lambda: opwright.exp(G),
    "backward": lambda: (G * Y).sum().backward(),
    "no_grad": lambda: without_grad(),
    "backward, saved": lambda: (G * G).exp().tanh().sum().backward(),
    "backward, wide": lambda: (G * 2 + G / 3 + G.sin()).sum().backward(),
    "backward, several results": lambda: opwright.cat(G.chunk(2)).sum().backward(),
    "backward, kept": lambda: (G * Y).sum().backward(retain_graph=True),
    "backward, hooks": lambda: hooked(),
    "backward, error": lambda: refused_backward(),
    "backward, new leaf": lambda: (ones(4, grad=True) * Y).sum().backward(),
    "subclass": lambda: X.as_subclass(Plain) + Y,
    "in place": lambda: opwright.ones(4).add_(Y),
    "in place, number": lambda: Z.mul_(0.5),
    "in place, refused": lambda: written_wrongly(),
    "custom operator": lambda: doubled(X),
    "custom operator, recorded": lambda: doubled(G),
    "custom operator, array returned": lambda: doubled(X, 2),
    "library": lambda: opwright.ops.fast_core_calls.first(X, Y),
    "library, named": lambda: opwright.ops.fast_core_calls.first(X, Y, alpha=2.0),
    "planned": lambda: opwright.cumsum(M, 0),
    "planned, several": lambda: opwright.max(M, 0),
    "planned, not dense": lambda: opwright.sum(M.t(), [0]),
    "planned, cast": lambda: opwright.sum(M, [0], dtype=opwright.float64),
    "factory": lambda: opwright.zeros([2, 3]),
    "view": lambda: M.unsqueeze(0),
    "view of a view": lambda: M.t().select(0, 1),
    "view, refused": lambda: view_refused(),
    "error": lambda: refused(),
    "divided by zero": lambda: X / 0.0,
}
A = np.ones(4, np.float32)
X, Y, Z, M, G = ones(4), ones(4), ones(4), ones(2, 2), ones(4, grad=True)
DEFINED = Library("fast_core_calls", "DEF")
DEFINED.define("first(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
DEFINED.impl("first", lambda x, y, *, alpha=1.0: x, "CPU")


@opwright.library.custom_op("fast_core_calls::doubled", mutates_args=())
def doubled(x: opwright.Tensor, kind: int = 1) -> opwright.Tensor:
    return x * 2 if kind == 1 else x.numpy() * 2  # type: ignore[return-value]  # the second goes by the check of results


doubled.register_autograd(lambda ctx, grad: (grad * 2, None))


def without_grad() -> opwright.Tensor:
    with opwright.no_grad():
        return G + Y


def hooked() -> None:
    y = G * Y
    y.register_hook(lambda grad: grad * 2)
    y.sum().backward()


def refused_backward() -> None:
    y = (G * Y).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def refused() -> None:
    for args in ((X, "no"), (X,), (X, Y, Y, Y), (X, opwright.ones(3))):
        with pytest.raises((TypeError, RuntimeError, ValueError)):
            opwright.add(*args)


def written_wrongly() -> None:
    for other in (opwright.ones(3), opwright.ones(2, 4), "no"):
        with pytest.raises((TypeError, RuntimeError, ValueError)):
            Z.add_(other)


def view_refused() -> None:
    with pytest.raises(IndexError):
        M.select(0, 7)


@pytest.fixture
def of_new_objects_alone() -> Iterator[None]:
    """Collections look through what is made from here on: all else takes most of their time."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("of_new_objects_alone")
@pytest.mark.parametrize("name", CALLS)
def test_calls_keep_no_reference_and_no_memory(name: str) -> None:
    call = CALLS[name]
    watched = (X, Y, M, G, A, X.array, X.keys, None, True, 1, opwright.add, type(X), np.dtype("float32"), np.add)
    few = 400 if name.startswith(("error", "backward", "view, refused", "in place, refused")) else 10_000

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in watched]

    for _ in range(500):
        call()
    before, grown = counts(), []
    for _ in range(3):  # what is kept once, such as memory for the next object, is no loss; what each call keeps is
        blocks = sys.getallocatedblocks()
        for _ in range(few):
            call()
        after = counts()
        grown.append(sys.getallocatedblocks() - blocks)
        if grown[-1] < few // 4:
            break
    assert [new - old for old, new in zip(before, after, strict=True) if abs(new - old) > 60] == []
    assert min(grown) < few // 4


@compiled
def test_interrupts_leave_calls_and_passes_whole() -> None:
    said = in_process(
        """
        import signal, sys, time, opwright
        from opwright.autograd.engine import is_running

        def interrupt(number, frame):
            raise KeyboardInterrupt

        x, y = opwright.ones(4, requires_grad=True), opwright.ones(4)
        step = lambda: ((x * y).exp().tanh() + opwright.cat(x.chunk(2))).sum().backward()
        step()
        count, end = 0, time.monotonic() + 1
        signal.signal(signal.SIGALRM, interrupt)
        while time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5 * (1 + count % 37))
                for _ in range(100):
                    step()
            except KeyboardInterrupt:
                count += 1
                assert opwright.is_grad_enabled() and not is_running()
        signal.setitimer(signal.ITIMER_REAL, 0)
        x.grad = None
        step()
        assert x.grad is not None and sys.getrefcount(y) < 100
        print(count > 20)
        """
    )
    assert said == "True\n"


def test_recording_kernels_of_generated_operators_follow_from_their_classes() -> None:
    """Most run in the compiled core, and few are left to the function that serves every kind."""
    made = []
    for name, by_key in registry.kernels.copy().items():
        for registration in [each for found in by_key.values() for each in found]:
            lazy = registration.kernel
            if isinstance(lazy, LazyWrapper) and getattr(lazy, "module", "").startswith("opwright_aten.autograd."):
                lazy.load()
                assert lazy.loaded is not None
                if lazy.loaded.is_for_any:
                    made.append(lazy.loaded.make(find_operator(name), ones))
    assert len(made) > 900
    compiled = sum(fast is not None and type(kernel) is fast.Recorder for kernel in made)
    assert compiled > 360 or fast is None
    assert sum("_general" in getattr(kernel, "__qualname__", "") for kernel in made) < 310


def test_facts_of_tensors_are_those_of_their_arrays() -> None:
    for shape in ((), (3,), (2, 0, 3), (2, 3, 4)):
        for tensor in (opwright.zeros(shape), opwright.zeros(*shape, 2).select(-1, 1), opwright.zeros(5, *shape)[0]):
            array = tensor.numpy()
            assert (tensor.shape, tensor.ndim, tensor.dim(), tensor.numel()) == (
                shape,
                len(shape),
                len(shape),
                array.size,
            )
            assert type(tensor.shape) is opwright.Size
            assert tensor.is_contiguous() == array.flags.c_contiguous
            assert [tensor.size(dim) for dim in range(-len(shape), len(shape))] == [*shape, *shape]
            assert (tensor.dtype, tensor.itemsize, str(tensor.device)) == (array.dtype, 4, "cpu")
    with pytest.raises(AttributeError, match="shape"):
        opwright.zeros(2).shape = (3,)  # type: ignore[misc,assignment]
    with pytest.raises(IndexError, match="out of range"):
        opwright.zeros(2).size(1)
    assert isinstance(opwright.Tensor.shape, property)
    assert inspect.signature(opwright.Tensor.size).parameters.keys() == {"self", "dim"}


def test_kernels_registered_later_serve_calls_of_known_forms() -> None:
    x = ones(4)
    for _ in range(5):
        assert opwright.add(x, x).tolist() == [2.0] * 4
    library = Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.impl("add.Tensor", lambda self, other, *, alpha=1: opwright.full_like(self, 7.0), "CPU")
    assert opwright.add(x, x).tolist() == (x + x).tolist() == x.add(x).tolist() == [7.0] * 4
    library._destroy()
    assert opwright.add(x, x).tolist() == (x + x).tolist() == [2.0] * 4


def test_modes_change_calls_of_known_forms() -> None:
    x = ones(4, grad=True)
    for _ in range(3):
        assert opwright.add(x, x).requires_grad
        with opwright.no_grad():
            assert not opwright.add(x, x).requires_grad
        with opwright.inference_mode():
            assert opwright.add(x, x).is_inference()
    assert opwright.func.vmap(opwright.add)(ones(3, 4), ones(3, 4)).tolist() == [[2.0] * 4] * 3


def test_lists_among_defaults_are_new_for_each_call() -> None:
    library = Library("fast_core", "DEF")
    library.define("collect(Tensor self, int[2] sizes=1) -> Tensor")
    seen: list[list[int]] = []

    def collect(self: opwright.Tensor, sizes: list[int]) -> opwright.Tensor:
        seen.append(sizes)
        sizes.append(5)
        return self.clone()

    library.impl("collect", collect, "CPU")
    for _ in range(4):
        opwright.ops.fast_core.collect(ones(2), [2, 2])
    assert seen == [[2, 2, 5]] * 4


def test_writes_in_place_are_those_of_the_python() -> None:
    x, zero = ones(4), opwright.zeros(4)
    base = opwright.from_numpy(np.arange(6, dtype=np.float32))
    for _ in range(3):
        assert x.add_(x) is x
        assert x._version == _ + 1
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            opwright.ones(4).div_(zero)
        with np.errstate(divide="ignore"):
            assert opwright.ones(4).div_(zero).tolist() == [float("inf")] * 4
        with pytest.raises(RuntimeError, match="single memory location"):
            base[1:].add_(base[:-1])
        base[1:].add_(base[1:])
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            ones(4, grad=True).add_(x)
        with pytest.raises(RuntimeError):
            opwright.ones(4, dtype=opwright.int64).add_(1.5)
        assert opwright.ones(4, dtype=opwright.int64).lt_(2).tolist() == [1] * 4
    assert x.tolist() == [8.0] * 4
    assert base.tolist() == [0.0, 8.0, 16.0, 24.0, 32.0, 40.0]
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        locked = opwright.from_numpy(frozen)
    with pytest.raises((RuntimeError, ValueError)):
        locked.add_(x)
    assert frozen.tolist() == [1.0] * 4


def test_numpy_reports_what_went_wrong_in_its_loops() -> None:
    x, zero = ones(4), opwright.zeros(4)
    assert (x / zero).tolist() == [float("inf")] * 4
    for _ in range(3):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            opwright.div(x, zero)
        assert opwright.div(x, x).tolist() == [1.0] * 4
    told = []
    with np.errstate(divide="call", call=lambda kind, flags: told.append(kind)):
        opwright.div(x, zero)
    assert told == ["divide by zero"]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        opwright.div(x, zero)
    assert not warned or fast is None  # of Python's kernels a filter hides warnings; those in C make none


@pytest.mark.parametrize(
    "shapes",
    [
        ((9, 70), (70,)),
        ((9, 1), (70,)),
        ((2, 3, 70), (3, 70)),
        ((2, 3, 1), (2, 1, 70)),
        ((1, 1), (5, 1)),
        ((1,), (90,)),
    ],
)
def test_operands_that_broadcast_by_rows(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
    for first, second in ((x, y), (y, x)):
        for _ in range(2):
            found = opwright.sub(opwright.from_numpy(first), opwright.from_numpy(second))
            assert np.array_equal(found.numpy(), first - second) and found.is_contiguous()


@pytest.mark.parametrize("number", [2.5, 3, 1e39, 1e-50, 2**53 + 1, 2**70, float("nan"), -0.0, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int32, np.float16])
def test_numbers_are_rounded_as_numpy_rounds_them(number: float, dtype: Any) -> None:
    array = np.array([1, 2, 3], dtype)
    x = opwright.from_numpy(array)
    expected = outcome(lambda: opwright.ops.aten.mul.Scalar.call(x, number))
    for _ in range(3):
        assert outcome(lambda: opwright.mul(x, number)) == expected


def outcome(call: Callable[[], opwright.Tensor]) -> tuple[str, object]:
    with np.errstate(all="ignore"):
        try:
            found = call().numpy()
        except Exception as error:
            return type(error).__name__, str(error)
        return str(found.dtype), found.tobytes()


def test_sixteen_threads() -> None:
    x, wrong, stop = ones(2000, grad=True), [], threading.Event()

    def work(number: int) -> None:
        try:
            for _ in range(200):
                y = (x * float(number) + x).sum()
                if y.item() != 2000.0 * (number + 1):
                    wrong.append(y.item())
                with opwright.no_grad():
                    if (x + x).requires_grad:
                        wrong.append("recorded")
        except Exception as error:
            wrong.append(error)

    def disturb() -> None:
        operator = opwright.ops.aten.mul.Scalar
        while not stop.is_set():
            with registry.lock:
                operator.forget_table()
            gc.collect(0)

    other = threading.Thread(target=disturb)
    other.start()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    other.join()
    assert wrong == []


@compiled
def test_random_calls_are_as_in_python() -> None:
    """A few of those that `python tests/fuzz_core.py` makes by hand."""
    arguments = ["", "1500", str(seeds.seed(5))]
    said = in_process(f"import runpy, sys; sys.argv = {arguments}; runpy.run_path({str(FUZZ)!r}, run_name='__main__')")
    assert said == "1500 calls, none differs\n"


def test_views_of_composites_are_kept() -> None:
    """A composite that makes views makes them of each tensor anew: narrow, flatten, chunk; a copy, and the tensor
    itself, are what they were."""
    for _ in range(3):
        x = opwright.from_numpy(np.arange(12.0).reshape(3, 4))
        for view, wanted in (
            (x.narrow(0, 1, 2), x.numpy()[1:3]),
            (x.flatten(), x.numpy().reshape(-1)),
            (x.unflatten(1, [2, 2]), x.numpy().reshape(3, 2, 2)),
            *zip(x.chunk(2, 1), (x.numpy()[:, :2], x.numpy()[:, 2:]), strict=True),
        ):
            assert view._base is x and np.shares_memory(view.numpy(), x.numpy())
            np.testing.assert_array_equal(view.numpy(), wanted)
        assert x.t().flatten()._base is None and x[0].flatten().shape == (4,)
        assert isinstance(opwright.chunk(x, 2), tuple) and isinstance(x.chunk(2), tuple)
        assert isinstance(opwright.ops.aten.chunk.default(x, 2), list)
        with pytest.raises(IndexError, match="start out of range"):
            x.narrow(0, 4, 1)
        assert x.clone().requires_grad_().narrow(0, 1, 2).requires_grad
    first, _ = opwright.ones(4, 4).requires_grad_().clone().chunk(2)
    with pytest.raises(RuntimeError, match="view"):
        first.add_(1)


def test_elements_are_read_as_modes_and_dtypes_have_it() -> None:
    """`item`, `tolist` and truth give Python's numbers of every dtype, and errors of other shapes."""
    for dtype in ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"):
        x = opwright.tensor([[1, 0]], dtype=getattr(opwright, dtype))
        number = x[0, 0].item()
        assert type(number) is type(x.tolist()[0][1]) and number == 1 and x.tolist() == [[1, 0]]
        assert bool(x[0, 0]) is True and bool(x[0, 1]) is False
        with pytest.raises(RuntimeError, match="2 elements cannot be converted"):
            x.item()
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(x)
    assert opwright.func.vmap(lambda x: opwright.zeros(2).sum().item() + x)(opwright.ones(3)).tolist() == [1, 1, 1]


def test_parts_of_shapes_are_shapes() -> None:
    """A slice of a shape is one, an element an int; a wrong place is an IndexError."""
    shape = opwright.ones(2, 3, 4).shape
    assert type(shape[1:]) is type(shape) is type(shape[::-1]) and shape[1:] == (3, 4) and shape[-1] == 4
    assert shape[np.int64(1)] == 3
    with pytest.raises(IndexError):
        shape[3]
    with pytest.raises(TypeError):
        shape["a"]  # type: ignore[call-overload]


def test_indices_that_make_views_are_kept() -> None:
    """An index of ints, slices, None and Ellipsis views each tensor anew; others, and tensors that record, do not."""
    whole = slice(None)
    indices: list[Any] = [0, -1, (0, 1), whole, slice(1, 3), (whole, 1), (..., 0), (None, slice(0, 3, 2)), ...]
    for _ in range(3):
        x = opwright.from_numpy(np.arange(12.0).reshape(3, 4))
        for index in indices:
            view, wanted = x[index], x.numpy()[index]
            assert view._base is x and view.shape == wanted.shape and np.shares_memory(view.numpy(), x.numpy())
            np.testing.assert_array_equal(view.numpy(), wanted)
        assert x[::-1]._base is None and x[[0, 2]].shape == (2, 4) and x[True].shape == (1, 3, 4)
        assert x.clone().requires_grad_()[0].requires_grad
        assert opwright.func.vmap(lambda row: row[0])(x).tolist() == [0, 4, 8]
        for index, message in ((3, "out of bounds"), ((0, 0, 0), "too many indices")):
            with pytest.raises(IndexError, match=message):
                x[index]


def test_factories_go_by_device_and_gradient() -> None:
    """Factories take `requires_grad` by name, as True, False and None; a device that is given selects its kernel."""
    for _ in range(3):
        assert opwright.full((2,), 1.5).tolist() == [1.5, 1.5] and opwright.full([], 2).dtype is opwright.int64
        assert opwright.arange(3).tolist() == [0, 1, 2] and opwright.arange(1, 1).shape == (0,)
        assert (
            opwright.ones(2, requires_grad=True).requires_grad
            and not opwright.ones(2, requires_grad=None).requires_grad
        )
        assert opwright.zeros(2, device="meta").device.type == "meta" and opwright.zeros(2, device="cpu").tolist() == [
            0,
            0,
        ]
        with pytest.raises(TypeError, match="requires_grad"):
            opwright.ones(2, requires_grad=1)  # type: ignore[call-overload]
        with pytest.raises(RuntimeError, match="overflow"):
            opwright.full((2,), 1e300, dtype=opwright.float32)
