"""The generator."""

import re
from importlib.util import find_spec
from pathlib import Path

__all__ = ["VERSION", "core_folder", "data_folder"]


def core_folder() -> Path:
    """Return the folder of `opwright_core`, which has rules and headers to read, without importing it."""
    spec = find_spec("opwright_core")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(
            "opwright: opwright_core is not installed, and the generator reads it: pip install opwright-core"
        )
    return Path(spec.submodule_search_locations[0])


def data_folder(name: str) -> Path:
    """Return the folder `schemas` or `templates`: beside this file if installed, else at the top of the clone."""
    own = Path(__file__).parent / name
    return own if own.is_dir() else Path(__file__).resolve().parents[2] / name


# All distributions of a tree have the core's version.
VERSION = re.findall(r'^__version__ = "(.+?)"', (core_folder() / "__init__.py").read_text("utf-8"), re.MULTILINE)[0]
