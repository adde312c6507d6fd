"""For a machine with a GPU and PyTorch: python3 tests/python/test_gpu.py, in the tree after make.

The shipped kernels equal PyTorch's product on the GPU, also in CUDA graphs and on streams of one's
own; 10,000 calls leak nothing; and what a call costs beside the launch and the allocation.
"""

import gc
import glob
import json
import os
import subprocess
import sys
import threading
import time
import unittest

_tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(_tree, "runtime", "python"))

try:
    import torch

    missing = None if torch.cuda.is_available() else "no GPU"
except ImportError:
    torch, missing = None, "no PyTorch"

import tmagen  # noqa: E402

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "e4m3": "float8_e4m3fn",
          "e5m2": "float8_e5m2", "i8": "int8", "i32": "int32"}
SIZES = {"m": 520, "n": 272, "k": 512, "batch": 3, "b": 2, "q": 24, "s": 40, "t": 24, "d": 64}
EMULATED = 1 << 21  # elements of a launch that the emulator may be asked for


def shipped(gemm):
    """The names of all shipped gemms, dispatch tables last, or of all other kernels."""
    names, tables = [], []
    for path in sorted(glob.glob(os.path.join(_tree, "out", "*.json"))):
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if "tmagen_table" in told:
            tables += [told["name"]] if gemm else []
        elif (told["family"] == "gemm") == gemm and told["arch"] == "sm_90a":
            names.append(told["name"])
    return names + tables


def random_tensor(shape, dtype):
    kind = getattr(torch, DTYPES[dtype])
    if dtype.startswith("i"):
        return torch.randint(-8, 8, shape, device="cuda", dtype=kind)
    return (torch.randn(shape, device="cuda") / 2).to(kind)


def inputs(manifest):
    """Random inputs of a manifest, at sizes that it takes."""
    dims = {d["name"]: d.get("value", SIZES.get(d["name"])) for d in manifest["dims"]}
    return {
        t["name"]: random_tensor([dims.get(e, e) for e in t["dims"]], t["dtype"])
        for t in manifest["tensors"] if "read" in t["access"]
    }


def chain(x, manifest, given):
    """The epilogue in fp32; None where this file does not know an op."""
    functional = torch.nn.functional
    for row in manifest.get("ops", []):
        y = given[row["tensors"][0]].float() if row.get("tensors") else None
        op = row["op"]
        if op in ("bias", "residual", "beta"):
            x = x + y
        elif op == "bias_m":
            x = x + y[:, None]
        elif op == "add":
            x = x + y[torch.arange(x.shape[0], device="cuda") % row["values"]["row_period"]]
        elif op.startswith("scale") and op != "scale_m":
            x = x * y
        elif op == "gelu":
            x = functional.gelu(x, approximate="tanh")
        elif op == "relu":
            x = x.relu()
        elif op == "swiglu":
            left, right = x.chunk(2, -1)
            x = functional.silu(left) * right
        elif op != "alpha":
            return None
    return x


def reference(manifest, given):
    """The result in fp32, and the sum of magnitudes that bounds its error."""
    extents = {t["name"]: t["dims"] for t in manifest["tensors"]}
    a, b = given["a"].float(), given["b"].float()
    a = a.mT if extents["a"][-1] != "k" else a
    b = b.mT if extents["b"][-1] != "k" else b
    return chain(a @ b.mT, manifest, given)


@unittest.skipIf(missing, missing or "")
class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(13)
        torch.backends.cuda.matmul.allow_tf32 = False
        cls.kernel = tmagen.load("gemm_256x128")
        cls.a, cls.b = (torch.randn(s, device="cuda", dtype=torch.bfloat16)
                        for s in ((1000, 512), (272, 512)))
        cls.expected = cls.a.float() @ cls.b.float().T

    def close(self, d, expected, what=""):
        # one rounding to D's type, and an epilogue by approximate instructions
        bits = {torch.bfloat16: 8, torch.float16: 10, torch.float32: 10,
                torch.float8_e4m3fn: 3, torch.float8_e5m2: 2}.get(d.dtype, 20)
        scale = expected.abs().max().item()
        subnormal = 0.0
        if d.dtype.is_floating_point:
            told = torch.finfo(d.dtype)
            subnormal = told.smallest_normal * told.eps
        torch.testing.assert_close(d.float(), expected, rtol=2.0 ** -(bits - 1),
                                   atol=2.0**-10 * scale + subnormal / 2,
                                   msg=lambda m: f"{what}: {m}")

    def test_shipped_gemms(self):
        known = 0
        for name in shipped(gemm=True):
            with self.subTest(name):
                kernel = tmagen.load(name)
                given = inputs(kernel.manifest)
                expected = reference(kernel.manifest, given)
                if expected is None:
                    continue
                d = kernel(**given)
                d = d[0] if isinstance(d, tuple) else d
                if d.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
                    top = torch.finfo(d.dtype).max
                    expected = expected.clamp(-top, top)
                self.close(d, expected, name)
                known += 1
        self.assertGreater(known, 100)

    def test_other_shipped_kernels(self):
        """They give what the emulator gives of the same inputs, bit for bit."""
        known = 0
        for name in shipped(gemm=False):
            with self.subTest(name):
                kernel = tmagen.load(name)
                given = inputs(kernel.manifest)
                if sum(tensor.numel() for tensor in given.values()) > EMULATED:
                    continue
                got = kernel(**given)
                host = {tensor: value.cpu() for tensor, value in given.items()}
                expected = tmagen.load(name, device="emu")(**host)
                pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)))
                for one, other in pairs:
                    self.assertTrue(torch.equal(one.cpu().view(torch.uint8),
                                                other.view(torch.uint8)), name)
                known += 1
        self.assertGreater(known, 20)

    def test_streams(self):
        streams = [torch.cuda.Stream() for _ in range(4)]
        kernel = tmagen.load("gemm_16x64_split")
        a, b = self.a[:16].clone(), self.b
        expected = a.float() @ b.float().T
        torch.cuda.synchronize()
        found = []
        for turn in range(200):
            with torch.cuda.stream(streams[turn % 4]):
                found.append((self.kernel(a=self.a, b=b), kernel(a=a[: 16 - turn % 3], b=b)))
        torch.cuda.synchronize()
        for turn, (large, small) in enumerate(found):
            self.close(large, self.expected)
            self.close(small, expected[: 16 - turn % 3])

    def test_a_stream_waits_for_what_is_before(self):
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            a = self.a * 2
            d = self.kernel(a=a, b=self.b)
        stream.synchronize()
        self.close(d, 2 * self.expected)

    def test_graphs(self):
        for name in ("gemm_256x128", "gemm_128x128_repack", "gemm_16x64_split"):
            with self.subTest(name):
                kernel = tmagen.load(name)
                a = self.a[:16].clone() if "split" in name else self.a.clone()
                kernel(a=a, b=self.b)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    first = kernel(a=a, b=self.b)
                    second = kernel(a=a[: len(a) // 2], b=self.b)
                for scale in (1, -2, 4):  # exact in bf16
                    a.copy_(self.a[: len(a)] * scale)
                    graph.replay()
                    torch.cuda.synchronize()
                    expected = self.expected[: len(a)] * scale
                    self.close(first, expected, name)
                    self.close(second, expected[: len(a) // 2], name)

    def test_an_operator_compiled(self):
        import tmagen.torch

        op = tmagen.torch.op("gemm_256x128")
        torch.library.opcheck(op, (self.a.clone().requires_grad_(), self.b.clone()))
        for mode in ("default", "reduce-overhead"):
            compiled = torch.compile(lambda a, b: torch.relu(op(a, b)), mode=mode, fullgraph=True)
            for _ in range(3):
                d = compiled(self.a, self.b)
            self.close(d, self.expected.relu())
        a, b = (x.clone().requires_grad_() for x in (self.a, self.b))
        op(a, b).backward(torch.ones(1000, 272, device="cuda", dtype=torch.bfloat16))
        torch.testing.assert_close(a.grad[0], self.b.sum(0), rtol=2e-2, atol=0.1)

    def test_the_manuals_layer(self):
        with open(os.path.join(_tree, "runtime", "python", "README.md"), encoding="utf-8") as file:
            code = file.read().split("## PyTorch")[1].split("```python\n")[1].split("```")[0]
        made = {}
        exec(code, made)
        x = torch.randn(200, 1024, device="cuda", dtype=torch.bfloat16)
        self.close(made["layer"](x), x.float() @ made["layer"].weight.detach().float().T)

    def test_ten_thousand_calls_leak_nothing(self):
        split = tmagen.load("gemm_16x64_split")

        def calls(count):
            for _ in range(count):
                self.kernel(a=self.a, b=self.b)
                split(a=self.a[:16], b=self.b)
            torch.cuda.synchronize()
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        resident, held = calls(1000), torch.cuda.memory_allocated()
        self.assertLess(calls(5000) - resident, 4 << 20)
        self.assertEqual(torch.cuda.memory_allocated(), held)

    def test_what_a_call_costs(self):
        kernel, a, b = self.kernel, self.a[:8], self.b

        def least(call, count=50, rounds=200):
            best = 1.0
            for _ in range(rounds):
                started = time.perf_counter()
                for _ in range(count):
                    call()
                best = min(best, (time.perf_counter() - started) / count)
                torch.cuda.synchronize()
            return best * 1e6

        kernel(a=a, b=b)
        kernel(a=a[:0], b=b)

        def launch(rows):
            """The library's launch alone; of no rows it does all but call the driver."""
            plan = next(p for p in kernel._plans.values() if p._request.views["a"].shape[0] == rows)
            slot, made = plan._slot(), plan._makers[0]()
            plan._fill(slot, [array.data_ptr() for array in (a, b, made)])
            sizes, stream = tmagen._library.LAUNCH_SIZES, plan._stream()
            return least(lambda: plan._launch(plan._native, stream, slot.address, sizes)), plan

        turns = []  # others use this machine, too: each at its best of five
        for _ in range(5):
            whole = least(lambda: kernel(a=a, b=b))
            (full, plan), (empty, _) = launch(8), launch(0)
            turns.append((whole, full, empty, least(plan._makers[0])))
        whole, full, empty, allocation = map(min, zip(*turns))
        own = whole - (full - empty) - allocation
        print(f"\na call {whole:.2f} us, of which the driver's launch {full - empty:.2f} and "
              f"torch.empty {allocation:.2f}; tmagen's own {own:.2f}")
        self.assertLess(own, 6)

    def test_importing_takes_50_ms(self):
        code = "import time; t = time.perf_counter(); import tmagen; print(time.perf_counter() - t)"
        path = os.path.dirname(os.path.dirname(os.path.abspath(tmagen.__file__)))
        taken = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                                      env={**os.environ, "PYTHONPATH": path}).stdout)
                 for _ in range(10)]
        print(f"\nimported in {min(taken) * 1e3:.1f} to {max(taken) * 1e3:.1f} ms")
        self.assertLess(min(taken), 0.05)

    def test_threads_on_one_kernel(self):
        wrong = []

        def work(index):
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for turn in range(300):
                        rows = 1000 - 100 * ((index + turn) % 5)
                        d = self.kernel(a=self.a[:rows], b=self.b)
                        if turn % 60 == 0:
                            self.close(d, self.expected[:rows])
                    torch.cuda.current_stream().synchronize()
                    self.close(d, self.expected[:rows])
            except BaseException as error:
                wrong.append(error)

        torch.cuda.synchronize()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_is_refused(self):
        for words, arrays in {
            "has elements of fp16; legal: bf16": {"b": self.b.half()},
            "stride 1 is 272; legal: 1": {"b": self.b.T.contiguous().T},
            "has the shape .512.; legal: .m, k.": {"a": self.a[0]},
            "requires grad": {"a": self.a.clone().requires_grad_()},
            "has no argument 'extra'": {"extra": self.b},
        }.items():
            with self.subTest(words), self.assertRaisesRegex(tmagen.Error, words):
                self.kernel(**{"a": self.a, "b": self.b, **arrays})
        with self.assertRaisesRegex(tmagen.Error, "no CUDA device 99|cuda:99"):
            tmagen.load("gemm_256x128", device="cuda:99")
        self.close(self.kernel(a=self.a, b=self.b), self.expected)

    def test_devices(self):
        with self.assertRaisesRegex(tmagen.Error, "'b' lies in host memory"):
            self.kernel(a=self.a, b=self.b.cpu())
        if torch.cuda.device_count() > 1:
            a, b = self.a.to("cuda:1"), self.b.to("cuda:1")
            self.close(self.kernel(a=a, b=b).to("cuda:0"), self.expected)
            with self.assertRaisesRegex(tmagen.Error, "'b' lies on cuda:1, other tensors on"):
                self.kernel(a=self.a, b=b)

    def test_a_fork_after_use(self):
        self.kernel(a=self.a, b=self.b)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.kernel(a=self.a, b=self.b)
            except (tmagen.Error, RuntimeError):
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
