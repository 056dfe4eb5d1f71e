"""One module a target."""
