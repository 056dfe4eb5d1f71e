"""`torch.utils.data` over our tensors: PyTorch's own files give the batches that they give over its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def _data_set(lib: Any) -> Any:
    return lib.utils.data.TensorDataset(lib.arange(10.0).reshape(10, 1), lib.arange(10))


def _mixed(lib: Any) -> Any:
    class Mixed(lib.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 5

        def __getitem__(self, at: int) -> dict[str, Any]:
            return {"x": at * 1.0, "y": lib.tensor([at]), "name": str(at), "pair": (at, [at, -at])}

    return Mixed()


def _stream(lib: Any) -> Any:
    class Stream(lib.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(5))

    return Stream()


def _seeded(lib: Any, seed: int = 0) -> Any:
    return lib.Generator().manual_seed(seed)


PROGRAMS = {
    "in order": lambda lib: list(lib.utils.data.DataLoader(_data_set(lib), batch_size=4)),
    "the last left out": lambda lib: list(lib.utils.data.DataLoader(_mixed(lib), batch_size=2, drop_last=True)),
    "shuffled": lambda lib: list(
        lib.utils.data.DataLoader(_data_set(lib), batch_size=5, shuffle=True, generator=_seeded(lib))
    ),
    "a stream": lambda lib: list(lib.utils.data.DataLoader(_stream(lib), batch_size=2)),
    "no batches": lambda lib: list(lib.utils.data.DataLoader(_data_set(lib), batch_size=None)),
    "split": lambda lib: [
        list(part.indices) for part in lib.utils.data.random_split(_data_set(lib), [7, 3], generator=_seeded(lib))
    ],
    "split by shares": lambda lib: [
        list(part) for part in lib.utils.data.random_split(_data_set(lib), [0.5, 0.5], generator=_seeded(lib))
    ],
    "joined": lambda lib: list(
        lib.utils.data.ConcatDataset([_data_set(lib), lib.utils.data.Subset(_data_set(lib), [2])])
    ),
    "weighted": lambda lib: list(lib.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4], 8, generator=_seeded(lib, 3))),
    "random": lambda lib: list(lib.utils.data.RandomSampler(range(9), generator=_seeded(lib, 3))),
    "batches": lambda lib: list(lib.utils.data.BatchSampler(lib.utils.data.SequentialSampler(range(5)), 2, False)),
    "collated": lambda lib: lib.utils.data.default_collate([{"a": 1, "b": (2.0, "x")}, {"a": 3, "b": (4.0, "y")}]),
    "by a function": lambda lib: list(lib.utils.data.DataLoader([1, 2, 3], batch_size=2, collate_fn=sum)),
}


def _plain(value: Any) -> Any:
    if isinstance(value, opwright.Tensor | torch.Tensor):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_are_pytorchs(name: str) -> None:
    with opwright.as_torch() as ours:
        found = _plain(PROGRAMS[name](ours))
    assert found == _plain(PROGRAMS[name](torch))


def test_other_processes_load(tmp_path: Any) -> None:
    program = tmp_path / "loads.py"
    program.write_text(
        "import opwright\n"
        "with opwright.as_torch():\n"
        "    import torch\n"
        "    from torch.utils.data import DataLoader, TensorDataset, get_worker_info\n"
        "    loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=2, num_workers=2)\n"
        "    print([batch.tolist() for batch, in loader], get_worker_info())\n"
        "    class Fails:\n"
        "        __len__ = lambda self: 2\n"
        "        def __getitem__(self, at): raise KeyError('none')\n"
        "    try:\n"
        "        list(DataLoader(Fails(), num_workers=1))\n"
        "    except KeyError as error:\n"
        "        print('Caught KeyError in DataLoader worker process 0' in str(error))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] None\nTrue\n", done.stderr
