-- steps: a family whose rungs differ in nothing but their names, for the ladder's tests.
-- The stand-in driver computes its kernels itself, and gives each rung a time of its own.

local dims = json.array { json.object { { "name", "m" } }, json.object { { "name", "n" } },
    json.object { { "name", "k" } } }

local function tensor(name, of, access)
    return json.object { { "name", name }, { "dtype", "bf16" }, { "dims", json.array(of) }, { "access", access } }
end

local function pointer(name) return json.object { { "kind", "pointer" }, { "tensor", name } } end
local function dim(name) return json.object { { "kind", "dim" }, { "dim", name }, { "type", "i32" } } end

return {
    name = "steps", doc = "D[M,N] = A[M,K] B[N,K]^T", arch = { "sm_90a" }, template = "kernel.cu.in",
    knobs = {
        { "trick", type = "enum", values = { "none", "first", "second" }, default = "none", doc = "what is done" },
    },
    phases = {
        [0] = { title = "plain", doc = "as it comes", sets = { ["trick"] = "none" } },
        [1] = { title = "first trick", doc = "with a | bar", predict = "+50%", sets = { ["trick"] = "first" } },
        [2] = { title = "second trick", predict = "<!-- ladder steps: end -->", sets = { ["trick"] = "second" } },
        [4] = { title = "no trick", doc = "back to none", sets = { ["trick"] = "none" } },
    },
    default_phase = 1,
    plan = function(s) return { smem_bytes = 0, launch = { block = { 128, 1, 1 } } } end,
    env = function(s) return { trick = s.trick, phase = s.phase } end,
    manifest = function(s)
        return json.object {
            { "tmagen_manifest", 1 }, { "name", s.name }, { "family", "steps" }, { "entry", s.name },
            { "arch", s.arch }, { "source", s.name .. ".cu" }, { "block", json.array { 128, 1, 1 } },
            { "cluster", json.array { 1, 1, 1 } }, { "shared_memory", 0 }, { "dims", dims },
            { "tensors", json.array { tensor("a", { "m", "k" }, "read"), tensor("b", { "n", "k" }, "read"),
                                      tensor("d", { "m", "n" }, "write") } },
            { "grid", json.object { { "rule", "tiles" },
                { "tiles", json.array { json.object { { "dim", "m" }, { "by", 16 } } } } } },
            { "params", json.array { pointer("a"), pointer("b"), pointer("d"), dim("m"), dim("n"), dim("k") } },
            { "workspace", json.object { { "rule", "none" } } },
            { "reference", json.object { { "name", "gemm" }, { "ops", json.array {} } } },
        }
    end,
}
