"""The binding to tvm-ffi: C files alone, so that it has no runtime half."""
