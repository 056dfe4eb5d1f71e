"""Batching rules of ATen's operators, written by hand: those that schema files name by `batched by`."""
