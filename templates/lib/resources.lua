-- resources.lua: what a plan says that a kernel uses: for `tmagen explain` and `diff`, the summary, and budgets.
-- The generator asks here and knows none of these words itself. A plan may have launch = {block =, cluster =, grid =},
-- smem and smem_bytes, barriers, registers; each is shown where it is there.

local archs = require "archs"

local resources = {}

local function product(sizes)
    local result = 1
    for _, size in ipairs(sizes or {}) do
        result = result * size
    end
    return result
end

local function shape(sizes)
    return table.concat(sizes or { 1, 1, 1 }, " x ")
end

function resources.threads(p)
    return product(p.launch and p.launch.block)
end

-- dynamic bytes of a CTA
function resources.shared_memory(p)
    return p.smem_bytes or 0
end

-- The rows {name, value} that `diff` compares.
function resources.rows(p)
    local rows, launch = {}, p.launch or {}
    local function add(name, format, ...)
        rows[#rows + 1] = { name, format:format(...) }
    end
    add("threads", "%d (%s)", product(launch.block), shape(launch.block))
    add("cluster", "%s", shape(launch.cluster))
    if launch.grid then
        add("grid", "%s", launch.grid)
    end
    add("shared memory", "%d bytes", p.smem_bytes or 0)
    for _, part in ipairs(p.smem or {}) do
        add("  " .. part.name, "%d bytes at %d", part.bytes, part.offset)
    end
    for _, b in ipairs(p.barriers or {}) do
        add("barrier " .. b.name, "%d, each of %d arrivals and %d bytes", b.count, b.arrivals, b.bytes or 0)
    end
    for _, r in ipairs(p.registers or {}) do
        add("registers " .. r.role, "%d for each thread of %d warps", r.registers, r.warps)
    end
    return rows
end

-- ---- Sections of `explain`

local function smem_rows(p)
    local rows = {}
    for _, part in ipairs(p.smem or {}) do
        rows[#rows + 1] = { part.name, part.offset .. ".." .. part.offset + part.bytes - 1, part.bytes .. " bytes",
            part.align and "aligned to " .. part.align or "", part.doc or "" }
    end
    if #rows > 0 then
        rows[#rows + 1] = { "", "", p.smem_bytes .. " bytes in all" }
    end
    return rows
end

local function barrier_rows(p)
    local rows = {}
    for _, b in ipairs(p.barriers or {}) do
        rows[#rows + 1] = { b.name, b.count .. " of them", b.arrivals .. " arrivals", (b.bytes or 0) .. " bytes",
            b.who and "from " .. b.who or "", b.doc or "" }
    end
    return rows
end

local function register_rows(p, arch)
    local rows, total = {}, 0
    for _, r in ipairs(p.registers or {}) do
        local all = r.warps * 32 * r.registers
        total = total + all
        rows[#rows + 1] = { r.role, r.warps .. " warps", r.registers .. " a thread", all .. " in all" }
    end
    if #rows > 1 then
        rows[#rows + 1] = { "", "", "", ("%d of %d"):format(total, archs[arch].registers) }
    end
    return rows
end

local function launch_rows(p)
    local launch, rows = p.launch or {}, {}
    for _, name in ipairs { "block", "cluster" } do
        rows[#rows + 1] = launch[name] and { name, table.concat(launch[name], " x ") } or nil
    end
    rows[#rows + 1] = launch.grid and { "grid", launch.grid } or nil
    rows[#rows + 1] = { "dynamic shared memory", (p.smem_bytes or 0) .. " bytes" }
    return rows
end

-- { {title =, rows = of cells}, ... } of the plan [p] for [arch]
function resources.sections(p, arch)
    return {
        { title = "shared memory", rows = smem_rows(p) }, { title = "barriers", rows = barrier_rows(p) },
        { title = "registers", rows = register_rows(p, arch) }, { title = "launch", rows = launch_rows(p) },
    }
end

-- ---- Budgets: knobs that every family has behind its own

resources.knobs = {
    { "budget.registers", type = "int", min = 1, max = 255, unit = "a thread", optional = true,
      doc = "most registers that the compiled kernel may use" },
    { "budget.spill_bytes", type = "int", min = 0, max = 65536, unit = "bytes a thread", optional = true,
      doc = "most bytes that the compiled kernel may spill" },
    { "budget.shared_memory", type = "int", min = 0, max = 262144, unit = "bytes a CTA", optional = true,
      doc = "most dynamic shared memory that the plan may use" },
}

function resources.check(s, p, fail)
    local budget, bytes = s.budget.shared_memory, p.smem_bytes or 0
    if budget and bytes > budget then
        fail("budget.shared_memory", ("the plan needs %d bytes"):format(bytes), "at least " .. bytes)
    end
end

-- what of a spec's budget the manifest carries; nil: none is stated
function resources.budget(s)
    local budget = {}
    for _, name in ipairs { "registers", "spill_bytes" } do
        budget[#budget + 1] = s.budget[name] and { name, s.budget[name] } or nil
    end
    return #budget > 0 and json.object(budget) or nil
end

return resources
