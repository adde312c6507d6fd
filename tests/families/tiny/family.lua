-- tiny: a family that computes nothing much, with a knob of every type and a check of every kind.
-- The generator's own cases use it, so that they do not change when a real family does.

local shapes = require "shapes"

return {
    name = "tiny",
    doc = "out[i] = scale * in[i]",
    arch = { "sm_90a", "sm_100a" },
    template = function(s) return s.variant == "plain" and "plain.cu.in" or "staged.cu.in" end,
    knobs = {
        { "problem.n", type = "dim", default = "dynamic", doc = "elements" },
        { "problem.rows", type = "dim", step = 8, default = 8, doc = "rows" },
        { "variant", type = "enum", values = { "plain", "staged" }, doc = "how the data moves" },
        { "tile.m", type = "int", min = 64, max = 320, step = 64, default = 64, unit = "rows", doc = "rows of a CTA" },
        { "tile.n", type = "int", values = { 8, 16, 32 }, default = 8, doc = "columns of a CTA" },
        { "stages", type = "int", min = 2, max = 8, default = function(s) return 1024 // s.tile.m // 2 end,
          doc = "depth of the ring; as many as fit" },
        { "scale", type = "number", min = 0, max = 4, default = 0.5, doc = "factor" },
        { "unroll", type = "bool", default = false, doc = "unroll the loop" },
        { "ops", type = "list", of = { "bias", "gelu", "relu" }, default = {}, doc = "what follows" },
        { "box", type = "ints", length = 2, min = 1, max = 256, default = { 8, 64 }, doc = "elements of a box" },
        { "levels", type = "int_pairs", min = 1, max = 4096, default = { { 8, 8 } }, doc = "height and width of each level" },
        { "ring.buffers", type = "int", min = 1, max = 4, default = 2, unit = "buffers",
          when = function(s) return s.variant == "staged" end, when_doc = "variant is staged",
          doc = "staging buffers" },
    },
    phases = {
        [0] = { title = "plain", doc = "one thread an element", sets = { ["variant"] = "plain" } },
        [1] = { title = "staged", doc = "through shared memory", predict = "half the time", sets = { ["variant"] = "staged", ["tile.m"] = 128 } },
        [2] = { title = "wide", doc = "wider tiles", sets = { ["tile.n"] = 16 } },
    },
    default_phase = 1,
    checks = {
        { "threads", doc = "a CTA has at most 1024 threads", check = function(s, p, fail)
            if p.threads > 1024 then
                fail("tile.n", ("tile.n: %d x %d are %d threads"):format(s.tile.m, s.tile.n, p.threads),
                    "tile.m * tile.n up to 1024")
            end
        end },
        { "shared memory", doc = "the ring fits", check = function(s, p, fail)
            if p.smem_bytes > 16384 then
                fail("stages", ("stages: %d need %d bytes"):format(s.stages, p.smem_bytes), "at most 16384 bytes")
            end
        end },
    },
    plan = shapes.plan,
    env = function(s, p) return { s = s, p = p, threads = p.threads } end,
    manifest = function(s, p)
        return json.object { { "tmagen_manifest", 1 }, { "name", s.name }, { "block", p.launch.block },
            { "scale", s.scale }, { "levels", s.levels }, { "nothing", json.null }, { "ops", json.array(s.ops) } }
    end,
    explain = function(s, p)
        return { { title = "arithmetic", rows = { { "threads", p.threads }, { "scale", s.scale } } } }
    end,
}
