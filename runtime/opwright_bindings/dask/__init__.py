"""The binding to Dask. It imports nothing: the halves are `target` and `runtime`."""
