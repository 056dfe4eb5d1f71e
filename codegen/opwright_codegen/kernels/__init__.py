"""The Python that schemas name: what they write for it, which functions modules and packages have."""
