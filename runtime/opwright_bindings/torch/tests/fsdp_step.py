"""A training step of FSDP2 through bound operators, beside the same step without it.

`python fsdp_step.py FOLDER RANK WORLD STORE`: FOLDER holds the generated package of examples/everywhere, STORE is a
file that the processes of the group share. Prints the greatest difference of parameters.
"""

from __future__ import annotations

import copy
import sys

import torch
from torch.distributed.fsdp import fully_shard


class Layer(torch.nn.Module):
    """Weights that go through operators of a package."""

    def __init__(self) -> None:
        super().__init__()
        self.centres = torch.nn.Parameter(torch.randn(4, 6))
        self.scale = torch.nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the squared distances of smoothed rows to thresholded centres."""
        ops = torch.ops.everywhere
        rows = ops.moving_mean(ops.standardize(x) * ops.soft_threshold(self.scale, limit=0.1), 1)
        return ops.squared_distances(rows, ops.soft_threshold(self.centres, limit=0.1))


def step(module: torch.nn.Module, x: torch.Tensor) -> None:
    """Do two steps of gradient descent."""
    optimizer = torch.optim.SGD(module.parameters(), 0.01)
    for _ in range(2):
        optimizer.zero_grad()
        module(x).mean().backward()
        optimizer.step()


def main(folder: str, rank: str, world: str, store: str) -> None:
    """Train with FSDP2 and without it, and print the greatest difference."""
    sys.path.insert(0, folder)
    import everywhere_ops_torch  # noqa: F401

    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain, x = torch.nn.Sequential(Layer(), torch.nn.Linear(4, 6), Layer()), torch.randn(8, 6)
    files = torch.distributed.FileStore(store, int(world))
    torch.distributed.init_process_group("gloo", rank=int(rank), world_size=int(world), store=files)
    sharded = copy.deepcopy(plain)
    for layer in sharded:
        fully_shard(layer)
    fully_shard(sharded)
    step(sharded, x)
    step(plain, x)
    pairs = zip(plain.parameters(), sharded.parameters(), strict=True)
    print(max((one - other.full_tensor()).abs().max().item() for one, other in pairs))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
