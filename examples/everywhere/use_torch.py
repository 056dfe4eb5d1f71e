"""The six operators called from PyTorch and from NumPy: equal values, gradients, a compiled program, a batch."""

import everywhere_ops_torch  # noqa: F401  (it registers torch.ops.everywhere)
import numpy as np
import torch
from everywhere_ops import ops

f = torch.ops.everywhere
torch.manual_seed(0)
x, rows, other = torch.randn(4, 6), torch.randn(3, 6), torch.randn(5, 6)
calls = {
    "soft_threshold": ((x,), {"limit": 0.3}),
    "haversine": (tuple(torch.rand(4, 7)), {}),
    "squared_distances": ((rows, other), {}),
    "standardize": ((x,), {}),
    "peak": ((x, 1), {}),
    "moving_mean": ((x, 1), {}),
}
for name, (args, kwargs) in calls.items():
    arrays = [each.numpy() if isinstance(each, torch.Tensor) else each for each in args]
    same = np.array_equal(getattr(f, name)(*args, **kwargs).numpy(), getattr(ops, name)(*arrays, **kwargs))
    print(f"{name}: {'equal' if same else 'different'}")


def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return f.squared_distances(f.standardize(a), f.moving_mean(b, 1)).mean()


rows.requires_grad_()
compiled = torch.compile(loss, fullgraph=True)
(plain,) = torch.autograd.grad(loss(rows, other), rows)
(traced,) = torch.autograd.grad(compiled(rows, other), rows)
print("compiled gradient:", "equal" if torch.allclose(plain, traced) else "different")
batches = torch.stack([rows.detach(), x[:3]])
together = torch.vmap(loss, in_dims=(0, None))(batches, other)
one_by_one = torch.stack([loss(each, other) for each in batches])
print("two batches at once:", "equal" if torch.allclose(together, one_by_one) else "different")
