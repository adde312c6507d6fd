-- ops.lua: the ops of the epilogue, a row each: to add one, add its row (and a case). They are applied in fp32, in the
-- order of the spec, before D is rounded; epilogue/apply.cu.in is the one place that writes them.
--
-- name, doc       as a spec and `tmagen explain gemm` have them
-- cuda            the new value; x is the old one and y the operand's element, both float
-- operand         what y is read from: { name =, rows = } with rows = "m" (a row for each of D's), "one" (for all of
--                 them) or the name of a parameter (that many, in turn). A name of true: the spec gives it
-- scalar          the name of a float that the launch gives, 1 where it does not; the CUDA has it under its name. The
--                 reference's y is then the operand's element times it, or it alone; a scalar of 0 means that the
--                 operand is not read
-- parameters      integers that the spec gives: { name =, min =, max = }
-- reference       the new value in exact arithmetic, for the reference; x and y as above
-- error           how far the CUDA may be from that, where it uses approximate instructions; else 0 or its rounding
-- linear          whether sums over parts of K may be added after it as well as before
-- peer            how cuBLASLt does it: its epilogue, or its C with beta = 1; nil: it does not

return {
    { name = "bias", doc = "adds bias[n]", cuda = "x + y", reference = "x + y",
      operand = { name = "bias", rows = "one" }, linear = true, peer = "CUBLASLT_EPILOGUE_BIAS" },
    { name = "residual", doc = "adds residual[m, n]", cuda = "x + y", reference = "x + y",
      operand = { name = "residual", rows = "m" }, linear = true, peer = "C" },
    { name = "add", doc = "adds NAME[m mod row_period, n]", cuda = "x + y", reference = "x + y",
      operand = { name = true, rows = "row_period" }, linear = true,
      parameters = { { name = "row_period", min = 1, max = 0x7fffffff } } },
    { name = "alpha", doc = "times alpha, a scalar of the launch", cuda = "alpha * x", reference = "x * y",
      scalar = "alpha", linear = true },
    { name = "beta", doc = "adds beta c[m, n], a scalar of the launch; c is not read where it is 0",
      cuda = "x + beta * y", reference = "x + y", operand = { name = "c", rows = "m" },
      scalar = "beta", linear = true },
    { name = "relu", doc = "max(x, 0)", cuda = "max_nan(x, 0.0f)", reference = "x <= 0 ? 0 : x", linear = false,
      peer = "CUBLASLT_EPILOGUE_RELU" },
    { name = "gelu", doc = "x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), by tanh.approx",
      cuda = "gelu_tanh(x)", reference = "x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
      error = "0x1p-11 * fabs(x)", linear = false, peer = "CUBLASLT_EPILOGUE_GELU" },
    { name = "gelu_erf", doc = "x / 2 (1 + erf(x / sqrt(2)))", cuda = "gelu_erf(x)",
      reference = "x / 2 * (1 + erf(x * 0.7071067811865476))", error = "0x1p-21 * fabs(x)", linear = false },
}
