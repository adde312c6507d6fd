"""Where the library, the program, the kernels and the specs lie.

Installed, they are in the package's own folder; in a checkout, where make puts them.
"""

import os
import sys

from ._error import FILE, Error

_package = os.path.dirname(os.path.abspath(__file__))
_tree = os.path.normpath(os.path.join(_package, "..", "..", ".."))
_in_tree = os.path.isfile(os.path.join(_tree, "runtime", "tmagen.h"))
_build = os.environ.get("BUILD") or "build"


def _place(inside: str, in_tree: str) -> str:
    path = os.path.join(_package, inside)
    if _in_tree and not os.path.exists(path):
        return os.path.join(_tree, in_tree)
    return path


def library() -> str:
    """The path of libtmagen.so; $TMAGEN_LIBRARY names another."""
    return os.environ.get("TMAGEN_LIBRARY") or _place(
        "libtmagen.so", os.path.join(_build, "libtmagen.so")
    )


def program() -> str:
    """The path of the program tmagen."""
    return _place(os.path.join("bin", "tmagen"), os.path.join(_build, "tmagen"))


def kernels() -> str:
    """The folder of the shipped kernels: NAME.json and NAME.cu."""
    return os.environ.get("TMAGEN_KERNELS") or _place("kernels", "out")


def spec(name: str) -> str | None:
    """The path of a shipped spec, None where there is none of this name."""
    path = os.path.join(_place("specs", "specs"), name + ".yaml")
    return path if os.path.isfile(path) else None


def nvrtc() -> str | None:
    """An NVRTC beside the packages of this interpreter, as PyTorch brings it; None for none.

    The library looks in the system's places by itself, but not in those of a virtual environment
    that nobody activated.
    """
    if os.environ.get("TMAGEN_NVRTC"):
        return None
    import glob

    for folder in sys.path:
        found = glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib", "libnvrtc.so*"))
        if found:
            return max(found)
    return None


def read(path: str) -> bytes:
    """The bytes of a file; an Error that names it where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", FILE) from None
