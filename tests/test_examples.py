"""What the README and the examples promise, run as a newcomer would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from copying import copy_example
from python_copies import run_python

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[1]
QUICKSTART = ROOT / "examples" / "quickstart"


def run(*arguments: str, cwd: Path, **environment: str) -> str:
    done = run_python(*arguments, cwd=cwd, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def readme_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's first example, generated."""
    folder = copy_example("first", tmp_path_factory.mktemp("first") / "first")
    run("-P", "-m", "opwright_codegen.cli", "generate", cwd=folder)
    return folder


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_files_of_the_first_example(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = dict(re.findall(r"```[a-z ]*\n# (\w+\.\w+)\n(.*?)```", text, flags=re.DOTALL))
    assert {"ops.yaml", "derivatives.yaml"} <= shown.keys()
    for name, lines in shown.items():
        written = (ROOT / "examples" / "first" / name).read_text(encoding="utf-8")
        assert re.sub(r" *#.*", "", lines).split() == written.split() or "quickstart" in lines


@pytest.mark.once  # three programs
def test_the_first_page_of_the_site(first: Path, tmp_path: Path) -> None:
    """Its lines give what their comments say, and its mistakes the messages that are there."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"```python excerpt\n(.*?)```", page, flags=re.DOTALL))
    results = re.compile(r"^( *)(\S.*?)(?:  |\n)# (.*)$", re.MULTILINE)
    said = [found[3] for found in results.finditer(code)]
    assert run("-c", results.sub(r"\1print(\2)", code), cwd=first).splitlines() == said and len(said) == 3
    wrong = "from first_ops import ops\nimport numpy as np\ntry:\n    ops.soft_threshold(np.ones(3), limit='a')\n"
    wrong += "except TypeError as error:\n    print(f'{type(error).__name__}: {error}')"
    assert run("-c", wrong, cwd=first) in page
    folder = copy_example("first", tmp_path / "first")
    (folder / "ops.yaml").write_text((folder / "ops.yaml").read_text().replace("like", "lik"), encoding="utf-8")
    done = run_python("-P", "-m", "opwright_codegen.cli", "check", cwd=folder)
    assert done.stderr.partition("\n\n")[0] in page


@pytest.mark.parametrize("framework", ["np", "torch", "jax", "dask"])
def test_the_readmes_first_example(framework: str, first: Path) -> None:
    """Each framework's lines run as they stand there, and give what NumPy gives."""
    if framework != "np":
        pytest.importorskip(framework)
    numpy, *rest = re.split(r"\n\n(?=import )", readme_blocks("python excerpt")[0])
    imports, values = numpy.split("\n\n")
    asked = {"np": values, **{re.findall(r"import (\w+)", part)[0]: part for part in rest}}
    lines = asked[framework].strip().splitlines()
    code = "\n".join([imports, *lines[:-1], f"print(np.asarray({lines[-1].partition('  #')[0]}).tolist())"])
    expected = {"np": [-0.5, 0.0, 1.5], "dask": [0.5] * 10}.get(framework, [1.0, 0.0, 1.0])
    assert run("-c", code, cwd=first).strip().endswith(str(expected))


def test_the_frameworks_stand_in_the_first_screen() -> None:
    screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    for word in ("import torch", "import jax", "import dask", "NumPy, C or CUDA"):
        assert any(word in line for line in screen), word


def test_the_schema_of_the_readme_is_that_of_the_quickstart() -> None:
    shown = next(block for block in readme_blocks("yaml") if "quickstart::" in block)
    without_comments = re.sub(r" *#.*", "", shown).split()
    assert without_comments == re.sub(r"#.*", "", (QUICKSTART / "ops.yaml").read_text(encoding="utf-8")).split()


def test_the_quickstart_of_the_readme(tmp_path: Path) -> None:
    # -P: like the installed command, which does not look for modules in the current folder.
    package = tmp_path / "quickstart_ops"
    run("-P", "-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", str(package), cwd=QUICKSTART)
    code = next(block for block in readme_blocks("sh") if "quickstart_ops import" in block)
    python = re.search(r'python -c "\n(.*)"', code, flags=re.DOTALL)
    assert python is not None
    printed = run(
        "-c", python[1], cwd=QUICKSTART, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    )
    assert printed.split() == ["[", "5.", "13.]", "[[0.6", "0.8]", "[0.3", "0.4]]"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")
def test_what_the_steps_of_examples_leave_is_ignored() -> None:
    """Nothing that a page says to generate stays in `git status`, where tests and commits would find it."""
    left = [ROOT / "demo_ops" / "Makefile", QUICKSTART / "quickstart_ops" / "register.py"]
    for path in ROOT.glob("examples/*/pyproject.toml"):
        settings = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("opwright", {})
        if "output" in settings:
            output = path.parent / settings["output"]
            left += [
                output / "register.py",
                *(output.with_name(f"{output.name}_{name}.py") for name in settings.get("bindings", ())),
            ]
    done = subprocess.run(
        ["git", "check-ignore", *map(str, left)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert len(left) > 7 and done.stdout.split() == [str(path) for path in left]


@pytest.mark.once  # it reads files
def test_examples_are_in_canonical_form_without_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who copies an example, or begins with `opwright new`, has files that `fmt` leaves as they are, and that `lint`
    finds nothing in."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "fresh"]) == 0
    settings = [tmp_path / "fresh" / "pyproject.toml", *sorted(ROOT.glob("examples/*/pyproject.toml"))]
    folders: dict[Path, list[str]] = {path.parent: [] for path in settings if "[tool.opwright]" in path.read_text()}
    folders |= {path.parent: [path.name] for path in ROOT.glob("examples/*/ops.yaml") if path.parent not in folders}
    for folder, files in folders.items():
        monkeypatch.chdir(folder)
        for command in (["fmt", "--check"], ["lint"]):
            status = main([*command, *files])
            assert status == 0, f"{folder.name}: opwright {' '.join(command)}: {capsys.readouterr()}"
    assert len(folders) > 8


def test_examples_are_copied_without_what_was_left_there() -> None:
    """Who tried an example has generated packages in it, which a test must not find: `copying.py` leaves them out."""
    found = []
    for page in (ROOT / "tests").rglob("test_*.py"):
        text = page.read_text(encoding="utf-8")
        for copied in re.findall(r"copytree\(\s*(?:ROOT / \"examples\"|EXAMPLES?[,. ])[^\n]*", text):
            if not re.search("ignore=|csrc", copied):
                found.append(f"{page.name}: {copied}")
    assert found == []


def test_the_demo() -> None:
    printed = run(str(ROOT / "examples" / "demo.py"), cwd=ROOT)
    for expected in (
        'kernel("TT", np.hypot',
        "array([ 5., 13.], dtype=float32)",
        "wrong.yaml:1:37: error",
        "ArgumentError",
    ):
        assert expected in printed


@pytest.mark.parametrize("name, most", [("train_classifier", 0.05), ("train_transformer", 0.02)])
def test_the_loss_falls(name: str, most: float) -> None:
    printed = run(str(ROOT / "examples" / f"{name}.py"), cwd=ROOT)
    losses = [float(found) for found in re.findall(r"loss ([0-9.]+)", printed)]
    assert len(losses) == 10 and losses[0] > 5 * losses[-1] and losses[-1] < most
    assert "100.0% right" in printed


def test_the_fake_transformer_takes_no_memory() -> None:
    printed = run(str(ROOT / "examples" / "fake_transformer.py"), cwd=ROOT)
    assert "(1024, 512, 50257) float32 on cuda" in printed
    memory = re.search(r"memory for all of it: ([0-9.]+) MB", printed)
    assert memory is not None and float(memory[1]) < 20


def test_gradients_of_each_sample() -> None:
    printed = run(str(ROOT / "examples" / "per_sample_gradients.py"), cwd=ROOT)
    assert "'weight1': (64, 16, 4)" in printed
    apart = re.search(r"at most (\S+) apart", printed)
    assert apart is not None and float(apart[1]) < 1e-4
    losses = [float(found) for found in re.findall(r"loss ([0-9.]+)", printed)]
    assert len(losses) == 3 and losses[-1] < losses[0]


@pytest.mark.once  # C of a project
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_fused_operators_train_as_composed_ones(tmp_path: Path) -> None:
    """The project is built, its own tests pass, and the losses agree, which it sees to itself."""
    folder = tmp_path / "fused"
    copy_example("fused", folder)
    run("-m", "opwright_codegen.cli", "build", cwd=folder, CFLAGS="-Wall -Wextra -Werror")
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
    printed = run("train.py", "4", cwd=folder)
    losses = [float(found) for found in re.findall(r"loss fused ([0-9.]+)", printed)]
    assert len(losses) == 4 and losses[-1] < losses[0]
    assert len(re.findall(r"ratio [0-9.]+", printed)) == 4


def test_a_folder_called_opwright_hides_nothing(tmp_path: Path) -> None:
    """The folder of a clone has this name, and scripts stand beside it; `make` sees to it."""
    (tmp_path / "opwright").mkdir()
    script = tmp_path / "script.py"
    script.write_text("import opwright; print(opwright.ones(2) + 1)", encoding="utf-8")
    assert run(str(script), cwd=tmp_path) == "tensor([2., 2.])\n"
