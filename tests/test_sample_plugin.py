"""The sample plug-in, installed by pip into a fresh environment, and the calls its README prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from installing import copied, environment, install, run

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"
pytestmark = pytest.mark.once  # an installation


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the plug-in, beside what this one has."""
    made = environment(tmp_path_factory.mktemp("environment"))
    install(made, copied(PLUGIN, tmp_path_factory.mktemp("source") / "plugin"))
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
