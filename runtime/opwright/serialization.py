"""`save` and `load`: tensors and plain containers in a file, written whole and read without running anything."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

import numpy as np

from opwright.names.former_names import current_name

__all__ = ["load", "save"]

File = str | os.PathLike[str] | IO[bytes]
# What a file of tensors and plain containers names; anything else is refused by a safe load.
_SAFE: Final = frozenset(
    {
        ("collections", "OrderedDict"), ("collections", "defaultdict"), ("builtins", "complex"), ("builtins", "set"),
        ("builtins", "frozenset"), ("builtins", "bytearray"), ("builtins", "range"), ("builtins", "slice"),
        ("builtins", "list"), ("builtins", "dict"), ("builtins", "tuple"), ("builtins", "bytes"), ("_codecs", "encode"),
        ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"), ("ml_dtypes", "bfloat16"),
        ("opwright.methods.pickling", "_over_storage"), ("opwright.methods.pickling", "_from_numpy"),
        ("opwright.arrays.storage", "_restore"), ("opwright.arrays.devices", "Device"),
        ("opwright.arrays.formats", "Layout"), ("opwright.arrays.formats", "MemoryFormat"),
        ("opwright.arrays.generator", "_restore"), ("opwright.arrays.size", "Size"),
    }
)  # fmt: skip


class _SafeUnpickler(pickle.Unpickler):
    """An unpickler of tensors, numbers, text and plain containers, which refuses to name anything else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of a name, if it is one of those."""
        module = "builtins" if module == "__builtin__" else current_name(module) or module  # as protocol 2 calls it
        if (module, name) in _SAFE or (module == "numpy.dtypes" and issubclass(_dtype_class(name), np.dtype)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"the file names {module}.{name}, which is neither a tensor nor a plain container: load(..., "
            "weights_only=False) reads it too, and runs whatever code the file says. Do so with files you trust alone"
        )


def _dtype_class(name: str) -> type:
    import numpy.dtypes

    found = getattr(numpy.dtypes, name, object)
    return found if isinstance(found, type) else object


@contextmanager
def _written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place once it is complete."""
    place = os.path.abspath(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(place), prefix=f".{os.path.basename(place)}-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, os.stat(place).st_mode & 0o777 if os.path.exists(place) else 0o666 & ~mask)
        os.replace(temporary, place)
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

    With `weights_only` tensors and plain containers alone are read, and no code of the file's runs; without, anything
    that pickles. Raises pickle.UnpicklingError for a file that names anything else, and for one that is none of ours.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return load(file, map_location, weights_only=weights_only)
    data = io.BytesIO(f.read())
    try:
        found = _SafeUnpickler(data).load() if weights_only else pickle.load(data)
    except (EOFError, IndexError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise pickle.UnpicklingError(f"not a file that save() wrote, or a part of one: {error}") from None
    return found if map_location is None else _moved(found, map_location)


def _moved(value: Any, device: Any) -> Any:
    from opwright.tensors.tensor import Tensor
    from opwright.utils import _pytree

    return _pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, Tensor) else leaf, value)
