import numpy as np


def soft_threshold(x, limit):
    return np.sign(x) * np.maximum(np.abs(x) - limit, 0)
