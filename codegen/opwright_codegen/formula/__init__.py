"""The formula language of `meta`, inline kernels and derivatives: text, formula, resolved formula, Python text."""
