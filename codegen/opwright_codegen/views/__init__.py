"""The finished text that several targets have about an operator, and how that text is laid out."""
