"""C++ and Python sources of other projects as text: tokens, names, and the schemas that signatures are."""
