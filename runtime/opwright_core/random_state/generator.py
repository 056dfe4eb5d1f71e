"""Random state: a Generator is PyTorch's CPU generator (MT19937), so that one seed gives the numbers it gives there.

Integers, permutations and uniform numbers are equal bit for bit; normal ones up to the rounding of `log`, `sin`, `cos`.
Other devices have generators of their own that draw in the same way; kernels move the numbers there.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.arrays.devices import Array, Device, as_device, backend_of
from opwright_core.arrays.dtypes import REDUCED, DType, float32, float64
from opwright_core.arrays.nested_lists import array_of
from opwright_core.arrays.sizes import shown
from opwright_core.locks.forks import hold_over_forks
from opwright_core.locks.registry_lock import RegistryLock
from opwright_core.random_state.twister import (
    box_muller,
    fill_with_fractions,
    integers_below,
    lone_normals,
    paired,
    random_order,
    random_words,
)

__all__ = [
    "Generator", "default_generator", "generator_of", "initial_seed", "keeping_states", "manual_seed", "seed",
    "source_for",
]  # fmt: skip

Values = np.ndarray[Any, Any]

_DEFAULT_SEED: Final = 67280421310721
_KEY_WORDS: Final = 624
# PyTorch's serialised state: seed, left, seeded, next, 624 words of 8 bytes, x, y, rho, valid, a float sample.
_STATE: Final = np.dtype(
    [
        *[("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", _KEY_WORDS)],
        *[("x", "<f8"), ("y", "<f8"), ("rho", "<f8"), ("valid", "<i8"), ("sample", "<f4"), ("has_sample", "<i4")],
    ]
)


class Generator:
    """A source of random numbers for one device. Safe to share between threads; each call draws in one piece."""

    __slots__ = ("__weakref__", "_bits", "_device", "_lock", "_next_normal", "_seed", "_words")

    def __init__(self, device: str | Device = "cpu") -> None:
        self._device = as_device(device)
        self._lock = threading.RLock()
        self._bits, self._words = _new_bits()
        self.manual_seed(_DEFAULT_SEED)
        hold_over_forks(self)

    @property
    def device(self) -> Device:
        """Return its device."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`; negative ones count from 2**64. Raises RuntimeError beyond 64 bits."""
        if not -(2**63) <= seed < 2**64:
            raise RuntimeError(f"Overflow when unpacking long: a seed has 64 bits, got {shown(seed)}")
        with self._lock:
            self._seed = int(seed) % 2**64
            self._next_normal: float | None = None
            # NumPy's legacy seeding is `init_genrand(seed)`, as PyTorch's is.
            np.random.RandomState(self._bits).seed(self._seed & 0xFFFFFFFF)
        return self

    def seed(self) -> int:
        """Start again from a seed taken from the system, and return it."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed it last started from."""
        return self._seed

    def get_state(self) -> Values:
        """Return the position in the stream: 5,056 bytes (uint8) in PyTorch's format."""
        with self._lock:
            own, position = self._words[:_KEY_WORDS], int(self._words[_KEY_WORDS])
            cached = self._next_normal
            state = np.zeros(1, _STATE)
            state["seed"], state["seeded"], state["words"] = self._seed, 1, own
            state["left"], state["next"] = 625 - position, position % _KEY_WORDS
            state["y"], state["valid"] = cached or 0.0, cached is not None
        return state.view(np.uint8)

    def set_state(self, state: Any) -> Generator:
        """Continue from a state of `get_state` or PyTorch's CPU generator. Raises RuntimeError for others."""
        data = np.ascontiguousarray(array_of(state))
        if data.dtype != np.uint8 or data.size != _STATE.itemsize:
            raise RuntimeError(f"Expected a state of {_STATE.itemsize} bytes (uint8), got {data.size} of {data.dtype}")
        given = data.reshape(-1).view(_STATE)[0]
        left, following = int(given["left"]), int(given["next"])
        position = _KEY_WORDS + 1 - left
        if not given["seeded"] or not 1 <= left <= _KEY_WORDS or following not in (position, position % _KEY_WORDS):
            raise RuntimeError(
                f"Invalid mt19937 state: seeded={given['seeded']}, left={left}, next={following}; a generator has "
                f"seeded=1, left of 1 to {_KEY_WORDS}, and next={_KEY_WORDS + 1} - left"
            )
        with self._lock:
            self._seed = int(given["seed"])
            self._next_normal = float(given["y"]) if given["valid"] else None
            self._set_words(given["words"], position)
        return self

    def clone_state(self) -> Generator:
        """Return another generator at the same position of the same stream."""
        return Generator(self._device).set_state(self.get_state())

    def hold_for_fork(self, patience: float) -> bool:
        """Let no other thread draw; return whether that was possible within so many seconds (Note [Forks])."""
        if not self._lock.acquire(timeout=patience):
            return False
        if not self._bits.lock.acquire(timeout=patience):
            self._lock.release()
            return False
        return True

    def release_after_fork(self) -> None:
        """Let all threads draw again."""
        self._bits.lock.release()
        self._lock.release()

    def renew(self) -> None:
        """Start again from the seed, in a child process whose parent another thread was drawing in."""
        self._lock = threading.RLock()
        self._bits, self._words = _new_bits()
        self.manual_seed(self._seed)

    def _set_words(self, words: Values, position: int) -> None:
        with self._bits.lock:
            self._words[:_KEY_WORDS] = words
            self._words[_KEY_WORDS] = position

    def __repr__(self) -> str:
        return f"Generator(device={str(self._device)!r}, seed={self._seed})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._device, self.get_state())

    # What kernels draw, always flat arrays in the order PyTorch fills a contiguous tensor.

    def raw32(self, count: int) -> Values:
        """Draw `count` words of 32 random bits (uint32)."""
        with self._lock:
            return random_words(self._bits, self._words, count)

    def raw64(self, count: int) -> Values:
        """Draw `count` words of 64 random bits (uint64), each from two draws, the high half first."""
        return paired(self.raw32(2 * count))

    def uniform(
        self, count: int, dtype: DType = float32, low: float = 0.0, high: float = 1.0, out: Values | None = None
    ) -> Values:
        """Draw numbers in [low, high) of 53 random bits for float64, else of 24, rounded to the dtype; into `out`, a
        flat array of float32 or float64, where it is given."""
        numbers = np.empty(count, float64 if dtype is float64 else float32) if out is None else out
        with self._lock:
            fill_with_fractions(self._bits, self._words, numbers)
        if (low, high) != (0.0, 1.0):
            numbers *= numbers.dtype.type(high - low)
            numbers += numbers.dtype.type(low)
        result = numbers.astype(dtype, copy=False)
        if dtype in REDUCED:
            result[result == high] = low  # rounding may reach the end that is not included
        return result

    def normal(
        self, count: int, dtype: DType = float32, mean: float = 0.0, std: float = 1.0, out: Values | None = None
    ) -> Values:
        """Draw normal numbers by Box and Muller: 16 and more in blocks of 16; fewer one by one, in double precision.
        Into `out`, a flat array of float32 or float64, where it is given."""
        if count < 16:
            few = self.single_normals(count, mean, std).astype(dtype)
            if out is None:
                return few
            out[...] = few
            return out
        compute = float64 if dtype is float64 else float32
        result = np.empty(count, compute) if out is None else out
        with self._lock:
            whole = count - count % 16
            # float32 and float64 draw for the tail too before they drop that; half and bfloat16 do not.
            self.uniform(count, compute, out=result[:whole] if dtype in REDUCED else result)
            box_muller(result[:whole], mean, std)
            if whole != count:  # the last 16 numbers are drawn afresh, and replace some of the last whole block
                box_muller(self.uniform(16, compute, out=result[-16:]), mean, std)
            return result.astype(dtype, copy=False)

    def single_normals(self, count: int, mean: float, std: float) -> Values:
        """Draw normal numbers (float64) one by one, however many."""
        with self._lock:
            drawn, self._next_normal = lone_normals(self._bits, self._words, count, self._next_normal)
        if (mean, std) != (0.0, 1.0):
            drawn *= std
            drawn += mean
        return drawn

    def poisson(self, rates: Values) -> Values:
        """Draw numbers of events of these average rates by NumPy's method."""
        with self._lock:
            return np.asarray(np.random.Generator(self._bits).poisson(rates))

    def binomial(self, counts: Values, chances: Values) -> Values:
        """Draw numbers of successes by NumPy's method."""
        with self._lock:
            return np.asarray(np.random.Generator(self._bits).binomial(counts.astype(np.int64), chances))

    def integers(self, count: int, low: int, high: int) -> Values:
        """Draw integers in [low, high) (int64): draws modulo the range, of 64 bits from 2**28 numbers on."""
        with self._lock:
            drawn = integers_below(self._bits, self._words, count, high - low)
        return drawn + np.int64(low) if low else drawn

    def permutation(self, count: int) -> Values:
        """Draw a random order of the numbers below `count` (int64)."""
        with self._lock:
            return random_order(self._bits, self._words, np.arange(count))


def _new_bits() -> tuple[np.random.MT19937, Values]:
    """Return a generator of random words, and a view (uint32) of its memory: 624 words, then the position among
    them."""
    # Its `state` builds a dict word by word, which costs more than what is done with a state here.
    bits = np.random.MT19937()
    own = (ctypes.c_uint32 * (_KEY_WORDS + 1)).from_address(bits.ctypes.state_address)
    return bits, np.ctypeslib.as_array(own)


def _restore(device: Device, state: Values) -> Generator:
    return Generator(device).set_state(state)


_CPU: Final = as_device("cpu")
_OF_CPU: Final = ("cpu", None)
_lock = RegistryLock()
_generators: dict[tuple[str, int | None], Generator] = {}  # made when first asked for: NumPy's own take 6 MB
_last_seed: int | None = None


def generator_of(device: object) -> Generator:
    """Return the default generator of a device, seeded as the last `manual_seed` said."""
    wanted = as_device(device)
    with _lock:
        known = _generators.get((wanted.type, wanted.index))
        if known is None:
            known = _generators[wanted.type, wanted.index] = Generator(wanted)
            if _last_seed is not None:
                known.manual_seed(_last_seed)
    return known


def source_for(array: Array, generator: Generator | None) -> Generator:
    """Return the generator that numbers for an array are drawn from: the given one, or the default of its device.

    Raises RuntimeError where the given one is for another kind of device.
    """
    if generator is None:
        if type(array) is np.ndarray:
            return _generators.get(_OF_CPU) or generator_of(_CPU)
        return generator_of(backend_of(array).device(array))
    kind = backend_of(array).name
    if generator.device.type != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{generator.device.type}'")
    return generator


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices, and return the CPU's."""
    global _last_seed
    with _lock:
        for generator in _generators.values():
            generator.manual_seed(seed)
        _last_seed = seed
    return generator_of(_CPU)


def seed() -> int:
    """Seed the default generators from the system, and return the seed."""
    chosen = generator_of(_CPU).seed()
    manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """Return the seed of the CPU's default generator."""
    return generator_of(_CPU).initial_seed()


class keeping_states:
    """A block in which generators may draw and be set; at its end they stand where they stood at its beginning."""

    def __init__(self, generators: Iterable[Generator]) -> None:
        self._generators = list(generators)
        self._kept: list[tuple[Generator, Array]] = []

    def __enter__(self) -> None:
        self._kept = [(generator, generator.get_state()) for generator in self._generators]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._put_back()
        except BaseException:  # an interrupt (Note [Interrupted blocks])
            self._put_back()
            raise

    def _put_back(self) -> None:
        for generator, state in self._kept:
            generator.set_state(state)


if TYPE_CHECKING:
    default_generator: Generator
else:

    def __getattr__(name: str) -> Generator:
        if name == "default_generator":
            return generator_of(_CPU)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
