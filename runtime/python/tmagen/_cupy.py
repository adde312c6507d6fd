"""CuPy's arrays: its memory pool, its current stream."""

import cupy

from ._error import Error
from ._numpy import element
from ._view import View, interface

ARRAY = cupy.ndarray


def accepts(kind: type) -> bool:
    return kind is cupy.ndarray


def read(array):
    return (array.dtype, array.shape, array.strides, array.device.id), array.data.ptr


def view(signature) -> View:
    dtype, shape, strides, device = signature
    return interface(dtype.str, shape, strides, f"cuda:{device}", False, dtype.name)


def _index(device: str) -> int:
    return int(device.partition(":")[2])


def maker(shape, dtype, device):
    kind, index = element(dtype), _index(device)

    def make():
        with cupy.cuda.Device(index):
            return cupy.empty(shape, kind)

    return make


def zeros(count: int, device: str):
    with cupy.cuda.Device(_index(device)):
        return cupy.zeros(count, "uint8")


def address(array) -> int:
    return array.data.ptr


def stream(device: str):
    index = _index(device)

    def current() -> int:
        return cupy.cuda.get_current_stream(index).ptr

    return current


def capturing(device: str) -> bool:
    current = cupy.cuda.get_current_stream(_index(device))
    if not hasattr(current, "is_capturing"):
        raise Error("this CuPy cannot say whether a stream is being captured; legal: 10 and later")
    return current.is_capturing()
