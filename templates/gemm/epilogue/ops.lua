-- ops.lua: the ops of the epilogue, a row each: to add one, add its row (and a case), or put it into an own.lua of
-- yours. They are applied in fp32, in the
-- order of the spec, before D is rounded; epilogue/apply.cu.in is the one place that writes them.
--
-- name, doc       as a spec and `tmagen explain gemm` have them
-- cuda            the new value; x is the old one and y the operand's element, both float
-- of_half         the same where x is half of the old one: the op before adds a row that is read ahead, and halves both
-- writes          the name of a tensor of D's shape and type that x is written to, as it is at this place of the chain
-- most            true: it writes but one fp32, the largest magnitude of all that x is there
-- sums            "row" or "column": it writes an fp32 for each of them, the sum of all that x is there in it or, with
--                 `most`, the largest magnitude
-- gates           true: y is the value of the same row that lies half of N further, and D has half as many columns; ops
--                 before it are applied to both, with operands of all columns of the product
-- operand         what y is read from: { name =, rows =, columns =, dtype = } with rows = "m" (a row for each of D's),
--                 "one" (for all of them) or the name of a parameter (that many, in turn), columns = "one" where a row
--                 has one element for all of D's, and the type where it is not D's. A name of true: the spec gives it
-- scalar          the name of a float that the launch gives, 1 where it does not; the CUDA has it under its name. The
--                 reference's y is then the operand's element times it, or it alone; a scalar of 0 means that the
--                 operand is not read
-- numbers         that the spec gives, `{softcap: 30}`, `{clamp: [-8, 8]}`: { { name = }, ..., above = }, in rising
--                 order, the first above `above`; the CUDA, the reference and the error have them under their names
-- parameters      integers that the spec gives: { name =, min =, max = }
-- reference       the new value in exact arithmetic, for the reference; x and y as above, numbers as 12.5 or
--                 0x1p-11, + - * /, comparisons with ?:, fabs, sqrt, exp, tanh and erf
-- error           how far the CUDA may be from that, where it uses approximate instructions; else 0 or its rounding
-- linear          whether sums over parts of K may be added after it as well as before

-- x times an fp32 on the device: one for all elements, one a row, one a column
local function scale(name, operand, doc)
    operand.dtype = "fp32"
    return { name = name, doc = doc, cuda = "x * y", reference = "x * y", error = "0x1p-24 * fabs(x * y)",
        operand = operand, linear = true }
end

return {
    { name = "bias", doc = "adds bias[n]", cuda = "x + y", reference = "x + y",
      operand = { name = "bias", rows = "one" }, linear = true },
    { name = "bias_m", doc = "adds bias_m[m]", cuda = "x + y", reference = "x + y",
      operand = { name = "bias_m", rows = "m", columns = "one" }, linear = true },
    { name = "residual", doc = "adds residual[m, n]", cuda = "x + y", reference = "x + y",
      operand = { name = "residual", rows = "m" }, linear = true },
    { name = "add", doc = "adds NAME[m mod row_period, n]", cuda = "x + y", reference = "x + y",
      operand = { name = true, rows = "row_period" }, linear = true,
      parameters = { { name = "row_period", min = 1, max = 0x7fffffff } } },
    scale("scale", { name = true, rows = "one", columns = "one" }, "times NAME[1], an fp32 on the device"),
    scale("scale_a", { name = "scale_a", rows = "one", columns = "one" }, "times scale_a[1], the same"),
    scale("scale_b", { name = "scale_b", rows = "one", columns = "one" }, "times scale_b[1]"),
    scale("scale_d", { name = "scale_d", rows = "one", columns = "one" }, "times scale_d[1]"),
    scale("scale_m", { name = true, rows = "m", columns = "one" }, "times NAME[m], fp32"),
    scale("scale_n", { name = true, rows = "one" }, "times NAME[n], fp32"),
    { name = "alpha", doc = "times alpha, a scalar of the launch", cuda = "alpha * x", reference = "x * y",
      scalar = "alpha", linear = true },
    { name = "beta", doc = "adds beta c[m, n], a scalar of the launch; c is not read where it is 0",
      cuda = "x + beta * y", reference = "x + y", operand = { name = "c", rows = "m" },
      scalar = "beta", linear = true },
    { name = "aux", doc = "writes what it has come to so far to aux[m, n]", cuda = "x", reference = "x", writes = "aux",
      linear = false },
    { name = "amax", doc = "writes the largest magnitude of what it has come to so far to amax[1], fp32", cuda = "x",
      reference = "x", writes = "amax", most = true, linear = false },
    { name = "row_amax", doc = "writes the largest magnitude of each row of it to row_amax[m], fp32", cuda = "x",
      reference = "x", writes = "row_amax", most = true, sums = "row", linear = false },
    { name = "row_sums", doc = "writes the sum of each row of what it has come to so far to row_sums[m], fp32",
      cuda = "x", reference = "x", writes = "row_sums", sums = "row", linear = false },
    { name = "column_sums", doc = "writes the sum of each column of it to column_sums[n], fp32", cuda = "x",
      reference = "x", writes = "column_sums", sums = "column", linear = false },
    { name = "relu", doc = "max(x, 0)", cuda = "max_nan(x, 0.0f)", reference = "x <= 0 ? 0 : x", linear = false },
    { name = "gelu", doc = "x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), by tanh.approx",
      cuda = "gelu_tanh(x)", of_half = "gelu_tanh_of_half(x)",
      reference = "x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
      error = "0x1p-11 * fabs(x)", linear = false },
    { name = "gelu_erf", doc = "x / 2 (1 + erf(x / sqrt(2)))", cuda = "gelu_erf(x)",
      of_half = "gelu_erf_of_half(x)",
      reference = "x / 2 * (1 + erf(x * 0.7071067811865476))", error = "0x1p-21 * fabs(x)", linear = false },
    { name = "silu", doc = "x / (1 + exp(-x)), by ex2.approx and rcp.approx", cuda = "silu(x)",
      reference = "x / (1 + exp(-x))", error = "0x1p-20 * fabs(x)", linear = false },
    { name = "swiglu", doc = "silu(x) y, y being N / 2 columns further; D has N / 2", cuda = "silu(x) * y",
      gates = true, reference = "x / (1 + exp(-x)) * y", error = "0x1p-20 * fabs(x * y)", linear = false },
    { name = "geglu", doc = "gelu(x) y, the same", cuda = "gelu_tanh(x) * y", gates = true,
      reference = "x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) * y",
      error = "0x1p-11 * fabs(x * y)", linear = false },
    { name = "geglu_erf", doc = "gelu_erf(x) y, the same", cuda = "gelu_erf(x) * y", gates = true,
      reference = "x / 2 * (1 + erf(x * 0.7071067811865476)) * y", error = "0x1p-21 * fabs(x * y)", linear = false },
    { name = "clamp", doc = "no less than LOW, no more than HIGH", numbers = { { name = "low" }, { name = "high" } },
      cuda = "min_nan(max_nan(x, low), high)", reference = "x < low ? low : x > high ? high : x", linear = false },
    { name = "softcap", doc = "CAP tanh(x / CAP), by tanh.approx", numbers = { { name = "cap" }, above = 0 },
      cuda = "cap * tanh_approx(x * (1.0f / cap))", reference = "cap * tanh(x / cap)",
      error = "0x1p-11 * cap * tanh(fabs(x) / cap)", linear = false },
}
