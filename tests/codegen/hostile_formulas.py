"""A program of its own: hostile formulas by a grammar; what is accepted is run, under an audit hook that tells.

`python hostile_formulas.py COUNT SEED` prints how many were tried, and how many were accepted.
"""

from __future__ import annotations

import builtins
import random
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.emit import emit
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Span, Text

sys.path.append(str(Path(__file__).parents[1]))  # a program of its own
from lazy_modules import load_what_is_lazy

SCHEMA = FunctionSchema.parse("hostile::f(Tensor self, Tensor other, str text, int n) -> Tensor")
OPERATORS = ("exp", "tofile", "dump", "numpy", "format", "set_", "__class__", "__getattribute__", "sum", "open", "data")
NAMES = ("self", "other", "text", "n", "xp", "exp", "abs", "max", "sum", "int", "float", "tuple", "range", "len")
WORDS = (
    *dir(np), *dir(np.ndarray), *dir(str), *dir(type), *dir(builtins), *dir(np.lib), *dir(np.testing), "f2py", "os",
    "system", "lib", "npyio", "format", "ctypeslib", "stride_tricks", "as_strided", "base", "ctypes", "__globals__",
    "__subclasses__", "__code__", "func_globals", "gi_frame", "f_globals", "co_consts", "__loader__", "modules",
    "\u043epen", "\uff45val", "self", "dtype", "shape",
)  # fmt: skip
TEXTS = (
    '"/tmp/opwright-hostile"',
    '"touch /tmp/opwright-hostile"',
    '"{0.__class__}"',
    '"%999d"',
    '"O"',
    '"os"',
    "'S9'",
)
ODD = (
    "lambda: 1", "[x for x in self]", "(x := 1)", 'f"{self}"', "*self", "**self", "await self", "yield self", "`id`",
    "__import__('os')", "exec('1')", "eval('1')", "open('/etc/passwd')", "globals()", "9**9**9", "1 << 9**9",
    "-9**99999",
    "9" * 400, "(" * 200, "self" + ".T" * 300, "print", "input()", "breakpoint()", "self if", "1;import os",
    "self\nother",
    "\0", "\\x41", "1_000", "0o7", "self.\u0073um()", "${HOME}", "{{ 7 * 7 }}", "{% import os %}", "#", "...",
    "self[...]",
)  # fmt: skip


class Grammar:
    """Formulas that would like to do harm, and some that would not."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def formula(self, depth: int = 0) -> str:
        draw = self._draw
        kind = draw.randrange(11) if depth < 4 else draw.randrange(3)
        match kind:
            case 0:
                return draw.choice(NAMES)
            case 1:
                return draw.choice((*TEXTS, "0", "1", "-1", "2.5", "1e300", "None", "True"))
            case 2:
                return draw.choice(ODD) if draw.random() < 0.15 else "self"
            case 3 | 4:
                return f"{self.formula(depth + 1)}.{draw.choice(WORDS)}"
            case 5 | 6:
                path = ".".join(draw.choice(WORDS) for _ in range(draw.choice((1, 1, 1, 2, 3))))
                return f"xp.{path}({self.arguments(depth)})"
            case 7:
                return f"{self.formula(depth + 1)}.{draw.choice(WORDS)}({self.arguments(depth)})"
            case 8:
                return f"{self.formula(depth + 1)}[{self.formula(depth + 1)}]"
            case 9:
                operator = draw.choice(("+", "*", "**", "%", "@", "<<", "and", "if self else", "=="))
                return f"({self.formula(depth + 1)} {operator} {self.formula(depth + 1)})"
            case _:
                return f"{draw.choice(NAMES)}({self.arguments(depth)})"

    def arguments(self, depth: int) -> str:
        draw = self._draw
        found = [self.formula(depth + 1) for _ in range(draw.randrange(3))]
        if draw.random() < 0.3:
            word = draw.choice(("out", "dtype", "axis", "mode", "like", "key", "file", "where", "buffer", "casting"))
            found.append(f"{word}={self.formula(depth + 1)}")
        return ", ".join(found)


def accepted(text: str, scope: Scope) -> str | None:
    """What becomes of a formula; None where it is refused."""
    try:
        return emit(resolve(parse(Text(text, Span(Source("ops.yaml", text), 0, len(text)))), scope))
    except SchemaError:
        return None


_FORBIDDEN = ("open", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.", "import", "compile")
_running: list[str] = []


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    if _running and event.startswith(_FORBIDDEN) and not str(arguments[0]).startswith("numpy"):
        print(f"{_running[0]!r} did {event} {arguments!r}", flush=True)
        _running.clear()


def _stop(number: int, frame: object) -> None:
    raise TimeoutError


def run(code: str, names: dict[str, Any]) -> None:
    """Evaluate what was accepted; whatever it raises, and however long it would take."""
    compiled = compile(code, "<formula>", "eval")
    signal.setitimer(signal.ITIMER_REAL, 2)
    _running.append(code)
    try:
        eval(compiled, names)
    except (Exception, MemoryError):
        pass
    finally:
        _running.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(count: int, seed: int) -> None:
    import resource

    import opwright

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    signal.signal(signal.SIGALRM, _stop)
    grammar, taken = Grammar(seed), 0
    load_what_is_lazy()
    sys.addaudithook(_tell)
    scopes = (Scope.for_kernel(SCHEMA), Scope.for_composite(SCHEMA, OPERATORS), Scope.for_meta(SCHEMA, ()))
    for _ in range(count):
        text = grammar.formula()
        for scope, make in zip(scopes, (np.ones, opwright.ones, np.ones), strict=True):
            code = accepted(text, scope)
            if code is not None:
                taken += 1
                arguments = {"self": make((2, 3)), "other": make((2, 3)), "text": "/tmp/opwright-hostile", "n": 2}
                own = {name: getattr(opwright, name, abs) for name in OPERATORS}
                run(code, {**own, **arguments, "xp": np})
    print(f"{count} formulas, {taken} accepted")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
