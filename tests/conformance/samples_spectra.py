"""Samples of discrete Fourier transforms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sampling import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT64, Array, Sample, make, sample

Samples = Callable[[], Iterable[Sample]]

NORMS = (None, "backward", "ortho", "forward")


def signals(*dtypes: np.dtype) -> Iterator[Array]:
    """Vectors, matrices, stacks, and views of them whose strides are in no order."""
    for dtype in dtypes:
        yield make((6,), dtype)
        yield make((3, 5), dtype)
        stack = make((2, 4, 3), dtype)
        yield from (stack, stack.transpose(2, 0, 1), stack[:, ::2])


def primitive(*dtypes: np.dtype, last: Iterable[object], modes: Iterable[int] = (0, 1, 2)) -> Iterator[Sample]:
    rest = list(last)
    for array in signals(*dtypes):
        dims = [list(range(array.ndim)), [array.ndim - 1], [0]] + ([[2, 0], [1, 2]] if array.ndim == 3 else [])
        yield from (sample(array, each, mode, value) for each in dims for mode in modes for value in rest)


def real_to_complex() -> Iterator[Sample]:
    yield from primitive(FLOAT32, FLOAT64, last=(True, False))


def complex_to_real() -> Iterator[Sample]:
    for array in signals(COMPLEX64, COMPLEX128):
        for dims in [[array.ndim - 1], [0], list(range(array.ndim))]:
            half = array.shape[dims[-1]] - 1
            yield from (sample(array, dims, mode, 2 * half + odd) for mode in (0, 2) for odd in (0, 1))


def complex_to_complex() -> Iterator[Sample]:
    yield from primitive(COMPLEX64, COMPLEX128, last=(True, False))
    yield sample(make((2, 3), COMPLEX64), [], 0, True)


def along_one(*dtypes: np.dtype) -> Samples:
    """Every norm and length, and arguments that are refused: no elements, no such dimension, a norm that is none."""

    def samples() -> Iterator[Sample]:
        for array in signals(*dtypes):
            yield sample(array)
            yield sample(array, None, 0, "ortho")
            yield from (sample(array, n, -1, norm) for n in (1, 4, 9) for norm in NORMS)
        for bad in (0, -3):
            yield sample(make((4,), dtypes[0]), bad)
        yield sample(make((4,), dtypes[0]), None, 1)
        yield sample(make((4,), dtypes[0]), None, -1, "none")
        yield sample(make((), dtypes[0]))
        yield sample(make((0,), dtypes[0]))

    return samples


def over_several(*dtypes: np.dtype) -> Samples:
    """Sizes, dimensions, both and neither; lists of different lengths, dimensions named twice."""

    def samples() -> Iterator[Sample]:
        for array in signals(*dtypes):
            if array.ndim == 1:
                continue
            yield sample(array)
            yield from (sample(array, None, [0, -1], norm) for norm in NORMS)
            yield sample(array, [3, 5], [1, 0], "ortho")
            yield sample(array, [-1, 4], [-2, -1])
            yield sample(array, [4, -1], [0, 1], "forward")
            yield sample(array, [5], [-1])
        array = make((3, 4), dtypes[0])
        yield sample(array, [2, 2], [0])
        yield sample(array, None, [0, 0])
        yield sample(array, [2, 0], [0, 1])
        yield sample(array, None, [0, 5])

    return samples


def without_dims(*dtypes: np.dtype) -> Samples:
    """What `over_several` has, and sizes of the last dimensions alone."""

    def samples() -> Iterator[Sample]:
        yield from over_several(*dtypes)()
        for array in signals(dtypes[0]):
            yield sample(array, [4], None, "ortho")
            yield sample(array, [2, 4, 3])

    return samples


def frequencies() -> Iterator[Sample]:
    for n in (1, 4, 7):
        yield sample(n)
        yield from (sample(n, 0.25, dtype=dtype) for dtype in (FLOAT32, FLOAT64))


def shifts() -> Iterator[Sample]:
    for array in signals(FLOAT32, INT64):
        yield sample(array)
        yield from (sample(array, dims) for dims in ([0], [-1]))
    yield sample(make((3, 4), FLOAT32), [0, 1])
    yield sample(make((3, 4), FLOAT32), [2])


def windows() -> Iterator[tuple[object, ...]]:
    """How far windows are apart, how long they are, and what they weigh."""
    yield (None, None, None)
    yield (3, None, make((8,), FLOAT64, low=1))
    yield (2, 6, make((6,), FLOAT64, low=1))


def spectra_of_windows(center: bool) -> Samples:
    def samples() -> Iterator[Sample]:
        for array in (make((30,), FLOAT64), make((2, 25), FLOAT64), make((30,), COMPLEX128)):
            half = None if array.dtype == COMPLEX128 else True
            for window, normalized in itertools.product(windows(), (False, True)):
                around = (True, "reflect") if center else ()
                yield sample(array, 8, *window, *around, normalized, half, True)
                yield sample(array, 8, *window, *around, normalized, False, False)
        yield sample(make((30,), FLOAT64), 8, 0, return_complex=True)
        yield sample(make((30,), FLOAT64), 8, None, 9, return_complex=True)
        yield sample(make((4,), FLOAT64), 40, return_complex=True)
        yield sample(make((30,), FLOAT64), 8)

    return samples


def signals_of_spectra() -> Iterator[Sample]:
    for array in (make((5, 6), COMPLEX128), make((2, 5, 6), COMPLEX128)):
        for window, normalized in itertools.product(windows(), (False, True)):
            yield sample(array, 8, *window, True, normalized)
            yield sample(array, 8, *window, True, normalized, True, 12)
    yield sample(make((8, 6), COMPLEX128), 8, None, None, None, True, False, False, None, True)
    yield sample(make((4, 6), COMPLEX128), 8)
    yield sample(make((5, 6), FLOAT64), 8)


REAL = (FLOAT32, FLOAT64, INT64, BOOL)
ANY = (*REAL, COMPLEX64, COMPLEX128)
SAMPLES: dict[str, Samples] = {
    "_fft_r2c": real_to_complex,
    "_fft_c2r": complex_to_real,
    "_fft_c2c": complex_to_complex,
    **{f"fft_{name}": along_one(*ANY) for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft_{name}": along_one(*REAL) for name in ("rfft", "ihfft")},
    **{f"fft_{name}2": over_several(*ANY) for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft_{name}2": over_several(*REAL) for name in ("rfft", "ihfft")},
    **{f"fft_{name}n": without_dims(*ANY) for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft_{name}n": without_dims(*REAL) for name in ("rfft", "ihfft")},
    "fft_fftfreq": frequencies,
    "fft_rfftfreq": frequencies,
    "stft": spectra_of_windows(center=False),
    "stft.center": spectra_of_windows(center=True),
    "istft": signals_of_spectra,
    "fft_fftshift": shifts,
    "fft_ifftshift": shifts,
}
