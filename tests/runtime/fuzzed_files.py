"""Files that strangers made, read: `fuzzed_files.py COUNT SEED [pickles | crafted | graphs]`.

Each time the answer is a value or an error of ours; a graph that is read is called, and reaches no file, process or
import. Under sanitizers (`runtime/fast/README.md`) every access beyond an array shows.
"""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import random
import struct
import sys
import warnings
from collections import Counter, OrderedDict, defaultdict
from typing import Any, Final

import numpy as np

import opwright
from opwright.arrays.storage import Storage
from opwright.fx import JSONFormatError, from_json, make_fx
from opwright.fx.json_allowed import FUNCTIONS
from opwright.serialization.rebuilding import NAMES

PLAIN: Final = (
    type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, type, np.generic, np.dtype, np.ndarray,
    opwright.Tensor, opwright.Size, opwright.device, type(opwright.strided), type(opwright.contiguous_format),
    opwright.Generator, Storage,
)  # fmt: skip


def valid_files() -> list[bytes]:
    """Return files of `save`, of every protocol."""
    x = opwright.arange(6.0).reshape(2, 3)
    state = OrderedDict(
        x=x, row=x[1], t=x.t(), n=3, rates=(0.1, None, 1j), names=["a", b"b"], kinds={1, 2}, by=opwright.float32,
        on=opwright.device("cpu"), array=np.ones((2, 2), "F"), text=np.array(["ab", "c"]), bits=opwright.tensor([True]),
        half=opwright.ones(2, dtype=opwright.bfloat16), scalar=np.float32(2), size=opwright.Size([1, 2]),
        many=defaultdict(list, {1: [2]}), form=opwright.channels_last, part=slice(1, 2), count=range(3),
        big=np.arange(3, dtype=">i4"), empty=opwright.zeros(0, 3), grad=opwright.ones(2, requires_grad=True),
    )  # fmt: skip
    small = [x, {"bits": opwright.tensor([True, False])}, np.array(["a"])]
    return [pickle.dumps(value, protocol) for protocol in range(6) for value in (state, *small)]


def mutated(draw: random.Random, files: list[bytes]) -> bytes:
    """Return a file with a few bytes exchanged, cut, doubled, or taken from another file."""
    data = bytearray(draw.choice(files))
    for _ in range(draw.choice((1, 1, 1, 1, 1, 2, 4))):
        place, kind = draw.randrange(len(data) + 1), draw.randrange(8)
        length = draw.choice((1, 1, 2, 4, 8, 30))
        if kind < 3 and place < len(data):
            data[place] = draw.randrange(256)
        elif kind == 3:
            del data[place : place + length]
        elif kind == 4:
            other = draw.choice(files)
            start = draw.randrange(len(other))
            data[place : place + length * draw.randrange(2)] = other[start : start + length]
        elif kind == 5:
            data[place:place] = draw.choice(OPCODES)
        elif kind == 6:
            data[place : place + 4] = struct.pack("<I", draw.choice((0, 1, 2**16, 2**31, 2**32 - 1)))
        else:
            data[place:place] = data[place : place + length]
        if not data:
            data += b"."
    return bytes(data)


OPCODES: Final = [
    value for name, value in vars(pickle).items() if name.isupper() and isinstance(value, bytes) and len(value) == 1
]
STRANGE: Final = (
    ("os", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("numpy", "load"), ("numpy", "memmap"),
    ("numpy._core.multiarray", "fromfile"), ("opwright.serialization", "load"), ("operator", "attrgetter"),
    ("opwright", "Tensor"), ("numpy", "void"), ("codecs", "encode"), ("functools", "partial"),
    ("opwright.methods.pickling", "_instance"), ("opwright.arrays.storage", "Storage"),
)  # fmt: skip


class Writer:
    """A writer of pickles that no pickler writes: names called with any arguments, states given to anything."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.memo = 0

    def file(self) -> bytes:
        """Return a whole file."""
        values = b"".join(self.value(0) for _ in range(self.draw.randrange(1, 4)))
        return b"\x80\x04(" + values + b"l."

    def value(self, depth: int) -> bytes:
        """Return opcodes that push one value."""
        draw = self.draw
        kind = draw.randrange(14 if depth < 5 else 5)
        if kind < 5:
            return pickle.dumps(self.leaf(), 4)[2:-1] if kind < 4 else self.name()
        if kind < 8:
            return b"(" + b"".join(self.value(depth + 1) for _ in range(draw.randrange(7))) + b"t"
        if kind < 11:
            return self.call(depth)
        if kind == 11:
            return self.value(depth + 1) + self.value(depth + 1) + draw.choice((b"b", b"a", b"R", b"\x81", b"0"))
        if kind == 12:
            pair = self.value(depth + 1) + self.value(depth + 1)
            return self.value(depth + 1) + (b"(" + pair + draw.choice((b"u", b"e", b"\x90")))
        number = draw.randrange(8)
        return b"h" + bytes([number]) if draw.randrange(2) else self.value(depth + 1) + b"q" + bytes([number])

    def name(self) -> bytes:
        """Return opcodes that push what a name stands for."""
        module, name = self.draw.choice(STRANGE) if self.draw.randrange(12) == 0 else self.draw.choice(list(NAMES))
        return f"c{module}\n{name}\n".encode()

    def call(self, depth: int) -> bytes:
        """Return opcodes that call a function as a pickler would, almost."""
        draw, made = self.draw, drawn_call(self.draw)
        if made is None:
            return self.name() + self.value(depth + 1) + b"R"
        data = pickle.dumps(made, draw.choice((2, 4)))[2:-1]
        return data if draw.randrange(3) else mutated(draw, [data])

    def leaf(self) -> Any:
        """Return a plain value, often an odd one."""
        return self.draw.choice(LEAVES)


class Call:
    """An object that pickles as the call of a function."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.reduced = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> Any:
        return self.reduced


LEAVES: Final[list[Any]] = [
    0, 1, -1, 2, 3, 8, 64, 2**31, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), 2**200, None, True, False, 0.5, 1e308,
    float("nan"), "", "cpu", "meta", "cuda", "f4", "O", "V8", "b1", "U3", "i8", "latin1", "C", "F", "K", "<", ">", "|",
    "strided", b"", b"A", b"A" * 8, b"\x02" * 16, b"\0" * 64, "array", "__class__", "__dict__", bytearray(b"A" * 24),
]  # fmt: skip


def drawn_call(draw: random.Random) -> Any:
    """Return a call of one of the functions that rebuild, with arguments near those that it takes."""
    from numpy._core.multiarray import _reconstruct, scalar  # type: ignore[attr-defined]

    from opwright.arrays import storage
    from opwright.methods import pickling

    def number() -> Any:
        return draw.choice((0, 1, 2, 3, 4, 8, 2**31, 2**62, 2**63, -1, None, True))

    def sizes() -> Any:
        return tuple(number() if draw.randrange(4) == 0 else draw.randrange(4) for _ in range(draw.randrange(4)))

    def dtype() -> Any:
        code = draw.choice(("f4", "f8", "i8", "b1", "c16", "u1", "U2", "S3", "O", "V4", "M8[s]", "f4,O", "f2", "i4"))
        if draw.randrange(2):
            return np.dtype(code)
        flags, order = draw.choice((0, 0, 8, 63, 255)), draw.choice("<>|=")
        fields = draw.choice((None, None, {"a": (np.dtype("O"), 0)}))
        return Call(np.dtype, code, False, True, state=(3, order, None, None, fields, number(), number(), flags))

    def array() -> Any:
        data = bytes(draw.choices((0, 1, 2, 255), k=draw.choice((0, 4, 8, 16, 24, 48))))
        if draw.randrange(2):
            return np.frombuffer(data[: len(data) // 8 * 8], draw.choice(("f4", "f8", "u1", "i8"))).copy()
        return Call(_reconstruct, np.ndarray, (0,), b"b", state=(1, sizes(), dtype(), draw.random() < 0.5, data))

    def memory() -> Any:
        return Call(storage._restore, draw.choice(("cpu", "cpu", "cpu", "meta", 3)), None, array(), True)

    grad = draw.random() < 0.2
    match draw.randrange(6):
        case 0 | 1:
            return Call(pickling._over_storage, memory(), sizes(), sizes(), number(), dtype(), grad)
        case 2:
            return array()
        case 3:
            return Call(pickling._from_numpy, draw.choice(("cpu", "meta")), None, array(), grad)
        case 4:
            return Call(scalar, dtype(), bytes(draw.choices((0, 1, 255), k=draw.choice((1, 2, 4, 8, 16)))))
    return None


def look_at(value: Any) -> None:
    """Read all that a loaded value holds; raise AssertionError for what no file may hold."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if type(part) in (list, tuple, set, frozenset):
            waiting += part
        elif type(part) in (dict, OrderedDict, defaultdict):
            waiting += [*part, *part.values()]
        elif type(part) is opwright.Tensor:
            assert type(part.array) is np.ndarray or part.is_meta, type(part.array)
            read(part.array)
        elif type(part) is np.ndarray:
            read(part)
        else:
            assert isinstance(part, PLAIN) or part in NAMES.values(), type(part)


def read(array: Any) -> None:
    """Read every element of an array, and write those that may be written, where there are few."""
    if isinstance(array, np.ndarray) and array.size < 10_000:
        assert not array.dtype.hasobject and array.dtype.fields is None
        repr(array)
        kept = array.copy()
        if array.flags.writeable:
            array[...] = kept


def load(data: bytes) -> str:
    """Read a file; return what came of it. Raise what is no error of ours."""
    try:
        found = opwright.load(io.BytesIO(data))
    except (pickle.UnpicklingError, opwright.errors.DispatchError):
        return "refused"
    look_at(found)
    return "read"


# Graphs.
TARGETS: Final = [
    *FUNCTIONS, "operator.attrgetter", "operator.methodcaller", "operator.call", "os.system", "builtins.eval",
    *[f"aten::{name}" for name in (
        "add.Tensor", "mul.Tensor", "sum", "cat", "index.Tensor", "as_strided", "view", "reshape", "gather", "t",
        "copy_", "resize_", "zeros", "_to_copy", "transpose.int", "matmul", "softmax.int", "sort", "expand", "to.dtype",
    )],
]  # fmt: skip
NAMES_OF_GRAPHS: Final = (
    "x", "y", "self", "w", "__class__", "forward", "numpy", "tofile", "sum", "to", "view", "item", "tolist", "backward",
    "__globals__", "size", "opwright", "register_hook", "apply_", "map_", "a b", "system", "add_", "set_", "x.y", "*a",
    "copy_", "__reduce_ex__", "data_ptr", "share_memory_", "storage", "array", "open", "__builtins__", "mul", "t", "ﬁ",
)  # fmt: skip


def graph_text(draw: random.Random) -> str:
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
        methods = NAMES_OF_GRAPHS if odd else ("sum", "to", "view", "item", "tolist", "size", "copy_", "mul", "t")
        target = draw.choice(TARGETS if odd else TARGETS[: len(FUNCTIONS)] + TARGETS[len(FUNCTIONS) + 5 :])
        record: dict[str, Any] = {"name": f"n{number}", "op": op, "target": target}
        if op == "call_method":
            record["target"] = draw.choice(methods)
        elif op != "call_function":
            record["target"] = draw.choice(NAMES_OF_GRAPHS) if odd else "w"
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
        constants[draw.choice(NAMES_OF_GRAPHS)] = argument()
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


def call(text: str) -> str:
    """Read a graph, and call it; return what came of it. Raise AssertionError where it reached anything."""
    global _is_watched
    try:
        graph = from_json(text)
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
    assert not reached, (reached, text)
    return came


def watched() -> None:
    """Begin to watch what graphs reach. (A hook stays as long as the process.)"""
    sys.addaudithook(_hook)


def mutated_graph(draw: random.Random, texts: list[str]) -> str:
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
    holder[key] = draw.choice(
        (copy.deepcopy(other[another]), draw.choice(NAMES_OF_GRAPHS), draw.choice(LEAVES[:20]), {}, [])
    )
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


def run(kind: str, count: int, seed: int) -> Counter[str]:
    """Run cases of a kind; return how often what came of them."""
    draw = random.Random(f"{kind} {seed}")
    files, graphs = valid_files(), valid_graphs()
    found: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            if kind == "pickles":
                found[load(mutated(draw, files))] += 1
            elif kind == "crafted":
                found[load(Writer(draw).file())] += 1
            else:
                found[call(graph_text(draw) if draw.randrange(8) else mutated_graph(draw, graphs))] += 1
    return found


if __name__ == "__main__":
    total, first = int(sys.argv[1]), int(sys.argv[2])
    watched()
    for kind in sys.argv[3:] or ("pickles", "crafted", "graphs"):
        print(kind, dict(run(kind, total, first)), flush=True)
    gc.collect()
    print("done")
