"""NumPy's arrays: host memory, for the emulator."""

import numpy

from ._error import Error
from ._view import NAMES, View, interface

ARRAY = numpy.ndarray


def accepts(kind: type) -> bool:
    """Masked arrays and matrices mean more than their memory says."""
    return kind in (numpy.ndarray, numpy.memmap)


def read(array):
    told = array.__array_interface__
    address, readonly = told["data"]
    return (told["typestr"], told["shape"], told["strides"], readonly, array.dtype), address


def view(signature) -> View:
    typestr, shape, strides, readonly, dtype = signature
    return interface(typestr, shape, strides, "cpu", readonly, dtype.name)


def element(dtype: str) -> numpy.dtype:
    """NumPy's type for a manifest's: its own, that of ml_dtypes, or an unsigned one as wide."""
    name = next((name for name, ours in NAMES.items() if ours == dtype), None)
    if name is None:
        raise Error(f"{dtype}: NumPy has no element type for it")
    try:
        return numpy.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return numpy.dtype(numpy.uint16 if dtype == "bf16" else numpy.uint8)


def maker(shape, dtype, device):
    del device
    kind = element(dtype)
    return lambda: numpy.empty(shape, kind)


def address(array) -> int:
    return array.__array_interface__["data"][0]
