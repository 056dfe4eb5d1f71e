"""Operators without a namespace: an error, wherever schemas come in, unless the settings say which is meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright.errors import RegistrationError
from opwright_codegen.build_plugins.project import Project
from opwright_codegen.cli import main
from opwright_core.dispatch.registry.tables import registry

BARE = "- func: sqrt(Tensor self) -> Tensor\n  dispatch:\n    CPU: self + 1000\n- func: cbrt(Tensor self) -> Tensor\n"
SAID = "ops.yaml:1:9: error: sqrt has no namespace: in PyTorch's it would replace aten::sqrt in the whole process"
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "mine_ops"\nkernels = []\nstrict_kernels = false\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ops.yaml").write_text(BARE)
    return tmp_path


@pytest.mark.parametrize("settings", ["", SETTINGS], ids=["alone", "project"])
@pytest.mark.parametrize(
    "command",
    [["generate", "ops.yaml", "-o", "mine_ops"], ["check", "ops.yaml"], ["show", "sqrt", "ops.yaml"]],
    ids=lambda command: command[0],
)
def test_every_command_refuses_it(
    command: list[str], settings: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").write_text(settings)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.startswith(SAID + ", and 1 more of this file have none [missing-namespace]\n")
    assert "\n    - func: sqrt(Tensor self) -> Tensor\n            ^^^^\nhint: write mine::sqrt(…)" in said
    assert not (project / "mine_ops").exists()


@pytest.mark.parametrize("command", [["generate"], ["check"], ["build"], ["test"]], ids=lambda command: command[0])
def test_every_command_about_the_project_does(
    command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").write_text(SETTINGS)
    assert main(command) == 1
    assert SAID in capsys.readouterr().err


def test_builds_of_wheels_do(project: Path) -> None:
    Path("pyproject.toml").write_text(SETTINGS)
    with pytest.raises(SystemExit) as stopped:
        Project(project)
    assert SAID in str(stopped.value)


def test_the_hint_names_the_namespace_of_the_others(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ops.yaml").write_text(
        BARE + "- func: own::f(Tensor self) -> Tensor\n- func: aten::g(Tensor self) -> Tensor\n"
    )
    assert main(["check", "ops.yaml"]) == 1
    assert "hint: write own::sqrt(…), as other operators of the project have it;" in capsys.readouterr().err


@pytest.mark.parametrize("space", ["aten", "mine"])
def test_the_settings_say_which_is_meant(space: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(f'{SETTINGS}namespace = "{space}"\n')
    assert main(["generate"]) == 0
    assert f'Declarations("{space}"' in Path("mine_ops/ops/ops.py").read_text()
    capsys.readouterr()
    Path("other.yaml").write_text(BARE)  # no schema of the project
    assert main(["check", "other.yaml"]) == 1


def test_derivatives_are_of_that_namespace_too(project: Path) -> None:
    Path("pyproject.toml").write_text(f'{SETTINGS}namespace = "mine"\nderivatives = "derivatives.yaml"\n')
    Path("derivatives.yaml").write_text("- name: sqrt(Tensor self) -> Tensor\n  self: grad\n")
    assert main(["check"]) == 0


def test_so_does_the_command_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "ops.yaml", "--namespace", "aten", "-o", "mine_ops"]) == 0
    assert 'Declarations("aten"' in Path("mine_ops/ops/ops.py").read_text()
    with pytest.raises(SystemExit) as stopped:
        main(["check", "ops.yaml", "--namespace", "1st"])
    assert stopped.value.code == 2
    assert "'1st' is no name of letters, digits and underscores" in capsys.readouterr().err


def test_a_setting_that_is_no_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(f'{SETTINGS}namespace = "a b"\n')
    assert main(["check"]) == 2
    assert "a name is expected for 'namespace' of [tool.opwright] [wrong-setting]" in capsys.readouterr().err


def test_of_two_packages_one_has_the_kernels_of_an_operator(tmp_path: Path) -> None:
    """The second import is an error, and leaves nothing behind, wherever a kernel is: which one served was left to the
    order of imports."""
    space = new_namespace()
    for key, text in (("CPU", "self + 1"), ("CompositeImplicitAutograd", "sigmoid(self)")):
        entry = f"- func: {space}::f(Tensor self) -> Tensor\n  dispatch:\n    {key}: {text}\n"
        entry += "  meta: like(self)\n" if key == "CPU" else ""
        more = f"- func: {space}::g(Tensor self) -> Tensor\n"
        first, second = generate(tmp_path, entry), generate(tmp_path, entry + more)
        with imported(first) as package:
            with (
                pytest.raises(
                    RegistrationError,
                    match=rf"{second.package.name} cannot be imported: {space}::f, which it declares at ops.yaml:1, "
                    rf"has a {key} kernel already, of {first.package.name}, declared at ops.yaml:1. One of the two",
                ),
                imported(second),
            ):
                pass
            assert f"{space}::g" not in registry.operators
            assert package.ops.f(np.zeros(1)).shape == (1,)


def test_an_operator_of_pytorchs_keeps_its_kernel(tmp_path: Path) -> None:
    entry = "- func: aten::sqrt(Tensor self) -> Tensor\n  meta: like(self)\n  dispatch:\n    CPU: self + 1000\n"
    with (
        pytest.raises(RegistrationError, match="has a CPU kernel already, of opwright_aten"),
        imported(generate(tmp_path, entry)),
    ):
        pass
    assert opwright.sqrt(np.ones(1)).tolist() == [1.0]
