"""What several targets say about an operator, as finished text, and how that text is laid out."""
