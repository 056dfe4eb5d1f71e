"""Training steps of small networks: the same code on both libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .measure import Call, budget

Library = Any
_rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Step:
    """A step to measure: `prepare` makes it for a library."""

    name: str
    prepare: Callable[[Library], Call]
    budget: float | None


def steps() -> Iterator[Step]:
    """Four networks, each small and larger."""
    small, large = budget(2.0, 0.8), budget(1.3, 1.0)
    yield Step("MLP, small", mlp(32, 16, 32, 4), small)
    yield Step("transformer block, small", block(4, 8, 32, 4), small)
    yield Step("CNN, small", cnn(4, 4, 8, 8), small)
    yield Step("LSTM, small", lstm(4, 8, 16, 10), small)
    yield Step("MLP, larger", mlp(256, 784, 512, 10), large)
    yield Step("transformer block, larger", block(8, 128, 256, 8), large)
    yield Step("CNN, larger", cnn(32, 16, 32, 32), large)
    yield Step("LSTM, larger", lstm(64, 128, 256, 20), large)


def weight(*shape: int) -> Any:
    return (_rng.standard_normal(shape) / math.sqrt(shape[-1])).astype(np.float32)


def leaf(library: Library, array: Any) -> Any:
    return library.from_numpy(array.copy()).requires_grad_(True)


def mlp(batch: int, width: int, hidden: int, classes: int) -> Callable[[Library], Call]:
    inputs, targets = weight(batch, width), _rng.integers(0, classes, batch)
    arrays = [weight(hidden, width), np.zeros(hidden, np.float32)]
    arrays += [weight(classes, hidden), np.zeros(classes, np.float32)]

    def prepare(library: Library) -> Call:
        nn = library.nn.functional
        x, target = library.from_numpy(inputs.copy()), library.from_numpy(targets.copy())
        first, first_bias, last, last_bias = parameters = [leaf(library, array) for array in arrays]

        def step() -> None:
            hidden = nn.relu(nn.linear(x, first, first_bias))
            nn.cross_entropy(nn.linear(hidden, last, last_bias), target).backward()
            with library.no_grad():
                for parameter in parameters:
                    parameter.add_(parameter.grad, alpha=-0.01)
                    parameter.grad = None

        return step

    return prepare


def block(batch: int, length: int, width: int, heads: int) -> Callable[[Library], Call]:
    inputs = weight(batch, length, width)
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "out": (width, width)}
    shapes |= {"wide": (4 * width, width), "narrow": (width, 4 * width)}
    arrays = {name: weight(*shape) for name, shape in shapes.items()}
    arrays |= {name: np.ones(width, np.float32) for name in ("first_norm", "second_norm")}

    def prepare(library: Library) -> Call:
        nn = library.nn.functional
        x = library.from_numpy(inputs.copy())
        p = {name: leaf(library, array) for name, array in arrays.items()}

        def step() -> None:
            h = nn.layer_norm(x, (width,), p["first_norm"])
            q, k, v = (
                nn.linear(h, p[name]).view(batch, length, heads, width // heads).transpose(1, 2) for name in "qkv"
            )
            attended = nn.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
            y = x + nn.linear(attended, p["out"])
            h = nn.layer_norm(y, (width,), p["second_norm"])
            (y + nn.linear(nn.gelu(nn.linear(h, p["wide"])), p["narrow"])).square().mean().backward()
            forget(p.values())

        return step

    return prepare


def cnn(batch: int, first: int, second: int, size: int) -> Callable[[Library], Call]:
    inputs, targets = weight(batch, 3, size, size), _rng.integers(0, 10, batch)
    arrays = [weight(first, 3, 3, 3), weight(second, first, 3, 3), weight(10, second * (size // 4) ** 2)]

    def prepare(library: Library) -> Call:
        nn = library.nn.functional
        x, target = library.from_numpy(inputs.copy()), library.from_numpy(targets.copy())
        parameters = [leaf(library, array) for array in arrays]

        def step() -> None:
            h = x
            for kernel in parameters[:2]:
                h = nn.max_pool2d(nn.relu(nn.conv2d(h, kernel, padding=1)), 2)
            nn.cross_entropy(nn.linear(h.flatten(1), parameters[2]), target).backward()
            forget(parameters)

        return step

    return prepare


def lstm(batch: int, width: int, hidden: int, length: int) -> Callable[[Library], Call]:
    inputs = weight(length, batch, width)
    arrays = [weight(4 * hidden, width), weight(4 * hidden, hidden), np.zeros(4 * hidden, np.float32)]

    def prepare(library: Library) -> Call:
        linear = library.nn.functional.linear
        x, zeros = library.from_numpy(inputs.copy()), library.zeros([batch, hidden])
        into, around, bias = parameters = [leaf(library, array) for array in arrays]

        def step() -> None:
            h = c = zeros
            for place in range(length):
                gates = linear(x[place], into, bias) + linear(h, around)
                enter, keep, leave, new = gates.chunk(4, 1)
                c = keep.sigmoid() * c + enter.sigmoid() * new.tanh()
                h = leave.sigmoid() * c.tanh()
            h.sum().backward()
            forget(parameters)

        return step

    return prepare


def forget(parameters: Any) -> None:
    for parameter in parameters:
        parameter.grad = None
