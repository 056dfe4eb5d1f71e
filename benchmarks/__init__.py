"""Budgets as ratios against PyTorch, torchgen and NumPy, measured side by side in one process."""
