"""`python -m opwright`: the command line, as `opwright`."""

import sys

from opwright_codegen.entry import main

if __name__ == "__main__":
    sys.exit(main())
