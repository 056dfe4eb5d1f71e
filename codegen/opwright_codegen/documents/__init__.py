"""Files as documents: their texts, YAML with positions, and generated modules read again."""
