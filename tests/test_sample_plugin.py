"""The sample plug-in, installed by pip into a fresh environment, and the calls its README prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=_environment(), capture_output=True, text=True, check=False
    )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OPWRIGHT_PLUGINS")}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the plug-in, beside what this one has."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    made = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    # Opwright itself is the one under test, wherever this interpreter finds it.
    lines = [path for path in sys.path if Path(path).is_dir()]
    lines += [f"import site; site.addsitedir({path!r})" for path in lines if Path(path).name == "site-packages"]
    (packages / "beside.pth").write_text("\n".join(lines), encoding="utf-8")
    source = tmp_path_factory.mktemp("source")
    for path in PLUGIN.rglob("*"):  # a copy, since building leaves files behind
        if path.is_file() and path.suffix in (".py", ".toml", ".md"):
            (source / path.relative_to(PLUGIN)).parent.mkdir(exist_ok=True)
            (source / path.relative_to(PLUGIN)).write_bytes(path.read_bytes())
    builds = "from setuptools.command import bdist_wheel"  # older ones need another distribution for it
    isolation = ["--no-build-isolation"] if run(made, "-c", builds, cwd=folder).returncode == 0 else []
    pip = sys.executable, "-m", "pip", "--python", made
    done = run(*pip, "install", "--no-deps", "--disable-pip-version-check", *isolation, source, cwd=folder)
    if done.returncode and (cause := re.search("No module named pip|.*No matching distribution.*", done.stderr)):
        pytest.skip(f"pip cannot install here: {cause[0]}")
    assert done.returncode == 0, done.stderr
    return made


def test_the_readme_shows_what_happens(python: Path, tmp_path: Path) -> None:
    """Every `>>>` block of the README, in a process without the sources."""
    readme = tmp_path / "README.md"
    readme.write_text((PLUGIN / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    done = run(python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", readme, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ">>> opwright.plugins.loaded()" in readme.read_text(encoding="utf-8")


def test_it_comes_from_the_installed_distribution(python: Path, tmp_path: Path) -> None:
    code = (
        "import opwright; opwright.ones(1); import opwright_sample.fast as fast\n"
        "print('site-packages' in fast.__file__, *[p.distribution for p in opwright.plugins.loaded()])\n"
        "opwright.dispatch.dump('aten::logaddexp')"
    )
    done = run(python, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True opwright-sample opwright-sample opwright-sample\n")
    assert re.search(r"\nCPU: registered at .*opwright_sample/fast\.py:\d+ \[kernel\]", done.stdout)
