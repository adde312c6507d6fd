"""JAX's arrays, outside of jit. Its streams are its own, so that both sides wait for each other."""

import jax
import numpy

from . import _numpy
from ._error import Error
from ._view import View, interface

ARRAY = jax.Array
SYNCHRONOUS = True  # a call returns when the kernel is done


def accepts(kind: type) -> bool:
    """A tracer too, so that it is refused in words."""
    return issubclass(kind, (jax.Array, jax.core.Tracer))


def read(array):
    if isinstance(array, jax.core.Tracer):
        raise Error("is being traced; legal: a call outside of jax.jit, grad and vmap")
    if len(array.devices()) != 1:
        raise Error("is spread over several devices; legal: one")
    array.block_until_ready()
    (device,) = array.devices()
    if device.platform == "cpu":
        host = numpy.asarray(array)
        return ("cpu", host.dtype, host.shape, host.strides), _numpy.address(host)
    place = f"cuda:{device.local_hardware_id}"
    return (place, array.dtype, array.shape, None), array.unsafe_buffer_pointer()


def view(signature) -> View:
    place, dtype, shape, strides = signature
    return interface(dtype.str, shape, strides, place, place == "cpu", dtype.name)


def maker(shape, dtype, device):
    kind = _numpy.element(dtype)
    if device == "cpu":
        return lambda: numpy.empty(shape, kind)
    (place,) = [d for d in jax.local_devices() if f"cuda:{d.local_hardware_id}" == device]
    return lambda: jax.numpy.zeros(shape, kind, device=place).block_until_ready()


def result(array):
    """What the caller gets of what maker() made."""
    return jax.numpy.asarray(array)


def zeros(count: int, device: str):
    return maker((count,), "u8", device)()


def address(array) -> int:
    return _numpy.address(array) if isinstance(array, numpy.ndarray) else (
        array.unsafe_buffer_pointer()
    )


def stream(device: str):
    del device
    return lambda: 0


def capturing(device: str) -> bool:
    del device
    return True  # so that each launch has a workspace of its own
