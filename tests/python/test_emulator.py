"""NumPy's arrays on the emulator: results, and what is refused."""

import os
import pathlib
import subprocess
import threading
import unittest

import numpy
import tmagen
from support import bf16, wide
from tmagen import bits

rng = numpy.random.default_rng(13)


def product(a, b):
    return wide(a) @ wide(b).T


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.a = bf16(rng.normal(size=(100, 72)))
        cls.b = bf16(rng.normal(size=(72, 72)))
        cls.kernel = tmagen.load("gemm_64x64", device="emu")

    def close(self, got, expected):
        self.assertEqual(got.shape, expected.shape)
        error = numpy.abs(wide(got) - expected)
        self.assertTrue((error <= 2**-8 * numpy.abs(expected) + 1e-5).all(), error.max())

    def test_product(self):
        d = self.kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
        self.close(d, product(self.a, self.b))

    def test_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        a, b = (x.view(ml_dtypes.bfloat16) for x in (self.a, self.b))
        d = self.kernel(a=a, b=b)
        self.assertEqual(d.dtype.name, "bfloat16")
        self.close(d, product(self.a, self.b))

    def test_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("no JAX")
        a, b = (jax.numpy.asarray(wide(x), jax.numpy.bfloat16) for x in (self.a, self.b))
        d = self.kernel(a=a, b=b)
        self.assertIsInstance(d, jax.Array)
        self.close(numpy.asarray(d), product(self.a, self.b))
        with self.assertRaisesRegex(tmagen.Error, "'a' is being traced; legal: a call outside"):
            jax.jit(lambda a: self.kernel(a=a, b=b))(a)

    def test_rows_with_gaps_and_an_own_output(self):
        a = bf16(rng.normal(size=(50, 160)))[:, 8:80]
        room = numpy.zeros((50, 88), numpy.uint16)
        d = room[:, :72]
        given = self.kernel(a=bits(a, "bf16"), b=bits(self.b, "bf16"), d=bits(d, "bf16"))
        self.assertIs(given, d)
        self.close(d, product(a.copy(), self.b))
        self.assertFalse(room[:, 72:].any())

    def test_read_only_inputs_serve(self):
        a = self.a.copy()
        a.flags.writeable = False
        self.close(self.kernel(a=bits(a, "bf16"), b=bits(self.b, "bf16")), product(a, self.b))

    def test_dlpack_alone(self):
        class Other:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **how):
                return self.array.__dlpack__(**how)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        a, b, d = Other(self.a), Other(self.b), numpy.empty((100, 72), numpy.uint16)
        self.kernel(a=bits(a, "bf16"), b=bits(b, "bf16"), d=bits(Other(d), "bf16"))
        self.close(d, product(self.a, self.b))

    def test_one_row(self):
        d = self.kernel(a=bits(self.a[:1], "bf16"), b=bits(self.b, "bf16"))
        self.close(d, product(self.a[:1], self.b))

    def test_no_rows(self):
        d = self.kernel(a=bits(self.a[:0], "bf16"), b=bits(self.b, "bf16"))
        self.assertEqual(d.shape, (0, 72))

    def test_scalars_and_operands(self):
        c = bf16(rng.normal(size=(100, 72)))
        kernel = tmagen.load("gemm_128x128_alpha_beta", device="emu")
        given = {name: bits(x, "bf16") for name, x in zip("abc", (self.a, self.b, c))}
        self.close(kernel(**given, alpha=0.5, beta=-2), 0.5 * product(self.a, self.b) - 2 * wide(c))
        self.close(kernel(**given), product(self.a, self.b) + wide(c))

    def test_two_outputs(self):
        x = bf16(rng.normal(size=(5, 256)))
        y, scales = tmagen.load("quantise_persistent", device="emu")(x=bits(x, "bf16"))
        self.assertEqual((y.shape, scales.shape), ((5, 256), (5, 2)))
        largest = numpy.abs(wide(x)).reshape(5, 2, 128).max(-1)
        self.assertTrue(numpy.allclose(scales, largest / 448, rtol=1e-3))

    def test_semaphores(self):
        kernel = tmagen.load("gemm_16x64_split", device="emu")
        for rows in (3, 16, 3):
            a, b = bf16(rng.normal(size=(rows, 512))), bf16(rng.normal(size=(64, 512)))
            for splits in (0, 2):
                d = kernel(a=bits(a, "bf16"), b=bits(b, "bf16"), splits=splits)
                self.close(d, product(a, b))

    def test_knobs(self):
        kernel = tmagen.load("gemm", device="emu", tile={"m": 128, "n": 64}, phase=3)
        self.assertTrue(kernel.name.startswith("gemm_"))
        self.close(kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16")),
                   product(self.a, self.b))
        again = tmagen.load("gemm_64x64", device="emu", epilogue={"ops": ["relu"]})
        self.close(again(a=bits(self.a, "bf16"), b=bits(self.b, "bf16")),
                   numpy.maximum(product(self.a, self.b), 0))

    def test_a_spec_file(self):
        path = os.path.join(os.environ["TMPDIR"], "mine.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("kernel: gemm\nphase: 2\n")
        self.assertEqual(tmagen.load(path).name, "mine")

    def test_a_dispatch_table(self):
        table = tmagen.load("gemm_bf16_h200", device="emu")
        self.close(table(a=bits(self.a, "bf16"), b=bits(self.b, "bf16")), product(self.a, self.b))

    def test_a_bundle(self):
        program, path = os.environ["TMAGEN"], os.path.join(os.environ["TMPDIR"], "kernels.tmb")
        made = subprocess.run([program, "bundle", "--ptx", "-o", path, "specs/gemm_64x64.yaml"],
                              capture_output=True, text=True)
        if made.returncode == 2:
            self.skipTest("a program without bundles")
        self.assertEqual(made.returncode, 0, made.stderr)
        how = {"bundle": path, "device": "emu", "mode": "fail"}
        kernel = tmagen.load("gemm_64x64", **how)
        d = kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
        self.close(d, product(self.a, self.b))
        for name, knobs, wanted in (("none", {}, "miss"), ("gemm_64x64", {"stages": 3}, "argument")):
            with self.assertRaises(tmagen.Error) as caught:
                tmagen.load(name, **how, **knobs)
            self.assertEqual(caught.exception.name, wanted)
        with open(path, "r+b") as file:
            file.seek(40)
            file.write(b"damaged")
        os.utime(path, ns=(1, 1))  # as another file, which a bundle that is written to is
        for bad, wanted in ((path, "bundle"), (path + ".none", "file"), (program, "bundle")):
            with self.assertRaises(tmagen.Error) as caught:
                tmagen.load("gemm_64x64", **{**how, "bundle": bad})
            self.assertEqual(caught.exception.name, wanted)

    def test_two_threads(self):
        found = []

        def work():
            d = self.kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
            found.append(d.tobytes())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        self.assertEqual(len(set(found)), 1)

    def test_loading_in_many_threads(self):
        kernels = [tmagen.load("gemm_64x64") for _ in range(2)]
        failures = []

        def work(kernel):
            try:
                kernel._wanted = "emu"
                d = kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
                self.close(d, product(self.a, self.b))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(kernels[i % 2],)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_fork_after_use(self):
        self.kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
        child = os.fork()
        if child == 0:
            try:
                d = self.kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))
                self.close(d, product(self.a, self.b))
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_what_it_is(self):
        self.assertEqual(repr(self.kernel), "<tmagen.Kernel gemm_64x64(a, b, *, d=None)>")
        self.assertEqual(self.kernel.manifest["family"], "gemm")
        info = self.kernel.info("emu")
        self.assertEqual(len(info["key"]), 64)
        self.assertEqual(info["block_threads"], 256)


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = tmagen.load("gemm_64x64", device="emu")
        cls.a = numpy.zeros((100, 72), numpy.uint16)
        cls.b = numpy.zeros((72, 72), numpy.uint16)

    def refused(self, text, dtype="bf16", code=-1, **arguments):
        given = {"a": self.a, "b": self.b, **arguments}
        given = {n: bits(x, dtype) if hasattr(x, "shape") and x.dtype.itemsize == 2 else x
                 for n, x in given.items() if x is not None}
        with self.assertRaises(tmagen.Error) as caught:
            self.kernel(**given)
        self.assertEqual(str(caught.exception), "gemm_64x64: " + text)
        self.assertEqual(caught.exception.code, code)

    def test_arguments(self):
        call = "gemm_64x64(a, b, *, d=None)"
        self.refused(f"tensor 'b' is missing; legal: {call}", b=None)
        self.refused(f"has no argument 'q'; legal: {call}", q=self.a)
        self.refused("tensor 'a' is a int; legal: an array with DLPack or an array interface", a=3)
        self.refused("tensor 'a' is a NoneType; legal: an array with DLPack or an array interface",
                     a=bits(None, "bf16"))
        self.refused("'sms' cannot be read: 'str' object cannot be interpreted as an integer",
                     sms="all")
        self.refused("sms is -1; legal: 0 and up", sms=-1)
        self.refused("dim 'm' is 7, but 100 by tensor 'a'; a[m, k]", m=7)
        with self.assertRaisesRegex(tmagen.Error, "^gemm_64x64: tensor 'a' is missing"):
            self.kernel()
        with self.assertRaises(TypeError):
            self.kernel(self.a, self.b)

    def test_dtypes(self):
        self.refused("tensor 'a' has elements of fp32; legal: bf16; a[m, k]",
                     a=numpy.zeros((100, 72), numpy.float32))
        self.refused("tensor 'a' has elements of fp16; legal: bf16; a[m, k]", dtype="fp16")
        self.refused("tensor 'a' has elements of the other byte order (>u2); legal: native",
                     a=self.a.astype(">u2"))
        self.refused("tensor 'a' has elements of complex128; legal: bf16; a[m, k]",
                     a=numpy.zeros((100, 72), complex))
        for odd in ("datetime64[s]", "object", "V3", "S2", "bool", [("x", "u2")]):
            with self.assertRaisesRegex(tmagen.Error, "^gemm_64x64: tensor 'a' has elements of "):
                self.kernel(a=numpy.zeros((100, 72), odd), b=bits(self.b, "bf16"))
        with self.assertRaisesRegex(tmagen.Error, "^bits: dtype is 'half'; legal: bf16, fp16"):
            bits(self.a, "half")
        self.refused("tensor 'a' has elements of fp32, which are not as wide as bf16",
                     a=bits(numpy.zeros((100, 72), numpy.float32), "bf16"))

    def test_shapes_and_strides(self):
        self.refused("tensor 'a' has the shape []; legal: [m, k]", a=self.a[0, 0])
        self.refused("tensor 'a' has the shape [100]; legal: [m, k]", a=self.a[:, 0])
        self.refused("dim 'k' is 72, but 64 by tensor 'b'; b[n, k]", b=self.b[:, :64])
        self.refused("dim 'k' is 71; legal: multiples of 8", a=self.a[:, 1:], b=self.b[:, 1:])
        self.refused("tensor 'a': stride 0 is -72 elements; legal: 1 to 549755813887; a[m, k]",
                     a=self.a[::-1])
        self.refused("tensor 'a': stride 1 is -1; legal: 1; a[m, k]", a=self.a[:, ::-1])
        self.refused("tensor 'b': stride 1 is 72; legal: 1; b[n, k]", b=self.b.T)
        wide_a = numpy.zeros((100, 73), numpy.uint16)
        self.refused("tensor 'a': stride 0 is 73 elements, 146 bytes; legal: multiples of 16 bytes; "
                     "a[m, k]", a=wide_a[:, :72])
        broadcast = numpy.broadcast_to(self.a[0], (100, 72))
        self.refused("tensor 'a' is broadcast: strides [0, 1]; legal: a copy of it", a=broadcast)
        broadcast = numpy.broadcast_to(self.a[0, 0], (100, 72))
        self.refused("tensor 'a' is broadcast: strides [0, 0]; legal: a copy of it", a=broadcast)

    def test_read_only_outputs(self):
        d = numpy.zeros((100, 72), numpy.uint16)
        d.flags.writeable = False
        self.refused("tensor 'd' is read-only, and the kernel writes it; legal: a writable array",
                     d=d)

    def test_subclasses(self):
        masked = numpy.ma.masked_array(self.a)
        self.refused("tensor 'a' is a MaskedArray, which may mean more than its memory; legal: "
                     "numpy.ndarray itself", a=masked)

    def test_loading(self):
        for arguments, knobs, text in (
            (("nothing",), {}, r"^nothing: neither .*nothing\.json nor a family: "),
            (("none.yaml",), {}, r"^none\.yaml: no such file$"),
            (("none.json",), {}, r"^none\.json: No such file or directory$"),
            (("none.json",), {"stages": 3}, r"knobs are a spec's or a family's"),
            (("gemm",), {"tile": {"m": 1000}}, r"tile\.m: 1000 is not in 2\.\.256"),
            (("gemm",), {"stages": [2, 3]}, r"^gemm: makes 2 kernels"),
            (("gemm",), {"stages": object()}, r"^gemm: knobs are numbers, strings"),
            (("gemm_64x64",), {"device": "tpu"}, r"^no device is called 'tpu'; legal: cuda, "),
            (("gemm_64x64",), {"device": 3}, r"^load: device is 3; legal: cuda, "),
            (("gemm_64x64",), {"mode": "never"}, r"^load: mode is 'never'; legal: compile, "),
            (("gemm_64x64",), {"mode": []}, r"^load: mode is \[\]; legal: compile, "),
            (("gemm_64x64",), {"directory": "/none"}, r"there is no /none/gemm_64x64\.json$"),
        ):
            with self.subTest(text), self.assertRaisesRegex(tmagen.Error, text):
                tmagen.load(*arguments, **knobs)

    def test_paths_of_any_kind(self):
        for name in (b"gemm_64x64", pathlib.Path("out", "gemm_64x64.json"),
                     pathlib.Path("specs", "gemm_64x64.yaml")):
            for cache in (b"none", pathlib.Path("none")):
                kernel = tmagen.load(name, cache_dir=cache, directory=pathlib.Path("out"))
                self.assertEqual(kernel.name, "gemm_64x64")

    def test_a_file_that_is_no_manifest(self):
        path = os.path.join(os.environ["TMPDIR"], "odd.json")
        for text in ("", "[]", "{}", '{"tmagen_table": 4}', '{"source": 3}', "\xff" * 9):
            with open(path, "w", encoding="latin-1") as file:
                file.write(text)
            with self.subTest(text), self.assertRaises(tmagen.Error) as caught:
                tmagen.load(path)
            self.assertEqual(caught.exception.name, "manifest")

    def test_a_miss(self):
        empty = os.path.join(os.environ["TMPDIR"], "empty-cache")
        with self.assertRaises(tmagen.Error) as caught:
            tmagen.load("gemm_64x64", device="emu", mode="fail", cache_dir=empty)
        self.assertEqual((caught.exception.code, caught.exception.name), (-7, "miss"))

    def test_host_arrays_without_the_emulator(self):
        kernel = tmagen.load("gemm_64x64")
        with self.assertRaisesRegex(tmagen.Error, "tensor 'a' lies in host memory; legal: a GPU"):
            kernel(a=bits(self.a, "bf16"), b=bits(self.b, "bf16"))


if __name__ == "__main__":
    unittest.main()
