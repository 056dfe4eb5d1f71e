"""The templates of generated files and of new projects, as Jinja reads them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["environment"]


@cache
def environment() -> Environment:
    """Return what renders templates: they substitute and indent, and a name that is missing is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # `opwright check` makes no text, and goes without

    folder = files("opwright_codegen.templates")
    return Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
