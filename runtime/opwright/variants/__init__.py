"""Tags, layouts of views, limits of dtypes and results of variants: what many packages of the library share."""
