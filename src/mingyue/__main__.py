"""``python -m mingyue`` is ``mingyue``."""

import sys

from mingyue.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
