"""The stack of interpreters: transforms that are on, each at a level of its own."""
