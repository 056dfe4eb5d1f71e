"""The binding to JAX. It imports nothing: the halves are `target` and `runtime`."""
