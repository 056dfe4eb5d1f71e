"""`save` and `load`: tensors and plain containers in a file, written whole and read without running anything."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from opwright_core.arrays.devices import backend_of
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


def save(
    obj: object,
    f: File,
    pickle_protocol: int = 4,
    *,
    pickle_module: Any = pickle,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write a value, tensors and all, to a path or an open file. Tensors that share memory do so again when loaded.

    A path is written whole or not at all; what is no regular file (a device, a pipe) is written to as it is. A tensor
    that an operator recorded comes back as a leaf. There is one format, which `_use_new_zipfile_serialization` does not
    change. Raises OSError, and what pickling raises.
    """

    def write(file: IO[bytes]) -> None:
        pickle_module.dump(obj, file, protocol=pickle_protocol)

    if not isinstance(f, str | os.PathLike):
        write(f)
    elif os.path.exists(f) and not os.path.isfile(f):
        with open(f, "wb") as device:
            write(device)
    else:
        with _written_whole(f) as file:
            write(file)


def load(
    f: File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` wrote. `map_location` says where tensors come to: a device, a dict of names of devices, or a
    function of a storage and the name of its device, which returns a storage there or None.

    With `weights_only` tensors, arrays, numbers, text, plain containers and parameters are read: files of strangers run
    no code, set no attribute but those of tensors and the `_metadata` of a state dict, and reach no memory but their
    own (docs/security.md); without, anything that pickles. It is the default unless a `pickle_module` is given, which
    gets the `pickle_load_args`. `mmap` takes a path, and the file is read as without. Raises pickle.UnpicklingError for
    a file that holds anything else, and for one that is none of ours, ValueError for `mmap` of an open file,
    RuntimeError for a `pickle_module` with `weights_only`.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            data = file.read()
    elif mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    else:
        data = f.read()
    move = _mover(map_location)
    if weights_only:
        return _read_safely(data, move)
    return _moved(_read(data, pickle_module or pickle, pickle_load_args), move)


def _mover(map_location: Any) -> Callable[[Any], Any] | None:
    """Return the function that brings a tensor where `map_location` says; None where tensors stay where they were."""
    if (
        map_location is None
        or isinstance(map_location, str | int)
        or not (callable(map_location) or isinstance(map_location, dict))
    ):
        return None if map_location is None else lambda tensor: tensor.to(map_location)

    def move(tensor: Any) -> Any:
        name = str(tensor.device)
        if isinstance(map_location, dict):
            return tensor.to(map_location.get(name, name))
        placed = map_location(tensor.untyped_storage(), name)
        return tensor if placed is None else tensor.to(backend_of(placed.array).device(placed.array))

    return move


def _read_safely(data: bytes, move: Callable[[Any], Any] | None) -> Any:
    from opwright.serialization.unpickler import SafeUnpickler

    try:
        return SafeUnpickler(data, move).load()
    except (pickle.UnpicklingError, DispatchError, ImportError):
        raise
    except Exception as error:  # whatever Python's own functions say of data that is broken
        raise _not_ours(error) from None


def _read(data: bytes, module: Any, options: Mapping[str, Any]) -> Any:
    try:
        return module.load(io.BytesIO(data), **options)
    except (EOFError, IndexError, KeyError, ValueError) as error:
        raise _not_ours(error) from None


def _not_ours(error: Exception) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f"not a file that save() wrote, or a part of one: {error}")


def _moved(value: Any, move: Callable[[Any], Any] | None) -> Any:
    from opwright.utils import _pytree
    from opwright_core.tensors.tensor import Tensor

    if move is None:
        return value
    return _pytree.tree_map(lambda leaf: move(leaf) if isinstance(leaf, Tensor) else leaf, value)
