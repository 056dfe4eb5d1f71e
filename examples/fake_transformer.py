"""How large is it? A transformer of 12 layers, run forward on tensors that have no data: on a GPU that is not there."""

from __future__ import annotations

import tracemalloc

import opwright as ow
import opwright.nn.functional as F
from opwright import Tensor
from opwright.fake import FakeTensorMode

BATCH, LENGTH, WIDTH, HEADS, LAYERS, WORDS = 1024, 512, 768, 12, 12, 50_257


def weights(device: str) -> dict[str, Tensor]:
    """The parameters of one layer."""
    shapes = {
        "norm1": (WIDTH,), "norm1_bias": (WIDTH,), "qkv": (3 * WIDTH, WIDTH), "qkv_bias": (3 * WIDTH,),
        "out": (WIDTH, WIDTH), "out_bias": (WIDTH,), "norm2": (WIDTH,), "norm2_bias": (WIDTH,),
        "up": (4 * WIDTH, WIDTH), "up_bias": (4 * WIDTH,), "down": (WIDTH, 4 * WIDTH), "down_bias": (WIDTH,),
    }  # fmt: skip
    return {name: ow.randn(*shape, device=device) for name, shape in shapes.items()}


def layer(x: Tensor, w: dict[str, Tensor]) -> Tensor:
    """Attention, then a perceptron, each added to its input."""
    h = F.layer_norm(x, [WIDTH], w["norm1"], w["norm1_bias"])
    qkv = F.linear(h, w["qkv"], w["qkv_bias"]).view(x.shape[0], x.shape[1], 3, HEADS, WIDTH // HEADS)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    h = h.transpose(1, 2).reshape(x.shape[0], x.shape[1], WIDTH)
    x = x + F.linear(h, w["out"], w["out_bias"])
    h = F.layer_norm(x, [WIDTH], w["norm2"], w["norm2_bias"])
    return x + F.linear(F.gelu(F.linear(h, w["up"], w["up_bias"])), w["down"], w["down_bias"])


def forward(batch: int, length: int, layers: int) -> tuple[Tensor, int]:
    """The scores of the next word at each place, and the number of parameters."""
    words = ow.randint(WORDS, (batch, length), device="cuda")
    table = ow.randn(WORDS, WIDTH, device="cuda")
    parameters = [weights("cuda") for _ in range(layers)]
    x = F.embedding(words, table)
    for each in parameters:
        x = layer(x, each)
    return F.linear(x, table), table.numel() + sum(w.numel() for each in parameters for w in each.values())


def main() -> None:
    """Print what came out, and what it took."""
    with FakeTensorMode():
        forward(1, 2, 1)  # loads the code, which is not to count
        tracemalloc.start()
        scores, parameters = forward(BATCH, LENGTH, LAYERS)
    print(f"scores: {tuple(scores.shape)} {scores.dtype} on {scores.device}, {scores.nbytes / 1e9:.1f} GB if real")
    print(f"parameters: {parameters / 1e6:.1f} million")
    print(f"memory for all of it: {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
