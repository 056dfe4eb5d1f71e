"""Schema files to an OperatorSet: YAML, entries, rules about them, groups and variants."""
