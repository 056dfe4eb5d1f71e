"""Functions of kernel modules, found without importing them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from pipeline import assert_refused, generate, new_namespace

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernels.modules import KernelModules, module_files
from opwright_codegen.source import Source

KERNELS = """
raise RuntimeError("imported")

def add(xp, self, other, *, alpha, out=None): ...

if True:
    def sub(self, other, /): ...
else:
    def never(*args, **kwargs): ...

try:
    import nothing
except ImportError:
    def fallback(xp): ...

class Other:
    def method(self): ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "kernels_of_mine/__init__.py": KERNELS,
        "kernels_of_mine/more.py": "def mul(xp, self, other): ...",
        "kernels_of_mine/deep/last.py": "def add(self): ...\ndef div(self): ...",
        "kernels_of_mine/not-a-module.py": "syntax error",
        "kernels_of_mine/__main__.py": "def run(): ...",
        "single.py": "def one(xp): ...",
        "broken.py": "def f(:\n    pass",
        "zeros.py": "\0",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_functions_of_a_package(project: Path) -> None:
    kernels = KernelModules(["kernels_of_mine", "single"], [project])
    assert kernels.names == {"add", "sub", "never", "fallback", "mul", "div", "one"}
    mul = kernels.find("mul")
    assert mul is not None
    assert (mul.module, mul.name, mul.parameters) == ("kernels_of_mine.more", "mul", ("xp", "self", "other"))
    sub, one = kernels.find("sub"), kernels.find("one")
    assert sub is not None and not sub.takes_xp and not sub.takes_out
    assert one is not None and one.takes_xp
    assert kernels.find("method") is None
    assert "kernels_of_mine" not in sys.modules


def test_parameters_say_what_a_kernel_takes(project: Path) -> None:
    add = KernelModules([], [project]).find_path("kernels_of_mine", "add")
    assert add.parameters == ("xp", "self", "other", "alpha", "out")
    assert add.takes_xp and add.takes_out


def test_a_name_of_two_modules_is_ambiguous(project: Path) -> None:
    span = Source("x.yaml", "CPU: add").whole()
    with pytest.raises(SchemaError, match=r"kernels_of_mine and kernels_of_mine\.deep\.last both") as caught:
        KernelModules(["kernels_of_mine"], [project]).find("add", span)
    assert caught.value.hint == "write kernels_of_mine:add"
    assert caught.value.span == span


def test_unknown_functions_are_met_with_the_nearest(project: Path) -> None:
    kernels = KernelModules(["single"], [project])
    assert kernels.unknown("onee").hint == "did you mean 'one'?"
    assert kernels.unknown("something").hint == "looked in: single"
    with pytest.raises(SchemaError) as caught:
        kernels.find_path("kernels_of_mine.more", "mull")
    assert caught.value.hint == "did you mean kernels_of_mine.more:mul?"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("kernels_of_mine.moore", "there is no module", "did you mean kernels_of_mine.more?"),
        ("kernels_of_mine.more.x", "there is no module", None),
        ("no_such_package_here", "there is no module 'no_such_package_here'", None),
        ("a..b", "there is no module", "a module is written package.module"),
        ("lambda", "there is no module", "a module is written package.module"),
        ("../etc", "there is no module", "a module is written package.module"),
        ("__main__.x", "there is no module", None),
    ],
)
def test_missing_modules(project: Path, name: str, message: str, hint: str | None) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        assert KernelModules([name], [project]).names
    if hint is not None:
        assert caught.value.hint == hint


def test_source_that_is_not_python(project: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        assert KernelModules(["broken"], [project]).names
    assert caught.value.span is not None
    assert caught.value.span.line == 1
    with pytest.raises(SchemaError):
        assert KernelModules(["zeros"], [project]).names


def test_a_changed_module_is_read_again(project: Path) -> None:
    path = project / "single.py"
    assert KernelModules(["single"], [project]).names == {"one"}
    path.write_text("def one(xp): ...\ndef two(xp): ...")
    assert KernelModules(["single"], [project]).names == {"one", "two"}


def test_installed_packages_are_found() -> None:
    found = dict(module_files("opwright_codegen.targets"))
    assert found["opwright_codegen.targets"].name == "__init__.py"


# -- what a path of a schema file may name: YAML alone runs nothing

FOREIGN = [
    ("subprocess", "getoutput"), ("os", "system"), ("os.path", "join"), ("posix", "system"), ("sys", "exit"),
    ("builtins", "eval"), ("shutil", "rmtree"), ("pickle", "loads"), ("runpy", "run_path"),
    ("numpy", "load"), ("numpy.f2py", "compile"), ("numpy.lib.format", "read_array"), ("cupy", "load"),
    ("opwright_codegen.output.write", "replace_file"), ("opwright.library", "impl"), ("opwright", "compile"),
    ("pytest", "main"), ("yaml", "unsafe_load"), ("_pytest.config", "main"), ("opwright.kernels_of_others", "f"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name"), FOREIGN)
@pytest.mark.parametrize("of", ["kernel", "rule", "backward function"])
def test_paths_to_what_the_project_has_not_chosen(project: Path, module: str, name: str, of: str) -> None:
    span = Source("x.yaml", f"CPU: {module}:{name}").whole()
    named: set[str] = set()
    with pytest.raises(SchemaError) as caught:
        KernelModules(["single"], [project], of=of, named=named).find_path(module, name, span)
    assert caught.value.code == "foreign-module"
    assert caught.value.span == span
    assert caught.value.hint is not None and f'kernels = ["{module}"]' in caught.value.hint
    assert not named


@pytest.mark.parametrize("name", ["subprocess", "numpy", "cupy", "opwright_codegen"])
def test_a_folder_that_is_called_like_an_installed_package_is_not_meant(project: Path, name: str) -> None:
    (project / name).mkdir()
    (project / name / "__init__.py").write_text("def getoutput(self): ...")
    with pytest.raises(SchemaError, match="is no module of this project"):
        KernelModules([], [project]).find_path(name, "getoutput")


def test_packages_that_settings_name_are_allowed(project: Path) -> None:
    for allowed in ("opwright_codegen", "opwright_codegen.targets"):
        kernels = KernelModules([], [project], allowed=[allowed])
        assert kernels.find_path("opwright_codegen.targets.gradients.forward", "context").name == "context"
    with pytest.raises(SchemaError, match=r"'opwright_codegen\.output\.write' is no module of this project"):
        kernels.find_path("opwright_codegen.output.write", "replace_file")
    with pytest.raises(SchemaError, match=r"'opwright_codegen\.targets' is no module"):
        KernelModules([], allowed=["opwright_codegen.targ"]).find_path("opwright_codegen.targets", "context")
    assert KernelModules([]).find_path("opwright_core.rules.factories", "like").name == "like"


def test_a_path_names_what_the_module_defines(project: Path) -> None:
    (project / "importing.py").write_text("from os import system\nfrom subprocess import *\nrun = system")
    for name in ("system", "getoutput", "run", "exec", "__import__"):
        with pytest.raises(SchemaError, match=f"importing has no function '{name}'"):
            KernelModules([], [project]).find_path("importing", name)


def test_what_is_installed_is_foreign_beside_a_schema_file_too(project: Path) -> None:
    installed = project / "site-packages"
    installed.mkdir()
    (installed / "other_package.py").write_text("def run(self): ...")
    with pytest.raises(SchemaError):
        KernelModules([], [installed]).find_path("pytest", "main")
    with pytest.raises(SchemaError):
        KernelModules([], [site_packages()]).find_path("yaml", "load")


def site_packages() -> Path:
    spec = importlib.util.find_spec("yaml")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent.parent


@pytest.mark.parametrize(
    "field", ["meta: {}", "dispatch: {{CPU: '{}'}}", "dispatch: {{CompositeImplicitAutograd: '{}'}}"]
)
@pytest.mark.parametrize("path", ["subprocess:getoutput", "os:system", "numpy:load", "pytest:main"])
def test_the_command_refuses_them(tmp_path: Path, field: str, path: str) -> None:
    more = "" if "dispatch" in field else "  dispatch: {CPU: xp.sin(x)}\n"
    text = f"- func: {new_namespace()}::f(Tensor x) -> Tensor\n  {field.format(path)}\n{more}"
    run = generate(tmp_path, text)
    assert run.status == 1
    assert_refused(run)
    assert "[foreign-module]" in run.stderr and path in run.stderr and "^" in run.stderr
