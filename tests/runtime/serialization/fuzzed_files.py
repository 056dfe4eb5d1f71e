"""Files that strangers made, read: `fuzzed_files.py COUNT SEED [pickles | crafted | graphs]`.

Each time the answer is a value or an error of ours. Under sanitizers (`fast/README.md`) every access beyond an
array shows. The graphs are those of `fuzzed_graphs.py`.
"""

from __future__ import annotations

import gc
import io
import pickle
import random
import struct
import sys
import warnings
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

import fuzzed_graphs
import numpy as np

import opwright
from opwright.serialization.rebuilding import NAMES
from opwright_core.arrays.storage import Storage

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
    ("opwright.methods.pickling", "_instance"), ("opwright_core.arrays.storage", "Storage"),
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
    *fuzzed_graphs.NUMBERS, "", "cpu", "meta", "cuda", "f4", "O", "V8", "b1", "U3", "i8", "latin1", "C", "F", "K", "<",
    ">", "|", "strided", b"", b"A", b"A" * 8, b"\x02" * 16, b"\0" * 64, "array", "__class__", "__dict__",
    bytearray(b"A" * 24),
]  # fmt: skip


def drawn_call(draw: random.Random) -> Any:
    """Return a call of one of the functions that rebuild, with arguments near those that it takes."""
    from numpy._core.multiarray import _reconstruct, scalar  # type: ignore[attr-defined]

    from opwright.methods import pickling
    from opwright_core.arrays import storage

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


def cases(kind: str, draw: random.Random) -> Iterator[Callable[[], str]]:
    """Yield cases of a kind, without an end; called, each says what came of it."""
    match kind:
        case "pickles":
            files = valid_files()
            while True:
                yield partial(load, mutated(draw, files))
        case "crafted":
            while True:
                yield partial(load, Writer(draw).file())
        case _:
            graphs = fuzzed_graphs.valid_graphs()
            while True:
                text = fuzzed_graphs.text(draw) if draw.randrange(8) else fuzzed_graphs.mutated(draw, graphs)
                yield partial(fuzzed_graphs.call, text)


def run(kind: str, count: int, seed: int) -> Counter[str]:
    """Run cases of a kind; return how often what came of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Counter(case() for case in islice(cases(kind, random.Random(f"{kind} {seed}")), count))


if __name__ == "__main__":
    total, first = int(sys.argv[1]), int(sys.argv[2])
    fuzzed_graphs.watch()
    for kind in sys.argv[3:] or ("pickles", "crafted", "graphs"):
        print(kind, dict(run(kind, total, first)), flush=True)
    gc.collect()
    print("done")
