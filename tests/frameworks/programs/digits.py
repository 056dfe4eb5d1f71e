"""A program written for PyTorch: a convolutional network with hooks, checkpoints of its state and a scheduler."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 10)
        self.scale = nn.Parameter(torch.FloatTensor([1.0]))

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.norm(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x) * self.scale, dim=1)


def digits(count):
    """Return images that show their labels, and the labels."""
    target = torch.arange(count) % 10
    grid = torch.arange(64, dtype=torch.float32).view(1, 1, 8, 8)
    return torch.sin(grid * (target.view(-1, 1, 1, 1) + 1).float() / 9), target


def train(model, data, target, optimizer):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), target)
    loss.backward()
    optimizer.step()
    return loss.item()


def test(model, data, target):
    model.eval()
    with torch.no_grad():
        output = model(data)
        loss = F.nll_loss(output, target, reduction="sum").item()
        correct = output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(dim=1, keepdim=True))).sum().item()
    return loss / len(data), correct


def main(steps=50):
    """Return the losses, and how many are right."""
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.cos(torch.arange(p.numel()).float() * (number + 1)).view_as(p) * 0.3)
    seen = []
    handle = model.fc1.register_forward_hook(lambda module, given, result: seen.append(tuple(result.shape)))
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=20, gamma=0.7)
    data, target = digits(20)
    losses, saved = [], None
    for step in range(steps):
        losses.append(train(model, data.to(device), target.to(device), optimizer))
        scheduler.step()
        if step == steps // 2:
            saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    handle.remove()
    assert len(seen) == steps and set(seen) == {(20, 16)}
    again = Net()
    again.load_state_dict(saved[0])
    other = optim.SGD(again.parameters(), lr=0.05, momentum=0.9)
    other.load_state_dict(saved[1])
    losses.append(train(again, data, target, other))
    return losses, test(model, data, target)


if __name__ == "__main__":
    print(*main())
