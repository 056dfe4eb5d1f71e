"""Places of gradient formulas: lines of derivatives.yaml, looked for when an error asks for one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["formula_place"]


def formula_place(operator: Operator, argument: str) -> str:
    """Return `file:line` of the formula for an argument, "" if no file of derivatives has one.

    The search covers the YAML files in the schema file's folder. That path is relative to the project, so a program
    in another folder finds nothing.
    """
    folder = Path(operator.where or "").parent
    name = re.escape(operator.name.partition("::")[2].removesuffix(".default"))
    entry = re.compile(rf"""- +name: *["']?(?:\w+::)?{name}\(""")
    key = re.compile(rf"""[ -]+["']?(?:[\w ]+, *)*{re.escape(argument)}(?:, *[\w ]+)*["']?:""")
    for path in sorted(folder.glob("*.yaml")) if operator.where else ():
        is_inside = False
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if line.startswith("- "):
                is_inside = entry.match(line) is not None
            elif is_inside and key.match(line):
                return f"{path.as_posix()}:{number}"
    return ""
