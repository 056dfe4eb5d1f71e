"""Operators of others, as registries and files say them, to schema files of ours and a report of what is missing."""
