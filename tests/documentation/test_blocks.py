"""Shell, YAML and TOML blocks of the README and of each page: run, or read as the generator reads them.

A block that cannot stand alone is marked `excerpt` behind its language. Python blocks are run by `test_pages.py`, and
all blocks of the tutorial and of how-tos, in order, by `test_tutorial.py` and `test_how_tos.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright_codegen.commands.config import read_config
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.documents.yaml_reader import read_entries
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.output.canonical import canonical
from opwright_codegen.source import Source

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("docs/*/*.md")),
    *sorted(ROOT.glob("runtime/opwright_bindings/*/README.md")),
    *sorted(ROOT.glob("examples/**/README.md")),
]
LANGUAGES = {"", "c", "cpp", "cmake", "cuda", "diff", "meson", "sh", "yaml", "toml", "python"}
LANGUAGES |= {f"{name} excerpt" for name in ("sh", "yaml", "toml", "python", "jinja")}


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            place = str(page.relative_to(ROOT)), text.count("\n", 0, block.start()) + 1
            found.append(Block(*place, block[1].strip(), block[2]))
    return [each for each in found if not languages or each.language in languages]


def test_every_block_says_what_it_is() -> None:
    assert [str(each) for each in blocks() if each.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_read(block: Block, tmp_path: Path) -> None:
    """Entries of operators pass the reader and its checks; those of derivatives have the form of a list of entries."""
    path = tmp_path / "block.yaml"
    path.write_text(block.text, encoding="utf-8")
    if re.search(r"^- func:", block.text, re.MULTILINE):
        assert declare(Inputs(tmp_path, (path,), ROOT / "schemas" / "tags.yaml", "aten"), binds=False)
    else:
        errors = Errors()
        assert list(read_entries(Source(str(path), block.text), errors))
        errors.raise_if_any()


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_is_read(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(block.text, encoding="utf-8")
    assert (read_config(path) is None) == ("opwright" not in tomllib.loads(block.text).get("tool", {}))


# -- shell


def beside_an_environment(example: str) -> Callable[[Path], Path]:
    """Makes a folder like the clone's: the example, and this Python's environment by the name that `make` gives it."""

    def prepare(folder: Path) -> Path:
        (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
        ignored = shutil.ignore_patterns("__pycache__", "*_ops")
        shutil.copytree(ROOT / "examples" / example, folder / "examples" / example, ignore=ignored)
        return folder

    return prepare


def example(name: str) -> Callable[[Path], Path]:
    return lambda folder: beside_an_environment(name)(folder) / "examples" / name


def with_operators(folder: Path) -> Path:
    """Makes a project with an operator in `mylib.ops` and one in a schema file."""
    (folder / "mylib").mkdir()
    (folder / "mylib" / "__init__.py").touch()
    (folder / "mylib" / "ops.py").write_text(
        "import numpy as np\nimport opwright\n\n"
        '@opwright.library.custom_op("mylib::scale", mutates_args=())\n'
        "def scale(x: np.ndarray, by: float = 2.0) -> np.ndarray:\n    return (x * by).astype(x.dtype)\n\n"
        "scale.register_fake(lambda x, by=2.0: opwright.empty_like(x))\n",
        encoding="utf-8",
    )
    (folder / "test_mylib.py").write_text(
        "import mylib.ops\n\ndef test_scale():\n    assert mylib.ops.scale\n", encoding="utf-8"
    )
    (folder / "ops.yaml").write_text(
        "- func: fromfile::twice(Tensor self) -> Tensor\n  meta: pointwise(self)\n  dispatch:\n    CPU: self + self\n",
        encoding="utf-8",
    )
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "fromfile_ops"\n', encoding="utf-8"
    )
    done = subprocess.run([Path(sys.executable).with_name("opwright"), "generate"], cwd=folder, check=False)
    assert done.returncode == 0
    return folder


# The folder in which the commands of a page are run, and what they print.
SHELL = {
    "README.md": (beside_an_environment("quickstart"), ["[ 5. 13.]", "[0.6 0.8]"]),
    "docs/command-line.md": (with_operators, ["0"]),
    "docs/targets.md": (with_operators, ["opwright"]),
    "docs/gate-reports.md": (with_operators, [" operator"]),
    "docs/opcheck.md": (with_operators, ["passed"]),
    "examples/derivatives/README.md": (example("derivatives"), ["loss"]),
}
# Pages whose blocks are run in order: test_tutorial.py, test_how_tos.py.
IN_ORDER = ("docs/tutorial/", "docs/how-to/")
# Blocks that are run elsewhere, by the test that is named.
RUN_ELSEWHERE = {
    "opwright build       #": "tests/test_examples.py",
    "opwright build\n": "runtime/opwright_bindings/jax/tests/test_jax_native.py, where JAX is",
    "opwright generate\npython use_arrays.py": "tests/documentation/test_everywhere.py, where frameworks are",
    "pip install numba": "tests/runtime/foreign_kernels, where Numba and tvm-ffi are",
    "pip install ./markdown_table": "tests/codegen/test_target_examples.py",
    "make generate": ".ci/run, which takes its commands from the README",
    "opwright generate        #": "tests/test_published_package.py",
    ".venv/bin/opwright new": ".ci/run, and tests/test_new_project.py",
}


@pytest.mark.once  # commands of the generator, and of other programs
@pytest.mark.parametrize(
    "block",
    [
        each
        for each in blocks("sh")
        if not each.text.startswith(tuple(RUN_ELSEWHERE)) and not each.page.startswith(IN_ORDER)
    ],
    ids=str,
)
def test_shell_runs(block: Block, tmp_path: Path) -> None:
    prepare, printed = SHELL[block.page]
    folder = prepare(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", block.text],
        cwd=folder,
        env={
            **os.environ,
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [text for text in printed if text not in done.stdout] == []


def test_continuous_integration_runs_the_first_commands_of_the_readme() -> None:
    first = next(each for each in blocks("sh") if each.page == "README.md")
    commands = [line.partition("#")[0].rstrip() for line in first.text.splitlines()]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    filtered = re.search(r"< <\((sed -n .*)\)$", script, re.MULTILINE)
    assert filtered is not None
    done = subprocess.run(["bash", "-c", filtered[1]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == commands


def test_schemas_stand_in_canonical_form() -> None:
    """Who copies one into a project has no finding of `opwright fmt --check`. The README's have columns of comments."""
    wrong = []
    for block in blocks("yaml"):
        if block.page != "README.md" and re.search(r"^- (func|name): ", block.text, re.MULTILINE):
            with contextlib.suppress(SchemaError):  # a part of an entry
                if canonical(Source(block.page, block.text), "aten") != block.text:
                    wrong.append(f"{block.page}:{block.line}")
    assert wrong == []
