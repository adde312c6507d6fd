"""tmagen.h in ctypes: the structs and functions that this package uses.

Every function that takes a struct is told its size, so that library and package may be of
different versions; where they are of one version, sizes are the library's own and nothing is copied.
"""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

from . import _home
from ._error import FILE, Error

MAX_RANK = 5


class Tensor(ctypes.Structure):
    """tmagen_tensor"""

    _fields_ = [
        ("name", c_char_p),
        ("data", c_uint64),
        ("rank", c_int),
        ("dims", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("dtype", c_char_p),
        ("layout", c_char_p),
    ]


class Dim(ctypes.Structure):
    """tmagen_dim"""

    _fields_ = [("name", c_char_p), ("value", c_int64)]


class Scalar(ctypes.Structure):
    """tmagen_scalar"""

    _fields_ = [("name", c_char_p), ("value", ctypes.c_double)]


class Launch(ctypes.Structure):
    """tmagen_launch"""

    _fields_ = [
        ("tensors", POINTER(Tensor)),
        ("tensor_count", c_size_t),
        ("dims", POINTER(Dim)),
        ("dim_count", c_size_t),
        ("scalars", POINTER(Scalar)),
        ("scalar_count", c_size_t),
        ("workspace", c_uint64),
        ("workspace_bytes", c_size_t),
        ("flags", c_uint),
        ("sms", c_int),
        ("splits", c_int),
    ]


class LoadOptions(ctypes.Structure):
    """tmagen_load_options"""

    _fields_ = [
        ("mode", c_int),
        ("directory", c_char_p),
        ("cache_dir", c_char_p),
        ("manifest_text", c_char_p),
        ("source_text", c_char_p),
        ("lines", c_void_p),
        ("line_count", c_size_t),
        ("manifest_bytes", c_size_t),
        ("source_bytes", c_size_t),
        ("code", c_void_p),
    ]


class SetOptions(ctypes.Structure):
    """tmagen_set_options"""

    _fields_ = [
        ("flags", c_uint),
        ("directory", c_char_p),
        ("cache_dir", c_char_p),
        ("table_text", c_char_p),
        ("kernels", c_void_p),
        ("kernel_count", c_size_t),
    ]


class Resources(ctypes.Structure):
    """tmagen_resources"""

    _fields_ = [
        (name, c_int)
        for name in (
            "registers",
            "stack_bytes",
            "spill_store_bytes",
            "spill_load_bytes",
            "shared_bytes",
            "barriers",
        )
    ]


class KernelInfo(ctypes.Structure):
    """tmagen_kernel_info"""

    _fields_ = [
        ("name", c_char_p),
        ("resources", Resources),
        ("block_threads", c_int),
        ("cluster_blocks", c_int),
        ("dynamic_shared_bytes", c_int),
        ("blocks_per_sm", c_int),
        ("key", ctypes.c_char * 65),
        ("compiler", ctypes.c_char * 64),
        ("hit", c_int),
        ("compile_ms", ctypes.c_double),
        ("load_ms", ctypes.c_double),
        ("module_ms", ctypes.c_double),
    ]


LAUNCH_SIZES = (
    ctypes.sizeof(Launch)
    | ctypes.sizeof(Tensor) << 16
    | ctypes.sizeof(Dim) << 32
    | ctypes.sizeof(Scalar) << 48
)
LOAD_SIZES = ctypes.sizeof(LoadOptions)  # no list of lines, no code
SET_SIZES = ctypes.sizeof(SetOptions)  # no list of kernels
OVERLAP = 1  # TMAGEN_LAUNCH_OVERLAP
SET_COMPILE = 1  # TMAGEN_SET_COMPILE

# name: its result, its arguments
_FUNCTIONS = {
    "tmagen_version": (c_char_p, []),
    "tmagen_error_last": (c_char_p, []),
    "tmagen_warning_last": (c_char_p, []),
    "tmagen_device_open": (c_int, [c_char_p, POINTER(c_void_p)]),
    "tmagen_device_synchronize": (c_int, [c_void_p]),
    "tmagen_device_reports": (c_char_p, [c_void_p]),
    "tmagen_memory_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_uint64)]),
    "tmagen_memory_free": (None, [c_void_p, c_uint64]),
    "tmagen_memory_upload": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t]),
    "tmagen_memory_download": (c_int, [c_void_p, c_void_p, c_uint64, c_size_t]),
    "tmagen_memory_fill": (c_int, [c_void_p, c_uint64, ctypes.c_uint8, c_size_t]),
    "tmagen_kernel_load_sized": (
        c_int,
        [c_void_p, c_char_p, POINTER(LoadOptions), c_uint64, POINTER(c_void_p)],
    ),
    "tmagen_kernel_get_info_sized": (c_int, [c_void_p, POINTER(KernelInfo), c_size_t]),
    "tmagen_kernel_launch_sized": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64]),
    "tmagen_kernel_workspace_sized": (c_int, [c_void_p, c_void_p, c_uint64, POINTER(c_size_t)]),
    "tmagen_set_open_sized": (
        c_int,
        [c_void_p, c_char_p, POINTER(SetOptions), c_uint64, POINTER(c_void_p)],
    ),
    "tmagen_set_load": (c_int, [c_void_p, c_char_p]),
    "tmagen_set_launch_sized": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64]),
    "tmagen_set_workspace_sized": (c_int, [c_void_p, c_void_p, c_uint64, POINTER(c_size_t)]),
}

_loaded = None


def library() -> ctypes.CDLL:
    """libtmagen.so, loaded at the first call."""
    global _loaded
    if _loaded is None:
        path = _home.library()
        nvrtc = _home.nvrtc()
        if nvrtc:
            os.environ["TMAGEN_NVRTC"] = nvrtc
        try:
            made = ctypes.CDLL(path)
        except OSError as error:
            raise Error(f"libtmagen.so cannot be loaded: {error}", FILE) from None
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(made, name)
            function.restype, function.argtypes = result, arguments
        _loaded = made
    return _loaded


def check(status: int) -> None:
    """Raises what the library says of its latest failed call in this thread."""
    if status:
        raise Error(_loaded.tmagen_error_last().decode(errors="replace"), status)
