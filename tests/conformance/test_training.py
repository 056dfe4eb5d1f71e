"""The training examples, run with PyTorch as well: after 20 steps from one start the parameters are the same."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import opwright  # noqa: E402

pytestmark = pytest.mark.oracle
EXAMPLES = Path(__file__).parents[2] / "examples"
# Largest differences seen: 4e-16 and 2e-7, of sums in another order.
TOLERANCES = {"float64": {"rtol": 1e-10, "atol": 1e-10}, "float32": {"rtol": 1e-5, "atol": 2e-6}}


def example(name: str, library: ModuleType) -> ModuleType:
    """The example over a library: both have the same names."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    made.ow, made.F = library, library.nn.functional  # type: ignore[attr-defined]
    return made


def classifier(library: ModuleType, dtype: str) -> tuple[Any, list[float]]:
    module = example("train_classifier", library)
    parameters = module.initial(64, getattr(library, dtype))
    return parameters, module.train(parameters, *module.spirals(100, getattr(library, dtype)), steps=20, report=False)


def transformer(library: ModuleType, dtype: str) -> tuple[Any, list[float]]:
    module = example("train_transformer", library)
    parameters = module.initial(getattr(library, dtype))
    return parameters, module.train(parameters, steps=20, report=False)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("train", [classifier, transformer])
def test_parameters_after_20_steps(train: Any, dtype: str) -> None:
    ours, losses = train(opwright, dtype)
    theirs, peer_losses = train(torch, dtype)
    for name, parameter in theirs.items():
        found = ours[name].detach().numpy()
        np.testing.assert_allclose(found, parameter.detach().numpy(), **TOLERANCES[dtype], err_msg=name)
    np.testing.assert_allclose(losses, peer_losses, **TOLERANCES[dtype])
    assert losses[-1] < losses[0]
