"""The backward pass of gemm: its epilogue's ops a row each, the products by PyTorch's matmul.

What was before an op is computed again, in fp32, so that nothing but the inputs is kept.
"""

from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor

from ._manifest import Manifest

_aten = torch.ops.aten
_FLOATS = ("bf16", "fp16", "fp32")


class Op(NamedTuple):
    """An op of the chain: forward(x, y, n), backward(gradient, x, y, n).

    y is its operand, already of x's rank, or None; n its numbers and scalars by name. backward
    gives x's gradient, or where there is an operand a pair: x's, y's before it is summed.
    """

    forward: Callable
    backward: Callable


def _scaled() -> Op:
    return Op(lambda x, y, n: x * y, lambda g, x, y, n: (g * y, g * x))


def _added() -> Op:
    return Op(lambda x, y, n: x + y, lambda g, x, y, n: (g, g))


def _gelu(approximate: str) -> Op:
    return Op(
        lambda x, y, n: torch.nn.functional.gelu(x, approximate=approximate),
        lambda g, x, y, n: _aten.gelu_backward(g, x, approximate=approximate),
    )


def _gated(act: Op) -> Op:
    """act(left half) times the right half."""

    def forward(x, y, n):
        left, right = x.chunk(2, -1)
        return act.forward(left, y, n) * right

    def backward(g, x, y, n):
        left, right = x.chunk(2, -1)
        return torch.cat((act.backward(g * right, left, y, n), g * act.forward(left, y, n)), -1)

    return Op(forward, backward)


_silu = Op(
    lambda x, y, n: torch.nn.functional.silu(x), lambda g, x, y, n: _aten.silu_backward(g, x)
)

_OPS = {
    **{name: _added() for name in ("bias", "bias_m", "residual", "add")},
    **{name: _scaled() for name in ("scale", "scale_a", "scale_b", "scale_d", "scale_m",
                                    "scale_n")},
    "alpha": Op(lambda x, y, n: x * n["alpha"], lambda g, x, y, n: g * n["alpha"]),
    "beta": Op(lambda x, y, n: x + n["beta"] * y, lambda g, x, y, n: (g, n["beta"] * g)),
    "relu": Op(lambda x, y, n: x.relu(), lambda g, x, y, n: g * (x > 0)),
    "gelu": _gelu("tanh"),
    "gelu_erf": _gelu("none"),
    "silu": _silu,
    "swiglu": _gated(_silu),
    "geglu": _gated(_gelu("tanh")),
    "geglu_erf": _gated(_gelu("none")),
    "clamp": Op(
        lambda x, y, n: x.clamp(n["low"], n["high"]),
        lambda g, x, y, n: g * ((x >= n["low"]) & (x <= n["high"])),
    ),
    "softcap": Op(
        lambda x, y, n: n["cap"] * torch.tanh(x / n["cap"]),
        lambda g, x, y, n: g * (1 - torch.tanh(x / n["cap"]).square()),
    ),
}

_COLUMN = ("bias_m", "scale_m")  # an element a row of D


def _spread(row: dict, operand: Tensor, x: Tensor) -> Tensor:
    """The operand of [row], broadcastable to [x]."""
    operand = operand.float()
    if row["op"] in _COLUMN:
        return operand.unsqueeze(-1)
    if row["op"] == "add":
        rows = torch.arange(x.shape[-2], device=x.device) % row["values"]["row_period"]
        return operand[rows]
    return operand


def _gathered(row: dict, gradient: Tensor, operand: Tensor) -> Tensor:
    """The gradient of the operand itself, from that of its elements where D has its own."""
    if row["op"] == "add":
        rows = torch.arange(gradient.shape[-2], device=gradient.device)
        rows = rows % row["values"]["row_period"]
        summed = torch.zeros(operand.shape, device=gradient.device).index_add(0, rows, gradient)
    elif row["op"] in _COLUMN:
        summed = gradient.sum(-1)
        summed = summed.sum_to_size(operand.shape)
    else:
        summed = gradient.sum_to_size(operand.shape)
    return summed.to(operand.dtype)


class Gradient:
    """The backward pass of one kernel, as torch.library.register_autograd() takes it."""

    def __init__(self, manifest: Manifest, names: list[str]) -> None:
        self._names = names
        self._tensors = [name for name in names if name in manifest.tensors]
        self._rows = manifest.json.get("ops", [])
        self._turned = {name: manifest.tensors[name].extents[-1] != "k" for name in ("a", "b")}

    def setup(self, ctx: Any, inputs: tuple, output: Any) -> None:
        """Keeps the inputs."""
        del output
        given = dict(zip(self._names, inputs))
        ctx.save_for_backward(*(given[name] for name in self._tensors))
        ctx.numbers = {n: v for n, v in given.items() if n not in self._tensors}

    def _rows_of(self, name: str, matrix: Tensor) -> Tensor:
        """A[m, k] or B[n, k], however its layout is."""
        return matrix.mT if self._turned[name] else matrix

    def _values(self, row: dict, numbers: dict) -> dict:
        return {**row.get("values", {}), **numbers}

    def _chain(self, given: dict, numbers: dict) -> list:
        """(row, x before it, its operand or None) for each op in turn."""
        steps: list = []
        if not self._rows:
            return steps
        x = self._rows_of("a", given["a"]).float() @ self._rows_of("b", given["b"]).float().mT
        for row in self._rows:
            operand = row["tensors"][0] if row.get("tensors") else None
            y = _spread(row, given[operand], x) if operand else None
            steps.append((row, x, operand, y))
            x = _OPS[row["op"]].forward(x, y, self._values(row, numbers))
        return steps

    def backward(self, ctx: Any, gradient: Tensor) -> tuple:
        """The gradients of all inputs; None for scalars."""
        given = dict(zip(self._tensors, ctx.saved_tensors))
        wanted = dict(zip(self._names, ctx.needs_input_grad))
        found: dict[str, Tensor] = {}
        x = gradient
        for row, before, operand, y in reversed(self._chain(given, ctx.numbers)):
            step = _OPS[row["op"]].backward
            told = step(x.float(), before, y, self._values(row, ctx.numbers))
            x, other = told if operand else (told, None)
            if operand and wanted[operand]:
                found[operand] = _gathered(row, other, given[operand])
        if wanted["a"]:
            own = x.to(given["b"].dtype) @ self._rows_of("b", given["b"])
            found["a"] = self._rows_of("a", own)
        if wanted["b"]:
            own = x.mT.to(given["a"].dtype) @ self._rows_of("a", given["a"])
            found["b"] = self._rows_of("b", own)
        return tuple(found.get(name) for name in self._names)


def of(manifest: Manifest, names: list[str]) -> Gradient | None:
    """The backward pass of a kernel; None where it has none."""
    if manifest.family != "gemm" or any(
        manifest.tensors[name].dtype not in _FLOATS for name in ("a", "b", "d")
    ):
        return None
    if any(row["op"] not in _OPS for row in manifest.json.get("ops", [])):
        return None
    return Gradient(manifest, names)
