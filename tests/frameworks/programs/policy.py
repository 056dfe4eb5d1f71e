"""Programs written for PyTorch over `torch.distributions`: a policy gradient, an actor with a squashed Gaussian policy,
and a variational autoencoder with other distributions."""

import torch
from torch import nn, optim
from torch.distributions import (
    AffineTransform,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Independent,
    Normal,
    TanhTransform,
    TransformedDistribution,
    kl_divergence,
)  # fmt: skip


def fill(model):
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.cos(torch.arange(p.numel()).float() * (number + 1)).view_as(p) * 0.3)
    return model


def reinforce(steps):
    """Return the rewards of a walker that learns to go right, and the losses."""
    policy = fill(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)))
    optimizer = optim.Adam(policy.parameters(), lr=0.05)
    history = []
    for _ in range(steps):
        place, logs, rewards = 0.0, [], []
        for number in range(6):
            chosen = Categorical(logits=policy(torch.tensor([place, number / 6])))
            action = chosen.sample()
            logs.append(chosen.log_prob(action))
            place += action.item() - 1
            rewards.append(place)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(logs) * (returns - returns.mean())).sum() - 0.01 * chosen.entropy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history += [loss.item(), sum(rewards)]
    return history


def actor(steps):
    """Return the losses of a policy over actions between -2 and 2 that should follow the state."""
    model = fill(nn.Linear(3, 4))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    states = torch.sin(torch.arange(24.0)).view(8, 3)
    losses = []
    for _ in range(steps):
        mean, log_std = model(states).chunk(2, -1)
        base = Normal(mean, log_std.clamp(-3, 1).exp())
        policy = Independent(TransformedDistribution(base, [TanhTransform(cache_size=1), AffineTransform(0.0, 2.0)]), 1)
        action = policy.rsample()
        loss = ((action - states[:, :2]) ** 2).sum(-1).mean() + 0.05 * policy.log_prob(action).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def variational(steps):
    """Return the losses of posteriors of gamma, beta and Dirichlet distributions that approach their priors."""
    raw = nn.Parameter(torch.tensor([0.5, -0.3, 0.8, 0.1, -0.2, 0.4, 0.9]))
    optimizer = optim.SGD([raw], lr=0.05)
    losses = []
    for _ in range(steps):
        a = nn.functional.softplus(raw) + 0.5
        posteriors = Gamma(a[0], a[1]), Beta(a[2], a[3]), Dirichlet(a[4:])
        priors = Gamma(2.0, 1.0), Beta(2.0, 2.0), Dirichlet(torch.full((3,), 2.0))
        loss = sum(kl_divergence(each, prior) for each, prior in zip(posteriors, priors, strict=True))
        loss = loss + 0.1 * (posteriors[0].rsample() - 1).abs() + 0.1 * posteriors[1].rsample()
        loss = loss + 0.1 * posteriors[2].rsample()[0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    """Return the losses of all three, and the last ones by name."""
    torch.manual_seed(7)
    walked, acted, approached = reinforce(12), actor(40), variational(30)
    return acted + walked + approached + [acted[-1] / 2], f"{walked[-1]}"


if __name__ == "__main__":
    print(*main())
