"""DLPack by ctypes: what a capsule says of an array (dmlc/dlpack, dlpack.h, before versions)."""

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

from ._error import Error
from ._view import View, contiguous

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

# (type code, bits) to the manifest's name
DTYPES = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"fp{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    (10, 8): "e4m3",
    (12, 8): "e5m2",
    (14, 8): "ue8m0",
}


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def device_name(array) -> str:
    """The device of [array], by the protocol."""
    kind, index = array.__dlpack_device__()
    if kind in (CPU, CUDA_HOST):
        return "cpu"
    if kind in (CUDA, CUDA_MANAGED):
        return f"cuda:{index}"
    raise Error(f"lies on a device of DLPack's type {kind}; legal: CUDA and host memory")


def export(array, stream: int | None) -> tuple[View, int]:
    """The view and address of [array], ready for work on [stream] (None: host memory).

    The capsule is left unconsumed, and its own destructor gives the tensor back: the memory lives
    because the caller holds [array].
    """
    capsule = array.__dlpack__() if stream is None else array.__dlpack__(stream=stream)
    tensor = _DLTensor.from_address(_pointer(capsule, b"dltensor"))
    if tensor.lanes != 1:
        raise Error(f"has vectors of {tensor.lanes} as elements; legal: 1")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else contiguous(shape)
    dtype = DTYPES.get((tensor.code, tensor.bits), f"DLPack's ({tensor.code}, {tensor.bits})")
    kinds = {CPU: "cpu", CUDA_HOST: "cpu"}
    device = kinds.get(tensor.device_type, f"cuda:{tensor.device_id}")
    return View(dtype, shape, strides, device, True), (tensor.data or 0) + tensor.byte_offset
