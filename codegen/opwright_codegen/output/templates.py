"""The templates of generated files and of new projects, as Jinja reads them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

__all__ = ["environment"]


@cache
def environment() -> Environment:
    """Return what renders templates: they substitute and indent, and a name that is missing is an error."""
    folder = files("opwright_codegen.templates")
    return Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
