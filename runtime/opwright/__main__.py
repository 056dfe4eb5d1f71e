"""`python -m opwright`: the command line, as `opwright`."""

import sys
from importlib.util import find_spec


def main() -> int:
    """Run the command line; the exit status."""
    if find_spec("opwright_codegen") is None:
        print(
            "opwright: the commands are the generator's, which is not installed: pip install opwright-codegen",
            file=sys.stderr,
        )
        return 2
    from opwright_codegen.entry import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
