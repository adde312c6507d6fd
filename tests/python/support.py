"""What the tests of the Python module share: bfloat16 by hand, and arrays on a make-believe GPU."""

import os
import sys
import types

import numpy

BUILD = os.environ["BUILD"]
FAKE = os.path.join(BUILD, "tests", "fixtures", "fake")


def bf16(values):
    """Rounds to bfloat16, as bits in uint16."""
    words = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(numpy.uint16)


def wide(bits):
    """The float32 of bfloat16 bits."""
    return (numpy.asarray(bits).view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)


def use_fake_driver():
    """Before the library is loaded: the stand-ins for the driver and NVRTC."""
    os.environ["TMAGEN_LIBCUDA"] = os.path.join(FAKE, "cuda.so")
    os.environ["TMAGEN_NVRTC"] = os.path.join(FAKE, "nvrtc.so")


class FakeCupy(types.ModuleType):
    """A module cupy whose arrays are NumPy's: what tmagen asks of the real one, and no more."""

    def __init__(self):
        super().__init__("cupy")
        cupy = self
        self.made = self.cleared = 0
        self.current = 0x5EED
        self.capturing = False

        class Data:
            def __init__(self, ptr):
                self.ptr = ptr

        class Device:
            def __init__(self, index):
                self.id = index

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

        class ndarray:
            def __init__(self, host, index=0):
                self.host, self.device = host, Device(index)
                self.dtype, self.shape, self.strides = host.dtype, host.shape, host.strides
                self.data = Data(host.ctypes.data)

            def fill(self, value):
                cupy.cleared += 1
                self.host.fill(value)

        ndarray.__module__ = "cupy"

        class Stream:
            ptr = property(lambda _: cupy.current)

            def is_capturing(self):
                return cupy.capturing

        self.ndarray = ndarray
        self.cuda = types.SimpleNamespace(
            Device=Device, get_current_stream=lambda index=None: Stream()
        )

    def zeros(self, shape, dtype):
        """At a multiple of 256 bytes, as a GPU's allocator gives it."""
        self.made += 1
        count = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        room = numpy.zeros(count + 256, numpy.uint8)
        first = -room.ctypes.data % 256
        return self.ndarray(room[first : first + count].view(dtype).reshape(shape))

    empty = zeros


def fake_cupy():
    """Puts the make-believe cupy where the real one would be imported from."""
    sys.modules["cupy"] = FakeCupy()
    return sys.modules["cupy"]
