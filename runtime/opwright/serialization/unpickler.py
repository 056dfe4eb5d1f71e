"""A reader of pickles that anybody may have written: an allow-list of opcodes, names and containers.

Python's own unpickler in C calls what a file names and sets the attributes that it says. This one has the opcodes that
`save` writes and no others; names are keys of a table (`rebuilding`), never imported or looked up; only functions of
ours are called; containers are exactly the built-in ones.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from opwright.serialization.containers import Refused, check_key, fill_metadata
from opwright.serialization.rebuilding import CALLS, NAMES, UNFILLED, fill_array, fill_dtype
from opwright_core.arrays.storage import Storage
from opwright_core.tensors.tensor import Tensor

__all__ = ["SafeUnpickler"]

_HINT: Final = (
    "load(..., weights_only=False) reads it too, and runs whatever code the file says. Do so with files you trust alone"
)
# (Opcodes that only other writers use are not here: persistent ids, instances, extension codes, buffers out of band,
# and the text strings of Python 2.)
_TAKEN_OVER: Final = (
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1",
    "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3",
    "EMPTY_LIST", "LIST", "EMPTY_DICT", "EMPTY_SET", "GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT",
    "MEMOIZE",
)  # fmt: skip
_FREED_BY_RECURSION: Final = (OrderedDict, defaultdict)
_DEEPEST: Final = 500
_DATA: Final = (bytes, bytearray, str, list, tuple, set)
_Base: Final[Any] = pickle._Unpickler  # the same in Python, one method an opcode


class SafeUnpickler(_Base):  # type: ignore[misc]
    """An unpickler of tensors, arrays, numbers, text and plain containers, which refuses everything else.

    Tensors become what `move` returns for them, if it is given.
    Raises pickle.UnpicklingError for what it refuses; what a broken file makes of Python's own functions is left to
    the caller (EOFError, IndexError, ValueError).
    """

    dispatch: Final[dict[int, Callable[[SafeUnpickler], None]]] = {}

    def __init__(self, data: bytes, move: Callable[[Tensor], Tensor] | None = None) -> None:
        super().__init__(io.BytesIO(data))
        self._move = move
        self._size = len(data)
        self._nested: dict[int, tuple[int, bool, Any]] = {}  # by id: how deep, whether in another one, the dict
        self._left = 16 * len(data) + 2**20
        self._unfilled: dict[int, Any] = {}  # dtypes and arrays that were made, and wait for their BUILD

    def load(self) -> Any:
        """Return the value of the file."""
        try:
            found = super().load()
        except KeyError as error:  # of the table of opcodes, and of nothing else
            raise pickle.UnpicklingError(_unknown_opcode(error.args[0])) from None
        if self._unfilled:
            raise pickle.UnpicklingError("the file names a dtype or an array and ends before it is complete")
        return found

    def find_class(self, module: str, name: str) -> Any:
        """Return what the table has under a name."""
        module = "builtins" if module == "__builtin__" else module  # as protocol 2 calls it
        found = NAMES.get((module.replace("numpy.core.", "numpy._core.", 1), name))
        if found is None:
            raise pickle.UnpicklingError(
                f"the file names {f'{module}.{name}'!r:.120}, which is neither a tensor nor a plain container: {_HINT}"
            )
        return found

    def load_global(self) -> None:
        """Put what a name in two lines stands for."""
        module, name = (self.readline()[:-1].decode("utf-8") for _ in range(2))
        self.append(self.find_class(module, name))

    def load_stack_global(self) -> None:
        """Put what the name on the stack stands for."""
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise pickle.UnpicklingError("the file names something by what is no text")
        self.append(self.find_class(module, name))

    def load_reduce(self) -> None:
        """Call a function of ours; never one of the file's choosing."""
        args, function = self.stack.pop(), self.stack.pop()
        called = CALLS.get(function) if callable(function) else None
        if called is None or type(args) is not tuple:
            raise pickle.UnpicklingError(f"the file calls a value of type {type(function).__name__}: {_HINT}")
        self._check_filled(args)
        self._charge(args)
        try:
            made = called(*args)
        except TypeError as error:
            raise Refused(f"{_shown(function)} with other arguments than save() writes ({error})") from None
        if called in UNFILLED:
            self._unfilled[id(made)] = made
        elif self._move is not None and isinstance(made, Tensor):
            made = self._move(made)
        self.append(made)

    def _charge(self, args: tuple[Any, ...]) -> None:
        """Refuse a file that has the same data copied or looked through again and again."""
        for each in args:
            if isinstance(each, _DATA):
                self._left -= len(each)
            elif isinstance(each, np.ndarray):
                self._left -= each.nbytes
            elif isinstance(each, Storage) and np.dtype(bool) in args:
                self._left -= each.flat().nbytes
        if self._left < 0:
            raise Refused("the same data again and again")

    def _check_filled(self, args: tuple[Any, ...]) -> None:
        if self._unfilled and any(id(each) in self._unfilled for each in args):
            raise pickle.UnpicklingError("the file uses a dtype or an array before it is complete")

    def load_build(self) -> None:
        """Complete a dtype or an array, once, or give a state dict its `_metadata`. No other attribute is ever set."""
        state, made = self.stack.pop(), self.stack[-1]
        if type(made) is OrderedDict:
            if type(metadata := fill_metadata(made, state)) is OrderedDict:
                self._nest(made, metadata)
            return
        if self._unfilled.pop(id(made), None) is not made:
            raise pickle.UnpicklingError(
                f"the file sets attributes of a value of type {type(made).__name__}, which no file of tensors and "
                f"plain containers does: {_HINT}"
            )
        if type(state) is not tuple:
            raise Refused(f"a state of type {type(state).__name__}")
        self._check_filled(state)
        self._charge(state)
        (fill_dtype if isinstance(made, np.dtype) else fill_array)(made, state)

    def load_bytearray8(self) -> None:
        """Put a bytearray, whose data must be there: its size is not believed."""
        size = int.from_bytes(self.read(8), "little")
        if size > self._size:
            raise pickle.UnpicklingError(f"the file declares {size} bytes of data, and has {self._size} in all")
        self.append(bytearray(self.read(size)))

    def load_append(self) -> None:
        """Add a value to a list."""
        value = self.stack.pop()
        self._target(list).append(value)

    def load_appends(self) -> None:
        """Add several values to a list."""
        values = self.pop_mark()
        self._target(list).extend(values)

    def load_setitem(self) -> None:
        """Set one item of a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def load_setitems(self) -> None:
        """Set several items of a dict."""
        self._set_items(self.pop_mark())

    def load_dict(self) -> None:
        """Put a dict of what follows the mark."""
        items = self.pop_mark()
        self.append({})
        self._set_items(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._target(dict, OrderedDict, defaultdict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(value) in _FREED_BY_RECURSION and type(target) in _FREED_BY_RECURSION:
                self._nest(target, value)
            target[check_key(key)] = value

    def _nest(self, outer: Any, inner: Any) -> None:
        """Count how deep dicts are nested that CPython frees by recursion: it would overflow the stack.

        A pickler fills what is within before it puts it in; so a dict that is in another one has its last depth.
        """
        deep, _, _ = self._nested.get(id(inner), (1, True, inner))
        own, is_inner, _ = self._nested.get(id(outer), (1, False, outer))
        if is_inner or deep >= _DEEPEST:
            raise Refused(f"{type(outer).__name__}s in each other, deeper than {_DEEPEST} or in no order")
        self._nested[id(outer)] = max(own, deep + 1), False, outer
        self._nested[id(inner)] = deep, True, inner

    def load_additems(self) -> None:
        """Add several to a set."""
        values = self.pop_mark()
        self._target(set).update(map(check_key, values))

    def load_frozenset(self) -> None:
        """Put a frozenset of what follows the mark."""
        values = self.pop_mark()
        self.append(frozenset(map(check_key, values)))

    def _target(self, *kinds: type) -> Any:
        """Return what is on top of the stack, which is exactly of one of these types."""
        found = self.stack[-1]
        if type(found) not in kinds:
            raise pickle.UnpicklingError(f"the file puts items into a value of type {type(found).__name__}: {_HINT}")
        return found


def _shown(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__).lstrip("_")


def _unknown_opcode(code: Any) -> str:
    name = _OPCODES.get(code)
    if name is None:
        return f"not a file that save() wrote: byte {code!r} is no opcode of pickles"
    return f"the file uses the opcode {name}, which no file of tensors and plain containers does: {_HINT}"


def _opcodes() -> dict[int, str]:
    values = {name: getattr(pickle, name) for name in pickle.__all__ if name.isupper()}
    return {value[0]: name for name, value in values.items() if isinstance(value, bytes) and len(value) == 1}


_OPCODES: Final = _opcodes()
_OWN: Final = {
    "GLOBAL": SafeUnpickler.load_global, "STACK_GLOBAL": SafeUnpickler.load_stack_global,
    "REDUCE": SafeUnpickler.load_reduce, "BUILD": SafeUnpickler.load_build,
    "BYTEARRAY8": SafeUnpickler.load_bytearray8, "APPEND": SafeUnpickler.load_append,
    "APPENDS": SafeUnpickler.load_appends, "SETITEM": SafeUnpickler.load_setitem,
    "SETITEMS": SafeUnpickler.load_setitems, "DICT": SafeUnpickler.load_dict,
    "ADDITEMS": SafeUnpickler.load_additems, "FROZENSET": SafeUnpickler.load_frozenset,
}  # fmt: skip
for _name in _TAKEN_OVER:
    _code = getattr(pickle, _name)[0]
    SafeUnpickler.dispatch[_code] = _Base.dispatch[_code]
for _name, _method in _OWN.items():
    SafeUnpickler.dispatch[getattr(pickle, _name)[0]] = _method
