"""Functions of each element by itself: arithmetic, exponentials, activations."""
