"""A program that calls the package of `core_alone.py` in every way. It prints, as JSON, which of our packages were
loaded, and what each call gave or said."""

import copy
import json
import pickle
import sys
import traceback
import warnings
from contextlib import suppress

import numpy as np

with suppress(ModuleNotFoundError):
    import opwright  # noqa: F401
from earlier_ops import ops

import opwright_core.errors
from opwright_core.dispatch.call.packets import find_packet
from opwright_core.random_state.generator import Generator

x, y = np.linspace(-2, 2, 6).reshape(2, 3), np.ones((2, 3))
half, ints = x.astype(np.float16), np.arange(6).reshape(2, 3)
Generator().manual_seed(3)
packet = find_packet("earlier::mode")
CALLS = {
    "expression": lambda: ops.blend(x, y, alpha=2),
    "broadcast": lambda: ops.blend(x, y[0]),
    "promoted": lambda: ops.blend(ints, half),
    "in place": lambda: ops.blend_(x.copy(), y),
    "out": lambda: ops.blend(x, y, out=np.empty((2, 3))),
    "out of a wrong shape": lambda: ops.blend(x, y, out=np.empty(5)),
    "out of a wrong dtype": lambda: ops.blend(x, y, out=np.empty((2, 3), int)),
    "C": lambda: ops.axpy(x, y, alpha=3),
    "C along a dimension": lambda: ops.running_max(ints.ravel()),
    "C says what is wrong": lambda: ops.running_max(x),
    "C of another dtype": lambda: ops.running_max(np.ones(3, np.float32)),
    "C writes": lambda: ops.scale_(x[::-1, 0].copy(), 2),
    "C is read-only": lambda: ops.scale_(np.broadcast_to(np.float64(1), 3), 2),
    "Python": lambda: ops.sum_of(x, y, alpha=3),
    "reduction": lambda: ops.total(x, [1], keepdim=True),
    "view": lambda: ops.flipped(x).base is x,
    "number for a tensor": lambda: ops.blend(x, 2),
    "list for a tensor": lambda: ops.blend(x, [[1, 2, 3], [4, 5, 6]]),
    "nested list of texts": lambda: ops.blend(x, ["a"]),
    "text for a tensor": lambda: ops.blend(x, "text"),
    "None for a tensor": lambda: ops.blend(None, x),
    "shapes that do not fit": lambda: ops.blend(x, np.ones(7)),
    "text for a number": lambda: ops.blend(x, y, alpha="text"),
    "number for a text": lambda: ops.mode(x, 3),
    "list of a text": lambda: ops.mode(x, "up", [1, "2"]),
    "one int for a list": lambda: ops.mode(x, "up", 3),
    "dtype": lambda: ops.mode(x, dtype=np.float32),
    "wrong dtype": lambda: ops.mode(x, dtype="floot"),
    "wrong name": lambda: ops.mode(x, moed="up"),
    "too many": lambda: ops.mode(x, "up", 1, None, 5),
    "too few": lambda: ops.blend(x),
    "twice": lambda: ops.blend(x, y, self=x),
    "tensors": lambda: [each.tolist() for each in ops.both([x, y])],
    "named results": lambda: ops.both([x, y]).total.tolist(),
    "no tensors": lambda: ops.both([]),
    "generator": lambda: ops.draw(x, generator=Generator()),
    "wrong generator": lambda: ops.draw(x, generator=3),
    "error of a kernel": lambda: ops.mode(x, "down"),
    "kernel of a wrong dtype": lambda: ops.wrong(x),
    "no kernel": lambda: ops.absent(x),
    "misspelt operator": lambda: ops.blnd,
    "docstring": lambda: ops.mode.__doc__,
    "docstring of all": lambda: packet.__doc__,
    "docstring of one": lambda: packet.default.__doc__,
    "signature": lambda: str(__import__("inspect").signature(ops.mode)),
    "text": lambda: [repr(packet), str(packet.default), repr(packet.default)],
    "operator": lambda: packet.default(x).tolist(),
    "pickled": lambda: pickle.loads(pickle.dumps(packet.default)) is packet.default,
    "pickled packet": lambda: pickle.loads(pickle.dumps(packet)) is packet,
    "copied": lambda: copy.deepcopy(packet.default) is packet.default,
    "pickled error": lambda: str(pickle.loads(pickle.dumps(opwright_core.errors.ArgumentError("said")))),
    "attribute": lambda: packet.default.missing_attribute,
    "overload": lambda: packet.missing_overload,
}


def shown(value):
    return f"{value.dtype}{value.tolist()}" if isinstance(value, np.ndarray) else repr(value)


said = {}
for name, call in CALLS.items():
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            said[name] = " ".join([shown(call()), *(str(each.message) for each in seen)])
    except Exception as error:
        said[name] = "".join(traceback.format_exception_only(error))
installed = sorted(name for name in ("opwright", "opwright_kernels", "opwright_codegen", "lark") if name in sys.modules)
print(json.dumps([installed, said]))
