"""The dispatch of calls: kernels that are registered, and the way of a call to one of them."""
