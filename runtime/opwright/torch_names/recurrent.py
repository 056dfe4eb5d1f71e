"""Recurrent layers, `torch._VF`: cells, and layers of them over sequences, padded or packed.

The equations, the order of gates and of weights are those of PyTorch's documentation of RNN, LSTM and GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import opwright
from opwright.nn import functional

__all__ = ["CELLS", "LAYERS"]

Tensor = opwright.Tensor
State = tuple[Tensor, ...]  # the hidden state, then the cell state of an LSTM
Weights = Sequence[Tensor]  # w_ih, w_hh, b_ih and b_hh where there are biases, w_hr where states are projected
Step = Callable[[Tensor, State, Weights, bool], State]


def _gates(x: Tensor, hidden: Tensor, weights: Weights, biases: bool) -> tuple[Tensor, Tensor]:
    of_input, of_state = (weights[2], weights[3]) if biases else (None, None)
    return functional.linear(x, weights[0], of_input), functional.linear(hidden, weights[1], of_state)


def _rnn(activation: Callable[[Tensor], Tensor], x: Tensor, state: State, weights: Weights, biases: bool) -> State:
    of_input, of_state = _gates(x, state[0], weights, biases)
    return (activation(of_input + of_state),)


def _lstm(x: Tensor, state: State, weights: Weights, biases: bool) -> State:
    of_input, of_state = _gates(x, state[0], weights, biases)
    into, forget, cell, out = (of_input + of_state).chunk(4, -1)
    new = forget.sigmoid() * state[1] + into.sigmoid() * cell.tanh()
    hidden = out.sigmoid() * new.tanh()
    is_projected = len(weights) == (5 if biases else 3)
    return functional.linear(hidden, weights[-1]) if is_projected else hidden, new


def _gru(x: Tensor, state: State, weights: Weights, biases: bool) -> State:
    of_input, of_state = _gates(x, state[0], weights, biases)
    (reset, update, new), (old_reset, old_update, old_new) = of_input.chunk(3, -1), of_state.chunk(3, -1)
    candidate = (new + (reset + old_reset).sigmoid() * old_new).tanh()
    return (candidate + (update + old_update).sigmoid() * (state[0] - candidate),)


_STEPS: Final[dict[str, Step]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": partial(_rnn, opwright.tanh),
    "rnn_relu": partial(_rnn, opwright.relu),
}


def _cell(step: Step, x: Tensor, state: Tensor | State, *weights: Tensor | None) -> Tensor | State:
    """Return the next state of a cell."""
    given = [each for each in weights if each is not None]
    before = state if isinstance(state, tuple | list) else (state,)
    found = step(x, tuple(before), given, len(given) == 4)
    return found if len(found) > 1 else found[0]


def _layers(step: Step, *args: Any) -> tuple[Tensor, ...]:
    """Return the results of all times, and the last states, of layers over a padded batch of sequences.

    The arguments are `input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first`, or with
    a packed batch `data, batch_sizes, hx, params, …`, without `batch_first`.
    """
    is_packed = isinstance(args[3], tuple | list)
    if is_packed:
        data, sizes, hx, *rest = args
        steps = [data[start:end] for start, end in pairwise([0, *sizes.cumsum(0).tolist()])]
        found, states = _over_layers(step, steps, hx, *rest)
        return opwright.cat(found), *states
    x, hx, *rest, batch_first = args
    found, states = _over_layers(step, list(x.unbind(1 if batch_first else 0)), hx, *rest)
    return opwright.stack(found, 1 if batch_first else 0), *states


def _over_layers(
    step: Step,
    steps: list[Tensor],
    hx: Tensor | Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[list[Tensor], list[Tensor]]:
    given = hx if isinstance(hx, tuple | list) else (hx,)
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    last: list[State] = []
    for layer in range(num_layers):
        found = []
        for direction in range(directions):
            position = layer * directions + direction
            first = tuple(state[position] for state in given)
            results, state = _in_time(step, steps, first, params[position * each :][:each], has_biases, direction == 1)
            found.append(results)
            last.append(state)
        steps = found[0] if directions == 1 else [opwright.cat(pair, -1) for pair in zip(*found, strict=True)]
        if dropout and train and layer < num_layers - 1:
            steps = [functional.dropout(x, dropout, True) for x in steps]
    return steps, [opwright.stack(states) for states in zip(*last, strict=True)]


def _in_time(
    step: Step, steps: list[Tensor], first: State, weights: Weights, biases: bool, backwards: bool
) -> tuple[list[Tensor], State]:
    """Return the results of one layer in one direction, and its last state.

    Sequences of a packed batch end one after the other, the last of the batch first: each keeps the state that it has
    then, or begins late where time runs backwards.
    """
    state, results, ended = tuple(each[: len(steps[-1 if backwards else 0])] for each in first), [], []
    for x in reversed(steps) if backwards else steps:
        count, had = len(x), len(state[0])
        if count < had:
            ended.append(tuple(each[count:] for each in state))
            state = tuple(each[:count] for each in state)
        elif count > had:
            state = tuple(opwright.cat([now, begin[had:count]]) for now, begin in zip(state, first, strict=True))
        state = step(x, state, weights, biases)
        results.append(state[0])
    if ended:
        parts = [state, *reversed(ended)]
        state = tuple(opwright.cat(list(each)) for each in zip(*parts, strict=True))
    return (results[::-1] if backwards else results), state


LAYERS: Final = {name: partial(_layers, step) for name, step in _STEPS.items()}
CELLS: Final = {f"{name}_cell": partial(_cell, step) for name, step in _STEPS.items()}
