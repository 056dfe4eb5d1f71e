"""The templates of generated files and of new projects, as Jinja reads them. Bindings have theirs in their folders.

Note [Compiled templates]
Compiling the templates of a package takes Jinja longer than all else that a small project needs. What they are compiled
to is kept as Python keeps its own modules: in the `__pycache__` beside them, for these versions of Python and Jinja and
this very text, and nowhere if Python is told to write no bytecode. Whoever can write there can write our modules.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from functools import cache
from importlib.resources import files
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined
from jinja2.bccache import Bucket, bc_magic

from opwright_codegen import data_folder

__all__ = ["environment"]


@cache
def environment() -> Environment:
    """Return what renders templates: they substitute and indent, and a name that is missing is an error."""
    folder = data_folder("templates")
    return Environment(
        loader=FunctionLoader(_text),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_Compiled(folder),
    )


def _text(name: str) -> str:
    """Return the text of a template: `ops.py.j2`, or `PACKAGE:FILE` for a file of another package."""
    package, _, file = name.rpartition(":")
    folder = files(package) if package else data_folder("templates")
    return folder.joinpath(file).read_text(encoding="utf-8")


class _Compiled(BytecodeCache):
    """The files of compiled templates, which come and go whole: Note [Compiled templates]."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, bucket: Bucket) -> str:
        return cache_from_source(str(self._folder / f"{bucket.key}.j2.py"))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what the template was compiled to; of another text or version, it is compiled again."""
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError), open(self._path(bucket), "rb") as file:
            head, data = _head(bucket), file.read()
            if data.startswith(head):
                bucket.code = marshal.loads(data[len(head) :])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what it was compiled to, unless nobody may write there."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        own = f"{path}.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(own, "xb") as file:
                file.write(_head(bucket) + marshal.dumps(bucket.code))
            os.replace(own, path)


def _head(bucket: Bucket) -> bytes:
    """Return what a file begins with: what compiled it, and of which text."""
    return MAGIC_NUMBER + bc_magic + bucket.checksum.encode()
