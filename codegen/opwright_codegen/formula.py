"""The formula language of `meta`, inline kernels and derivatives: text → formula → resolved formula → Python text."""

from opwright_codegen.formula_ast import Formula, Kind, Reference, children, rewrite, walk
from opwright_codegen.formula_emit import Spelling, emit, safe_name, with_out
from opwright_codegen.formula_parser import parse
from opwright_codegen.formula_resolve import Scope, Use, resolve, uses

__all__ = [
    "Formula", "Kind", "Reference", "Scope", "Spelling", "Use", "children", "emit", "parse", "resolve", "rewrite",
    "safe_name", "uses", "walk", "with_out",
]  # fmt: skip
