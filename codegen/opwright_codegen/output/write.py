"""The writing of generated files: only what changed, each whole or not at all, and nothing that is not ours.

`manifest.json` names the files of a folder that were generated; no others are replaced or removed. It is written before
a file that it does not name yet, and again after the last: a run that is killed leaves old and new files, all of them
named, and the next run completes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path, PurePosixPath

from opwright_codegen.declared.binding_folders import is_module_beside, located
from opwright_codegen.errors import SchemaError
from opwright_codegen.records import dataclass

__all__ = ["MANIFEST", "Changes", "compare", "content_hash", "depfile", "locked", "manifest_names", "replace_file"]

MANIFEST = "manifest.json"
_TEMPORARY = ".opwright-"
_LEFT = re.compile(r"\.opwright-[0-9]+-.+\.tmp")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a run to `folder`: names of files, with slashes; `texts` holds what those written shall hold."""

    folder: Path
    texts: Mapping[str, str]
    created: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    named: frozenset[str]  # by the manifest, up to now

    def __bool__(self) -> bool:
        return bool(self.created or self.changed or self.removed)

    def counts(self) -> str:
        """Return how many files there are of each kind."""
        kinds = ("created", "changed", "removed", "unchanged")
        return ", ".join(f"{len(found):,} {word}" for word in kinds if (found := getattr(self, word)))

    def diff(self) -> Iterator[str]:
        """Yield lines of a unified diff, without line ends."""
        import difflib

        for name in sorted((*self.created, *self.changed, *self.removed)):
            old = _read(located(self.folder, name)) or b""
            before = old.decode("utf-8", "replace").splitlines()
            after = self.texts.get(name, "").splitlines()
            path = _shown(located(self.folder, name))
            source = "/dev/null" if name in self.created else path
            target = "/dev/null" if name in self.removed else path
            yield from difflib.unified_diff(before, after, source, target, lineterm="")

    def apply(self) -> None:
        """Do it. Raises OSError where the system refuses."""
        if not self:
            return
        if os.path.lexists(self.folder) and not self.folder.is_dir():
            raise SchemaError("foreign-file", f"{_shown(self.folder)} is no folder, and the output is one")
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            self._remove_leftovers()
            unnamed = [name for name in self.created if name not in self.named and name != MANIFEST]
            if unnamed:
                names = sorted({*self.named, *unnamed})
                replace_file(self.folder / MANIFEST, _manifest_text({}, names))
            for name in (*self.created, *self.changed):
                if name != MANIFEST:
                    located(self.folder, name).parent.mkdir(parents=True, exist_ok=True)
                    replace_file(located(self.folder, name), self.texts[name])
                    _forget_bytecode(located(self.folder, name))
            for name in self.removed:
                _remove(self.folder, name)
            replace_file(self.folder / MANIFEST, self.texts[MANIFEST])

    def _remove_leftovers(self) -> None:
        """Remove what a run that was killed was writing: what has the name that we give, for a file of ours."""
        for name in {*self.texts, *self.named}:
            path = located(self.folder, name)
            if not is_reached_by_link(self.folder, name) and path.parent.is_dir():
                for left in path.parent.iterdir():
                    if _LEFT.fullmatch(left.name) and left.name.endswith(f"-{path.name}.tmp") and _is_regular(left):
                        left.unlink(missing_ok=True)


def compare(
    folder: Path, outputs: Mapping[str, str], inputs: Mapping[str, str], *, partial: bool = False, force: bool = False
) -> Changes:
    """Return what has to change for `folder` to hold `outputs` (name to text), made from `inputs` (name to hash).

    With `partial`, `outputs` are some of the files: the others stay. Raises SchemaError for a file in the way that the
    manifest does not name and that differs from what would be written, unless `force`.
    """
    names = sorted(outputs)
    for name in names:
        _check_name(name, folder)
        if is_reached_by_link(folder, name):
            hint = "the generator follows no links out of its folder: move the link away"
            raise SchemaError(
                "foreign-file", f"{_shown(located(folder, name))} is reached by a symbolic link", hint=hint
            )
    present = {name: _read(located(folder, name)) for name in names}
    # Read last: what another run has written by now, the manifest names.
    old = _read_manifest(folder, force)
    present[MANIFEST] = _read(folder / MANIFEST)
    texts = dict(outputs)
    texts[MANIFEST] = _manifest_text(inputs, sorted({*names, *(old if partial else ())}))
    created, changed, unchanged, foreign = [], [], [], []
    for name, found in present.items():
        if found is None:
            created.append(name)
        elif found == texts[name].encode():
            unchanged.append(name)
        else:
            changed.append(name)
            if name not in old and name != MANIFEST:
                foreign.append(name)
    if foreign and not force:
        shown = ", ".join(_shown(located(folder, name)) for name in foreign)
        hint = "move it away, choose another folder, or give --force to replace it"
        raise SchemaError("foreign-file", f"{shown}: exists, and was not generated", hint=hint)
    gone = () if partial else tuple(name for name in old if name not in outputs and _is_ours(folder, name))
    return Changes(folder, texts, tuple(created), tuple(changed), gone, tuple(unchanged), frozenset(old))


def manifest_names(folder: Path) -> tuple[str, ...]:
    """Return the files in `folder` that were generated, by its manifest; none where no manifest can be read."""
    try:
        return _read_manifest(folder, force=False)
    except SchemaError:
        return ()


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, text: str) -> None:
    """Make `path` hold `text`, at once: whoever reads it sees the old file or the new one."""
    _check_regular(path)
    temporary = path.with_name(f"{_TEMPORARY}{os.getpid()}-{path.name}.tmp")
    try:
        with temporary.open("xb") as file:  # a new one: what has the name already is somebody's
            file.write(text.encode())
        os.replace(temporary, path)
    except FileExistsError:
        raise
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None:  # a full disk
            error.filename = str(path)
        raise


def _forget_bytecode(path: Path) -> None:
    """Remove what Python compiled of a module before: a new text of the same size and second is the old one to it."""
    if path.suffix == ".py":
        with suppress(OSError):
            Path(cache_from_source(path)).unlink()


def depfile(targets: Iterable[Path], sources: Iterable[Path]) -> str:
    """Return a rule for make and ninja: the targets depend on the sources."""
    left = " ".join(map(_escape, targets))
    right = " \\\n  ".join(map(_escape, sources))
    return f"{left}: \\\n  {right}\n"


def _escape(path: Path) -> str:
    text = path.as_posix().replace("$", "$$")
    for char in ("\\", "#", " "):
        text = text.replace(char, f"\\{char}")
    return text


def _manifest_text(inputs: Mapping[str, str], outputs: Sequence[str]) -> str:
    """Return the text of a manifest: hashes of inputs, and names of outputs, whose hashes would change with each."""
    from opwright_codegen import VERSION

    document = {"generator": f"opwright {VERSION}", "inputs": dict(inputs), "outputs": list(outputs)}
    return json.dumps(document, indent=2) + "\n"


def _read_manifest(folder: Path, force: bool) -> tuple[str, ...]:
    """Read the names of the generated files. In manifests of earlier versions each has a hash beside it."""
    path = folder / MANIFEST
    data = _read(path)
    if data is None:
        return ()
    try:
        outputs = json.loads(data)["outputs"]
        if not isinstance(outputs, list | dict) or not all(isinstance(name, str) for name in outputs):
            raise TypeError
        for name in outputs:
            _check_name(name, folder)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, SchemaError):
        if force:
            return ()
        hint = "restore it, or give --force to write a new one"
        raise SchemaError("manifest", f"{_shown(path)} is not a manifest of ours", hint=hint) from None
    return tuple(outputs)


def _check_name(name: str, folder: Path) -> None:
    """Refuse what would lead out of the folder, but for the modules beside it that are ours."""
    path = PurePosixPath(name)
    if is_module_beside(name, folder):
        return
    if path.is_absolute() or ".." in path.parts or not path.parts or {"\\", ":", "\0"} & set(name) or name == MANIFEST:
        raise SchemaError("output-name", f"{name!r} is not a name for a file in {_shown(folder)}")


def _read(path: Path) -> bytes | None:
    """Read a file; None where there is none. Raises SchemaError where something else is instead."""
    _check_regular(path)
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_regular(path: Path) -> None:
    """Raise SchemaError unless a file is there, or nothing: no folder, link, pipe, socket or device is replaced."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no file")
        raise SchemaError("foreign-file", f"{_shown(path)} is {kind}", hint="a file is to be written there")


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_ours(folder: Path, name: str) -> bool:
    """Whether a file that the manifest names is one, in the folder itself."""
    return _is_regular(located(folder, name)) and not is_reached_by_link(folder, name)


def is_reached_by_link(folder: Path, name: str) -> bool:
    """Whether a folder between this one and a file in it is a symbolic link."""
    return any((folder / parent).is_symlink() for parent in PurePosixPath(name).parents if parent.parts)


def _remove(folder: Path, name: str) -> None:
    path = located(folder, name)
    path.unlink(missing_ok=True)
    if is_module_beside(name, folder):
        return
    for parent in path.relative_to(folder).parents[:-1]:
        with suppress(OSError):  # others have files there
            (folder / parent).rmdir()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time write to `folder`. Where the system has no such locks, files are still whole."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _shown(path: Path) -> str:
    try:
        return Path(os.path.normpath(path)).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
