"""Kernels of a bundle: one mapped file, compiled before, from which nothing is compiled."""

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_int, c_uint64, c_void_p
from typing import Any

from ._error import Error
from ._library import Resources, check, library
from ._manifest import Manifest

MISS, BUNDLE = -7, -11


class Entry(ctypes.Structure):
    """tmagen_bundle_entry"""

    _fields_ = [
        ("name", c_char_p),
        ("what", c_char_p),
        ("arch", c_char_p),
        ("version", c_char_p),
        ("data", c_void_p),
        ("bytes", c_uint64),
        ("sha256", c_char * 65),
        ("key", c_char * 65),
        ("compiler", c_char_p),
        ("resources", Resources),
    ]


_VISIT = ctypes.CFUNCTYPE(c_int, POINTER(Entry), c_void_p)
_FUNCTIONS = {
    "tmagen_bundle_open": [c_char_p, POINTER(c_void_p)],
    "tmagen_bundle_list_sized": [c_void_p, _VISIT, c_void_p, ctypes.c_size_t],
    "tmagen_bundle_load": [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)],
    "tmagen_bundle_open_set": [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)],
}
_open: dict[tuple, int] = {}  # by what the file is, so that one that was replaced is another


def _call(name: str, *arguments: Any) -> None:
    function = getattr(library(), name, None)
    if function is None:
        raise Error("this libtmagen.so knows no bundles; legal: a newer one", BUNDLE)
    function.restype, function.argtypes = c_int, _FUNCTIONS[name]
    check(function(*arguments))


def _opened(path: str) -> int:
    try:
        found = os.stat(path)
        key: tuple = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
    except OSError:
        key = (path,)  # the library says why it cannot be opened
    if key not in _open:
        handle = c_void_p()
        _call("tmagen_bundle_open", os.fsencode(path), ctypes.byref(handle))
        _open[key] = handle.value
    return _open[key]


def _texts(bundle: int) -> dict[str, dict[str, bytes]]:
    """The manifests and tables by name."""
    found: dict[str, dict[str, bytes]] = {"manifest": {}, "table": {}}

    def visit(entry: Any, context: Any) -> int:
        del context
        told = entry.contents
        of_kind = found.get(told.what.decode())
        if of_kind is not None:
            of_kind[told.name.decode()] = ctypes.string_at(told.data, told.bytes)
        return 0

    size = ctypes.sizeof(Entry)
    _call("tmagen_bundle_list_sized", bundle, _VISIT(visit), None, size)
    return found


class _Loader:
    def __init__(self, name: str, bundle: int, is_set: bool) -> None:
        self.name, self._bundle, self.is_set = name, bundle, is_set

    def load(self, device: int) -> int:
        handle = c_void_p()
        call = "tmagen_bundle_open_set" if self.is_set else "tmagen_bundle_load"
        _call(call, self._bundle, device, self.name.encode(), ctypes.byref(handle))
        return handle.value


def find(path: str, name: str) -> tuple[Manifest, Any]:
    """The manifest and the loader of the kernel or dispatch table [name] of the bundle [path]."""
    bundle = _opened(path)
    texts = _texts(bundle)
    if name in texts["table"]:
        import json

        try:
            first = json.loads(texts["table"][name])["kernels"][0]["name"]
            text = texts["manifest"][first]
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise Error(f"{path}: {name}: no dispatch table: {error!r}", BUNDLE) from None
        return Manifest(text, f"{path}: {first}"), _Loader(name, bundle, True)
    if name not in texts["manifest"]:
        known = ", ".join(sorted([*texts["manifest"], *texts["table"]])[:8])
        raise Error(f"{path}: has no kernel '{name}'; legal: {known}, ...", MISS)
    return Manifest(texts["manifest"][name], f"{path}: {name}"), _Loader(name, bundle, False)
