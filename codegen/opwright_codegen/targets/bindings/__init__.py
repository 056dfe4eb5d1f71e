"""The modules of frameworks beside a package."""
