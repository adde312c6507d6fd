-- packed.lua: the ops of ops.lua that `epilogue.packed` knows, by their names: the CUDA on a pair of bf16 in a word, y
-- being one too; `of_half` the same of halves; `error` where it is more than a rounding to bf16.

local add = { cuda = "add_rn_bf16x2(x, y)" }

return {
    bias = add, residual = add, add = add,
    relu = { cuda = "max_nan_bf16x2(x, 0)" },
    gelu = { cuda = "gelu_tanh_bf16x2(x)", of_half = "gelu_tanh_of_half_bf16x2(x)", error = "0x1p-7 * fabs(x)" },
}
