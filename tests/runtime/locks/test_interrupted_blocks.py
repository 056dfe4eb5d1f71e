"""Interrupts at every place of `with` blocks, and in calls that switch something on: nothing stays on (Note
[Interrupted blocks])."""

from __future__ import annotations

import _thread
import contextlib
import importlib
import inspect
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pytest
import sweeps
from lazy_modules import LEFT_OUT

import opwright
import opwright.amp.settings
import opwright.autograd.checking.problem
import opwright.autograd.function_jvp
import opwright.batching.batching
import opwright.fake_profile
import opwright.func.levels
import opwright.functionalize.interpreter
import opwright.fx.above_autograd
import opwright.fx.isolation
import opwright.fx.recording
import opwright.python_dispatch.default_device
import opwright.utils.checkpoint
import opwright.utils.flop_counter
import opwright.utils.originals
import opwright_core
import opwright_gate
import opwright_gate.checking.schema_mode
from opwright.context_managers.blocks import put_back
from opwright.library import custom_op
from opwright_core.dispatch.registry.tables import registry
from opwright_core.state import MODES, active_modes

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no such signal there"),
    pytest.mark.filterwarnings("ignore:Anomaly Detection"),
    pytest.mark.filterwarnings("ignore:Exception ignored:pytest.PytestUnraisableExceptionWarning"),  # in finalizers
]


class Trip:
    """`Trip()[number]` has a signal come without a call, after which Python would look for it at once."""

    __getitem__ = staticmethod(_thread.interrupt_main)


TRIP = Trip()


def look_for_signals() -> None:
    """Have Python do so, as it does where a function begins: at the end of a block, since it cannot be helped where
    `__exit__` begins."""


class Tracer:
    """Counts steps of bytecode in our code; at one of them a signal comes, and tracing ends."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.taken = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Tracer | None:
        if not frame.f_globals.get("__name__", "").startswith("opwright"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.taken += 1
            if self.taken == self.step:
                sys.settrace(None)
                TRIP[signal.SIGALRM]
                return None
        return self


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, interrupt)
    values = [(each, each.get()) for each in VARIABLES]
    with np.errstate():  # an interrupt within NumPy's own `errstate` leaves its setting on, for all tests that follow
        yield
    put_back(values)
    signal.signal(signal.SIGALRM, before)


VARIABLES = {
    variable
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("opwright")
    for variable in vars(module).values()
    if isinstance(variable, ContextVar)
}


def state() -> dict[str, object]:
    """Every variable of this thread."""
    modes = active_modes()
    shown = {each.name: each.get() for each in VARIABLES if each is not MODES}
    return shown | {"modes": (0, -1) if modes is None else (modes.include, modes.mask)}


@dataclass
class Attempt:
    """What an interrupt made of a block, or of a call."""

    make: Callable[[], Any]
    extra: Callable[[], object] = lambda: None
    body: Callable[[], object] = lambda: None
    is_made: bool = False

    def run(self, step: int) -> tuple[int, KeyboardInterrupt | None]:
        """The steps taken, and the interrupt."""
        tracer = Tracer(step)
        self.is_made = False
        earlier = sys.gettrace()
        sys.settrace(tracer)
        try:
            block = self.make()
            is_block = hasattr(block, "__exit__")  # since Python 3.14 the first look at signals after `make`
            self.is_made = True
            if is_block:
                with block:
                    self.body()
                    look_for_signals()
            look_for_signals()
        except KeyboardInterrupt as error:
            return tracer.taken, error
        finally:
            sys.settrace(earlier)
        return tracer.taken, None

    def cannot_be_helped(self, error: KeyboardInterrupt | None) -> bool:
        """Whether the interrupt came when the block was made and not yet entered, in the code of its user, or where
        an `__exit__` began."""
        trace, frames = None if error is None else error.__traceback__, []
        while trace is not None:
            code = trace.tb_frame.f_code
            frames.append((code.co_filename, code.co_name == "__exit__" and trace.tb_lineno == code.co_firstlineno))
            trace = trace.tb_next
        is_between = not self.is_made and {name for name, _ in frames} == {__file__}
        return is_between or any(begins for _, begins in frames)

    def steps(self, most: int) -> range:
        """So many of the steps that it takes, or all of them; a quarter without --slow: of long blocks, most of whose
        steps hold signals (test_interrupted_registrations.py is about these)."""
        most = sweeps.count(most // 4, most)
        self.run(0)
        return range(1, (taken := self.run(0)[0]) + 1, max(1, taken // most))

    def check(self, most: int = 2000) -> None:
        """Nothing stays on wherever the interrupt comes, also when the error is dropped later."""
        before, values = (state(), self.extra()), [(each, each.get()) for each in VARIABLES]
        for step in self.steps(most):
            error = self.run(step)[1]
            if self.cannot_be_helped(error):
                put_back(values)
            assert (state(), self.extra()) == before, f"step {step}"
            del error
            assert (state(), self.extra()) == before, f"step {step}, once the error is dropped"


def nothing(*args: Any) -> None:
    pass


@custom_op("interrupted::twice", mutates_args=())
def twice(x: opwright.Tensor) -> opwright.Tensor:
    return x * 2


twice.register_kernel("cpu")(lambda x: x + x)
twice.register_fake(lambda x: opwright.empty_like(x))
twice.register_autograd(lambda ctx, grad: grad * 2)


class Mode(opwright.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs or {})


class FunctionMode(opwright.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs or {})


graph, anomaly = opwright.autograd.graph, opwright.autograd.anomaly
VALUES = opwright.ones(3)
PROFILES = {"interrupted::twice": {opwright.fake_profile.OpProfile.record("interrupted::twice", VALUES)}}


def is_enabled() -> object:
    return dict(twice._disabled), sorted(map(str, twice._registered.current()._held))


def kernels() -> object:
    return registry.operators["interrupted::twice"].has_kernel_for_dispatch_key("Meta")


def random_state() -> object:
    return opwright.get_rng_state().tolist()


def imports() -> object:
    return list(sys.meta_path), "torch" in sys.modules


# Every block there is, by the class or function that is called for it.
BLOCKS: dict[str, Attempt] = {
    "autograd.anomaly.detect_anomaly": Attempt(anomaly.detect_anomaly),
    "autograd.anomaly.set_detect_anomaly": Attempt(lambda: anomaly.set_detect_anomaly(True)),
    "autograd.checking.problem.moved": Attempt(
        lambda: opwright.autograd.checking.problem.moved(VALUES, np.ones(3)), VALUES.tolist
    ),
    "autograd.creations.node_creation_hook": Attempt(lambda: graph.node_creation_hook(nothing)),
    "autograd.forward_ad.dual_level": Attempt(opwright.autograd.forward_ad.dual_level),
    "autograd.function_jvp.without_tangents_or_grad": Attempt(opwright.autograd.function_jvp.without_tangents_or_grad),
    "autograd.graph.save_on_cpu": Attempt(graph.save_on_cpu),
    "autograd.modes.enable_grad": Attempt(opwright.enable_grad),
    "autograd.modes.inference_mode": Attempt(opwright.inference_mode),
    "autograd.modes.no_grad": Attempt(opwright.no_grad),
    "autograd.modes.set_grad_enabled": Attempt(lambda: opwright.set_grad_enabled(False)),
    "utils.originals._CopyBeforeWrite": Attempt(
        lambda: opwright.utils.originals._CopyBeforeWrite(opwright.utils.originals.Originals())
    ),
    "utils.originals.allow_mutation": Attempt(graph.allow_mutation_on_saved_tensors),
    "autograd.saved.disable_saved_tensors_hooks": Attempt(lambda: graph.disable_saved_tensors_hooks("not here")),
    "autograd.saved.saved_tensors_hooks": Attempt(lambda: graph.saved_tensors_hooks(nothing, nothing)),
    "autograd.tangents.ignoring_tangents": Attempt(opwright.autograd.tangents.ignoring_tangents),
    "library.custom_ops.kernel_switch.KernelSwitch": Attempt(
        lambda: twice.set_kernel_enabled("cpu", False), is_enabled
    ),
    "fake.modes.FakeTensorMode": Attempt(opwright.fake.FakeTensorMode),
    "fake_profile.unsafe_generate_fake_kernels": Attempt(
        lambda: opwright.fake_profile.unsafe_generate_fake_kernels(PROFILES), kernels
    ),
    "library.libraries.scoped_library": Attempt(
        lambda: opwright.library.libraries.scoped_library("interrupted", "FRAGMENT"), kernels
    ),
    "batching.batching.Batching": Attempt(lambda: opwright.batching.batching.Batching(2)),
    "functionalize.interpreter.Functionalization": Attempt(opwright.functionalize.interpreter.Functionalization),
    "func.levels.Differentiation": Attempt(opwright.func.levels.Differentiation),
    "func.levels.ForwardDifferentiation": Attempt(opwright.func.levels.ForwardDifferentiation),
    "fx.above_autograd.CallRecording": Attempt(
        lambda: opwright.fx.above_autograd.CallRecording(opwright.fx.recording.Recorder(None), {})
    ),
    "cost.counting.FlopCounterMode": Attempt(opwright.utils.flop_counter.FlopCounterMode),
    "fx.recording.ProxyTorchDispatchMode": Attempt(
        lambda: opwright.fx.recording.ProxyTorchDispatchMode(opwright.fx.recording.Recorder(None), {})
    ),
    "python_dispatch.modes.TorchDispatchMode": Attempt(Mode),
    "python_dispatch.overrides.TorchFunctionMode": Attempt(FunctionMode),
    "python_dispatch.modes.disable_modes": Attempt(opwright.python_dispatch.modes.disable_modes),
    "amp.regions.autocast": Attempt(lambda: opwright.autocast("cpu")),
    "inspection.call_trees.trace_calls": Attempt(opwright.trace_calls),
    "amp.settings.Captured": Attempt(opwright.amp.settings.Captured),
    "amp.settings.Excluded": Attempt(lambda: opwright.amp.settings.Excluded("cpu")),
    "random_state.generator.keeping_states": Attempt(
        opwright.random.fork_rng, random_state, lambda: opwright.manual_seed(3)
    ),
    "context_managers.keys._Guard": Attempt(lambda: opwright.dispatch.exclude_keys("Autograd")),
    "checking.schema_mode.SchemaCheckMode": Attempt(opwright_gate.checking.schema_mode.SchemaCheckMode),
    "utils.checkpoint.set_checkpoint_early_stop": Attempt(
        lambda: opwright.utils.checkpoint.set_checkpoint_early_stop(False)
    ),
    "utils.torch_alias.as_torch": Attempt(opwright.as_torch, imports),
    "arrays.devices.Device": Attempt(lambda: opwright.device("meta")),
    "python_dispatch.default_device.DefaultDevice": Attempt(
        lambda: opwright.python_dispatch.default_device.DefaultDevice("meta")
    ),
    "fx.isolation.unrecorded": Attempt(opwright.fx.isolation.unrecorded),
}
# Blocks that switch nothing on, and those of test_interrupts.py.
OTHERS = {
    "autograd.hooks.RemovableHandle": "takes a hook back",
    "autograd.multi_grad_hooks._Handles": "takes hooks back",
    "autograd.modes.Switch": "a base",
    "levels.interpreter.Interpreter": "a base",
    "autograd.modes._Plain": "a base",
    "cuda.device": "CuPy's",
    "fx.graph._InsertPoint": "a place in one graph",
    "allocating.guarded_results": "in a process that judges one operator, and ends",
    "command._progress": "a line of the terminal",
    "properties.gradient_calls.noting_casts": "in a process that judges one operator, and ends",
    "properties.memory_use._small_caches": "in a process that judges one operator, and ends",
    "reports.progress.ProgressLine": "a line of the terminal",
    "states.unusual": "in a process that judges one operator, and ends",
    "locks.registry_lock.RegistryLock": "a lock, with signals held",
    "names.late_imports.explained": "words an error",
    "python_dispatch.default_device._Lasting": "a DefaultDevice",
    "python_dispatch.default_device._OfDevice": "a DefaultDevice",
    "serialization._written_whole": "writes a file",
    "torch_names.settings.sdpa_kernel": "switches nothing on",
    "context_managers.blocks.Block": "a base",
    "utils.selective._Keeping": "a TorchDispatchMode",
    "utils.selective._Giving": "a TorchDispatchMode",
    "context_managers.blocks.ThreadBlock": "a base",
}
SHARED = {
    "amp.regions.autocast": opwright.autocast("cpu"),
    "context_managers.keys._Guard": opwright.dispatch.include_keys("Autocast"),
    "fake.modes.FakeTensorMode": opwright.fake.FakeTensorMode(),
    "python_dispatch.modes.TorchDispatchMode": Mode(),
    "autograd.modes.no_grad": opwright.no_grad(),
    "autograd.creations.node_creation_hook": graph.node_creation_hook(nothing),
    "autograd.saved.saved_tensors_hooks": graph.saved_tensors_hooks(nothing, nothing),
}


def blocks_of(module: ModuleType) -> Iterator[str]:
    """The classes with an end of a block, and the functions that `contextmanager` made."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value) and hasattr(value, "__exit__"):
            yield f"{module.__name__}.{value.__qualname__}"
        for each in (value, *vars(value).values()) if inspect.isclass(value) else (value,):
            made_by = getattr(each, "__code__", None)
            if made_by is not None and made_by.co_filename == contextlib.__file__:
                yield f"{module.__name__}.{each.__qualname__}"


def test_every_block_of_the_package_is_here() -> None:
    roots = (opwright, opwright_core, opwright_gate)
    walked = (each for root in roots for each in pkgutil.walk_packages(root.__path__, f"{root.__name__}."))
    names = [each.name for each in walked if not each.name.startswith(LEFT_OUT)]  # (some of these want frameworks)
    found = {block.partition(".")[2] for name in names for block in blocks_of(importlib.import_module(name))}
    assert found == {*BLOCKS, *OTHERS}


@pytest.mark.parametrize("name", BLOCKS)
def test_nothing_stays_on_after_a_block(name: str) -> None:
    BLOCKS[name].check(40 if name == "utils.torch_alias.as_torch" else 2000)


@pytest.mark.parametrize("name", BLOCKS)
def test_nothing_stays_on_after_a_block_within_another(name: str) -> None:
    """What an interrupted block leaves to the garbage collector must not put back what was on around it."""
    before = state()
    for step in BLOCKS[name].steps(120):
        with opwright.no_grad(), opwright.dispatch.include_keys("Autocast"):
            inside, values = state(), [(each, each.get()) for each in VARIABLES]
            error = BLOCKS[name].run(step)[1]
            if BLOCKS[name].cannot_be_helped(error):
                put_back(values)
                continue
            assert state() == inside, step
        assert state() == before
        del error
        assert state() == before, step


@pytest.mark.parametrize("name", SHARED)
def test_nothing_stays_on_after_a_block_that_is_entered_again(name: str) -> None:
    with SHARED[name]:
        Attempt(lambda: SHARED[name]).check()


def backward() -> None:
    x = opwright.ones(3, requires_grad=True)
    (x * x).sum().backward()


def of_custom_operator() -> None:
    twice(opwright.ones(3, requires_grad=True)).sum().backward()


def of_handlers() -> None:
    with Mode():
        opwright.add(VALUES, VALUES)
        look_for_signals()


def of_fakes() -> None:
    with opwright.fake.FakeTensorMode():
        twice(opwright.ones(3))
        look_for_signals()


def of_checkpoints() -> None:
    x = opwright.ones(3, requires_grad=True)
    opwright.utils.checkpoint.checkpoint(lambda x: opwright.rand_like(x) * x, x, use_reentrant=False).sum().backward()


def of_anomaly() -> None:
    with anomaly.detect_anomaly():
        backward()
        look_for_signals()


def of_autocast() -> None:
    weight = opwright.ones((2, 2), requires_grad=True)
    with opwright.autocast("cpu"):
        opwright.cat([opwright.mm(weight, weight), weight])
        look_for_signals()


def of_transforms() -> None:
    x = opwright.ones(2, 3)
    opwright.vmap(opwright.func.grad(lambda x: (x.sin() * x).softmax(0).prod()))(x)
    opwright.func.jvp(lambda x: opwright.vmap(lambda y: y.exp().sum())(x), (x,), (x,))


def of_functionalized() -> None:
    opwright.func.functionalize(lambda x: x.clone().view(3, 2).add_(1).sum())(opwright.ones(2, 3))


@pytest.mark.parametrize(
    "call",
    [
        backward, of_custom_operator, of_handlers, of_fakes, of_checkpoints, of_anomaly, of_autocast, of_transforms,
        of_functionalized,
    ],
)  # fmt: skip
def test_nothing_stays_on_after_a_call(call: Callable[[], None]) -> None:
    Attempt(call).check(200)
