"""PyTorch's own layers, losses and optimizers over our tensors: the values, gradients and losses that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

X1, X2, X3 = (2, 4, 9), (2, 4, 8, 8), (2, 4, 6, 6, 6)
ROWS = (5, 6)
# Name, arguments, shapes of inputs; "i": indices below 6.
LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], list[Any]]] = [
    *((f"Conv{d}d", (4, 6, 3), {"padding": 1, "groups": 2}, [x]) for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"ConvTranspose{d}d", (4, 6, 3), {"stride": 2}, [x]) for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"BatchNorm{d}d", (4,), {}, [x]) for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"InstanceNorm{d}d", (4,), {"affine": True}, [x]) for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"{kind}Pool{d}d", (2,), {}, [x]) for kind in ("Max", "Avg") for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"Adaptive{k}Pool{d}d", (3,), {}, [x]) for k in ("Max", "Avg") for d, x in ((1, X1), (2, X2), (3, X3))),
    *((f"LPPool{d}d", (2, 2), {}, [x]) for d, x in ((1, X1), (2, X2))),
    *((f"{kind}Pad2d", (1,), {}, [X2]) for kind in ("Reflection", "Replication", "Zero", "Circular")),
    *(
        (name, (), {}, [ROWS])
        for name in (
            "ReLU",
            "ReLU6",
            "Sigmoid",
            "Tanh",
            "ELU",
            "CELU",
            "SELU",
            "GELU",
            "SiLU",
            "Mish",
            "Softplus",
            "Softsign",
            "Hardtanh",
            "Hardsigmoid",
            "Hardswish",
            "Hardshrink",
            "Softshrink",
            "Tanhshrink",
            "LogSigmoid",
            "LeakyReLU",
            "PReLU",
            "Identity",
        )
    ),
    *((name, (), {"dim": 1}, [ROWS]) for name in ("Softmax", "Softmin", "LogSoftmax", "GLU")),
    ("Threshold", (0.1, 20.0), {}, [ROWS]),
    ("ConstantPad2d", (1, 3.0), {}, [X2]),
    ("Linear", (6, 3), {}, [ROWS]),
    ("Bilinear", (6, 5, 3), {}, [ROWS, (5, 5)]),
    ("LayerNorm", (6,), {}, [ROWS]),
    ("RMSNorm", (6,), {}, [ROWS]),
    ("GroupNorm", (2, 4), {}, [X2]),
    ("LocalResponseNorm", (2,), {}, [X2]),
    ("Embedding", (6, 3), {"padding_idx": 1}, ["i"]),
    ("EmbeddingBag", (6, 3), {"mode": "sum"}, ["i"]),
    ("Flatten", (), {}, [X2]),
    ("Unflatten", (1, (2, 3)), {}, [ROWS]),
    ("Fold", ((4, 5), (2, 2)), {}, [(2, 12, 12)]),
    ("Unfold", ((2, 3),), {}, [X2]),
    ("PixelShuffle", (2,), {}, [X2]),
    ("PixelUnshuffle", (2,), {}, [X2]),
    ("ChannelShuffle", (2,), {}, [X2]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, [X2]),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, [X2]),
    ("CosineSimilarity", (), {}, [ROWS, ROWS]),
    ("PairwiseDistance", (), {}, [ROWS, ROWS]),
    ("MultiheadAttention", (6, 2), {"batch_first": True}, [(2, 5, 6)] * 3),
    ("TransformerEncoderLayer", (6, 2, 8), {"dropout": 0.0}, [(2, 5, 6)]),
    ("TransformerDecoderLayer", (6, 2, 8), {"dropout": 0.0}, [(2, 5, 6), (2, 5, 6)]),
    ("RNNCell", (6, 3), {}, [ROWS]),
    ("LSTMCell", (6, 3), {}, [ROWS]),
    ("GRUCell", (6, 3), {}, [ROWS]),
    ("RNN", (6, 3), {"num_layers": 2, "nonlinearity": "relu"}, [(4, 2, 6)]),
    ("LSTM", (6, 4), {"proj_size": 3, "bidirectional": True, "batch_first": True}, [(2, 4, 6)]),
    ("GRU", (6, 3), {"num_layers": 2, "bidirectional": True, "bias": False}, [(4, 2, 6)]),
    *((name, (), {}, [ROWS, ROWS]) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "KLDivLoss")),
    ("BCEWithLogitsLoss", (), {"pos_weight": None}, [ROWS, ROWS]),
    ("CosineEmbeddingLoss", (), {}, [ROWS, ROWS, "sign"]),
    ("TripletMarginLoss", (), {}, [ROWS, ROWS, ROWS]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, [ROWS, "i"]),
    ("NLLLoss", (), {}, [ROWS, "i"]),
    ("MultiMarginLoss", (), {}, [ROWS, "i"]),
    ("MarginRankingLoss", (), {}, [(5,), (5,), "sign"]),
    ("PoissonNLLLoss", (), {}, [ROWS, ROWS]),
    ("GaussianNLLLoss", (), {}, [ROWS, ROWS, "positive"]),
]


def _inputs(shapes: list[Any]) -> list[np.ndarray[Any, Any]]:
    random = seeds.numpy_generator(3)
    special: dict[str, Callable[[], Any]] = {
        "i": lambda: random.integers(0, 6, 5),
        "sign": lambda: random.choice([-1.0, 1.0], 5),
        "positive": lambda: random.uniform(0.5, 2, ROWS),
    }
    found = [special[s]() if isinstance(s, str) else random.uniform(-2, 2, s) for s in shapes]
    return [x[None] if shapes == ["i"] else x for x in found]


def _tensors(value: Any) -> list[Any]:
    return [each for part in value for each in _tensors(part)] if isinstance(value, tuple | list) else [value]


def _run(lib: Any, name: str, args: Any, kwargs: Any, shapes: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return what a layer gives, and the gradients of its inputs and parameters, whose values are drawn."""
    from torch import nn

    layer = getattr(nn, name)(*args, **kwargs).double()
    random = seeds.numpy_generator(4)
    with lib.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(lib.from_numpy(random.uniform(-1, 1, tuple(parameter.shape))))
    given = [lib.from_numpy(each) for each in _inputs(shapes)]
    for each in given:
        if each.is_floating_point() and "sign" not in shapes and "positive" not in shapes:
            each.requires_grad_()
    results = [each for each in _tensors(layer(*given)) if each is not None]
    watched = [each for each in (*given, *layer.parameters()) if each.requires_grad]
    total = sum((each * each).sum() for each in results)
    gradients = lib.autograd.grad(total, watched, allow_unused=True) if watched else ()
    return [each.detach().numpy() for each in (*results, *gradients) if each is not None]


@pytest.mark.parametrize(("name", "args", "kwargs", "shapes"), LAYERS, ids=[name for name, *_ in LAYERS])
def test_a_layer_gives_what_pytorch_gives(name: str, args: Any, kwargs: Any, shapes: Any) -> None:
    expected = _run(torch, name, args, kwargs, shapes)
    with opwright.as_torch():
        found = _run(opwright, name, args, kwargs, shapes)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        # PyTorch's gradient of hardsigmoid has a sixth of float32.
        np.testing.assert_allclose(ours, theirs, rtol=1e-7 if name == "Hardsigmoid" else 1e-8, atol=1e-10)


OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda optim, parameters, name=name: getattr(optim, name)(parameters)  # type: ignore[misc]
        for name in ("Adadelta", "Adafactor", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop", "LBFGS")
    },
    "SGD": lambda optim, p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "SGD, maximize": lambda optim, p: optim.SGD(p, 0.01, maximize=True, dampening=0.1, momentum=0.5),
    "Adam": lambda optim, p: optim.Adam(p, 1e-2, amsgrad=True, weight_decay=1e-2),
    "Adam, foreach": lambda optim, p: optim.Adam(p, 1e-2, foreach=True),
    "Adam, amsgrad, foreach": lambda optim, p: optim.Adam(p, 1e-2, amsgrad=True, foreach=True),
    "AdamW": lambda optim, p: optim.AdamW(p, 1e-2),
    "RMSprop": lambda optim, p: optim.RMSprop(p, 1e-2, momentum=0.5, centered=True),
    "SGD, foreach": lambda optim, p: optim.SGD(p, 0.1, momentum=0.9, foreach=True),
}
SCHEDULES: list[Callable[[Any, Any], Any]] = [
    lambda schedule, optimizer: schedule.StepLR(optimizer, 3, 0.5),
    lambda schedule, optimizer: schedule.CosineAnnealingLR(optimizer, 10),
    lambda schedule, optimizer: schedule.OneCycleLR(optimizer, 0.02, total_steps=12, cycle_momentum=False),
    lambda schedule, optimizer: schedule.ExponentialLR(optimizer, 0.9),
]


def _losses(lib: Any, make: Callable[[Any, Any], Any], schedule: Callable[[Any, Any], Any]) -> list[float]:
    from torch import nn, optim

    random = seeds.numpy_generator(5)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.0), nn.Linear(8, 3)).double()
    with lib.no_grad():
        for parameter in model.parameters():
            parameter.copy_(lib.from_numpy(random.uniform(-0.5, 0.5, tuple(parameter.shape))))
    data, target = lib.from_numpy(random.normal(size=(12, 6))), lib.from_numpy(random.integers(0, 3, 12))
    optimizer = make(optim, model.parameters())
    scheduler = schedule(optim.lr_scheduler, optimizer)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        return loss

    losses = []
    for _ in range(8):
        losses.append(optimizer.step(closure).item())
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scheduler.step()
    return losses


@pytest.mark.parametrize("place", range(len(OPTIMIZERS)), ids=list(OPTIMIZERS))
def test_an_optimizer_takes_the_steps_of_pytorch(place: int) -> None:
    make, schedule = list(OPTIMIZERS.values())[place], SCHEDULES[place % len(SCHEDULES)]
    expected = _losses(torch, make, schedule)
    with opwright.as_torch():
        found = _losses(opwright, make, schedule)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_packed_sequences_run_through_recurrent_layers() -> None:
    def run(lib: Any) -> list[Any]:
        from torch import nn

        random = seeds.numpy_generator(6)
        layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True).double()
        with lib.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(lib.from_numpy(random.uniform(-1, 1, tuple(parameter.shape))))
        sequences = [lib.from_numpy(random.normal(size=(length, 3))) for length in (5, 2, 4)]
        packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
        results, (hidden, cell) = layer(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(results)
        return [each.detach().numpy() for each in (padded, lengths, hidden, cell)]

    expected = run(torch)
    with opwright.as_torch():
        found = run(opwright)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
