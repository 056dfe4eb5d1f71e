"""Graphs that strangers made, read by `from_json` and called: they reach no file, process or import.

`fuzzed_files.py COUNT SEED graphs` runs as many as one likes.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from pathlib import Path
from typing import Any, Final

import opwright
from opwright.fx import JSONFormatError, from_json, make_fx
from opwright.fx.json_allowed import FUNCTIONS

sys.path.append(str(Path(__file__).parents[2]))  # a program of its own
from lazy_modules import load_what_is_lazy

TARGETS: Final = [
    *FUNCTIONS, "operator.attrgetter", "operator.methodcaller", "operator.call", "os.system", "builtins.eval",
    *[f"aten::{name}" for name in (
        "add.Tensor", "mul.Tensor", "sum", "cat", "index.Tensor", "as_strided", "view", "reshape", "gather", "t",
        "copy_", "resize_", "zeros", "_to_copy", "transpose.int", "matmul", "softmax.int", "sort", "expand", "to.dtype",
    )],
]  # fmt: skip
NAMES: Final = (
    "x", "y", "self", "w", "__class__", "forward", "numpy", "tofile", "sum", "to", "view", "item", "tolist", "backward",
    "__globals__", "size", "opwright", "register_hook", "apply_", "map_", "a b", "system", "add_", "set_", "x.y", "*a",
    "copy_", "__reduce_ex__", "data_ptr", "share_memory_", "storage", "array", "open", "__builtins__", "mul", "t", "ﬁ",
)  # fmt: skip
NUMBERS: Final[list[Any]] = [
    0, 1, -1, 2, 3, 8, 64, 2**31, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), 2**200, None, True, False, 0.5, 1e308,
    float("nan"),
]  # fmt: skip


def text(draw: random.Random) -> str:
    """Return a graph in JSON: mostly one that is read, of calls of anything on anything."""
    names = ["x", "y"]
    nodes: list[Any] = [{"name": name, "op": "placeholder", "target": name} for name in names]

    def argument(depth: int = 0) -> Any:
        kind = draw.randrange(12 if depth < 2 else 8)
        if kind < 5:
            return {"node": draw.choice(names)}
        if kind < 8:
            return draw.choice(
                [0, 1, -1, 2, 0.5, None, True, "sum", "backward.__globals__", "/etc/passwd", 10**400, "f"]
            )
        if kind == 8:
            return [argument(depth + 1) for _ in range(draw.randrange(3))]
        if kind == 9:
            return {"tuple": [argument(depth + 1) for _ in range(draw.randrange(3))]}
        if kind == 10:
            return draw.choice([{"dtype": "float32"}, {"device": "cpu"}, {"slice": [0, 1, None]}, {"ellipsis": True}])
        return {"dict": [[draw.choice(["a", 1]), argument(depth + 1)]]}

    for number in range(draw.randrange(1, 6)):
        op = draw.choice(("call_function", "call_function", "call_function", "call_method", "get_attr"))
        if draw.randrange(60) == 0:
            op = draw.choice(("call_module", "placeholder", "output"))
        odd = draw.randrange(8) == 0
        methods = NAMES if odd else ("sum", "to", "view", "item", "tolist", "size", "copy_", "mul", "t")
        target = draw.choice(TARGETS if odd else TARGETS[: len(FUNCTIONS)] + TARGETS[len(FUNCTIONS) + 5 :])
        record: dict[str, Any] = {"name": f"n{number}", "op": op, "target": target}
        if op == "call_method":
            record["target"] = draw.choice(methods)
        elif op != "call_function":
            record["target"] = draw.choice(NAMES) if odd else "w"
        if op not in ("get_attr", "placeholder"):
            record["args"] = [argument() for _ in range(draw.randrange(4))] or [{"node": "x"}]
        if draw.randrange(20) == 0:
            record["kwargs"] = {draw.choice(("dim", "key", "out", "dtype", "self")): argument()}
        nodes.append(record)
        names.append(f"n{number}")
    nodes.append({"name": "output", "op": "output", "target": "output", "args": [[{"node": name} for name in names]]})
    constants: dict[str, Any] = {
        "w": {"tensor": {"dtype": "float32", "shape": [1], "device": "cpu", "data": "AACAPw=="}}
    }
    if draw.randrange(20) == 0:
        constants[draw.choice(NAMES)] = argument()
    return json.dumps({"format": "opwright.fx", "version": 1, "nodes": nodes, "constants": constants})


reached: list[str] = []
_is_watched = False
# Modules that are loaded when they are first needed, and their files (marshal reads them): the program's own.
_OWN: Final = {
    "opwright", "opwright_aten", "opwright_kernels", "numpy", "ml_dtypes", "warnings", "linecache", "tokenize", "re",
    "encodings", "contextlib", "statistics", "fractions", "decimal", "numbers",
}  # fmt: skip


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _is_watched:
        return
    module = str(args[0]).partition(".")[0] if event == "import" else ""
    if module in _OWN or module.startswith("_") or event == "os.listdir":  # (imports list folders)
        return
    if event == "open" and args[1] in ("r", "rb") and str(args[0]).endswith((".py", ".pyc", ".so")):
        return
    if event in ("import", "open") or event.partition(".")[0] in _WATCHED:
        reached.append(f"{event} {args!r:.200}")


_WATCHED: Final = (
    "os", "subprocess", "socket", "shutil", "ctypes", "pty", "urllib", "webbrowser", "tempfile", "glob", "ftplib",
    "http", "mmap", "sqlite3", "pickle", "cpython", "signal", "fcntl", "syslog",
)  # fmt: skip


def call(source: str) -> str:
    """Read a graph, and call it; return what came of it. Raise AssertionError where it reached anything."""
    global _is_watched
    try:
        graph = from_json(source)
    except JSONFormatError:
        return "refused"
    _is_watched = True
    try:
        graph(opwright.ones(2, 3), opwright.tensor([0, 1]))
        came = "called"
    except Exception:
        came = "called, and raised"
    finally:
        _is_watched = False
    assert not reached, (reached, source)
    return came


def watch() -> None:
    """Begin to watch what graphs reach. (A hook stays as long as the process.)"""
    load_what_is_lazy()
    sys.addaudithook(_hook)


def mutated(draw: random.Random, texts: list[str]) -> str:
    """Return a graph's text with a part exchanged for another one."""
    whole = json.loads(draw.choice(texts))
    places: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            collect(value[key])

    collect(whole)
    holder, key = draw.choice(places)
    other, another = draw.choice(places)
    holder[key] = draw.choice((copy.deepcopy(other[another]), draw.choice(NAMES), draw.choice(NUMBERS), {}, []))
    return json.dumps(whole)


def valid_graphs() -> list[str]:
    """Return graphs as `to_json` writes them."""

    def function(d: Any, n: int) -> Any:
        y = d["x"].view(n, -1).to(opwright.float64) * opwright.tensor([2.0, 3.0])
        return {"a": y.clamp(min=0.0), "b": (y[1:].sum(0), None)}

    traced = make_fx(function, tracing_mode="symbolic")({"x": opwright.ones(8)}, 4)
    return [
        traced.to_json(),
        make_fx(lambda x, y: x @ x.t() + y.sum())(opwright.ones(2, 3), opwright.ones(2)).to_json(),
    ]
