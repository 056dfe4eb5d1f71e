"""The build of `opwright`. What does not depend on the machine is in pyproject.toml.

In a clone, ATen's operators are generated first: for a wheel into the folder of the build, else into `generated/`. A
source distribution contains them, and no generator.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "runtime"))
from opwright_build import COMMANDS, CORE, RUNTIME, VERSION, Wheel, extension, options  # noqa: E402

IS_CLONE = (RUNTIME / "pyproject.toml").exists()
GENERATED = ROOT / "generated"
KERNELS = RUNTIME / "opwright_kernels"
# The modules whose tables of numbers kernels in C use, too.
TABLES = ("airy", "bessel", "bessel_jy", "gamma", "incomplete_gamma", "special")


def needs() -> list[str]:
    """Return what the library needs. In a clone, these are its neighbours, since no index has them, and the extras that
    the README uses: docs/adr/0002-distributions.md."""
    if not IS_CLONE:
        return [f"opwright-core=={VERSION}"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    folders = {"opwright-core": RUNTIME, "opwright-codegen[cli]": ROOT / "codegen"}
    return [*(f"{name} @ {folder.as_uri()}" for name, folder in folders.items()), *extras["symbolic"]]


def add_operators(distribution: Distribution, folder: Path) -> None:
    """Add the package `opwright_aten` to the distribution, generated in a folder; a source distribution has it."""
    if not IS_CLONE:
        return
    made = folder / "opwright_aten"
    paths = [str(RUNTIME), str(ROOT / "codegen"), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "opwright_codegen.cli", "generate", "--output", str(made)]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)
    others = [name for name in distribution.packages or () if name.partition(".")[0] != "opwright_aten"]
    distribution.packages = [*others, *find_packages(str(folder), include=["opwright_aten*"])]
    distribution.package_dir = {**(distribution.package_dir or {}), "opwright_aten": os.path.relpath(made)}


class GeneratedWheel(Wheel):
    """The command that packs the wheel."""

    def run(self) -> None:
        """Generate into the folder of the build, then build."""
        add_operators(self.distribution, Path(self.get_finalized_command("build").build_base, "generated"))
        super().run()


class GeneratedEditable(editable_wheel):
    """The command of an editable installation."""

    def run(self) -> None:
        """Generate in place, then build."""
        add_operators(self.distribution, GENERATED)
        super().run()


class GeneratedSource(sdist):
    """The command that packs the source distribution."""

    def run(self) -> None:
        """Generate in place, then pack."""
        add_operators(self.distribution, GENERATED)
        super().run()


setup(
    version=VERSION,
    install_requires=needs(),
    ext_modules=[
        extension(
            "opwright_kernels._native",
            [*KERNELS.glob("native/*.c"), CORE / "fast" / "arrays" / "plain_arrays.c"],
            [KERNELS / "special_functions" / f"{name}.py" for name in TABLES],
        )
    ],
    cmdclass=COMMANDS | {"bdist_wheel": GeneratedWheel, "editable_wheel": GeneratedEditable, "sdist": GeneratedSource},
    options=options(),
)
