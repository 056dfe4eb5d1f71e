"""`python -m opwright`: the command line, as `opwright`."""

import sys


def main() -> int:
    """Run the command line; the exit status."""
    from opwright_codegen.entry import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
