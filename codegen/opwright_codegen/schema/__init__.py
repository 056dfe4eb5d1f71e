"""Schemas of operators: types, defaults, the grammar, the model, and what they may say."""
