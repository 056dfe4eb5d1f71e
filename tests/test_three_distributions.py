"""The three distributions of the tree: what each contains and needs, and what is said where an extra is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
from core_alone import write_project

pytestmark = pytest.mark.once  # metadata of builds, and commands in processes of their own

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = {"opwright-core": "runtime", "opwright-codegen": "codegen", "opwright": "."}
ASKED: Final = """
import json, sys
from distutils.core import run_setup
sys.argv = ["setup.py", "egg_info"]
made = run_setup("setup.py", stop_after="config")
told = [made.get_name(), made.get_version(), sorted(made.packages), made.install_requires, made.extras_require]
print(json.dumps(told))
"""


@cache
def distributions(root: Path = ROOT) -> dict[str, list[Any]]:
    """Return version, packages, needs and extras of each distribution of a tree."""
    found = {}
    for name, folder in FOLDERS.items():
        command = [sys.executable, "-c", ASKED]
        done = subprocess.run(command, cwd=root / folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        shown, *told = json.loads(done.stdout)
        assert shown == name
        found[name] = told
    return found


def test_each_package_is_in_one_distribution() -> None:
    packages = [package for _, packages, *_ in distributions().values() for package in packages]
    assert [package for package, count in Counter(packages).items() if count > 1] == []
    roots = {
        path: path.name
        for top in ("runtime", "codegen", "generated")
        for path in (ROOT / top).iterdir()
        if (path / "__init__.py").is_file()
    }
    found = {
        ".".join((name, *init.parent.relative_to(root).parts))
        for root, name in roots.items()
        for init in root.rglob("__init__.py")
    }
    data = {"opwright_codegen.schemas", "opwright_codegen.templates", "opwright_codegen.templates.new"}
    assert set(packages) == found | data
    owners = {name: {each.partition(".")[0] for each in told[1]} for name, told in distributions().items()}
    assert owners["opwright-core"] == {"opwright_core"} and owners["opwright-codegen"] == {"opwright_codegen"}


def test_what_each_distribution_needs() -> None:
    """In a clone, the library needs its neighbours by their folders, since no index has them."""
    names = {name: [re.split(r"[ >=\[]", each)[0] for each in told[2]] for name, told in distributions().items()}
    assert names == {
        "opwright-core": ["numpy", "ml_dtypes"],
        "opwright-codegen": ["opwright-core", "lark", "jinja2", "pyyaml"],
        "opwright": ["opwright-core", "opwright-codegen", "sympy"],
    }
    for need, folder in zip(distributions()["opwright"][2], ("runtime", "codegen"), strict=False):
        assert need.endswith(f" @ {(ROOT / folder).as_uri()}")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what builds read."""
    for name in ("runtime", "codegen"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "fast"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "generated").mkdir()
    return tmp_path


def test_the_version_is_written_once(tree: Path) -> None:
    """It is that of the core; the generator, which reads it there, has it, too."""
    written = tree / "runtime" / "opwright_core" / "__init__.py"
    written.write_text(re.sub('^__version__ = ".+?"', '__version__ = "7.8.9"', written.read_text(), flags=re.MULTILINE))
    assert {told[0] for told in distributions(tree).values()} == {"7.8.9"}
    program = "import opwright_codegen; print(opwright_codegen.VERSION)"
    paths = os.pathsep.join([str(tree / "codegen"), str(tree / "runtime")])
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env={"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.stdout == "7.8.9\n", done.stderr


def test_a_source_distribution_needs_the_core_of_its_version(tree: Path) -> None:
    """It has neither of the other projects."""
    (tree / "runtime" / "pyproject.toml").unlink()
    done = subprocess.run([sys.executable, "-c", ASKED], cwd=tree, capture_output=True, text=True, check=True)
    _, version, _, needs, extras = json.loads(done.stdout)
    assert needs == [f"opwright-core=={version}"]
    assert {"codegen", "cli", "symbolic", "cuda", "torch", "jax", "dask", "gate"} <= extras.keys()


CLI = ("opwright_codegen.cli",)
LIBRARY = ("numpy", "ml_dtypes", "opwright_core", "opwright", "opwright_gate", "opwright_kernels", "opwright_aten")
GENERATOR = ("numpy", "ml_dtypes", "opwright_core", "opwright_codegen", "lark", "jinja2", "markupsafe", "yaml")
NEEDS_GENERATOR = "schemas and formulas are read by the generator, which is not installed: pip install opwright-codegen"
NEEDS_SYMPY = "symbolic sizes need SymPy, which is not installed: pip install sympy"
NO_GATE = "operators are checked by opwright_gate, which is not installed: pip install opwright"
OF_LIBRARY = "opwright: this command runs operators by the library, which is not installed: pip install opwright"
NO_RICH = "reports as text need Rich, which is not installed: pip install rich"
NO_WATCHFILES = "opwright: --watch needs watchfiles, which is not installed: pip install watchfiles"
NO_PYTEST = "opwright: `opwright test` runs pytest, which is not installed: pip install pytest"
NO_COMMANDS = "opwright: the commands are the generator's, which is not installed: pip install opwright-codegen"
IMPORTED = "import numpy as np, opwright\n"
CUSTOM = """
@opwright.library.custom_op("own::f", mutates_args=())
def f(x: np.ndarray) -> np.ndarray: ...
f(np.ones(2))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that runs Python in an environment of some packages alone."""
    environments = tmp_path_factory.mktemp("environments")
    folder = tmp_path_factory.mktemp("folder")
    (folder / "wrong.yaml").write_text("- func: f(\n")

    def run(names: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
        made = environments / "-".join(names)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(made), "platbase": str(made)}))
        if not made.exists():
            venv.create(made)
            for name in names:
                home = Path(next(iter(find_spec(name).submodule_search_locations)))  # type: ignore[union-attr, arg-type]
                for each in [home, *home.parent.glob(f"{name}.libs")]:
                    (packages / each.name).symlink_to(each)
        environment = {"PATH": os.environ["PATH"], "FORCE_COLOR": "1", "PYTHON_COLORS": "0"}
        command = [str(made / "bin" / "python"), *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("opwright.symbolic.ShapeEnv()", NEEDS_SYMPY),
        ("opwright.fx.make_fx(opwright.sin, tracing_mode='symbolic')(opwright.ones(2))", NEEDS_SYMPY),
        (CUSTOM, NEEDS_GENERATOR),
        ("opwright.library.Library('own', 'DEF').define('f(Tensor x) -> Tensor')", NEEDS_GENERATOR),
        ("opwright.ops.aten.add.Tensor.schema", NEEDS_GENERATOR),
        ("from opwright_gate.reports import check_format; check_format('text')", NO_RICH),
    ],
)
def test_the_library_without_extras(installed: Any, program: str, said: str) -> None:
    done = installed(LIBRARY, "-c", IMPORTED + program)
    assert said in done.stderr.splitlines()[-1], done.stderr


def test_the_library_without_the_gate(installed: Any) -> None:
    """The folder can be deleted: what names it says so in one line."""
    rest = tuple(name for name in LIBRARY if name != "opwright_gate")
    for program in ("opwright.library.opcheck", "opwright.testing.opcheck_all"):
        done = installed(rest, "-c", IMPORTED + program)
        assert NO_GATE in done.stderr.splitlines()[-1], done.stderr
    done = installed(rest, "-c", IMPORTED + "print(len(list(opwright.testing.samples('aten::sin'))) > 5)")
    assert done.stdout == "True\n", done.stderr


def test_the_library_computes_without_extras(installed: Any) -> None:
    program = "x = opwright.tensor([2.0], requires_grad=True); (x * x).sum().backward(); print(x.grad.tolist())"
    done = installed(LIBRARY, "-c", IMPORTED + program)
    assert done.stdout == "[4.0]\n", done.stderr


def test_the_generator_without_the_library(installed: Any, tmp_path: Path) -> None:
    """Rules, headers and formulas of derivatives need the core alone."""
    write_project(tmp_path)
    for command in ("generate", "build"):
        program = f"import os, sys; os.chdir({str(tmp_path)!r}); from opwright_codegen.cli import main; "
        done = installed(GENERATOR, "-c", f"{program}sys.exit(main([{command!r}]))")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "earlier_ops" / "autograd" / "ops.py").is_file()


@pytest.mark.parametrize(
    ("names", "words", "status", "said"),
    [
        (LIBRARY, ["opwright", "list"], 2, NO_COMMANDS),
        (GENERATOR, [*CLI, "gate", "aten::add"], 2, OF_LIBRARY),
        (GENERATOR, [*CLI, "test", "aten"], 2, NO_PYTEST),
        (GENERATOR, [*CLI, "docs", "aten", "-o", "pages"], 2, OF_LIBRARY),
        (GENERATOR, [*CLI, "generate", "--watch"], 2, NO_WATCHFILES),
        (GENERATOR, [*CLI, "check", "wrong.yaml"], 1, "wrong.yaml:1:"),
        (
            (*GENERATOR, "opwright", "opwright_gate", "opwright_kernels", "opwright_aten"),
            [*CLI, "gate", "aten::add"],
            2,
            f"opwright gate: {NO_RICH}",
        ),
    ],
)
def test_commands_without_extras(
    installed: Any, names: tuple[str, ...], words: list[str], status: int, said: str
) -> None:
    done = installed(names, "-m", *words)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr and done.stderr.startswith(said), done.stderr
