"""CUDA without a GPU: a stand-in for the driver, and a make-believe CuPy on host memory.

What is held here: streams, allocations, workspaces, devices, threads, forks, leaks and time.
"""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import numpy
import support

support.use_fake_driver()
cupy = support.fake_cupy()

import tmagen  # noqa: E402
import tmagen._dlpack  # noqa: E402
from tmagen import _library  # noqa: E402


class Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p)]


class Driver(ctypes.Structure):
    """The beginning of struct fake_cuda (tests/fixtures/fake/cuda.h)."""

    _fields_ = [
        ("param_count", ctypes.c_size_t),
        ("param_bytes", ctypes.c_size_t * 64),
        ("results", ctypes.c_int * 3),
        ("active_clusters", ctypes.c_int),
        ("launches", ctypes.c_int),
        ("encodes", ctypes.c_int),
        ("unloads", ctypes.c_int),
        ("config", Config),
    ]


driver = Driver.in_dll(ctypes.CDLL(os.environ["TMAGEN_LIBCUDA"]), "fake_cuda")


def matrix(rows, columns, dtype="float16", device=0):
    return cupy.ndarray(numpy.zeros((rows, columns), dtype), device)



def load(**how):
    return tmagen.load("gemm", problem={"a": "fp16"}, **how)


class Launches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = load()
        cls.a, cls.b = matrix(256, 64), matrix(128, 64)

    def setUp(self):
        cupy.current, cupy.capturing = 0x5EED, False

    def test_on_the_current_stream_into_an_allocated_output(self):
        made, launches = cupy.made, driver.launches
        d = self.kernel(a=self.a, b=self.b)
        self.assertIsInstance(d, cupy.ndarray)
        self.assertEqual((d.shape, d.dtype), ((256, 128), numpy.dtype("float16")))
        self.assertEqual((cupy.made - made, driver.launches - launches), (1, 1))
        self.assertEqual(driver.config.stream, 0x5EED)
        cupy.current = 0xFEED
        self.kernel(a=self.a, b=self.b)
        self.assertEqual(driver.config.stream, 0xFEED)

    def test_an_own_output(self):
        d, made = matrix(256, 128), cupy.made
        self.assertIs(self.kernel(a=self.a, b=self.b, d=d), d)
        self.assertEqual(cupy.made, made)

    def test_a_capture_is_a_launch_like_others(self):
        cupy.capturing, launches = True, driver.launches
        self.kernel(a=self.a, b=self.b)
        self.assertEqual(driver.launches - launches, 1)

    def test_overlap_is_the_kernels_to_allow(self):
        with self.assertRaisesRegex(tmagen.Error, "TMAGEN_LAUNCH_OVERLAP, but it does not wait"):
            self.kernel(a=self.a, b=self.b, overlap=True)

    def test_the_drivers_failures_are_its_words(self):
        driver.results[0] = 719
        try:
            with self.assertRaisesRegex(tmagen.Error, "CUDA_ERROR_FAKE") as caught:
                self.kernel(a=self.a, b=self.b)
            self.assertEqual((caught.exception.code, caught.exception.name), (-10, "device"))
        finally:
            driver.results[0] = 0
        self.kernel(a=self.a, b=self.b)

    def test_devices(self):
        with self.assertRaisesRegex(tmagen.Error, "'b' lies on cuda:1, other tensors on cuda:0"):
            self.kernel(a=self.a, b=matrix(128, 64, device=1))
        with self.assertRaisesRegex(tmagen.Error, "there is no CUDA device 1; the driver sees 1"):
            self.kernel(a=matrix(256, 64, device=1), b=matrix(128, 64, device=1))
        with self.assertRaisesRegex(tmagen.Error, "'b' lies in host memory"):
            self.kernel(a=self.a, b=numpy.zeros((128, 64), "float16"))
        with self.assertRaisesRegex(tmagen.Error, "'a' lies on cuda:0; legal: host memory"):
            kernel = load()
            kernel._wanted = "emu"
            kernel(a=self.a, b=self.b)


class Protocols(unittest.TestCase):
    def setUp(self):
        self.kernel = load()
        self.streams = streams = []
        cupy.current = 0x5EED

        class Interface:
            def __init__(self, host, stream=None, readonly=False):
                self.host = host
                self.__cuda_array_interface__ = {
                    "shape": host.shape, "typestr": host.dtype.str, "version": 3,
                    "data": (host.ctypes.data, readonly), "strides": None, "stream": stream,
                }

        class Capsule:
            def __init__(self, host):
                self.host = host

            def __dlpack__(self, stream=None):
                streams.append(stream)
                return self.host.__dlpack__()

            def __dlpack_device__(self):
                return (2, 0)

        self.Interface, self.Capsule = Interface, Capsule
        self.a, self.b = (numpy.zeros((rows, 64), "float16") for rows in (256, 128))
        self.d = numpy.zeros((256, 128), "float16")

    def test_the_stream_of_an_interface(self):
        make = self.Interface
        self.kernel(a=make(self.a, 0xABC), b=make(self.b), d=make(self.d))
        self.assertEqual(driver.config.stream, 0xABC)

    def test_read_only(self):
        make = self.Interface
        with self.assertRaisesRegex(tmagen.Error, "tensor 'd' is read-only"):
            self.kernel(a=make(self.a, readonly=True), b=make(self.b), d=make(self.d, None, True))

    def test_nothing_to_allocate_by(self):
        make = self.Interface
        with self.assertRaisesRegex(tmagen.Error, "by what 'd' is to be allocated"):
            self.kernel(a=make(self.a), b=make(self.b))

    def test_dlpack_is_told_the_launchs_stream(self):
        with unittest.mock.patch("tmagen._dlpack.export", self.on_a_gpu(tmagen._dlpack.export)):
            self.kernel(a=cupy.ndarray(self.a), b=self.Capsule(self.b))
            self.assertEqual((self.streams, driver.config.stream), ([0x5EED], 0x5EED))
            self.kernel(a=self.Capsule(self.a), b=self.Capsule(self.b), d=self.Capsule(self.d))
        self.assertEqual((self.streams[1:], driver.config.stream), ([1, 1, 1], None))

    def on_a_gpu(self, export):
        def exported(array, stream):
            view, address = export(array, stream)
            return view._replace(device="cuda:0"), address
        return exported


class Workspaces(unittest.TestCase):
    def test_semaphores_are_kept(self):
        kernel = tmagen.load("gemm_16x64_split", problem={"a": "fp16"})
        cupy.current, cupy.capturing = 0x5EED, False
        b = matrix(64, 512)

        def call(rows):
            made, cleared = cupy.made, cupy.cleared
            kernel(a=matrix(rows, 512), b=b)
            return cupy.made - made, cupy.cleared - cleared

        self.assertEqual(call(16), (2, 0))  # the output, and the workspace
        self.assertEqual(call(16), (1, 0))
        self.assertEqual(call(3), (1, 0))  # its sums lie where no shape has semaphores
        self.assertEqual(call(160), (2, 0))  # a larger one
        cupy.current = 0xFEED
        self.assertEqual(call(160), (2, 0))  # another stream's
        cupy.capturing = True
        self.assertEqual([call(160), call(160)], [(2, 0), (2, 0)])  # a graph's own

    def test_without_semaphores_it_is_temporary(self):
        kernel = tmagen.load("gemm_128x128_repack_exchanged_f16")
        cupy.capturing = False
        a, b, made = matrix(128, 65), matrix(128, 65), cupy.made
        kernel(a=a, b=b)
        kernel(a=a, b=b)
        self.assertEqual(cupy.made - made, 4)


class Processes(unittest.TestCase):
    def test_threads(self):
        kernel, failures = load(), []
        arrays = [(matrix(128 * i, 64), matrix(128, 64)) for i in range(1, 5)]

        def work(index):
            try:
                for i in range(300):
                    a, b = arrays[(index + i) % len(arrays)]
                    self.assertEqual(kernel(a=a, b=b).shape, (a.shape[0], 128))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_fork_after_use(self):
        kernel = load()
        kernel(a=matrix(128, 64), b=matrix(128, 64))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                kernel(a=matrix(128, 64), b=matrix(128, 64))
            except tmagen.Error as error:
                status = 0 if error.name == "no device" and "forked" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        kernel(a=matrix(128, 64), b=matrix(128, 64))

    def test_ten_thousand_calls_leak_nothing(self):
        kernel, host = load(), numpy.zeros((128, 64), "float16")

        def calls(count):
            for _ in range(count):
                kernel(a=cupy.ndarray(host), b=cupy.ndarray(host))
                try:
                    kernel(a=cupy.ndarray(host[:, :40]), b=cupy.ndarray(host))
                except tmagen.Error:
                    pass

        def resident():
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        calls(500)
        objects, before = len(gc.get_objects()), resident()
        calls(5000)
        self.assertLess(resident() - before, 1 << 20)
        self.assertLess(len(gc.get_objects()) - objects, 100)

    def test_many_shapes_are_not_remembered_for_ever(self):
        kernel = load()
        limit = tmagen._kernel.PLANS
        tmagen._kernel.PLANS = 10
        try:
            for rows in range(1, 40):
                kernel(a=matrix(rows, 64), b=matrix(128, 64))
        finally:
            tmagen._kernel.PLANS = limit
        self.assertLessEqual(len(kernel._plans), 10)


class Time(unittest.TestCase):
    """Minima, for which it is tried until they are reached: others use this machine, too."""

    def reached(self, once, limit, seconds=30):
        end, least = time.monotonic() + seconds, once()
        while least > limit and time.monotonic() < end:
            least = min(least, once())
        self.assertLessEqual(least, limit)

    def test_a_call_costs_six_microseconds(self):
        kernel = load()
        a, b = matrix(128, 64), matrix(128, 64)
        kernel(a=a, b=b)  # perhaps the first array of its type, of which more is asked
        kernel(a=a, b=b)
        (plan,) = [plan for key, plan in kernel._plans.items() if isinstance(key[0], str)]
        made = plan._makers[0]()
        plan._makers[0] = lambda: made
        plan.run = plan._plainly()

        def once():
            started = time.perf_counter()
            for _ in range(20):
                kernel(a=a, b=b)
            return (time.perf_counter() - started) / 20 * 1e6

        words, least = {"a": 1}, 1.0
        for _ in range(300):
            started = time.perf_counter()
            for _ in range(1000):
                words.get("a")
            least = min(least, (time.perf_counter() - started) / 1000 * 1e6)
        slower = max(1, least / 0.035)  # than the machine of which six microseconds are said
        self.reached(once, 6 * slower)

    def test_importing_takes_50_ms(self):
        code = ("import time; t = time.process_time(); import tmagen; "
                "print((time.process_time() - t) * 1e3)")

        # as it is installed: compiled, which not every environment allows to be kept
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def once():
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                                  env=environment)
            return float(done.stdout)

        self.reached(once, 50)

    def test_importing_brings_no_framework(self):
        code = "import sys, tmagen; print('numpy' in sys.modules, 'torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        self.assertEqual(done.stdout, b"False False\n")


class Interface(unittest.TestCase):
    def test_structs_are_those_of_the_header(self):
        """Sizes that differ would still serve, but copy every launch."""
        names = {
            "tensor": _library.Tensor, "dim": _library.Dim, "scalar": _library.Scalar,
            "launch": _library.Launch, "load_options": _library.LoadOptions,
            "set_options": _library.SetOptions, "kernel_info": _library.KernelInfo,
            "resources": _library.Resources,
        }
        source = '#include "runtime/tmagen.h"\n#include <stdio.h>\nint main(void) {\n'
        source += "".join(f'printf("%zu\\n", sizeof(tmagen_{name}));\n' for name in names)
        path = os.path.join(os.environ["TMPDIR"], "sizes")
        subprocess.run(["cc", "-I.", "-x", "c", "-o", path, "-"], input=source + "}\n", text=True,
                       check=True)
        told = subprocess.run([path], check=True, capture_output=True, text=True).stdout.split()
        ours = [ctypes.sizeof(struct) for struct in names.values()]
        self.assertEqual(list(map(int, told)), ours)

    def test_the_program(self):
        done = subprocess.run([sys.executable, "-m", "tmagen", "--version"], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, f"tmagen {tmagen.version()}\n")


if __name__ == "__main__":
    unittest.main()
