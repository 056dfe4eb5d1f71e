"""The way from a call's arguments to the kernel that handles it."""
