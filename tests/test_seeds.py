"""What runs draw at random: the same each time, and something else with `--explore`, which says how to repeat it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import seeds

HERE = Path(__file__).parent
pytest_plugins = ["pytester"]

GENERATORS = ("default_rng", "Random", "RandomState", "SystemRandom", "urandom")
# Programs are given a seed when they are started, as their docstrings say.
PROGRAMS = (
    "runtime/generators/test_generator.py",  # whose words are compared with NumPy's
    "runtime/core/fuzzed_kernels.py", "runtime/facade/first_imports.py", "runtime/locks/interrupted.py",
    "runtime/locks/interrupted_imports.py",
    "runtime/native/fuzzed_loops.py", "runtime/native/fuzzed_shims.py", "runtime/serialization/fuzzed_files.py",
    "fuzz_core.py", "codegen/hostile_formulas.py", "conformance/running_programs.py",
    "conformance/functional_programs.py", "conformance/memory_peaks.py",
    "gate/planted/faults.py",  # where that is the fault
    "sharded_jax.py", "sharded_examples_jax.py",  # of a binding
    "gate/aten_examples.py",  # which processes of the gate load, too
)  # fmt: skip

SUITE = """
    import random
    from pathlib import Path
    import numpy as np
    import pytest
    import seeds
    from hypothesis import given, settings, strategies as st

    def write(request, drawn):
        Path("drawn").mkdir(exist_ok=True)
        Path("drawn", request.node.name).write_text(repr(drawn))

    @pytest.mark.parametrize("number", range(4))
    def test_generators(number, request):
        shared = random.random(), float(np.random.rand())
        write(request, [seeds.generator(number).random(), float(seeds.numpy_generator("a", number).random()), *shared])

    DRAWN = []

    @settings(max_examples=20)
    @given(st.integers(0, 10**9))
    def test_hypothesis(number):
        DRAWN.append(number)

    def test_what_hypothesis_drew(request):
        DRAWN.clear()
        test_hypothesis()
        write(request, DRAWN)
"""
CONFTEST = """
    import sys
    import pytest
    sys.path.insert(0, {folder!r})
    import seeds
    def pytest_addoption(parser): seeds.add_options(parser)
    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(config): seeds.configure(config)
"""


def _drawn(pytester: pytest.Pytester, *options: str) -> tuple[dict[str, str], str]:
    ran = pytester.runpytest_subprocess("-p", "no:randomly", *options)
    ran.assert_outcomes(passed=6)
    return {file.name: file.read_text() for file in Path("drawn").iterdir()}, ran.stdout.str()


@pytest.mark.once
def test_a_run_draws_the_same_each_time_and_another_thing_when_it_explores(pytester: pytest.Pytester) -> None:
    """The order of tests and the process they run in change nothing."""
    pytester.makeconftest(CONFTEST.format(folder=str(HERE)))
    pytester.makepyfile(SUITE)
    usual, said = _drawn(pytester)
    assert "--explore" not in said and _drawn(pytester, "-n2")[0] == usual
    explored, said = _drawn(pytester, "-n2", "--explore")
    assert all(explored[name] != usual[name] for name in usual)
    (seed,) = set(re.findall(r"--explore=(\d+)", said))
    assert _drawn(pytester, f"--explore={seed}")[0] == explored == _drawn(pytester, "-n2", f"--explore={seed}")[0]
    assert "is no seed: write --explore=SEED" in pytester.runpytest_subprocess("--explore", "file.py").stderr.str()


def test_a_seed_stands_for_a_number_or_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "of_the_run", None)
    assert seeds.seed(7) == 7 and seeds.seed("name") == seeds.seed("name") != seeds.seed("other")
    monkeypatch.setattr(seeds, "of_the_run", 5)
    assert len({seeds.seed(7), seeds.seed(8), seeds.seed("name"), 7}) == 4


def _own_draws(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in GENERATORS:
                yield f"{file.relative_to(HERE)}:{node.lineno}: {ast.unparse(node)}"


def test_nothing_draws_from_a_generator_of_its_own() -> None:
    bindings = HERE.parent.glob("runtime/opwright_bindings/*/tests")
    found = (file for folder in (HERE, *bindings) for file in folder.rglob("*.py"))
    files = (file for file in found if "cases" not in file.parts and file.name != "seeds.py")
    held = [each for file in files if not file.as_posix().endswith(PROGRAMS) for each in _own_draws(file)]
    assert held == []
