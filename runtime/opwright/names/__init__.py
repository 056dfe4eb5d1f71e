"""Names of modules and of their attributes: missing ones, former ones, and those that are loaded later."""
