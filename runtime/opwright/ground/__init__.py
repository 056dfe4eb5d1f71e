"""Places in programs, and questions to rooms above: what all packages of the library stand on."""
