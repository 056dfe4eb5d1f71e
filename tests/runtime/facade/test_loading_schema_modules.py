"""Generated packages name their operators when they are imported, and load what declares these when it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import seeds

ROOT = Path(__file__).parents[3]
LOADED = """
def loaded():
    return sorted(name.removeprefix("opwright_aten.") for name in sys.modules if name.startswith("opwright_aten.")
        and name.count(".") == 2)
"""


def told(program: str) -> Any:
    """What a fresh process prints last, as JSON."""
    head = (
        f"import json, sys, threading, time, resource\n{LOADED}\nbegin = time.perf_counter()\n"
        "import opwright.aten_setup\n"
    )
    run = subprocess.run([sys.executable, "-c", head + program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_what_is_not_used_is_not_loaded() -> None:
    found = told("""
seen = [loaded()]
took, memory = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
x = opwright.tensor([1.0, 2.0])
opwright.add(x, x), x + x, x.add(x)
seen.append(loaded())
x.requires_grad_()
x * x
seen.append(loaded())
print(json.dumps([took, memory, *seen]))
""")
    took, memory, *seen = found
    print(f"import opwright: {took:.3f} s, {memory} MB at most")
    assert seen[0] == []
    assert seen[1] == ["kernels_cpu.pointwise", "metas.pointwise", "ops.pointwise"]
    assert [name for name in seen[2] if name.startswith("autograd.")] == ["autograd.pointwise"]


def test_names_are_complete_before_anything_is_loaded() -> None:
    found = told("""
from opwright_core.dispatch.registry.tables import registry
names = list(registry.operators)
aten = dir(opwright.ops.aten)
missing = [name for name in ("add", "linalg_svd", "max_pool2d") if name not in aten]
where = registry.operators["aten::linalg_svd"].where
before = loaded()
declaration = registry.operators["aten::linalg_svd"].declaration
print(json.dumps([len(names), missing, where, before, declaration, loaded()]))
""")
    count, missing, where, before, declaration, after = found
    assert count > 1600 and missing == [] and before == []
    assert where.startswith("schemas/linear_algebra.yaml:") and declaration.startswith("(Tensor A, bool full_matrices")
    assert after == ["ops.linear_algebra"]


def test_a_part_is_imported_while_another_thread_holds_the_lock() -> None:
    """Note [Schema modules and the lock]: else who holds it, and asks what an operator is, could wait for ever."""
    assert told("""
from opwright_core.dispatch.registry.tables import registry
with registry.lock:
    thread = threading.Thread(target=lambda: opwright.special.zeta)
    thread.start()
    thread.join(60)
    waits = thread.is_alive()
    found = registry.operators["aten::special_zeta"].tags
print(json.dumps([waits, "ops.special" in loaded()]), flush=True)
import os
os._exit(0)
""") == [False, True]


def test_threads_that_ask_first_get_the_same() -> None:
    assert told("""
barrier, found = threading.Barrier(8), []
def ask():
    barrier.wait()
    found.append((opwright.cumsum, opwright.Tensor.cumsum, opwright.ops.aten.cumsum.default.stub))
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(json.dumps([len(found), len(set(found)), found[0][0] is found[0][1] is found[0][2]]))
""") == [8, 1, True]


def test_threads_that_load_rooms_at_once_meet_no_deadlock() -> None:
    """Note [Packages and their parts]."""
    program = Path(__file__).with_name("first_imports.py")
    run = subprocess.run([sys.executable, program, str(seeds.seed(1))], capture_output=True, text=True, check=False)
    assert run.stdout.endswith("first calls\n"), run.stderr


def test_an_overload_that_was_defined_before_is_not_hidden() -> None:
    """The generated function for a name does not know it: calls of the packet look at all overloads."""
    found = told("""
library = opwright.library.Library("aten", "FRAGMENT")
library.define("cumsum.twice(Tensor self) -> Tensor")
library.impl("cumsum.twice", lambda self: opwright.cat([self, self]), "CPU")
before = loaded()
x = opwright.tensor([1.0, 2.0])
print(json.dumps([before, opwright.ops.aten.cumsum(x).tolist(), opwright.cumsum(x, 0).tolist(),
    opwright.ops.aten.cumsum(x, 0).tolist()]))
""")
    assert found == [[], [1.0, 2.0, 1.0, 2.0], [1.0, 3.0], [1.0, 3.0]]


def test_a_kernel_that_was_registered_before_serves() -> None:
    found = told("""
library = opwright.library.Library("aten", "IMPL")
library.impl("cumsum", lambda self, dim, *, dtype=None: self + 10, "CPU")
print(json.dumps([loaded(), opwright.cumsum(opwright.tensor([1.0, 2.0]), 0).tolist()]))
""")
    assert found == [[], [11.0, 12.0]]


def test_methods_are_those_of_the_functions() -> None:
    found = told("""
class Own(opwright.Tensor):
    def cumsum(self, dim):
        return "own"
base = opwright.Tensor.__dict__["cumsum"]
x = opwright.tensor([1.0, 2.0])
print(json.dumps([type(base).__name__, Own.cumsum(x, 0), x.cumsum(0).tolist(),
    opwright.Tensor.__dict__["cumsum"] is opwright.cumsum, Own([1.0]).cumsum(0) if False else "own"]))
""")
    assert found == ["Later", "own", [1.0, 3.0], True, "own"]


@pytest.mark.parametrize(
    "statement", ["import opwright_aten.ops.special", "from opwright_aten.ops import special_zeta"]
)
def test_a_part_can_be_imported_first(statement: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport opwright\nprint(opwright.special.zeta.__name__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "special_zeta\n"


def test_modules_have_a_length_that_one_reads() -> None:
    folder = ROOT / "generated" / "opwright_aten"
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in folder.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }
    in_ops = sum(length for path, length in lengths.items() if path.parent.name == "ops" and path.suffix == ".py")
    typed = sum(length for path, length in lengths.items() if path.suffix == ".pyi" and path.stem != "methods")
    assert in_ops <= 15_500
    assert typed <= 20_500  # of which 3,000 say what operators do
    assert lengths[folder / "register.py"] <= 3_500
    assert max(lengths.values()) <= 6_000
