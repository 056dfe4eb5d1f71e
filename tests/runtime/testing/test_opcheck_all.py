"""`opcheck_all`, the plug-in of pytest, and `opwright test`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from checked_operators import define, x
from copying import copy_example

import opwright
from opwright.errors import OpCheckError
from opwright.library import Library
from opwright.registering.kernels import register
from opwright.testing import Sample, opcheck_all, sampler
from opwright_core.dispatch.registry.kernel_kinds import Shim
from opwright_core.tensors.tensor import wrap

pytestmark = pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")

ROOT = Path(__file__).parents[3]
OPERATORS = """
import opwright
from opwright.library import custom_op


@custom_op("mine::halve", mutates_args=())
def halve(x: opwright.Tensor) -> opwright.Tensor:
    return x / 2

halve.register_fake(lambda x: x / 2)


@custom_op("mine::spoil", mutates_args=())
def spoil(x: opwright.Tensor) -> opwright.Tensor:
    x.numpy().fill(7)
    return x.clone()

spoil.register_fake(lambda x: x.clone())


def test_of_a_file():
    assert halve(opwright.ones(1)).item() == 0.5
"""


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("drawn", "DEF")
    yield library
    library._destroy()


def test_all_that_fails_is_listed_with_its_arguments(lib: Library) -> None:
    def kernel(x: opwright.Tensor) -> opwright.Tensor:
        return x.detach().double() if x.dtype == opwright.int64 else x.detach().clone()

    op = define(lib, "f(Tensor x) -> Tensor", kernel, fake=lambda x: x.clone())
    failures = opcheck_all(op, raise_exception=False)
    assert {failure.test for failure in failures} == {"test_faketensor", "test_aot_dispatch_dynamic"}
    wrong = [failure.sample.args[0] for failure in failures if failure.test == "test_faketensor"]
    assert len({tensor.dim() for tensor in wrong}) > 1 and all(tensor.dtype == opwright.int64 for tensor in wrong)
    with pytest.raises(
        OpCheckError, match=r"(?s)opcheck_all\(drawn::f\): \d+ tests failed, with \d+ samples\ntest_fa.*"
    ):
        opcheck_all(op)
    assert "test_faketensor with (int64[" in str(failures[0]) and "Dtype mismatch" in str(failures[0])


def test_equal_messages_are_shown_once(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=lambda x: opwright.absent)
    given = [Sample((x(size),)) for size in (2, 3, 4)]
    with pytest.raises(OpCheckError) as caught:
        opcheck_all(op, test_utils="test_faketensor", given=given)
    shown = str(caught.value)
    assert "3 tests failed, with 3 samples" in shown and shown.count("has no attribute 'absent'") == 1
    assert "… and 2 more like it, test_faketensor with (float32[3]/[1]) for one" in shown


def test_plain_arrays_are_tried(lib: Library) -> None:
    library = define(lib, "f(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: x.clone())
    assert opcheck_all(library, test_utils="test_schema", given=[Sample((x(3),))], raise_exception=False) == []
    register(library, "CPU", Shim(lambda x: wrap(x.array * 2), None, lambda x: x.astype(np.float64) * 2))
    failures = opcheck_all(library, test_utils="test_schema", given=[Sample((x(3),))], raise_exception=False)
    assert "drawn::f on plain arrays is not what it is on Tensors: the result is float64 of shape (3,)" in str(failures)


def test_a_wrong_fake_kernel_does_not_hide_the_operator(lib: Library) -> None:
    def fake(x: opwright.Tensor) -> opwright.Tensor:
        raise ValueError("not today")

    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=fake)
    assert any("not today" in str(failure) for failure in opcheck_all(op, raise_exception=False))
    assert opcheck_all(op, test_utils="test_schema") == []


def test_gradients_are_tested_where_there_is_a_formula(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=lambda x: x.clone())
    opwright.library.register_autograd("drawn::f", lambda ctx, grad: (grad, grad), lib=lib)
    failures = opcheck_all(op, raise_exception=False)
    assert failures and all("incorrect number of gradients" in str(failure) for failure in failures)


def test_nothing_found_and_arguments_given(lib: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "_TRIES", 4)  # of each dtype and situation: none is of that shape

    def kernel(x: opwright.Tensor) -> opwright.Tensor:
        assert x.shape == (17, 23)
        return x.clone()

    op = define(lib, "f(Tensor x) -> Tensor", kernel, fake=lambda x: x.clone())
    with pytest.raises(OpCheckError, match="no arguments were found that the operator takes"):
        opcheck_all(op)
    assert opcheck_all(op, given=[Sample((x(17, 23),))]) == []


# The plug-in

ONCE = pytest.mark.once  # pytest and the command line in processes of their own: what they choose, run and say


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.py").write_text(OPERATORS)
    return tmp_path


def run(folder: Path, *words: str) -> tuple[int, str]:
    """The exit status and the output of a Python command in the folder."""
    paths = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "codegen"), str(ROOT / "generated")])
    environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"}
    found = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
    return found.returncode, found.stdout + found.stderr


def run_pytest(folder: Path, *options: str) -> tuple[int, str]:
    return run(folder, "-m", "pytest", "-p", "opwright_pytest", "-p", "no:cacheprovider", *options)


@ONCE
def test_a_test_for_each_operator_and_property(folder: Path) -> None:
    status, out = run_pytest(folder, "--opcheck", "mine", "-v")
    found = [line.split()[:2] for line in out.splitlines() if line.startswith("mine::") and " [" in line]
    lines = dict(found)
    asked = [name.partition("-")[2] for name in lines if name.startswith("mine::halve")]
    assert asked == [name.partition("-")[2] for name in lines if name.startswith("mine::spoil")]
    assert {"writes-as-declared", "fake-is-true", "layouts-do-not-matter", "stays-in-bounds"} <= set(asked)
    assert not {name for name, result in lines.items() if result == "FAILED" and "halve" in name}
    assert lines["mine::spoil-writes-as-declared"] == "FAILED" and lines["mine::spoil-fake-is-true"] == "PASSED"
    assert lines["mine::halve-values-are-right"] == "SKIPPED"
    assert status == 1 and f"collected {2 * len(asked) + 1} items" in out
    assert "mine::spoil: undeclared-write: it writes to argument 'x'" in out
    assert "result = opwright.ops.mine.spoil.default(opwright.from_numpy(x))" in out and "Traceback" not in out


@ONCE
def test_chosen_listed_and_spread(folder: Path) -> None:
    status, out = run_pytest(folder, "--opcheck", "mine", "--collect-only", "-q")
    assert status == 0 and "mine::halve-writes-as-declared" in out.splitlines()
    status, out = run_pytest(folder, "--opcheck", "mine", "-k", "halve and fake-is-true")
    assert status == 0 and "1 passed, " in out and " deselected" in out
    status, out = run_pytest(folder, "--opcheck", "mine", "-k", "writes-as-declared", "-n", "2")
    assert status == 1 and "1 failed, 1 passed" in out
    words = ("--opcheck", "mine", "--opcheck-only", "--opcheck-import", "test_mine", "-k", "halve and schema")
    status, out = run_pytest(folder, *words)  # (a group of properties)
    assert status == 0 and "4 passed, " in out


@ONCE
def test_what_is_known_is_no_failure(folder: Path) -> None:
    known = folder / "known.json"
    entry = {"operator": "mine::spoil", "property": "writes-as-declared", "reason": "so be it", "date": "2026-11-27"}
    known.write_text(json.dumps([entry]))
    words = ("--opcheck", "mine", "-k", "writes-as-declared", "-rx")
    status, out = run_pytest(folder, *words, "--opcheck-known", str(known))
    assert status == 0 and "1 passed" in out and "1 xfailed" in out and "so be it" in out
    known.write_text(json.dumps([entry | {"until": "2026-11-26"}]))
    assert run_pytest(folder, *words, "--opcheck-known", str(known))[0] == 1


@ONCE
def test_an_operator_that_ends_its_process_is_a_failure(folder: Path) -> None:
    dying = OPERATORS.replace("x.numpy().fill(7)", "__import__('os').abort()")
    (folder / "test_mine.py").write_text(dying)
    status, out = run_pytest(folder, "--opcheck", "mine", "-k", "takes-edges or layouts")
    assert status == 1 and "SIGABRT" in out and "mine::spoil" in out and "Traceback" not in out


@ONCE
def test_wrong_usage(folder: Path) -> None:
    for options, said in [
        (["--opcheck", "yours"], "ERROR: --opcheck yours: no operator of that namespace is defined"),
        (["--opcheck", "mine", "--opcheck-import", "nowhere"], "ERROR: --opcheck-import nowhere: No module named"),
    ]:
        status, out = run_pytest(folder, *options)
        assert status == pytest.ExitCode.USAGE_ERROR and said in out and "Traceback" not in out
    status, out = run_pytest(folder, "--opcheck", "yours", "-n", "1")
    assert status == 1 and "--opcheck yours: no operator of that namespace is defined" in out


@ONCE
def test_without_the_gate_the_option_is_refused(folder: Path) -> None:
    words = ["-p", "opwright_pytest", "-p", "no:cacheprovider", "--opcheck", "mine"]
    program = f"import sys; sys.modules['opwright_gate'] = None; import pytest; sys.exit(pytest.main({words}))"
    status, out = run(folder, "-c", program)
    assert status == pytest.ExitCode.USAGE_ERROR and "Traceback" not in out
    assert "ERROR: --opcheck runs opwright_gate, which is not installed: pip install opwright" in out


def test_without_the_option_nothing_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text("import sys\ndef test(): assert 'opwright' not in sys.modules\n")
    assert run_pytest(tmp_path)[0] == 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["pytest11"] == {"opwright_pytest": "opwright_pytest"}


# The command


@ONCE
def test_the_command_for_a_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    copy_example("quickstart", project)
    (project / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "quickstart_ops"\n')
    command = ("-m", "opwright_codegen.cli")
    status, out = run(project, *command, "test")
    assert status == 2 and "is no package yet: run `opwright generate` first" in out
    assert run(project, *command, "generate", "--kernels", "kernels")[0] == 0
    status, out = run(project, *command, "test", "-k", "hypotenuse and writes", "-v")
    assert status == 0 and "quickstart::hypotenuse.out-declared-writes-happen PASSED" in out
    baseline = project / "gate-baseline.yaml"
    baseline.write_text("- operator: quickstart::hypotenuse\n")
    status, out = run(project, *command, "test")
    assert status == 1 and "gate-baseline.yaml:1:3: error: " in out and "Traceback" not in out


@ONCE
def test_the_command_for_a_namespace(folder: Path) -> None:
    command = ("-m", "opwright_codegen.cli", "test")
    assert run(folder, *command, "mine", "--import", "test_mine", "-k", "schema")[0] == 1
    assert run(folder, *command, "mine", "--import", "test_mine", "-k", "halve")[0] == 0
    status, out = run(folder, *command, "yours")
    assert status == 2 and "no operator of that namespace is defined" in out
    status, out = run(folder, *command)
    assert status == 2 and "name the namespaces to test" in out


def test_operators_that_write_are_drawn_what_can_be_written() -> None:
    """No expanded Tensor is written to, and integers that are nowhere negative do not hide what `relu_` writes."""

    @opwright.library.custom_op("opcheck_all_page::relu_", mutates_args={"x"})
    def relu_(x: np.ndarray) -> None:
        if x.dtype.kind not in "fiu":
            raise TypeError(f"x must be of a real dtype, got {x.dtype}")
        x[x < 0] = 0

    assert opcheck_all(relu_) == []
