"""The build of `opwright-codegen`. Templates, schemas and the version are outside this folder, except in a source
distribution, which contains them."""

import os
import sys
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
TREE = HERE if (HERE / "templates").is_dir() else HERE.parent
sys.path.insert(0, str(TREE / "runtime"))
from opwright_build import VERSION, options  # noqa: E402

DATA = {"opwright_codegen.schemas": "schemas", "opwright_codegen.templates": "templates"}

OF_THE_BUILD = ("opwright_build.py", "opwright_core/__init__.py")  # the version


class SourceDistribution(sdist):
    """The command that packs the source distribution, with the files from outside this folder."""

    def make_release_tree(self, base_dir: str, files: Any) -> None:
        """Copy the files, those of `../templates` as `templates`."""
        outside = [file for file in files if file.startswith(os.pardir)]
        super().make_release_tree(base_dir, [file for file in files if file not in outside])
        for file in [*outside, *(os.path.relpath(TREE / "runtime" / each) for each in OF_THE_BUILD)]:
            target = Path(base_dir, file.removeprefix(f"{os.pardir}/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(file, str(target))


setup(
    version=VERSION,
    install_requires=[f"opwright-core=={VERSION}", "lark>=1.2.2", "jinja2>=3.1", "pyyaml>=6.0"],
    packages=[*find_packages(str(HERE), include=["opwright_codegen*"]), *DATA, "opwright_codegen.templates.new"],
    package_dir={name: os.path.relpath(TREE / folder) for name, folder in DATA.items()},
    cmdclass={"sdist": SourceDistribution},
    options=options(),
)
