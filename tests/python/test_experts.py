"""The layer of experts that the manual gives to be copied, on the emulator: against the same in
float64, within what E4M3 loses; rows of another expert, or halves of another order, would be off
by as much as there is."""

import unittest

import numpy
from experts import Experts
from support import bf16, wide
from tmagen import Error, bits

rng = numpy.random.default_rng(11)
EXPERTS, K, HIDDEN = 3, 256, 128
ENDS = [16, 16, 37]
GATE_UP = bf16(rng.normal(size=(EXPERTS, 2 * HIDDEN, K)) / K**0.5)
DOWN = bf16(rng.normal(size=(EXPERTS, K, HIDDEN)) / HIDDEN**0.5)


def layer(x, expert):
    gate, up = numpy.split(x @ wide(GATE_UP[expert]).T.astype(float), 2, axis=-1)
    return gate / (1 + numpy.exp(-gate)) * up @ wide(DOWN[expert]).T


class Layer(unittest.TestCase):
    def close(self, got, expected):    # each of five roundings to E4M3 is 2.6% off
        error = numpy.linalg.norm(wide(got) - expected) / numpy.linalg.norm(expected)
        self.assertLess(error, 0.1)

    def experts(self, *product):
        return Experts(GATE_UP, DOWN, *product, of_type=bits, device="emu")

    def test_rows_behind_each_other(self):
        x, ends = bf16(rng.normal(size=(40, K))), numpy.array(ENDS, numpy.int32)
        experts = self.experts()
        y = experts(x, ends=ends)
        for i, (begin, end) in enumerate(zip([0, *ENDS], ENDS)):
            if end > begin:
                self.close(y[begin:end], layer(wide(x[begin:end]), i))
        self.assertEqual(experts.status, 0)
        self.refused(experts, ends, numpy.zeros((K // 128, 40), numpy.float32), "dim 'm' is 40")
        self.refused(experts, ends, numpy.zeros(40, numpy.float32), "legal: ")
        self.refused(experts, ends, numpy.zeros((40, K // 128)), "elements of fp64; legal: fp32; ")

    def refused(self, experts, ends, a_scales, why):
        """Scales of another order, rank or type: what is wanted is said."""
        a, (b, b_scales) = bits(numpy.zeros((40, K), numpy.uint8), "e4m3"), experts._layers[0]
        with self.assertRaises(Error) as caught:
            experts._product(a=a, a_scales=a_scales, b=b, b_scales=b_scales, ends=ends)
        self.assertIn(why, str(caught.exception))
        self.assertIn("[m, ceil(k / 128)]", str(caught.exception))

    def test_decoding(self):
        x, counts = bf16(rng.normal(size=(EXPERTS, 16, K))), numpy.array([2, 0, 16], numpy.int32)
        y = self.experts("blockscaled_masked_16x128")(x, counts=counts)
        for i, count in enumerate(counts):
            if count:
                self.close(y[i, :count], layer(wide(x[i, :count]), i))


if __name__ == "__main__":
    unittest.main()
