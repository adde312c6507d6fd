-- What a plan says that a kernel uses, as rows of name and value.
-- One table for `tmagen diff`, `explain` and the summary, so that they cannot disagree.

local resources = {}

local function product(sizes)
    local result = 1
    for _, size in ipairs(sizes or {}) do result = result * size end
    return result
end

local function shape(sizes) return table.concat(sizes or { 1, 1, 1 }, " x ") end

local function add(rows, name, format, ...) rows[#rows + 1] = { name, string.format(format, ...) } end

local function add_launch(rows, launch)
    add(rows, "threads", "%d (%s)", product(launch.block), shape(launch.block))
    add(rows, "cluster", "%s", shape(launch.cluster))
    if launch.grid then add(rows, "grid", "%s", launch.grid) end
end

-- The rows of plan [p].
function resources.rows(p)
    local rows = {}
    add_launch(rows, p.launch or {})
    add(rows, "shared memory", "%d bytes", p.smem_bytes or 0)
    for _, part in ipairs(p.smem or {}) do add(rows, "  " .. part.name, "%d bytes at %d", part.bytes, part.offset) end
    for _, b in ipairs(p.barriers or {}) do
        add(rows, "barrier " .. b.name, "%d, each of %d arrivals and %d bytes", b.count, b.arrivals, b.bytes or 0)
    end
    for _, r in ipairs(p.registers or {}) do
        add(rows, "registers " .. r.role, "%d for each thread of %d warps", r.registers, r.warps)
    end
    return rows
end

function resources.threads(p) return product(p.launch and p.launch.block) end

return resources
