"""What was public before modules stood in rooms: every name is there still, and pickles of then are read."""

from __future__ import annotations

import importlib
import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.former import names as former_names

BEFORE = Path(__file__).parent / "before_rooms"
NAMES = dict(line.split(": ", 1) for line in (BEFORE / "names.txt").read_text().splitlines() if ": " in line)
# Names of our own use, which no page named. What generated code imports is another version's.
GONE = {
    "opwright.autograd.recording": {"refreshing", "register_hook", "register_post_accumulate_hook", "retains_grad"},
    "opwright.autograd.batched": {"split", "stack"},  # a batch goes through one pass
    "opwright.abi": {"declare", "name_rules", "packet", "show_result"},
    "opwright.custom_ops.forward": {"JvpRule"},
    "opwright.devices": {"register_backend"},  # `opwright.register_backend`
    "opwright.dispatcher": {"declare"},
    "opwright.factories": {"install"},
    "opwright.forward_rules": {"find_rule", "find_unloaded_rules", "remove_rule"},  # methods of RuleTable
    "opwright.kernel_errors": {"gradient_text", "name_kernel", "recorded_by"},
    "opwright.overloads": {"drop_if_empty"},
    "opwright.python_dispatch.rules": {"RuleHandle", "find_rule"},  # of RuleTable
    "opwright.registrations": {"counting"},
    "opwright.registry": {"key_of_device", "register_fallback"},  # `dispatch.user_kernels`
    "opwright.tensor": {"check_steps"},  # `given_arrays`
    "opwright.returns": {"show_result"},  # the text of results is in `generated`
    "opwright.rules.windows": {"check_named"},  # `check_accepted` knows names of dtypes, too
    "opwright.signature": {"split_types"},  # `declarations.read` gives them
    "opwright.values": {"fake_context"},
}
# Modules whose name is PyTorch's for something else by now.
TAKEN = {"opwright.autocast": "opwright.amp"}
PICKLES: dict[str, bytes] = pickle.loads((BEFORE / "pickles.bin").read_bytes())


@pytest.mark.filterwarnings("ignore:test_former_names uses .* of opwright_core.abi:DeprecationWarning")
def test_every_public_name_of_before_is_there() -> None:
    found = {module: importlib.import_module(TAKEN.get(module, module)) for module in NAMES}
    assert [
        f"{module}.{name}"
        for module, names in NAMES.items()
        for name in names.split()
        if name not in GONE.get(module, ()) and not hasattr(found[module], name)
    ] == []


def test_a_module_has_one_identity_under_both_names() -> None:
    for former, current in former_names._CURRENT.items():
        assert importlib.import_module(former) is importlib.import_module(current)
        assert importlib.import_module(current).__name__ == current
    assert callable(opwright.tensor)
    assert callable(opwright.rules.embedding) and callable(opwright.rules.convolution)
    assert opwright.dtypes is importlib.import_module("opwright_core.arrays.dtypes")


@pytest.mark.parametrize("name", ["gamma", "activations", "opwright.kernels.lapack", "composites.shapes"])
def test_modules_of_kernels_that_stand_by_family(name: str) -> None:
    """Generated packages name the one with special functions."""
    former = name if name.startswith("opwright.") else f"opwright_kernels.{name}"
    found = importlib.import_module(former)
    assert found is importlib.import_module(found.__name__) and found.__name__.count(".") == 2


@pytest.mark.parametrize("name", ["metadata", "tensor", "custom_ops.recording", "fake_profile"])
def test_a_former_name_can_be_imported_first(name: str) -> None:
    program = f"import opwright.{name}; import opwright; print(opwright.tensor([1.]).sum().item())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "1.0\n"


def _read(name: str) -> Any:
    return pickle.loads(PICKLES[name])


def test_tensors_pickled_before_are_read() -> None:
    tensor = _read("tensor")
    assert tensor.tolist() == [[1.0, 2.0], [3.0, 4.0]] and tensor.requires_grad
    base, rows, turned = _read("view")
    base[1, 0] = 99.0
    assert rows[0, 0] == 99 and turned[0, 1] == 99 and turned.stride() == (1, 4)
    assert _read("half").dtype == opwright.bfloat16 and _read("half").item() == 1.5


def test_other_things_pickled_before_are_read() -> None:
    assert _read("operator") is opwright.ops.aten.add.Tensor
    assert _read("packet") is opwright.ops.aten.add
    assert _read("device") == opwright.device("cuda:1")
    assert _read("dtype") == opwright.float16
    assert _read("layout") == [opwright.strided, opwright.channels_last]
    assert type(_read("size")) is opwright.Size and _read("size") == (2, 3)
    assert _read("tag") is opwright.Tag.core
    drawn = [opwright.rand(3, generator=generator) for generator in (_read("generator"), _seeded())]
    np.testing.assert_array_equal(drawn[0].numpy(), drawn[1].numpy())


def _seeded() -> opwright.Generator:
    return opwright.Generator().manual_seed(3)


def test_files_saved_before_are_loaded() -> None:
    loaded = opwright.load(BEFORE / "saved.bin")
    assert loaded["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [each.storage_offset() for each in loaded["v"]] == [0, 4, 0]


def test_what_a_safe_load_refuses_it_refuses_under_former_names_too() -> None:
    now = pickle.dumps(opwright.ops.aten.add.Tensor, 0)
    evil = now.replace(b"opwright_core.dispatch.call.operator", b"opwright.dispatcher")
    assert evil != now
    with pytest.raises(pickle.UnpicklingError, match="neither a tensor nor a plain container"):
        opwright.load(io.BytesIO(evil))
