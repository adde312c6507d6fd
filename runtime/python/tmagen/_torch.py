"""PyTorch's tensors: its caching allocator, its current stream."""

import functools

import torch
from torch import Tensor

from ._error import Error
from ._view import NAMES, View

_DTYPES = {
    getattr(torch, name): ours for name, ours in NAMES.items() if hasattr(torch, name)
}
_BY_NAME = {ours: dtype for dtype, ours in _DTYPES.items()}
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
ARRAY = Tensor
_grads = torch.is_grad_enabled
_BFLOAT16 = torch.bfloat16


def accepts(kind: type) -> bool:
    """Of subclasses, a parameter alone is nothing but its memory."""
    return kind in (Tensor, torch.nn.Parameter)


def read(tensor: Tensor):
    if tensor.requires_grad and _grads():
        raise Error(
            "requires grad, and a plain call has none; legal: detach() it, torch.no_grad(), or the "
            "operator that tmagen.torch.op() makes"
        )
    dtype = tensor.dtype
    if dtype is not _BFLOAT16 and tensor.is_neg():
        raise Error("is a negated view, whose memory holds the opposite; legal: resolve_neg() it")
    try:
        return (dtype, tensor.shape, tensor.stride(), tensor.device), tensor.data_ptr()
    except RuntimeError as error:
        raise Error(f"has no memory of its own: {str(error).splitlines()[0]}") from None


def view(signature) -> View:
    dtype, shape, strides, device = signature
    if device.type == "cuda":
        name = f"cuda:{device.index}"
    elif device.type == "cpu":
        name = "cpu"
    else:
        raise Error(f"lies on the device {device}; legal: cuda and cpu")
    kind = _DTYPES.get(dtype) or str(dtype).removeprefix("torch.")
    return View(kind, tuple(shape), tuple(strides), name, True)


def maker(shape, dtype, device):
    return functools.partial(torch.empty, shape, dtype=by_name(dtype), device=torch.device(device))


def zeros(count: int, device: str):
    return torch.zeros(count, dtype=torch.uint8, device=device)


address = Tensor.data_ptr


def stream(device: str):
    index = int(device.partition(":")[2])
    if _raw_stream is not None:
        return functools.partial(_raw_stream, index)
    return lambda: torch.cuda.current_stream(index).cuda_stream


def capturing(device: str) -> bool:
    with torch.cuda.device(device):
        return torch.cuda.is_current_stream_capturing()


def by_name(dtype: str) -> torch.dtype:
    """PyTorch's type for a manifest's."""
    if dtype not in _BY_NAME:
        raise Error(f"{dtype}: this PyTorch has no element type for it")
    return _BY_NAME[dtype]
