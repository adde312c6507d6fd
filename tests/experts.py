"""The experts of a mixture in E4M3 with scales of blocks, to be copied: two grouped products and
silu-and-multiply between them, four launches a layer.

    layer = Experts(gate_up, down)         # bf16 on a GPU: [experts, 2 hidden, k], [experts, k, hidden]
    y = layer(x, ends=ends)                # x[rows, k]: those of each expert behind each other
    decode = Experts(gate_up, down, "blockscaled_masked_16x128")
    y = decode(x, counts=counts)           # x[experts, 16, k]: the first counts[i] of each

None reads a size on the host, so that a CUDA graph holds a layer for any sizes. `quantise_swiglu`
keeps the activation in fp32 until it has its scale; `blockscaled_grouped_swiglu` has it in the
first product instead, rounded to bf16 before a quantiser sees it.
"""

import tmagen


def as_it_is(array, _):
    return array


class Experts:
    """[of_type] says what arrays hold that the framework has no name for: tmagen.bits for NumPy's.
    `hidden` is a multiple of 64, so that no block of 128 x 128 is of two experts."""

    def __init__(self, gate_up, down, product="blockscaled_grouped", of_type=as_it_is, **device):
        self._of_type = of_type
        self._product = tmagen.load(product, **device)
        self._rows = tmagen.load("quantise_phase2", **device)
        self._gated = tmagen.load("quantise_swiglu", **device)
        blocks = tmagen.load("quantise_128x128", **device)
        self._layers = [self._quantised(blocks, weights) for weights in (gate_up, down)]

    def _quantised(self, quantise, x):
        """x in E4M3, and its scales; both keep the first dims of x."""
        y, scales = quantise(x=self._of_type(x.reshape(-1, x.shape[-1]), "bf16"))
        y, scales = (a.reshape(*x.shape[:-2], -1, a.shape[-1]) for a in (y, scales))
        return self._of_type(y, "e4m3"), scales

    def _multiplied(self, a, layer, sizes):
        (a, a_scales), (b, b_scales) = a, self._layers[layer]
        d, status = self._product(a=a, a_scales=a_scales, b=b, b_scales=b_scales, **sizes)
        return d, status

    def __call__(self, x, **sizes):
        hidden, self.status = self._multiplied(self._quantised(self._rows, x), 0, sizes)
        return self._multiplied(self._quantised(self._gated, hidden), 1, sizes)[0]
