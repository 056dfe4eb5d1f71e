"""Dimension rules that depend on a call: texts of `sharding`, made of shapes and values of arguments."""
