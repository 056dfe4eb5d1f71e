"""Random state: generators, and the numbers that they draw."""
