"""Two multiplications of NVF4 behind each other on the emulator: the first's D and its scales are
the second's A and its scales, byte for byte. What is expected is computed here, of the bytes."""

import unittest

import numpy
import tmagen
from support import bf16, wide
from tmagen import bits

rng = numpy.random.default_rng(7)
M, K, N, LAST = 200, 160, 352, 136  # the scales of K and N end within an atom
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
NAN = 0x7F  # of E4M3


def e4m3(codes):
    """The value of each byte that is no NaN."""
    exponent, mantissa = codes >> 3 & 15, codes & 7
    size = numpy.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
    return numpy.where(codes & 128, -size, size)


def atoms_of(scales):
    """scales[row, block] in atoms, padded by 0. The PTX ISA has scales of 128 rows, four of each,
    in 4 columns of 32 lanes of tensor memory: row r in lane r % 32 of column r / 32, a byte a
    block. A lane's 16 bytes follow each other; atoms do along K."""
    rows, blocks = (-(-x // y) * y for x, y in zip(scales.shape, (128, 4)))
    whole = numpy.zeros((rows, blocks), numpy.uint8)
    whole[: scales.shape[0], : scales.shape[1]] = scales
    column_lane = whole.reshape(rows // 128, 4, 32, blocks // 4, 4)
    lane_column = column_lane.transpose(0, 3, 2, 1, 4)
    return numpy.ascontiguousarray(lane_column.reshape(-1, blocks // 4, 32, 16))


def scales_of(atoms, rows, blocks):
    """What atoms_of() was given."""
    lane_column = atoms.reshape(*atoms.shape[:3], 4, 4)
    return lane_column.transpose(0, 3, 2, 1, 4).reshape(128 * len(atoms), -1)[:rows, :blocks]


def values_of(matrix):
    """The elements of bytes, the even one in the low half."""
    codes = numpy.stack([matrix & 15, matrix >> 4], -1).reshape(len(matrix), -1)
    return numpy.where(codes & 8, -1, 1) * E2M1[codes & 7]


def scaled(values, scales):
    return values * numpy.repeat(e4m3(scales), 16, axis=1)


def operand(rows, k):
    """Bytes, their scales in atoms, and the values that both stand for."""
    matrix = rng.integers(0, 256, (rows, k // 2), numpy.uint8)
    scales = rng.integers(0x20, 0x38, (rows, k // 16), numpy.uint8)  # 1/8 to 1
    return matrix, atoms_of(scales), scaled(values_of(matrix), scales)


class Chain(unittest.TestCase):
    def test_two(self):
        a, a_scales, a_values = operand(M, K)
        b, b_scales, b_values = operand(N, K)
        bias = bf16(rng.normal(size=N))
        d, d_scales = numpy.empty((M, N // 2), numpy.uint8), atoms_of(numpy.zeros((M, N // 16)))
        d_scales.fill(NAN)  # but what pads an atom along K must be no NaN
        first = tmagen.load("blockscaled_sm100_nvf4_out", device="emu")
        first(a=a, a_scales=a_scales, b=b, b_scales=b_scales, bias=bits(bias, "bf16"), d=d,
              d_scales=d_scales, m=M, n=N, k=K)
        self.check_first(a_values @ b_values.T + wide(bias), values_of(d),
                         scales_of(d_scales, M, N // 16))

        b, b_scales, b_values = operand(LAST, N)
        second = tmagen.load("blockscaled_sm100_128x128", device="emu")
        got = wide(second(a=d, a_scales=d_scales, b=b, b_scales=b_scales, m=M, n=LAST, k=N))
        values = scaled(values_of(d), scales_of(d_scales, M, N // 16))
        expected, sizes = values @ b_values.T, numpy.abs(values) @ numpy.abs(b_values).T
        error = numpy.abs(got - expected)
        self.assertTrue((error <= 2**-8 * numpy.abs(expected) + 2**-16 * sizes).all(), error.max())

    def check_first(self, sums, values, scales):
        """Behind SiLU scales are a sixth of their blocks' largest, to half a step of E4M3, and
        elements the nearest there are, in steps of two scales at most."""
        self.assertTrue((scales < NAN).all())
        wanted, sizes = sums / (1 + numpy.exp(-sums)), e4m3(scales)
        largest = numpy.abs(wanted).reshape(M, -1, 16).max(-1) / 6
        self.assertTrue((numpy.abs(sizes - largest) <= largest * 0.0626 + 2**-10).all())
        error = numpy.abs(scaled(values, scales) - wanted)
        self.assertTrue((error <= numpy.repeat(sizes, 16, 1) * 1.01 + 2**-8).all(), error.max())


if __name__ == "__main__":
    unittest.main()
