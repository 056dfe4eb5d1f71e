"""The build of `opwright`. What does not depend on the machine is in pyproject.toml."""

import sys
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "runtime"))
from opwright_build import COMMANDS, CORE, RUNTIME, VERSION, extension, options  # noqa: E402

KERNELS = RUNTIME / "opwright_kernels"
# The modules whose tables of numbers kernels in C use, too.
TABLES = ("airy", "bessel", "bessel_jy", "gamma", "incomplete_gamma", "special")


def needs() -> list[str]:
    """Return what the library needs. In a clone, these are its neighbours, since no index has them, and the extras that
    the README uses: docs/adr/distributions.md."""
    if not (RUNTIME / "pyproject.toml").exists():  # a source distribution
        return [f"opwright-core=={VERSION}"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    folders = {"opwright-core": RUNTIME, "opwright-codegen[cli]": ROOT / "codegen"}
    return [*(f"{name} @ {folder.as_uri()}" for name, folder in folders.items()), *extras["symbolic"]]


setup(
    version=VERSION,
    install_requires=needs(),
    ext_modules=[
        extension(
            "opwright_kernels._native",
            [*KERNELS.glob("native/*.c"), CORE / "fast" / "plain_arrays.c"],
            [KERNELS / "special_functions" / f"{name}.py" for name in TABLES],
        )
    ],
    cmdclass=COMMANDS,
    options=options(),
)
