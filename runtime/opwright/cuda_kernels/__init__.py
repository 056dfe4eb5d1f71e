"""CUDA kernels of generated packages: their sources, launches and calls. Generated code names them by `abi`."""
