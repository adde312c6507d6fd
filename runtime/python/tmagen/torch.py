"""Kernels as PyTorch operators: torch.compile keeps them whole, autograd goes through gemm's.

    gemm = tmagen.torch.op("gemm_256x128")
    d = gemm(a, b)
"""

from typing import Any

import torch

from . import _gradient
from ._error import ARGUMENT, Error
from ._kernel import Kernel
from ._load import load
from ._manifest import Manifest
from ._torch import by_name

__all__ = ["op"]

_made: dict[str, Any] = {}


def _given(manifest: Manifest) -> list[str]:
    """The dims that no tensor's shape says: the operator takes them as numbers."""
    shapes = {t.name: (0,) * len(t.extents) for t in manifest.tensors.values() if t.reads}
    return manifest.missing(manifest.solve(shapes, {}))


def _schema(manifest: Manifest) -> str:
    inputs = [f"Tensor {t.name}" for t in manifest.tensors.values() if t.reads]
    sizes = [f"SymInt {name}" for name in _given(manifest)]
    scalars = [f"float {name}={value!r}" for name, value in manifest.scalars.items()]
    outputs = ["Tensor"] * sum(not t.reads for t in manifest.tensors.values())
    return f"({', '.join(inputs + sizes + scalars)}) -> ({', '.join(outputs)})"


def _names(manifest: Manifest) -> list[str]:
    """The operator's arguments in their order."""
    inputs = [t.name for t in manifest.tensors.values() if t.reads]
    return [*inputs, *_given(manifest), *manifest.scalars]


def _qualified(kernel: Kernel, device: str | None) -> str:
    """The operator's name: the same in every process, and another for another source."""
    digest = kernel.manifest.get("source_sha256", "")[:8]
    words = [kernel.name, digest, device or ""]
    name = "_".join("".join(c if c.isalnum() else "_" for c in w) for w in words if w)
    return "tmagen::" + name


def _define(name: str, kernel: Kernel) -> Any:
    manifest = kernel._manifest
    names = _names(manifest)
    written = [t for t in manifest.tensors.values() if not t.reads]
    if any(t.writes and t.reads for t in manifest.tensors.values()):
        raise Error(f"{kernel.name}: updates a tensor in place; legal: a kernel that does not")

    def run(*values: Any) -> Any:
        with torch.no_grad():
            return kernel(**dict(zip(names, values)))

    def fake(*values: Any) -> Any:
        arguments = dict(zip(names, values))
        tensors = {n: v for n, v in arguments.items() if n in manifest.tensors}
        sizes = {n: v for n, v in arguments.items() if n in manifest.dims}
        dims = manifest.solve({n: t.shape for n, t in tensors.items()}, sizes)
        first = next(iter(tensors.values()))
        made = [first.new_empty(manifest.shape(t.name, dims), dtype=by_name(t.dtype))
                for t in written]
        return made[0] if len(made) == 1 else tuple(made)

    made = torch.library.custom_op(name, run, mutates_args=(), schema=_schema(manifest))
    made.register_fake(fake)
    gradient = _gradient.of(manifest, names)
    if gradient is not None:
        made.register_autograd(gradient.backward, setup_context=gradient.setup)
    return made


def op(name: str | Kernel, /, **how: Any) -> Any:
    """The operator of a kernel, which is loaded as by tmagen.load(name, **how).

    It takes the tensors that the kernel reads, in the manifest's order, then dims that no tensor's
    shape says and scalars, by place or by name, and returns what the kernel writes. Its name, as
    graphs show it, is tmagen::NAME_DIGEST. Differentiable where the kernel is a gemm of floats
    without aux and amax: the backward pass is PyTorch's own matmul.
    """
    kernel = name if isinstance(name, Kernel) else load(name, **how)
    if kernel._is_set:
        raise Error(f"{kernel.name}: is a dispatch table; legal: one of its kernels", ARGUMENT)
    qualified = _qualified(kernel, kernel._wanted)
    if qualified not in _made:
        _made[qualified] = _define(qualified, kernel)
    return _made[qualified]
