"""The declared set: the one value between the front half of the generator and everything behind it."""
