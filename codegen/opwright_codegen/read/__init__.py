"""The reading of schema files into an OperatorSet: YAML, entries, rules about them, groups and variants."""
