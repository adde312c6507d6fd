"""A call on the emulator, whose memory is its own: arrays are copied there and back."""

import ctypes
from contextlib import contextmanager

from ._bits import WIDTHS
from ._library import check, library
from ._view import View


def _span(view: View) -> int:
    """The bytes from the first element to behind the last."""
    if not all(view.shape):
        return 0
    last = sum((size - 1) * stride for size, stride in zip(view.shape, view.strides))
    return (last + 1) * WIDTHS[view.dtype]


@contextmanager
def _memory(device: int, count: int):
    """Memory of the emulator, aligned as every tensor needs it."""
    address = ctypes.c_uint64()
    check(library().tmagen_memory_alloc(device, count, ctypes.byref(address)))
    try:
        yield address.value
    finally:
        library().tmagen_memory_free(device, address.value)


@contextmanager
def borrowed(device: int, view: View, host: int, writes: bool, made: bool):
    """The address there of an array at [host]; what is written there is copied back at the end.

    An array that was [made] for this call holds nothing yet, and the emulator knows it.
    """
    count = _span(view)
    with _memory(device, count) as address:
        if count and not made:
            check(library().tmagen_memory_upload(device, address, host, count))
        yield address
        if count and writes:
            check(library().tmagen_memory_download(device, host, address, count))


@contextmanager
def zeroed(device: int, count: int):
    """A workspace of zeros."""
    with _memory(device, count) as address:
        if count:
            check(library().tmagen_memory_fill(device, address, 0, count))
        yield address
