"""One module a command of `opwright`, and the settings that they share."""
