-- deform_pair: value of deform_attn, each pixel stored with its right neighbour, as value_layout: paired wants it.
-- Copying is all it does, so a thread's loads are issued together, and whole lines are written.

local plan = require "plan"
local manifest = require "manifest"
local checks = require "checks"

local knobs = {
    { "problem.dtype", type = "enum", values = { "fp16", "bf16", "fp32" }, default = "fp16", doc = "element type" },
    { "problem.b", type = "dim", default = "dynamic", doc = "batches" },
    { "problem.heads", type = "int", min = 1, max = 64, default = 1, unit = "heads", doc = "heads of a pixel" },
    { "problem.channels", type = "int", min = 8, max = 256, step = 8, default = 32, unit = "channels",
      doc = "channels of a head" },
    { "problem.padded", type = "bool", default = true,
      doc = "true: value stores each level with a border of zeros one pixel wide; false: the pixels alone" },
    { "problem.levels", type = "int_pairs", default = { { 92, 160 }, { 46, 80 }, { 23, 40 }, { 12, 20 } },
      doc = "height and width of each level, without its border" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA" },
    { "unroll", type = "int", values = { 1, 2, 4, 8, 16 }, default = 2, unit = "vectors",
      doc = "16-byte vectors that a thread loads before it stores the first" },
    { "store_hint", type = "enum", values = { "none", "streaming" }, default = "streaming",
      doc = "streaming: the pairs leave the caches first" },
}

-- What verify and bench must know beside reference.c: one batch, and a few, which begin inside a CTA's tile or not.
local function reference(s, p)
    return {
        dims = { "b", "s" }, typical = "48x20522", inputs = { "special" }, cost = { { 60 } },
        values = { channels = s.problem.channels, padded = s.problem.padded, levels = s.problem.levels },
        small = { { 1, p.pixels }, { 2, p.pixels } },
        full = { { 1, p.pixels }, { 2, p.pixels }, { 5, p.pixels }, { 17, p.pixels }, { 48, p.pixels } },
    }
end

return {
    name = "deform_pair",
    doc = "pairs[b,s,head] = value[b,s,head], then value[b,s+1,head], or zeros behind the end of a row",
    template = "kernel.cu.in",
    arch = { "sm_90a" },
    knobs = knobs,
    phases = { [0] = { title = "copy", doc = "a thread copies a few vectors", sets = {} } },
    default_phase = 0,
    checks = checks,
    plan = plan.plan,
    manifest = manifest,
    reference = reference,
    tune = { { ["threads"] = { 128, 256, 512, 1024 }, ["unroll"] = { 1, 2, 4, 8 },
               ["store_hint"] = { "none", "streaming" } } },
}
