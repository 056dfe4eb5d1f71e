"""A program written for PyTorch: training that is saved, ended, and resumed from the file."""

import os
import tempfile

import torch
from torch import nn, optim


def build():
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 8, bias=False), nn.Linear(8, 3))
    model[3].weight = nn.Parameter(model[3].weight.data)
    optimizer = optim.Adam(model.parameters(), lr=0.1, amsgrad=True)
    return model, optimizer, optim.lr_scheduler.MultiStepLR(optimizer, [4, 9], 0.5)


def steps(model, optimizer, scheduler, count):
    """Return the losses of some steps, and the last one as a tensor."""
    target = torch.arange(12) % 3
    data = torch.sin(torch.arange(72.0)).view(12, 6) + torch.cos(torch.arange(6.0) * (target.view(-1, 1) + 1))
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses, loss


def resume(path, **options):
    model, optimizer, scheduler = build()
    checkpoint = torch.load(path, **options)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["random"])
    assert checkpoint["loss"].item() == checkpoint["losses"][-1]
    return model, optimizer, scheduler


def main():
    """Return the losses of training without a break, and resumed in several ways; and what the files hold."""
    model, optimizer, scheduler = build()
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.cos(torch.arange(p.numel()).float() * (number + 1)).view_as(p) * 0.3)
    losses, loss = steps(model, optimizer, scheduler, 6)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        checkpoint = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "random": torch.get_rng_state(),
            "losses": losses,
            "loss": loss,
        }
        torch.save(checkpoint, path)
        ways = [{}, {"weights_only": True}, {"weights_only": False}, {"map_location": "cpu"}, {"mmap": True}]
        ways += [{"map_location": torch.device("cpu")}, {"map_location": {"cuda:0": "cpu"}}]
        ways += [{"map_location": lambda storage, location: storage}]
        for options in ways:
            losses.extend(steps(*resume(path, **options), 6)[0])
        torch.save(model, path)
        whole = torch.load(path, weights_only=False)
        losses.extend(steps(whole, optim.SGD(whole.parameters(), 0.1), scheduler, 2)[0])
        torch.save(list(model.parameters()), path)
        kinds = {type(each).__name__ for each in torch.load(path)}
        torch.save(model.state_dict(), path)
        versions = torch.load(path)._metadata
    return losses, f"{kinds} {dict(versions)}"


if __name__ == "__main__":
    print(*main())
