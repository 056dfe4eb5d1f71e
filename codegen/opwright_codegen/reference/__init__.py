"""Pages about operators: what is declared, what the runtime tells of them, and their formulas set as mathematics."""
