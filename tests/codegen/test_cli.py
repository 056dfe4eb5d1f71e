"""The command line, as a user runs it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from python_copies import run_python

from opwright_codegen.cli import main
from opwright_codegen.documents.generated import places_in

SCHEMAS = """\
- func: mine::twice(Tensor self) -> Tensor
  variants: function
  meta: pointwise(self)
  dispatch:
    CPU, CUDA: xp.add(self, self)

- func: mine::scaled(Tensor self, Scalar by) -> Tensor
  meta: pointwise(self, by)
  dispatch:
    CPU: scale
"""
RULES = "def pointwise(*operands, kind='default'): ...\n"
CONFIG = """\
[tool.opwright]
schemas = ["ops.yaml"]
output = "mine_ops"
kernels = ["my_kernels"]
rules = ["my_rules"]
"""


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str) -> Run:
    """The command in this process, which saves half a second a run."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as leaving:  # argparse's
            status = int(leaving.code or 0)
    return checked(Run(status, out.getvalue(), err.getvalue()))


def start(folder: Path, *arguments: str, options: tuple[str, ...] = (), **environment: str) -> Run:
    """The command in a process of its own."""
    command = [*options, "-m", "opwright_codegen.cli", *arguments]
    env = {**os.environ, **environment}
    if options or environment:
        command = [sys.executable, *command]
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    else:
        found = run_python(*command, cwd=folder)
    return checked(Run(found.returncode, found.stdout, found.stderr))


def checked(found: Run) -> Run:
    assert "Traceback" not in found.stderr
    assert "an error of its own" not in found.stderr
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": CONFIG,
        "ops.yaml": SCHEMAS,
        "my_kernels.py": "def scale(xp, self, by): ...\n",
        "my_rules.py": RULES,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}


def test_generate_writes_a_package_and_then_nothing(project: Path) -> None:
    first = run(project, "generate")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("mine_ops  ")
    output = project / "mine_ops"
    compile((output / "ops" / "ops.py").read_text(), "ops.py", "exec")
    manifest = json.loads((output / "manifest.json").read_text())
    assert list(manifest["inputs"]) == ["ops.yaml"]
    assert {"ops/ops.py", "register.py"} <= set(manifest["outputs"])
    assert str(project) not in (output / "manifest.json").read_text()

    before = times(output)
    again = run(project, "generate")
    assert again.returncode == 0
    assert again.stdout.startswith("mine_ops: up to date")
    forced = run(project, "generate", "--force")
    assert "unchanged" in forced.stdout and "changed" not in forced.stdout.replace("unchanged", "")
    assert times(output) == before


def test_a_run_with_nothing_to_do_loads_no_parser(project: Path) -> None:
    assert run(project, "generate").returncode == 0
    found = start(project, "generate", options=("-X", "importtime"))
    assert "up to date" in found.stdout
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert "opwright_codegen.commands.config" in loaded
    assert not loaded & {"lark", "jinja2", "yaml", "numpy", "opwright", "subprocess"}


@pytest.mark.parametrize("name", ["ops.yaml", "my_kernels.py", "my_rules.py", "mine_ops/ops/ops.py", "pyproject.toml"])
def test_a_change_of_any_file_is_noticed(project: Path, name: str) -> None:
    assert run(project, "generate").returncode == 0
    original = (project / "mine_ops" / "ops" / "ops.py").read_text()
    comment = "# changed\n"
    with (project / name).open("a") as file:
        file.write(
            'strict_kernels = true\nkernels = ["my_rules", "my_kernels"]\n' if name.endswith("toml") else comment
        )
    if name.endswith("toml"):
        text = (project / name).read_text().replace('kernels = ["my_kernels"]\n', "", 1)
        (project / name).write_text(text)
    again = run(project, "generate")
    assert again.returncode == 0, again.stderr
    assert "up to date" not in again.stdout
    assert (project / "mine_ops" / "ops" / "ops.py").read_text() == original


def test_check_diff_and_dry_run_write_nothing(project: Path) -> None:
    for option, status in (("--check", 1), ("--diff", 0), ("--dry-run", 0)):
        found = run(project, "generate", option)
        assert found.returncode == status, found.stderr
        assert "mine_ops/ops/ops.py" in found.stdout
        assert not (project / "mine_ops").exists()
    assert run(project, "generate").returncode == 0
    for option in ("--check", "--diff", "--dry-run"):
        found = run(project, "generate", option)
        assert found.returncode == 0
        assert "ops.py" not in found.stdout
    (project / "ops.yaml").write_text(SCHEMAS.replace("twice", "double"))
    before = times(project / "mine_ops")
    assert "change   mine_ops/ops/ops.py" in run(project, "generate", "--check").stdout
    diff = run(project, "generate", "--diff", "--check")
    assert diff.returncode == 1
    assert "-# twice(Tensor self) -> Tensor" in diff.stdout
    assert "+# double(Tensor self) -> Tensor" in diff.stdout
    assert times(project / "mine_ops") == before


def test_files_that_nothing_gives_any_more_are_removed(project: Path) -> None:
    assert run(project, "generate").returncode == 0
    output = project / "mine_ops"
    manifest = json.loads((output / "manifest.json").read_text())
    manifest["outputs"].append("gone.py")
    (output / "manifest.json").write_text(json.dumps(manifest))
    (output / "gone.py").write_text("")
    (output / "mine.py").write_text("")
    found = run(project, "generate")
    assert "1 removed" in found.stdout
    assert not (output / "gone.py").exists()
    assert (output / "mine.py").exists()


def test_only_some_targets(project: Path) -> None:
    assert run(project, "generate").returncode == 0
    (project / "ops.yaml").write_text(SCHEMAS.replace("twice", "double"))
    before = times(project / "mine_ops")
    assert run(project, "generate", "--only", "ops").returncode == 0
    after = times(project / "mine_ops")
    assert {name for name in before if before[name] != after.get(name)} <= {"ops.py", "ops.pyi", "manifest.json"}
    assert "double" in (project / "mine_ops" / "ops" / "ops.py").read_text()
    assert run(project, "generate").returncode == 0
    assert run(project, "generate", "--check").returncode == 0


def test_depfile(project: Path) -> None:
    assert run(project, "generate", "--depfile", "ops.d").returncode == 0
    targets, _, sources = (project / "ops.d").read_text().partition(": \\\n")
    assert "mine_ops/ops/ops.py" in targets
    for name in ("ops.yaml", "my_kernels.py", "my_rules.py", "formula.lark"):
        assert name in sources
    (project / "ops.d").unlink()
    assert run(project, "generate", "--depfile", "ops.d").returncode == 0
    assert (project / "ops.d").exists()


def test_several_namespaces(project: Path) -> None:
    with (project / "ops.yaml").open("a") as file:
        file.write(
            "\n- func: other::same(Tensor self) -> Tensor\n  meta: pointwise(self)\n  dispatch:\n    CPU: (self)\n"
        )
    assert run(project, "generate", "ops.yaml", "-o", "out").returncode == 0
    assert (project / "out/mine/ops/ops.py").is_file()
    assert (project / "out/other/ops/ops.py").is_file()
    assert "same" not in (project / "out/mine/ops/ops.py").read_text()
    assert run(project, "generate", "ops.yaml", "-o", "out").stdout.count("up to date") == 2

    config = CONFIG.replace('output = "mine_ops"\n', "") + '[tool.opwright.output]\nmine = "a"\n'
    (project / "pyproject.toml").write_text(config)
    found = run(project, "generate")
    assert found.returncode == 2
    assert "no folder for the namespace 'other'" in found.stderr
    (project / "pyproject.toml").write_text(config + 'other = "b"\n')
    assert run(project, "generate").returncode == 0
    assert (project / "a/ops/ops.py").is_file() and (project / "b/ops/ops.py").is_file()
    assert run(project, "generate").stdout.count("up to date") == 2


def test_wrong_schemas_are_reported_and_nothing_is_written(project: Path) -> None:
    (project / "ops.yaml").write_text(SCHEMAS.replace("variants:", "varants:").replace("Scalar by", "Sclar by"))
    for command in (["generate"], ["check"], ["generate", "--check"], ["show", "twice"]):
        found = run(project, *command)
        assert found.returncode == 1
        assert found.stdout == ""
        assert "ops.yaml:2:3: error: " in found.stderr
        assert found.stderr.endswith("2 errors\nopwright explain unknown-key says more\n")
    assert not (project / "mine_ops").exists()


def test_a_file_in_the_way(project: Path) -> None:
    (project / "mine_ops" / "ops").mkdir(parents=True)
    (project / "mine_ops" / "ops" / "ops.py").write_text("by hand\n")
    found = run(project, "generate")
    assert found.returncode == 1
    assert found.stderr.startswith("error: mine_ops/ops/ops.py: exists, and was not generated [foreign-file]\n")
    assert [path.name for path in (project / "mine_ops").rglob("*")] == ["ops", "ops.py"]
    assert run(project, "generate", "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["generate", "other.yaml"], 2, "opwright: say where the output goes: -o FOLDER"),
        (["generate", "nothing.yaml", "-o", "out"], 1, "nothing.yaml"),
        (["generate", "ops.yaml", "-o", "not-a-name"], 1, "error: the folder 'not-a-name' cannot be imported"),
        (["generate", "--config", "nothing.toml"], 2, "opwright: nothing.toml: No such file"),
        (["generate", "ops.yaml", "-o", "ops.yaml/x"], 2, "opwright: ops.yaml/x: Not a directory"),
        (["generate", "--tags", "nothing.yaml"], 1, "nothing.yaml"),
        (["generate", "--kernels", "no_such_module"], 1, "there is no module 'no_such_module'"),
        (["show", "twise"], 1, "hint: did you mean 'twice'?"),
        (["frobnicate"], 2, "there is no command 'frobnicate': there are new, generate,"),
        (["generat"], 2, "there is no command 'generat': did you mean 'generate'?"),
        (["generate", "--only", "nosuch"], 2, "opwright: --only: no target is called 'nosuch': there are __init__,"),
        (["generate", "--only", "ops", "fake"], 2, "no target is called 'fake': did you mean 'fakes'?"),
        (["generate", "ops.yaml", "-o", "C:\\no name"], 1, "the folder 'C:\\no name' cannot be imported"),
    ],
)
def test_what_cannot_be_done(project: Path, arguments: list[str], status: int, message: str) -> None:
    found = run(project, *arguments)
    assert message in found.stderr
    assert found.returncode == status
    assert found.stdout == ""


def test_no_command_at_all(project: Path) -> None:
    found = run(project)
    assert found.returncode == 0 and found.stderr == ""
    assert found.stdout.startswith("usage: opwright") and "generate" in found.stdout


def test_schema_files_stand_in_the_help_of_every_command_that_reads_them(project: Path) -> None:
    for command in ("generate", "check", "show"):
        assert re.search(r"SCHEMA +schema files", run(project, command, "--help").stdout), command


def test_the_command_line_as_a_module(project: Path) -> None:
    command = [sys.executable, "-m", "opwright", "check"]
    found = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert found.stdout.startswith("ok: 2 operators declared"), found.stderr


def test_a_pattern_of_schema_files(project: Path) -> None:
    (project / "schemas").mkdir()
    (project / "ops.yaml").rename(project / "schemas" / "b.yaml")
    (project / "schemas" / "a.yaml").write_text(
        "- func: mine::other(Tensor self) -> Tensor\n  meta: pointwise(self)\n  dispatch: {CPU: (self)}\n"
    )
    (project / "pyproject.toml").write_text(CONFIG.replace('"ops.yaml"', '"schemas/*.yaml"'))
    assert run(project, "check").stdout.startswith("ok: 3 operators declared")
    (project / "pyproject.toml").write_text(CONFIG.replace('"ops.yaml"', '"schema/*.yaml"'))
    found = run(project, "check")
    assert found.returncode == 2
    assert "pyproject.toml:2:12: error: no file matches 'schema/*.yaml' of 'schemas' [wrong-setting]" in found.stderr


def test_wrong_configuration(project: Path) -> None:
    (project / "pyproject.toml").write_text(CONFIG.replace("kernels", "kernel"))
    found = run(project, "generate")
    assert found.returncode == 2
    assert "pyproject.toml:4:1: error: [tool.opwright] has no 'kernel' [unknown-setting]" in found.stderr
    assert "hint: did you mean 'kernels'?" in found.stderr


def test_strict_kernels(project: Path) -> None:
    (project / "ops.yaml").write_text(SCHEMAS.replace("CPU: scale", "CPU: scael"))
    found = run(project, "generate")
    assert found.returncode == 1
    assert "ops.yaml:10:10: error: " in found.stderr
    assert "hint: did you mean 'scale'?" in found.stderr
    assert run(project, "generate", "--no-strict-kernels").returncode == 0
    (project / "ops.yaml").rename(project / "other.yaml")
    assert run(project, "generate", "other.yaml", "-o", "loose").returncode == 0
    assert run(project, "generate", "other.yaml", "-o", "strict", "--strict-kernels").returncode == 1


def test_the_configuration_is_about_its_own_schemas(project: Path) -> None:
    assert run(project, "generate", "ops.yaml").stdout.startswith("mine_ops  ")
    assert "my_kernels" in (project / "mine_ops" / "kernels_cpu" / "ops.py").read_text()
    (project / "other.yaml").write_text(SCHEMAS)
    assert run(project, "generate", "other.yaml", "-o", "unbound").returncode == 0
    assert "my_kernels" not in (project / "unbound" / "kernels_cpu" / "other.py").read_text()
    assert run(project, "generate", "other.yaml", "-o", "bound", "--kernels", "my_kernels").returncode == 0
    assert "my_kernels" in (project / "bound" / "kernels_cpu" / "other.py").read_text()


def test_check(project: Path) -> None:
    found = run(project, "check")
    assert found.stdout.startswith("ok: 2 operators declared, 0 made from them")
    assert run(project, "check", "ops.yaml").returncode == 0
    assert not (project / "mine_ops").exists()


def test_show(project: Path) -> None:
    found = run(project, "show", "twice")
    assert found.returncode == 0, found.stderr
    facts = dict(line.strip().split(maxsplit=1) for line in found.stdout.split("\n\n")[0].splitlines()[1:])
    assert found.stdout.splitlines()[0] == "mine::twice"
    assert facts["schema"] == "mine::twice(Tensor self) -> Tensor"
    assert facts["declared"] == "ops.yaml:1:3"
    assert facts["meta"] == "pointwise(self)"
    assert facts["kernels"].split(maxsplit=1) == ["CPU", "xp.add(self, self)"]
    assert "def twice(" in found.stdout
    assert run(project, "show", "mine::twice").stdout == found.stdout


def test_version_and_help(project: Path) -> None:
    assert start(project, "--version").stdout.startswith("opwright ")
    for command in ("generate", "check", "show", "table", "test"):
        assert "usage: opwright" in run(project, command, "--help").stdout


def test_output_is_the_same_wherever_it_is_made(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert run(project, "generate").returncode == 0
    other = tmp_path_factory.mktemp("elsewhere") / "deep" / "down"
    other.mkdir(parents=True)
    for path in project.iterdir():
        if path.is_file():
            (other / path.name).write_bytes(path.read_bytes())
    assert start(other, "generate", PYTHONHASHSEED="7", LC_ALL="C").returncode == 0
    for path in (project / "mine_ops").iterdir():
        if path.is_file():
            assert (other / "mine_ops" / path.name).read_bytes() == path.read_bytes()


def test_places_are_paths_in_the_project_and_else_names(project: Path) -> None:
    (project / "schemas").mkdir()
    (project / "ops.yaml").rename(project / "schemas" / "ops.yaml")
    (project / "pyproject.toml").write_text(CONFIG.replace('"ops.yaml"', '"schemas/ops.yaml"'))
    generated = project / "mine_ops" / "ops" / "ops.py"
    for folder in (project, project / "schemas"):
        assert run(folder, "generate", "--force").returncode == 0
        assert generated.read_text().startswith("# Generated by Opwright from schemas/ops.yaml.")
        places = places_in((project / "mine_ops" / "where.py").read_text())
        assert places["twice"] == "schemas/ops.yaml:1"
    (project / "schemas" / "other.yaml").write_text(SCHEMAS)
    for shown in ("schemas/other.yaml", str(project / "schemas" / "other.yaml")):
        assert run(project, "generate", shown, "-o", "other_ops").returncode == 0
        text = (project / "other_ops" / "ops" / "other.py").read_text()
        assert places_in((project / "other_ops" / "where.py").read_text())["twice"] == "other.yaml:1"
        assert text.startswith("# Generated by Opwright from other.yaml.")


def test_whoever_reads_may_stop(project: Path) -> None:
    """As `opwright check | head -0` does."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "opwright_codegen.cli", "check"]
    found = subprocess.run(command, cwd=project, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert found.stderr == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "- func: x::f(",
        "[" * 20000,
        "\0",
        "- func: mine::f(Tensor self) -> Tensor\n  dispatch: {CPU: __import__('os')}",
    ],
)
def test_no_file_makes_a_traceback(project: Path, text: str) -> None:
    (project / "ops.yaml").write_text(text)
    found = run(project, "generate")
    assert found.returncode == 1
    assert "error: " in found.stderr
    assert not (project / "mine_ops").exists()


def test_table(project: Path) -> None:
    found = run(project, "table", "add.Tensor")
    assert found.stdout.startswith("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n")
    assert "CPU" in found.stdout
    missing = run(project, "table", "add.Tensr")
    assert missing.returncode == 1
    assert missing.stderr.startswith("error: the runtime has no dispatch table of aten::add.Tensr: ")


@pytest.mark.once
def test_table_of_the_project(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["own.yaml"]\noutput = "src/own_ops"\n')
    (project / "own.yaml").write_text("- func: own::twice(Tensor self) -> Tensor\n  kernel: self * 2\n")
    assert run(project, "generate").returncode == 0
    assert start(project, "table", "own::twice").stdout.startswith("own::twice(Tensor self) -> Tensor\n")
    missing = start(project, "table", "owm::twice")
    assert missing.returncode == 1
    assert "`--import PACKAGE` reads the package that defines it" in missing.stderr


BACKEND = """
import numpy as np
import opwright
class Mine:
    def __init__(self, data): self.data, self.shape, self.dtype = data, data.shape, data.dtype
made = opwright.register_backend("mine", array_type=Mine, from_numpy=Mine, to_numpy=lambda mine: mine.data)
made.impl("aten::mm", lambda self, other: Mine(self.data @ other.data))
"""


@pytest.mark.once
def test_backend(project: Path) -> None:
    (project / "mine_backend.py").write_text(BACKEND)
    found = start(project, "backend", "mine", "--import", "mine_backend")
    lines = found.stdout.splitlines()
    assert lines[0] == "backend mine: dispatch key PrivateUse1, arrays of mine_backend.Mine"
    assert lines[1].startswith("fallback by way of NumPy: off")
    assert lines[3:5] == ["kernels of its own (1):", "  mm"]
    step = found.stdout.partition("a training step")[2]
    assert "kernels of its own (1):\n    mm\n" in step and "  missing (25):" in step and " addmm " in step
    with (project / "mine_backend.py").open("a") as module:
        module.write("made.fall_back_to_numpy()\n")
    served = start(project, "backend", "mine", "--import", "mine_backend").stdout
    assert "fallback by way of NumPy: on" in served and "missing" not in served
    missing = start(project, "backend", "min", "--import", "mine_backend")
    assert missing.returncode == 1
    assert "no backend is called 'min'; did you mean 'mine'?" in missing.stderr


DERIVATIVES = """\
- name: mine::twice(Tensor self) -> Tensor
  self: doubled(grad)
  result: auto_linear
"""


@pytest.fixture
def with_derivatives(project: Path) -> Path:
    settings = 'derivatives = "derivatives.yaml"\ngradients = ["my_gradients"]\n'
    (project / "pyproject.toml").write_text(CONFIG + settings)
    (project / "derivatives.yaml").write_text(DERIVATIVES)
    (project / "my_gradients.py").write_text("def doubled(grad): ...\n")
    return project


def test_derivatives_are_read(with_derivatives: Path) -> None:
    project = with_derivatives
    assert run(project, "check").returncode == 0
    assert run(project, "generate").returncode == 0
    assert "up to date" in run(project, "generate").stdout
    (project / "derivatives.yaml").write_text(DERIVATIVES.replace("grad)", "gard)"))
    for command in ("check", "generate"):
        found = run(project, command)
        assert found.returncode == 1
        assert "derivatives.yaml:2:17: error: mine::twice has no 'gard' to use here" in found.stderr
        assert "hint: did you mean 'grad'?" in found.stderr


def test_backward_functions_are_inputs(with_derivatives: Path) -> None:
    project = with_derivatives
    assert run(project, "generate").returncode == 0
    (project / "my_gradients.py").write_text("def doubled(grad, by): ...\n")
    found = run(project, "generate")
    assert found.returncode == 1
    assert "doubled needs by" in found.stderr
    assert "hint: doubled(grad, by)" in found.stderr


def test_other_schemas_have_no_configured_derivatives(with_derivatives: Path) -> None:
    (with_derivatives / "derivatives.yaml").write_text("- nonsense\n")
    (with_derivatives / "other.yaml").write_text("- func: mine::other(Tensor self) -> Tensor\n")
    assert run(with_derivatives, "check", "other.yaml").returncode == 0
