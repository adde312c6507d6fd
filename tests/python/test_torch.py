"""PyTorch's tensors on the emulator: plain calls, and operators under autograd and compile."""

import copy
import unittest

import tmagen
import tmagen.torch
import torch
from torch.library import opcheck


def randn(*shape, grad=False, dtype=torch.bfloat16):
    return torch.randn(*shape, dtype=dtype, requires_grad=grad)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(13)
        cls.kernel = tmagen.load("gemm_64x64", device="emu")

    def refused(self, text, a, b):
        with self.assertRaises(tmagen.Error) as caught:
            self.kernel(a=a, b=b)
        self.assertIn(text, str(caught.exception))

    def test_product(self):
        a, b = randn(100, 72), randn(72, 72)
        d = self.kernel(a=a, b=b)
        self.assertEqual((d.dtype, d.device.type), (torch.bfloat16, "cpu"))
        torch.testing.assert_close(d, a @ b.T)
        torch.testing.assert_close(self.kernel(a=a, b=torch.nn.Parameter(b, False)), d)

    def test_what_is_refused(self):
        a, b = randn(100, 72), randn(72, 72)
        self.refused("'a' has elements of fp32; legal: bf16", a.float(), b)
        self.refused("'a' has elements of complex64; legal: bf16", a.to(torch.complex64), b)
        self.refused("'b': stride 1 is 72; legal: 1", a, b.T)
        self.refused("'a' is broadcast: strides [0, 0]", a[0, 0].expand(100, 72), b)
        self.refused("'a' requires grad, and a plain call has none", randn(100, 72, grad=True), b)
        self.refused("'a' lies on the device meta", a.to("meta"), b)
        self.refused("'a' has the shape []; legal: [m, k]", a[0, 0], b)
        self.refused("'a' has no memory of its own", a.to_sparse(), b)

    def test_without_grad_it_serves(self):
        a, b = randn(100, 72, grad=True), randn(72, 72, grad=True)
        with torch.no_grad():
            self.assertFalse(self.kernel(a=a, b=b).requires_grad)

    def test_views_that_are_not_their_memory(self):
        kernel = tmagen.load("resample_odd", device="emu")
        self.assertEqual(kernel.manifest["tensors"][1]["dtype"], "fp32")
        names = {t["name"]: t for t in kernel.manifest["tensors"] if t["access"] == "read"}
        dims = {d["name"]: d.get("value", 8) for d in kernel.manifest["dims"]}
        shapes = {n: [dims.get(e, e) for e in t["dims"]] for n, t in names.items()}
        given = {n: torch.zeros(s, dtype=getattr(torch, {"fp32": "float32", "fp16": "float16",
                                                         "bf16": "bfloat16"}[names[n]["dtype"]]))
                 for n, s in shapes.items()}
        times = next(n for n, t in names.items() if t["dtype"] == "fp32")
        negated = torch.zeros(shapes[times], dtype=torch.complex64).conj().imag
        self.assertTrue(negated.is_neg())
        with self.assertRaisesRegex(tmagen.Error, f"'{times}' is a negated view"):
            kernel(**{**given, times: negated})

    def test_subclasses_and_traced_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        b = randn(72, 72)
        with FakeTensorMode():
            fake = torch.empty(100, 72, dtype=torch.bfloat16)
        self.refused("'a' is a FakeTensor, which may mean more than its memory", fake, b)
        with self.assertRaisesRegex(tmagen.Error, "'a' has no memory of its own"):
            torch.vmap(lambda a: self.kernel(a=a, b=b))(randn(2, 100, 72))

    def test_compiled_code_steps_aside_for_a_plain_call(self):
        a, b = randn(100, 72), randn(72, 72)
        compiled = torch.compile(lambda a, b: self.kernel(a=a, b=b) + 1, backend="eager")
        torch.testing.assert_close(compiled(a, b), a @ b.T + 1)


class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(13)
        torch._dynamo.reset()

    def held(self, op, reference, *inputs, scalars=(), tolerance=2e-2):
        """op and its gradients are those of [reference] in fp32 on the same values."""
        wide = [x.detach().float().requires_grad_() for x in inputs]
        d, expected = op(*inputs, *scalars), reference(*wide, *scalars)
        torch.testing.assert_close(d.float(), expected, rtol=tolerance, atol=tolerance)
        gradient = torch.randn_like(expected).to(d.dtype)
        d.backward(gradient)
        expected.backward(gradient.float())
        for ours, theirs in zip(inputs, wide):
            scale = theirs.grad.abs().max().item()
            torch.testing.assert_close(ours.grad.float(), theirs.grad, rtol=tolerance,
                                       atol=tolerance * scale)

    def test_opcheck(self):
        op = tmagen.torch.op("gemm_64x64", device="emu")
        opcheck(op, (randn(100, 72, grad=True), randn(72, 72, grad=True)))
        two = tmagen.torch.op("quantise_persistent", device="emu")
        opcheck(two, (randn(5, 256),))
        scalars = tmagen.torch.op("gemm_128x128_alpha_beta", device="emu")
        opcheck(scalars, (randn(8, 64), randn(8, 64), randn(8, 8), 0.5))

    def test_one_kernel_is_one_operator(self):
        kernel = tmagen.load("gemm_64x64", device="emu")
        op = tmagen.torch.op(kernel)
        self.assertIs(op, tmagen.torch.op("gemm_64x64", device="emu"))
        self.assertRegex(op._qualname, r"^tmagen::gemm_64x64_[0-9a-f]{8}_emu$")

    def test_gradients_of_gemm(self):
        inputs = randn(40, 64, grad=True), randn(48, 64, grad=True)
        self.held(tmagen.torch.op("gemm_64x64", device="emu"), lambda a, b: a @ b.T, *inputs)

    def test_gradients_where_columns_lie_along_k(self):
        inputs = randn(64, 40, grad=True), randn(64, 48, grad=True)
        op = tmagen.torch.op("gemm_64x64", device="emu", layout={"a": "column", "b": "column"})
        self.held(op, lambda a, b: a.T @ b, *inputs)

    def test_gradients_of_operands(self):
        ops = ["bias", "bias_m", {"scale_n": "scales"}, {"add": "rows", "row_period": 7}]
        op = tmagen.torch.op("gemm_64x64", device="emu", epilogue={"ops": ops})
        a, b, bias, bias_m = (randn(*shape, grad=True)
                              for shape in ((40, 64), (48, 64), (48,), (40,)))
        scales = torch.rand(48, requires_grad=True)
        rows = randn(7, 48, grad=True)

        def reference(a, b, bias, bias_m, scales, rows):
            x = (a @ b.T + bias + bias_m[:, None]) * scales
            return x + rows[torch.arange(40) % 7]

        self.held(op, reference, a, b, bias, bias_m, scales, rows)

    def test_gradients_of_alpha_and_beta(self):
        op = tmagen.torch.op("gemm_128x128_alpha_beta", device="emu")
        inputs = randn(40, 64, grad=True), randn(48, 64, grad=True), randn(40, 48, grad=True)
        self.held(op, lambda a, b, c, alpha, beta: alpha * (a @ b.T) + beta * c, *inputs,
                  scalars=(0.5, -2.0))

    def test_gradients_of_activations(self):
        functional = torch.nn.functional
        for ops, reference in (
            (["relu"], torch.relu),
            (["gelu"], lambda x: functional.gelu(x, approximate="tanh")),
            (["gelu_erf"], functional.gelu),
            (["silu"], functional.silu),
            ([{"clamp": [-3, 5]}], lambda x: x.clamp(-3, 5)),
            ([{"softcap": 6}], lambda x: 6 * torch.tanh(x / 6)),
            (["swiglu"], lambda x: functional.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]),
            (["geglu"], lambda x: functional.gelu(x.chunk(2, -1)[0], approximate="tanh")
             * x.chunk(2, -1)[1]),
            (["geglu_erf"], lambda x: functional.gelu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]),
        ):
            with self.subTest(ops):
                base = "gemm_128x128" if "glu" in str(ops[0]) else "gemm_64x64"
                op = tmagen.torch.op(base, device="emu", epilogue={"ops": ops})
                inputs = randn(40, 64, grad=True), randn(64, 64, grad=True)
                self.held(op, lambda a, b: reference(a @ b.T), *inputs)  # noqa: B023

    def test_what_has_no_gradient(self):
        op = tmagen.torch.op("gemm_64x64", device="emu", epilogue={"ops": ["amax"]})
        d, amax = op(randn(8, 64, grad=True), randn(8, 64))
        self.assertAlmostEqual(amax.item(), d.abs().max().item(), delta=0.1)
        with self.assertRaises(RuntimeError):
            d.sum().backward()

    def test_compiled_whole(self):
        op = tmagen.torch.op("gemm_64x64", device="emu")
        weight = randn(72, 72, grad=True)

        def layer(x, weight):
            return torch.relu(op(x * 2, weight)) + 1

        for backend in ("eager", "aot_eager"):
            compiled = torch.compile(layer, backend=backend, fullgraph=True, dynamic=True)
            for rows in (100, 40):
                with self.subTest(backend, rows=rows):
                    x = randn(rows, 72, grad=True)
                    ours, theirs = copy.deepcopy((x, weight)), copy.deepcopy((x, weight))
                    got, expected = compiled(*ours), layer(*theirs)
                    torch.testing.assert_close(got, expected)
                    got.sum().backward()
                    expected.sum().backward()
                    for mine, other in zip(ours, theirs):
                        torch.testing.assert_close(mine.grad, other.grad)

    def test_the_manuals_layer(self):
        """As it stands there, but for the place and the compiler's size."""
        with open("runtime/python/README.md", encoding="utf-8") as file:
            code = file.read().split("## PyTorch")[1].split("```python\n")[1].split("```")[0]
        code = code.replace('device="cuda"', 'device="cpu"')
        code = code.replace('op("gemm_256x128")', 'op("gemm_64x64", device="emu")')
        code = code.replace("1024, 4096", "64, 72").replace("fullgraph", 'backend="eager", fullgraph')
        made = {}
        exec(code, made)
        x = randn(24, 64, grad=True)
        y = made["layer"](x)
        weight = made["layer"].weight
        torch.testing.assert_close(y, x @ weight.T)
        y.sum().backward()
        torch.testing.assert_close(x.grad[0], weight.sum(0), rtol=2e-2, atol=1e-2)

    def test_a_table_is_refused(self):
        with self.assertRaisesRegex(tmagen.Error, "is a dispatch table; legal: one of its"):
            tmagen.torch.op("gemm_bf16_h200", device="emu")


if __name__ == "__main__":
    unittest.main()
