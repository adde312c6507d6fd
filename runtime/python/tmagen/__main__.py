"""python -m tmagen: the program tmagen, with its commands, output and exit codes."""

import os
import sys

from . import _home


def main() -> None:
    """Becomes the program."""
    program = _home.program()
    nvrtc = _home.nvrtc()
    if nvrtc:
        os.environ.setdefault("TMAGEN_NVRTC", nvrtc)
    try:
        os.execv(program, ["tmagen", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tmagen: {program}: {error.strerror}")


if __name__ == "__main__":
    main()
