"""Plans: what results look like before they are computed, and how the arrays that kernels return become them."""
