"""`save` and `load`, and `as_torch`."""

from __future__ import annotations

import copy
import importlib.util
import io
import os
import pickle
import stat
import subprocess
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor

VALUES: list[Any] = [
    opwright.arange(6.0).reshape(2, 3), opwright.arange(6).reshape(2, 3).t(), opwright.ones(2, dtype=opwright.bfloat16),
    opwright.tensor(True), opwright.zeros(0, 3), opwright.tensor([1 + 2j]), opwright.tensor([1.0], requires_grad=True),
]  # fmt: skip


def same(a: Tensor, b: Tensor) -> bool:
    facts = [(x.shape, x.stride(), x.dtype, x.requires_grad, x.tolist()) for x in (a, b)]
    return facts[0] == facts[1]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_tensors_come_back(value: Tensor, protocol: int, tmp_path: Path) -> None:
    opwright.save(value, tmp_path / "f", pickle_protocol=protocol)
    assert same(opwright.load(tmp_path / "f"), value)
    buffer = io.BytesIO()
    opwright.save(value, buffer, pickle_protocol=protocol)
    buffer.seek(0)
    assert same(opwright.load(buffer), value)


def test_containers_come_back_and_memory_is_shared(tmp_path: Path) -> None:
    x = opwright.zeros(2, 3)
    state = OrderedDict(x=x, row=x[1], step=3, rates=(0.1, None), names=["a", b"b"], kinds={1, 2}, by=opwright.float32,
                        on=opwright.device("cpu"), array=np.ones(2), random=opwright.default_generator)  # fmt: skip
    opwright.save(state, tmp_path / "f")
    found = opwright.load(tmp_path / "f")
    found["x"].fill_(7)
    assert found["row"].tolist() == [7, 7, 7]
    assert [found[name] for name in ("step", "rates", "names", "kinds", "by", "on")] == [
        state[name] for name in ("step", "rates", "names", "kinds", "by", "on")
    ]
    assert opwright.load(tmp_path / "f", map_location="meta")["x"].is_meta


class Runs:
    def __reduce__(self) -> Any:
        return os.system, ("exit 3",)


class Own:
    pass


@pytest.mark.parametrize(
    "value",
    [Runs(), Own(), len, [1, {"a": Runs()}], os.path.join],
    ids=["runs", "own", "builtin", "inside", "function"],
)
def test_a_safe_load_runs_nothing(value: Any, tmp_path: Path) -> None:
    opwright.save(value, tmp_path / "f")
    with pytest.raises(pickle.UnpicklingError, match=r"neither a tensor nor a plain container.*weights_only=False"):
        opwright.load(tmp_path / "f")


def test_other_objects_are_read_when_asked_for(tmp_path: Path) -> None:
    opwright.save(Own(), tmp_path / "f")
    assert isinstance(opwright.load(tmp_path / "f", weights_only=False), Own)


def test_a_tensor_does_not_reach_beyond_its_file() -> None:
    call, (storage, _, _, _, dtype, grad) = opwright.ones(2).__reduce_ex__(4)

    class Wide:
        def __reduce__(self) -> Any:
            return call, (storage, (1000,), (1,), 0, dtype, grad)

    buffer = io.BytesIO(pickle.dumps(Wide()))
    with pytest.raises(pickle.UnpicklingError, match="out of bounds"):
        opwright.load(buffer)


@pytest.mark.parametrize("data", [b"", b"abc", b"\x80\x04", pickle.dumps(opwright.ones(3))[:-9]])
def test_what_is_no_such_file(data: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        opwright.load(io.BytesIO(data))


def test_files_are_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    opwright.save(opwright.ones(2), path)
    path.chmod(0o640)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        opwright.save([opwright.ones(1000), lambda: 0], path)
    assert opwright.load(path).tolist() == [1, 1]
    link = tmp_path / "link"
    link.symlink_to(path)
    opwright.save(opwright.zeros(1), link)
    assert link.is_symlink() and opwright.load(path).tolist() == [0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f", "link"]
    opwright.save(opwright.ones(2), os.devnull)
    assert not stat.S_ISREG(Path(os.devnull).stat().st_mode)


def detached(x: Tensor) -> tuple[Tensor, Tensor]:
    return x, x.data


def of_a_parameter(x: Tensor) -> tuple[Tensor, Tensor]:
    leaf = x.clone().requires_grad_()
    return leaf.data, leaf.detach()


def given_data(x: Tensor) -> tuple[Tensor, Tensor]:
    other = opwright.zeros(1)
    other.data = x
    return x, other


SHARED: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {
    "data": detached,
    "data of a parameter": of_a_parameter,
    "data that was set": given_data,
    "detach": lambda x: (x, x.detach()),
    "a view": lambda x: (x, x.view(-1)),
    "a part": lambda x: (x, x[1:]),
    "data of a part": lambda x: (x.data, x[1:].data),
    "transposed": lambda x: (x, x.t()),
    "data of columns": lambda x: detached(x.t().clone(memory_format=opwright.preserve_format)),
    "data of strides": lambda x: detached(x.reshape(1, 2, 3).permute(1, 0, 2).clone()),
    "another dtype": lambda x: (x, x.view(opwright.int32)),
    "expanded": lambda x: (x, x[:1].expand(4, 3)),
}


@pytest.mark.parametrize("copied", ["save", "save for anyone", "pickle", "deepcopy"])
@pytest.mark.parametrize("case", SHARED)
def test_what_shares_memory_does_so_again(case: str, copied: str) -> None:
    pair = SHARED[case](opwright.arange(6.0).reshape(2, 3))
    ways: dict[str, Callable[[Any], Any]] = {
        "save": lambda value: opwright.load(saved(value), weights_only=False),
        "save for anyone": lambda value: opwright.load(saved(value)),
        "pickle": lambda value: pickle.loads(pickle.dumps(value)),
        "deepcopy": copy.deepcopy,
    }
    first, second = ways[copied](pair)
    before = second.clone()
    assert first.tolist() == pair[0].tolist() and second.tolist() == pair[1].tolist()
    first.fill_(7)
    assert not opwright.equal(second, before)
    assert pair[0].tolist() != first.tolist()


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    opwright.save(value, file)
    file.seek(0)
    return file


def test_a_recorded_tensor_comes_back_as_a_leaf() -> None:
    recorded = opwright.ones(2, requires_grad=True) * 3
    again = opwright.load(saved({"loss": recorded}))["loss"]
    assert again.is_leaf and again.requires_grad and again.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        copy.deepcopy(recorded)


def test_where_tensors_come_to() -> None:
    asked = []

    def stay(storage: Any, location: str) -> Any:
        asked.append(location)
        return storage

    value = {"a": opwright.ones(2), "n": 3}
    places = ["cpu", opwright.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, stay, lambda storage, location: None]
    for place in places:
        for is_safe in (True, False):
            found = opwright.load(saved(value), place, weights_only=is_safe)
            assert found["a"].device.type == "cpu" and found["a"].tolist() == [1, 1] and found["n"] == 3
    assert asked == ["cpu", "cpu"]
    assert opwright.load(saved(value), {"cpu": "meta"})["a"].device.type == "meta"


def test_options_of_load(tmp_path: Path) -> None:
    opwright.save([1, opwright.ones(2)], tmp_path / "x", pickle_module=pickle)
    for options in (
        {"mmap": True},
        {"mmap": False},
        {"pickle_module": pickle},
        {"weights_only": False, "encoding": "x"},
    ):
        assert opwright.load(tmp_path / "x", **options)[0] == 1
    with pytest.raises(ValueError, match="must be a file path"):
        opwright.load(saved(1), mmap=True)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        opwright.load(saved(1), pickle_module=pickle, weights_only=True)


def test_a_state_dict_keeps_its_metadata() -> None:
    state: Any = OrderedDict(weight=opwright.ones(2))
    state._metadata = OrderedDict({"": {"version": 1}})
    found = opwright.load(saved(state))
    assert type(found) is OrderedDict and found._metadata == state._metadata
    assert opwright.load(saved(Counter([4, 9, 9]))) == Counter({9: 2, 4: 1})


AS_TORCH = """
import sys, types
before = types.ModuleType("torch")
if {is_there}: sys.modules["torch"] = before
import opwright
spec = opwright.autograd.__spec__
with opwright.as_torch() as found:
    import torch
    import torch.nn.functional as F
    from torch.autograd import Function
    from torch import Tensor, nn
    from torch.utils._pytree import tree_map
    import user_of_torch
    try: import torch.hub
    except ModuleNotFoundError as error: print(error)
    try:
        with opwright.as_torch(): pass
    except RuntimeError as error: print(error)
assert torch is found and torch.add is opwright.add and Function is opwright.autograd.Function
assert Tensor is opwright.Tensor and torch.autograd.grad is opwright.autograd.grad and torch.ops is opwright.ops
assert F.relu is opwright.nn.functional.relu is nn.functional.relu and user_of_torch.torch is torch
assert opwright.autograd.__spec__ is spec and opwright.nn.functional.__name__ == "opwright.nn.functional"
assert (sys.modules.get("torch") is before) == {is_there} and "torch.autograd" not in sys.modules
print(user_of_torch.double(torch.ones(2)).tolist())
"""


@pytest.mark.parametrize("is_there", [False, True])
def test_opwright_as_torch(is_there: bool, tmp_path: Path) -> None:
    user = "import torch\nfrom torch.autograd import Function\n\ndef double(x: torch.Tensor):\n    return x * 2\n"
    (tmp_path / "user_of_torch.py").write_text(user)
    (tmp_path / "main.py").write_text(AS_TORCH.format(is_there=is_there))
    run = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "No module named 'torch.hub': opwright.as_torch() gives Opwright as torch, which has no opwright.hub",
        "as_torch() within as_torch(): torch is Opwright already",
        "[2.0, 2.0]",
    ]


WITHOUT_TORCH = """
import opwright
with opwright.as_torch():
    for name in ("torch.optim", "torch.nn.modules.linear"):
        try: __import__(name)
        except ModuleNotFoundError as error: print(error)
    from torch import nn
    try: nn.Linear
    except AttributeError as error: print(error)
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
def test_opwright_as_torch_says_that_layers_are_pytorchs_own() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    said = "is a file of PyTorch's own, which as_torch() runs over Opwright's tensors: pip install torch"
    assert run.stdout.splitlines() == [
        f"No module named 'torch.optim': it {said}",
        f"No module named 'torch.nn.modules': it {said}",
        f"module 'opwright.nn' has no attribute 'Linear': torch.nn.modules {said}",
    ], run.stderr


def test_cuda_without_a_device() -> None:
    if opwright.cuda.is_available():
        assert opwright.cuda.device_count() > opwright.cuda.current_device() >= 0
        opwright.cuda.synchronize()
        return
    assert opwright.cuda.device_count() == 0
    opwright.cuda.manual_seed(3)
    opwright.cuda.manual_seed_all(3)
    opwright.cuda.empty_cache()
    for call in (opwright.cuda.synchronize, opwright.cuda.current_device, opwright.cuda.get_device_name):
        with pytest.raises(RuntimeError, match="no CUDA device is available"):
            call()
