"""Arrays whose framework has no name for what they hold, as NumPy has none for bfloat16."""

from typing import Any

from ._error import Error

# The element types of manifests, and their bytes.
WIDTHS = {
    "bf16": 2,
    "fp16": 2,
    "i16": 2,
    "u16": 2,
    "fp32": 4,
    "i32": 4,
    "u32": 4,
    "fp64": 8,
    "i64": 8,
    "u64": 8,
    "e4m3": 1,
    "e5m2": 1,
    "ue8m0": 1,
    "i8": 1,
    "u8": 1,
}


class Bits:
    """An array and the element type of its bits; made by bits()."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: Any, dtype: str) -> None:
        self.array = array
        self.dtype = dtype


def bits(array: Any, dtype: str) -> Bits:
    """Says that the elements of [array] are of [dtype], as bits(a, "bf16") of a uint16 array.

    Elements must be as wide as those of [dtype], which is a manifest's: bf16, e4m3, ...
    """
    if dtype not in WIDTHS:
        raise Error(f"bits: dtype is {dtype!r}; legal: {', '.join(WIDTHS)}")
    return Bits(array, dtype)
