"""Names of modules and of their attributes: missing ones, and those that are loaded later."""
