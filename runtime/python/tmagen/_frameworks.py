"""Whose array is it? A framework is a module here with the same few functions.

ARRAY, accepts(type)         its arrays' type, and whether such a subclass is nothing more
read(array)                  (signature, address): what may change from call to call, and cheaply
view(signature)              what the signature means
maker(shape, dtype, device)  a function that allocates an output; its elements are anything
zeros(bytes, device)         memory that is zero once the current stream comes to it
address(array)               of one that maker or zeros gave
stream(device)               a function that gives the current stream's handle
capturing(device)            whether the current stream is being captured into a graph
"""

from types import ModuleType
from typing import Any, Callable

from ._bits import Bits
from ._error import Error
from ._view import View, as_bits, interface

_ROOTS = {"torch": "_torch", "cupy": "_cupy", "jax": "_jax", "jaxlib": "_jax", "numpy": "_numpy"}

readers: dict[type, Callable] = {}  # by the exact type of an array
_owners: dict[type, ModuleType] = {}


def owner(kind: type) -> ModuleType | None:
    """The framework of arrays of the type [kind]; None for one that is only known by a protocol."""
    if kind in _owners:
        return _owners[kind]
    for base in kind.__mro__:
        module = _ROOTS.get(base.__module__.partition(".")[0])
        if module is None:
            continue
        import importlib

        framework = importlib.import_module("." + module, __package__)
        if framework.accepts(kind):
            _owners[kind] = framework
            readers[kind] = framework.read
            return framework
        if issubclass(kind, framework.ARRAY):
            raise Error(f"is a {kind.__name__}, which may mean more than its memory; legal: "
                        f"{framework.ARRAY.__module__}.{framework.ARRAY.__name__} itself")
    return None


def of(arguments: dict[str, Any]) -> ModuleType | None:
    """The framework that allocates and has the stream: that of the first array that has one."""
    for value in arguments.values():
        framework = owner(type(value.array if isinstance(value, Bits) else value))
        if framework is not None:
            return framework
    return None


def _cuda_interface(array: Any, streams: list) -> tuple[View, int]:
    told = array.__cuda_array_interface__
    if told.get("mask") is not None:
        raise Error("has a mask; legal: none")
    if told.get("stream") is not None:
        streams.append(told["stream"])
    address, readonly = told["data"]
    name = str(getattr(array, "dtype", ""))
    view = interface(
        told["typestr"], told["shape"], told.get("strides"), "cuda", readonly, name
    )
    return view, address


def _protocol(array: Any, stream: int | None, streams: list) -> tuple[View, int]:
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda_interface(array, streams)
    if hasattr(array, "__dlpack__"):
        from . import _dlpack

        device = _dlpack.device_name(array)
        # 1 is the protocol's word for the legacy default stream, which is 0 to the driver
        return _dlpack.export(array, (stream or 1) if device != "cpu" else None)
    if hasattr(array, "__array_interface__"):
        told = array.__array_interface__
        address, readonly = told["data"]
        name = str(getattr(array, "dtype", ""))
        strides = told.get("strides")
        return interface(told["typestr"], told["shape"], strides, "cpu", readonly, name), address
    raise Error(f"is a {type(array).__name__}; legal: an array with DLPack or an array interface")


def view(kind: type, signature: Any) -> View:
    """What the signature of an array of the type [kind] means."""
    framework = owner(kind)
    assert framework is not None
    return framework.view(signature)


def read_any(array: Any, stream: int | None, streams: list) -> tuple[Any, int]:
    """Reads an array of whatever type; one that no framework owns has its view as signature.

    [stream] is the one that the launch will be on, for producers that make it wait; where they
    want theirs to be used instead, it is appended to [streams].
    """
    if isinstance(array, Bits):
        inner, address = read_any(array.array, stream, streams)
        told = inner if isinstance(inner, View) else view(type(array.array), inner)
        return as_bits(told, array.dtype), address
    framework = owner(type(array))
    if framework is not None:
        return framework.read(array)
    return _protocol(array, stream, streams)
