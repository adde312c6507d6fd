"""What a call must know of an array, whoever made it.

A framework's reader gives (signature, address): two arrays of one signature are launched alike, so
that all else is looked at once for each. Its view() says what a signature means.
"""

from typing import NamedTuple

from ._bits import WIDTHS
from ._error import Error


class View(NamedTuple):
    """An array: strides are in elements, the device is "cuda:N" or "cpu"."""

    dtype: str
    shape: tuple
    strides: tuple
    device: str
    writable: bool


# array interfaces: kind and bytes of an element to the manifest's name
TYPESTR = {
    "f2": "fp16",
    "f4": "fp32",
    "f8": "fp64",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
}

# the names that ml_dtypes gives them in NumPy and JAX, and torch its own
NAMES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e8m0fnu": "ue8m0",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}


def contiguous(shape: tuple) -> tuple:
    """The strides of an array without gaps."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def interface(typestr: str, shape: tuple, strides, device: str, readonly: bool, name="") -> View:
    """The view that an __array_interface__ or __cuda_array_interface__ tells of."""
    if not typestr[2:].isdigit():
        raise Error(f"has elements of {name or typestr}, which no kernel takes")
    if typestr[0] == ">" and typestr[2:] != "1":
        raise Error(f"has elements of the other byte order ({typestr}); legal: native")
    width = int(typestr[2:])
    dtype = NAMES.get(name) or TYPESTR.get(typestr[1:]) or name or typestr
    if strides is None:
        elements = contiguous(shape)
    elif any(stride % width for stride in strides):
        raise Error(f"has strides of {strides} bytes, which are no whole elements of {width}")
    else:
        elements = tuple(stride // width for stride in strides)
    return View(dtype, tuple(shape), elements, device, not readonly)


def as_bits(view: View, dtype: str) -> View:
    """[view] with its elements' bits read as [dtype]."""
    width = WIDTHS.get(view.dtype)
    if width != WIDTHS[dtype]:
        raise Error(f"has elements of {view.dtype}, which are not as wide as {dtype}")
    return view._replace(dtype=dtype)
