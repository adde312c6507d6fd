-- FAMILY: y[n] = 2 x[n], until you say what it computes. Its knobs, its ladder, and what is legal.
-- From this table come validation, defaults, errors and `tmagen explain FAMILY`.

local parameters = require "parameters"
local rows = require "rows"

local knobs = {
    { "problem.n", type = "dim", default = "dynamic", doc = "elements" },
    { "threads", type = "int", min = 32, max = 1024, step = 32, default = 256, unit = "threads",
      doc = "threads of a CTA, which compute an element each" },
}

local phases = {
    [0] = { title = "plain", doc = "a thread computes one element", sets = { ["threads"] = 256 } },
}

local checks = {
    { "small problems", doc = "a fixed n fills a CTA", check = function(s, p, fail)
        if s.problem.n ~= "dynamic" and s.problem.n < s.threads then
            fail("threads", ("threads: %d for %d elements"):format(s.threads, s.problem.n), "up to problem.n")
        end
    end },
}

local tensors = {
    { name = "x", dtype = "fp32", dims = { "n" }, access = "read" },
    { name = "y", dtype = "fp32", dims = { "n" }, access = "write" },
}

-- What follows from the settings: numbers only. The template sees them as plan.NAME.
local function plan(s)
    local list = { { kind = "pointer", tensor = "x" }, { kind = "pointer", tensor = "y" } }
    table.move(parameters.dims(s.problem, { "n" }), 1, 1, 3, list)
    return {
        parameters = parameters.list(tensors, list),
        launch = { block = { s.threads, 1, 1 }, grid = ("ceil(n / %d)"):format(s.threads) },
    }
end

-- What the library must know to launch it.
local function manifest(s, p)
    return rows.manifest("FAMILY", s, p, {
        dims = { { name = "n", value = s.problem.n, most = rows.largest(s.threads) } }, tensors = tensors,
        grid = rows.grid("tiles", { { dim = "n", by = s.threads } }),
    })
end

-- What verify and bench must know beside reference.c: shapes around the edges of a CTA.
local reference = {
    dims = { "n" }, typical = "16777216", small = { { 1 }, { 257 } }, full = { { 1 }, { 255 }, { 256 }, { 100003 } },
}

return {
    name = "FAMILY", doc = "y[n] = 2 x[n]", template = "kernel.cu.in", arch = { "sm_90a" }, knobs = knobs,
    phases = phases, default_phase = 0, checks = checks, plan = plan, manifest = manifest, reference = reference,
}
