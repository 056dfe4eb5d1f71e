"""Arrays of every backend, before there are tensors: dtypes, sizes, layouts, devices, memory, random state."""
