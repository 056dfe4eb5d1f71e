"""What anybody may have written: pickles that are crafted by hand, and a share of what `fuzzed_files.py` draws."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import fuzzed_files
import numpy as np
import pytest
from fuzzed_files import Call
from numpy._core.multiarray import _reconstruct, scalar  # type: ignore[attr-defined]
from numpy._core.numeric import _frombuffer

import opwright
from opwright.methods import pickling
from opwright.torch_names import parameters
from opwright_core.arrays import storage
from opwright_core.random_state import generator

ONE = np.ones(1, np.float32)
FLOAT = ONE.dtype


def array(shape: Any, dtype: Any, data: Any, version: int = 1) -> Call:
    return Call(_reconstruct, np.ndarray, (0,), b"b", state=(version, shape, dtype, False, data))


def dtype(code: str, *state: Any) -> Call:
    return Call(np.dtype, code, False, True, state=state)


def memory(flat: Any = ONE) -> Call:
    return Call(storage._restore, "cpu", None, flat, True)


def tensor(shape: Any, strides: Any, offset: Any = 0, of: Any = FLOAT, grad: Any = False) -> Call:
    return Call(pickling._over_storage, memory(), shape, strides, offset, of, grad)


class Sets:
    """An object that pickles as a tensor with a state."""

    def __init__(self, value: Any, state: Any) -> None:
        self.value, self.state = value, state

    def __reduce_ex__(self, protocol: Any) -> Any:
        function, args, *_ = self.value.__reduce_ex__(4)
        return function, args, self.state


def opcodes(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


def name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


ARRAY, DTYPE = name("numpy", "ndarray"), name("numpy", "dtype")
ORDERED = name("collections", "OrderedDict")
POINTERS = opcodes(b"(", ARRAY, b"K\x01\x85", DTYPE, b"\x8c\x01O\x85RC\x08", b"A" * 8, b"\x87Rl")
CRAFTED: dict[str, tuple[Any, str]] = {
    "an array over pointers": (POINTERS, "the dtype 'O'"),
    "numpy.ndarray is called": (opcodes(ARRAY, b"K\x01\x85\x85R"), "the file calls a value of type type"),
    "a dtype of objects": (array((1,), np.dtype("O"), b"A" * 8), "dtype 'O8'"),
    "a dtype whose state says objects": (dtype("f8", 3, "|", None, None, None, 8, 8, 63), "flags of its own"),
    "a dtype with fields": (dtype("V8", 3, "|", None, ("a",), {"a": (np.dtype("f8"), 0)}, 8, 1, 0), "dtype 'V8'"),
    "fields for a number": (dtype("f8", 3, "|", None, ("a",), {"a": (np.dtype("f8"), 99)}, 8, 1, 0), "with fields"),
    "a dtype with an array in it": (dtype("f8", 3, "|", (np.dtype("f8"), (9,)), None, None, 8, 8, 0), "with fields"),
    "items of another size": (dtype("f8", 3, "<", None, None, None, 800, 8, 0), "items have another size"),
    "a dtype of dates": (np.dtype("M8[s]"), "dtype 'M8'"),
    "text beyond its data": (array((1,), np.dtype("U100"), b"A" * 8), "400 bytes with 8 bytes of data"),
    "text that is no Unicode": (array((2,), np.dtype("U1"), b"\xff" * 8), "no Unicode"),
    "bools of any byte": (array((4,), np.dtype("?"), b"\0\1\2\xff"), "bools other than 0 and 1"),
    "bools by another dtype": (tensor((4,), (1,), of=np.dtype("?")), "bools other than 0 and 1"),
    "more sizes than data": (array((2**40,), np.dtype("f8"), b"A" * 8), "8 bytes of data"),
    "sizes that overflow": (array((2**62, 2**62), np.dtype("f8"), b""), "too large"),
    "no elements, and sizes that overflow": (array((0, 2**62, 2**62), np.dtype("f8"), b""), "too large"),
    "negative sizes": (array((-1,), np.dtype("f8"), b"A" * 8), "no sizes"),
    "data that is a list": (array((1,), np.dtype("f8"), [1.0]), "without a dtype or data"),
    "an array of objects in a list": (array((1,), np.dtype("f8"), ["x"], 0), "version"),
    "a number beyond its data": (Call(scalar, np.dtype("c16"), b"A"), "a number without data"),
    "a tensor beyond its file": (tensor((1000,), (1,)), "out of bounds"),
    "a stride beyond": (tensor((2,), (2**40,)), "out of bounds"),
    "an offset beyond": (tensor((1,), (1,), 1), "out of bounds"),
    "a negative offset": (tensor((1,), (1,), -1), "without a storage"),
    "a negative stride": (tensor((1,), (-1,)), "no sizes"),
    "another dtype beyond": (tensor((1,), (1,), of=np.dtype("c16")), "out of bounds"),
    "strides that overflow": (tensor((0, 2), (2**62, 2**62)), "too large"),
    "a tensor of a dtype of no tensor": (tensor((1,), (1,), of=np.dtype("U1")), "dtype that tensors do not have"),
    "ints with a gradient": (tensor((1,), (1,), of=np.dtype("i4"), grad=True), "ints that requires grad"),
    "a storage that is an array": (Call(pickling._over_storage, ONE, (1,), (1,), 0, FLOAT, False), "without a sto"),
    "a storage whose rows are not in order": (
        memory(Call(_frombuffer, bytearray(48), FLOAT, (2, 2, 3), "K", (0, 2, 1))), "a storage that is not dense"
    ),
    "an array of a dtype of no tensor": (Call(pickling._from_numpy, "cpu", None, np.ones(1, "g"), False), "not have"),
    "attributes of a tensor": (Sets(opwright.ones(1), (None, {"array": 5, "edge": 1})), "sets attributes of a value"),
    "attributes of a device": (Sets(opwright.device("cpu"), {"type": "x"}), "sets attributes of a value"),
    "attributes of a dict": (Sets(OrderedDict(a=1), {"x": 1}), "attributes of a dict other than _metadata"),
    "a method of a dict": (Sets(OrderedDict(a=1), {"_metadata": {}, "items": 1}), "other than _metadata"),
    "metadata that is no dict": (Sets(OrderedDict(a=1), {"_metadata": 1}), "other than _metadata"),
    "a counter of text": (Call(Counter, {"a": "b"}), "a Counter of no counts"),
    "a parameter of an array": (Call(parameters.rebuild_parameter, ONE, False, OrderedDict()), "no tensor"),
    "a parameter with hooks": (
        Call(parameters.rebuild_parameter, opwright.ones(1), False, OrderedDict(a=1)), "a parameter that is no tensor"
    ),
    "a parameter of ints with a gradient": (
        Call(parameters.rebuild_parameter, opwright.ones(1, dtype=opwright.int64), True, OrderedDict()), "requires grad"
    ),
    "a parameter with another method": (
        Call(parameters.rebuild_parameter_with_state, opwright.ones(1), True, OrderedDict(), {"backward": 1}),
        "an attribute 'backward' of a tensor",
    ),
    "an array that is filled twice": (
        opcodes(pickle.dumps(np.ones(1), 4)[2:-1], b"(K\x01K\x01\x85Nt", b"b"), "sets attributes of a value",
    ),
    "an array without data": (opcodes(name("numpy._core.multiarray", "_reconstruct"), b"(", name("numpy", "ndarray"),
                                      b"K\0\x85C\x01btR"), "before it is complete|is complete"),
    "items of a tensor": (opcodes(pickle.dumps(opwright.ones(1), 4)[2:-1], b"K\0K\1s"), "puts items into a value"),
    "appended to an array": (opcodes(pickle.dumps(np.ones(1), 4)[2:-1], b"K\0a"), "puts items into a value"),
    "a new instance": (opcodes(name("builtins", "list"), b")\x81"), "uses the opcode NEWOBJ"),
    "an instance of Python 2": (opcodes(b"(ios\nsystem\n"), "uses the opcode INST"),
    "a persistent id": (opcodes(b"Px\n"), "uses the opcode PERSID"),
    "an extension": (opcodes(b"\x82\x01"), "uses the opcode EXT1"),
    "a buffer out of band": (opcodes(b"\x97"), "uses the opcode NEXT_BUFFER"),
    "a path of attributes": (opcodes(b"\x8c\x05numpy\x8c\x0fdtype.__class__\x93"), "names 'numpy.dtype.__class__'"),
    "a name in a line that is none": (opcodes(name("os\\", "system\x00")), "which is neither a tensor"),
    "a huge bytearray": (opcodes(b"\x96", b"\xff" * 7 + b"\x0f"), "declares 1152921504606846975 bytes"),
    "a huge frame": (opcodes(b"\x95", b"\xff" * 8), "not a file that save"),
    "a huge text": (opcodes(b"\x8d", b"\xff" * 7 + b"\x7f"), "not a file that save"),
    "a number of many digits": (opcodes(b"L" + b"9" * 9999 + b"L\n"), "not a file that save"),
    "the same tuple in itself, as a key": (
        opcodes(b"}", b"K\x01\x85q\0", b"0h\0h\0\x86q\0" * 60, b"Ns"), "a key of a dict with too many parts",
    ),
    "a deep tuple as a key": (opcodes(b"}", b"N", b"\x85" * 100_000, b"Ns"), "a key of a dict with too many parts"),
    "keys of one hash": (opcodes(b"}", pickle.dumps(2**61 - 1 << 61, 4)[2:-1], b"Ns"), "more than 64 bits"),
    "dicts in dicts by reference": (
        opcodes(ORDERED + b")Rq\0", (ORDERED + b")Rq\1h\0N" + b"h\1s0" + b"q\0") * 1000), "in each other",
    ),
    "a list as a key": (opcodes(b"}]Ns"), "a key of a dict of type list"),
    "the same data again and again": (
        opcodes(b"B" + (2**20).to_bytes(4, "little") + b"A" * 2**20 + b"q\0",
                (name("builtins", "bytearray") + b"h\0\x85R0") * 40), "the same data again and again",
    ),
    "a slice in a slice": (Call(slice, slice(1), None, None), "a slice of no numbers"),
    "dicts in dicts": (opcodes((ORDERED + b")RN") * 10_000, b"N", b"s" * 10_000), "in each other"),
    "a factory that is called": (Call(defaultdict, np.dtype), "unknown factory"),
    "arguments of another number": (Call(complex, 1.0, 2.0, 3.0), "other arguments than save"),
    "text in another encoding": (opcodes(name("_codecs", "encode"), b"\x8c\x01x\x8c\x03zip\x86R"), "another encoding"),
    "an unknown device": (Call(pickling._from_numpy, "moon", None, ONE, False), "a device that is not here"),
    "a generator of no state": (Call(generator._restore, opwright.device("cpu"), np.zeros(9, "u1")), "of no state"),
}  # fmt: skip


def written(value: Any) -> bytes:
    return value if isinstance(value, bytes) else pickle.dumps(value, 4)


@pytest.mark.parametrize("case", CRAFTED)
def test_crafted_pickles_are_refused(case: str) -> None:
    value, message = CRAFTED[case]
    with pytest.raises(pickle.UnpicklingError, match=message):
        opwright.load(io.BytesIO(written(value)))


RUN = """
import io, pickle, sys
import opwright
for data in pickle.load(sys.stdin.buffer):
    try:
        opwright.load(io.BytesIO(data), map_location="cpu")
    except pickle.UnpicklingError:
        pass
print("alive")
"""


def test_no_file_ends_the_process() -> None:
    """Also files that are deep: what was read is freed again."""
    files = [written(value) for value, _ in CRAFTED.values()]
    deep = 50_000
    files += [opcodes(b"]" * deep, b"a" * (deep - 1)), opcodes(b"N", b"\x85" * deep), opcodes(b"(" * deep)]
    files += [opcodes(b"}", b"N}" * deep, b"s" * deep), opcodes(b"]q\0h\0a"), opcodes(b"(" * deep, b"\x91" * deep)]
    files += [opcodes(ORDERED, b")R", (b"N]" + ORDERED + b")R") * deep, b"as" * deep)]
    files += [opcodes(b"K\1\x85q\0", b"0h\0h\0\x86q\0" * 90)]  # a tuple of 2⁹⁰ leaves, where one walks it
    run = subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(files), capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"alive\n", b"")


def test_a_file_of_text_and_odd_arrays_comes_back() -> None:
    values = [
        np.array(["ab", "c"]), np.array([b"ab"]), np.arange(3, dtype=">i4"), np.ones((2, 3, 4)).transpose(2, 0, 1),
        np.longdouble(3), np.str_("a"), np.dtype(">f8"), np.ones(3)[::-1],
        range(1, 9, 2), slice(3), (frozenset([1]),),
        np.zeros((0, 3)), np.array(3), bytearray(b"a"), 1 - 2j, 10**30, {(1, "a"): 2, None: 3, opwright.float32: 4},
    ]  # fmt: skip
    for protocol in range(6):
        for value in values:
            found = opwright.load(io.BytesIO(pickle.dumps(value, protocol)))
            wanted = pickle.loads(pickle.dumps(value, protocol))  # (NumPy gives the bytes of numbers its own order.)
            assert type(found) is type(wanted) and repr(found) == repr(wanted), (protocol, value)


@pytest.mark.parametrize("kind", ["pickles", "crafted"])
def test_a_share_of_the_fuzzer(kind: str) -> None:
    found = fuzzed_files.run(kind, 300, 0)
    assert found.total() == 300 and found["refused"] and found["read"]


def test_graphs_reach_no_file_process_or_import() -> None:
    """In a process of its own: a hook of audits stays for good. That it sees what it should is shown first."""
    lines = [
        "import fuzzed_files, fuzzed_graphs as graphs", "graphs.watch()", "graphs._is_watched = True",
        "open('/dev/null').close()", "import wave", "graphs._is_watched = False",
        "assert len(graphs.reached) >= 2",
        "graphs.reached.clear()", "found = fuzzed_files.run('graphs', 300, 1)",
        "print(found.total(), all(found[each] for each in ('refused', 'called', 'called, and raised')))",
    ]  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("300 True\n", "")
