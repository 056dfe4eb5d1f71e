"""C files to a library: the compiler, what it says, what it need not do again."""
