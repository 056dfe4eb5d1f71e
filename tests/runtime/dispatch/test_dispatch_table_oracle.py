"""Computed dispatch tables equal PyTorch's: for every set of up to five keys that both have, and after removals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
import seeds

from opwright import dispatch
from opwright.registering.kernels import Handle, register, undefine
from opwright.user_kernels.registering import register_fallback
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import PYTORCH_NAMES, RUNTIME_KEYS

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
# Foreign keys, which no tensor of ours carries: the first two share AutogradOther.
FOREIGN = ("QuantizedCPU", "FPGA", "XLA", "AutogradXLA")
RUNTIME = ("Undefined", *(key.name for key in RUNTIME_KEYS))
THEIRS = {ours: theirs for theirs, ours in reversed(PYTORCH_NAMES.items()) if ours in RUNTIME}
KEYS = (*ALIASES, *FOREIGN, *(name for name in RUNTIME if name != "Undefined"))
# Fallbacks of PyTorch that are later parts of ours, and fallthroughs that it leaves out (`registrations.fallbacks`).
OUR_FALLBACKS = ("Meta", "Functionalize", "BackMode", "Tracer", "Batched", "FrontMode", "PreDispatch")
THEIR_FALLBACKS = ("AutogradPrivateUse2", "AutogradPrivateUse3")

OURS = {THEIRS.get(name, name): name for name in RUNTIME}
Table = dict[str, tuple[str, str]]


def read_dump(text: str) -> Iterator[tuple[str, str, str]]:
    """(our key, kernel, rule) of each line `CPU: fn_CPU [kernel]` for a key that we have too."""
    for line in text.splitlines():
        key, _, rest = line.partition(": ")
        if key in OURS:
            kernel, _, rule = rest.rpartition(" [")
            yield OURS[key], kernel, rule[:-1]


def no_kernel(*args: object) -> None:
    """What the tables are filled with; nothing is called here."""


class Both:
    """One operator in both dispatchers, with kernels named after their keys."""

    def __init__(self) -> None:
        self.name = "opwright_oracle::foo"
        self.torch_fallbacks = [torch._C._dispatch_library("IMPL", "_", key) for key in THEIR_FALLBACKS]
        for library in self.torch_fallbacks:
            library.fallback_fallthrough()
        self.torch_operator = self.fragment()
        self.torch_operator.def_("foo(Tensor x) -> Tensor")
        self.operator = Operator(self.name, "(Tensor x) -> Tensor")
        self.fallbacks = [register_fallback(key, no_kernel, where="fallback") for key in OUR_FALLBACKS]

    def fragment(self) -> object:
        return torch._C._dispatch_library("FRAGMENT", "opwright_oracle", "")

    def register(self, key: str) -> tuple[object, Handle]:
        """Register `fn_KEY` in both. The first of the pair lives as long as the registration in PyTorch."""
        library = self.fragment()
        library.impl_t_t("foo", dispatch=THEIRS.get(key, key), debug=f"fn_{key}")
        return library, register(self.operator, key, no_kernel, where=f"fn_{key}")

    def theirs(self) -> Table:
        table = dict.fromkeys(RUNTIME, ("", "missing"))
        for key, kernel, rule in read_dump(torch._C._dispatch_dump_table(self.name)):
            table[key] = (kernel if kernel.startswith("fn_") else "", rule)
        return table

    def ours(self) -> Table:
        return {
            name: (entry.where if entry.where.startswith("fn_") else "", entry.rule)
            for name, entry in dispatch.table(self.operator).items()
        }

    def close(self) -> None:
        self.torch_fallbacks.clear()
        del self.torch_operator
        for handle in self.fallbacks:
            handle.remove()
        with registry.lock:
            undefine(self.operator)


@pytest.fixture
def both() -> Iterator[Both]:
    operators = Both()
    yield operators
    operators.close()


def test_every_set_of_up_to_five_keys(both: Both) -> None:
    """Depth first: each step registers a kernel and compares, each way back removes it."""
    keys = [key for key in KEYS if key not in FOREIGN[1:]]
    seeds.generator(0).shuffle(keys)
    compared = 0

    def descend(start: int, registered: list[str]) -> None:
        nonlocal compared
        compared += 1
        theirs, ours = both.theirs(), both.ours()
        assert ours == theirs, f"after registering {registered}"
        if len(registered) == 5:
            return
        for position in range(start, len(keys)):
            key = keys[position]
            library, handle = both.register(key)
            descend(position + 1, [*registered, key])
            handle.remove()
            del library

    descend(0, [])
    assert both.ours() == both.theirs()
    assert compared == sum(math.comb(len(keys), count) for count in range(6))


def test_any_order_of_registering_and_removing(both: Both) -> None:
    """Kernels come and go in random order, several at a key: the newest serves it, then the one before it again."""
    choose = seeds.generator(1)
    held: list[tuple[object, Handle]] = []
    for _ in range(3000):
        if held and (len(held) > 8 or choose.random() < 0.45):
            library, handle = held.pop(choose.randrange(len(held)))
            handle.remove()
            del library
        else:
            held.append(both.register(choose.choice(KEYS)))
        assert both.ours() == both.theirs()
    while held:
        held.pop()[1].remove()
    assert both.ours() == both.theirs()


def test_fallthrough_kernels_show_as_in_pytorch(both: Both) -> None:
    """PyTorch's global fallthroughs are ours too, under the word `fallthrough`."""
    text = torch._C._dispatch_dump_table(both.name)
    skipped = {key for key, kernel, _ in read_dump(text) if kernel.startswith("fallthrough")}
    ours = {name for name, entry in dispatch.table(both.operator).items() if entry.source == "fallthrough"}
    # PyTorch 2.13 runs a boxed kernel at Autograd keys that only warns where backward would be silently missing.
    assert skipped == {name for name in ours if not name.startswith("Autograd")} | {*THEIR_FALLBACKS}


def test_python_dispatcher_on_autograd_other(both: Both) -> None:
    """PyTorch's own table calculator, for the keys it knows."""
    from torch._python_dispatcher import PythonDispatcher

    choose = seeds.generator(2)
    names = ("CPU", "AutogradCPU", "FPGA", "AutogradOther", "CompositeExplicitAutograd", "Autograd")
    for composite in ("CompositeImplicitAutograd", ""):
        for _ in range(40):
            keys = choose.sample(names, choose.randint(1, 4))
            if composite and "CompositeExplicitAutograd" not in keys:
                keys.append(composite)
            calculator = PythonDispatcher()
            calculator.register(keys)
            held = [both.register(key) for key in keys]
            lines = dict(re.findall(r"^(\w+) +(.*)$", calculator.dispatchTable(), re.MULTILINE))
            for key in ("CPU", "AutogradCPU", "AutogradOther"):
                kernel, rule = both.ours()[key]
                assert lines.get(key, "[missing]").endswith(f"[{rule}]"), (keys, key)
                assert not kernel or lines[key].startswith(kernel), (keys, key)
            while held:
                held.pop()[1].remove()
            del calculator
