"""The generator."""

VERSION = "0.1.0"
