"""The devices of this process by name, opened once, and what a fork does to them."""

import ctypes
import os
import threading
import weakref
from typing import Any

from ._error import NO_DEVICE, Error
from ._library import check, library

_open: dict[str, int] = {}
lock = threading.RLock()  # of what is opened and loaded
forget: "weakref.WeakSet[Any]" = weakref.WeakSet()  # kernels, whose handles are the parent's
_lost: set[str] = set()  # CUDA devices that a parent had opened


def _forked() -> None:
    global lock
    lock = threading.RLock()
    _lost.update(name for name in _open if name.startswith("cuda"))
    _open.clear()
    for kernel in list(forget):
        kernel._begin()


os.register_at_fork(after_in_child=_forked)


def device(name: str) -> int:
    """The handle of "cuda:N" or "emu". Devices stay open: kernels of theirs live as long."""
    with lock:
        if name in _lost:
            raise Error(
                f"{name}: this process was forked from one that had opened it, and CUDA does not "
                "outlive a fork; start processes by multiprocessing's 'spawn' or 'forkserver'",
                NO_DEVICE,
            )
        if name not in _open:
            handle = ctypes.c_void_p()
            check(library().tmagen_device_open(name.encode(), ctypes.byref(handle)))
            _open[name] = handle.value
        return _open[name]
