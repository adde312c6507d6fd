"""The structs of one launch, filled but for what changes from call to call."""

import ctypes
from ctypes import c_void_p
from typing import NamedTuple

from ._library import Dim, Launch, Scalar, Tensor
from ._view import View


def _tensor(name: str, view: View | None) -> Tensor:
    made = Tensor(name=name.encode())
    if view is not None:
        made.rank = len(view.shape)
        made.dims[: made.rank] = view.shape
        if all(view.shape):
            made.strides[: made.rank] = view.strides
    return made


WORDS = ctypes.sizeof(Tensor) // 8
DATA = Tensor.data.offset // 8  # the word of an address in it


class Slot(NamedTuple):
    """A launch; its tensors are those of slot() in their order, and so are its numbers. Addresses
    are written to words, at places: a third of what a struct's member takes."""

    words: memoryview
    places: range
    address: c_void_p
    numbers: list[Scalar]
    launch: Launch


def slot(views, dims, scalars, flags=0, sms=0, splits=0) -> Slot:
    """The structs of a launch with [views], pairs of a tensor's name and its view, or None where it
    is still to be allocated: it has rank 0, so that the library derives its sizes, and no gaps."""
    memory = bytearray(ctypes.sizeof(Tensor) * len(views))
    tensors = (Tensor * len(views)).from_buffer(memory)
    for index, (name, view) in enumerate(views):
        tensors[index] = _tensor(name, view)
    sizes = (Dim * len(dims))(*((name.encode(), size) for name, size in dims.items()))
    numbers = (Scalar * len(scalars))(*((name.encode(), 0.0) for name in scalars))
    launch = Launch(
        tensors=tensors,
        tensor_count=len(tensors),
        dims=sizes,
        dim_count=len(sizes),
        scalars=numbers,
        scalar_count=len(numbers),
        flags=flags,
        sms=sms,
        splits=splits,
    )
    places = range(DATA, WORDS * len(views), WORDS)
    address = c_void_p(ctypes.addressof(launch))
    return Slot(memoryview(memory).cast("Q"), places, address, list(numbers), launch)
