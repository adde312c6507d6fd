"""tmagen: loads and launches kernels that tmagen generated, on anyone's arrays.

    import tmagen
    gemm = tmagen.load("gemm_256x128")      # a shipped kernel, a dispatch table, a family, a spec
    d = gemm(a=a, b=b)                      # on the arrays' device and their framework's stream

Arrays are PyTorch's, CuPy's, JAX's, or any that have DLPack or __cuda_array_interface__; NumPy's
and others in host memory run on the emulator: tmagen.load(name, device="emu"). The module
tmagen.torch makes kernels operators that torch.compile keeps.
"""

from ._bits import bits
from ._error import Error
from ._kernel import Kernel
from ._load import load

__all__ = ["Error", "Kernel", "bits", "load", "version"]


def version() -> str:
    """The version of the library, as "0.1.0"."""
    from ._library import library

    return library().tmagen_version().decode()
