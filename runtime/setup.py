"""The build of `opwright-core`. What does not depend on the machine is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent))
from opwright_build import COMMANDS, CORE, extension, options

setup(
    ext_modules=[extension("opwright_core._fast", [*CORE.glob("fast/**/*.c")])],
    cmdclass=COMMANDS,
    options=options(),
)
