"""The binding to xarray. It imports nothing: the halves are `target` and `runtime`."""
