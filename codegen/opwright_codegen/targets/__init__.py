"""The targets of the generator, a module each."""
