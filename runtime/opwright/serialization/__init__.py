"""`save` and `load`: tensors and plain containers in a file, written whole and read without running anything."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from opwright_core.errors import DispatchError

__all__ = ["load", "save"]

File = str | os.PathLike[str] | IO[bytes]


@contextmanager
def _written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that replaces it once it is complete."""
    target = os.path.abspath(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=f".{os.path.basename(target)}-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def save(obj: object, f: File, pickle_protocol: int = 4) -> None:
    """Write a value, tensors and all, to a path or an open file. Tensors that share memory do so again when loaded.

    A path is written whole or not at all; what is no regular file (a device, a pipe) is written to as it is. Raises
    RuntimeError for tensors that an operator recorded, OSError, and what pickling raises.
    """
    if not isinstance(f, str | os.PathLike):
        pickle.dump(obj, f, protocol=pickle_protocol)
    elif os.path.exists(f) and not os.path.isfile(f):
        with open(f, "wb") as file:
            pickle.dump(obj, file, protocol=pickle_protocol)
    else:
        with _written_whole(f) as file:
            pickle.dump(obj, file, protocol=pickle_protocol)


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what `save` wrote. Tensors come to `map_location`, a device, if it is given.

    With `weights_only` tensors, arrays, numbers, text and plain containers alone are read: files of strangers run no
    code, set no attribute and reach no memory but their own (docs/security.md); without, anything that pickles. Raises
    pickle.UnpicklingError for a file that holds anything else, and for one that is none of ours.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return load(file, map_location, weights_only=weights_only)
    data = f.read()
    return _read_safely(data, map_location) if weights_only else _moved(_read(data), map_location)


def _read_safely(data: bytes, device: Any) -> Any:
    from opwright.serialization.unpickler import SafeUnpickler

    try:
        return SafeUnpickler(data, device).load()
    except (pickle.UnpicklingError, DispatchError):
        raise
    except Exception as error:  # whatever Python's own functions say of data that is broken
        raise _not_ours(error) from None


def _read(data: bytes) -> Any:
    try:
        return pickle.loads(data)
    except (EOFError, IndexError, KeyError, ValueError) as error:
        raise _not_ours(error) from None


def _not_ours(error: Exception) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f"not a file that save() wrote, or a part of one: {error}")


def _moved(value: Any, device: Any) -> Any:
    from opwright.utils import _pytree
    from opwright_core.tensors.tensor import Tensor

    if device is None:
        return value
    return _pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, Tensor) else leaf, value)
