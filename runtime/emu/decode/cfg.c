// Where lanes that part at a branch meet again: immediate post-dominators of the control-flow
// graph. Compilers reconverge there too, so aligned instructions behind a branch see whole warps.
#include "runtime/emu/decode/decode.h"

#include <string.h>

// The graph over instructions of one function; node n is pc - first. The exit is node [count].
// [no_early_exits] leaves out guarded branches to a return: lanes that end there meet nobody, and
// the others should meet as if those had never been.
struct graph {
    bool no_early_exits;
    uint32_t first, count;
    uint32_t *successors;  // pool
    uint32_t *start;       // of node's successors in the pool, count + 1 entries
    uint32_t *predecessors, *back_start;
    uint32_t *order, *number;  // reverse post-order of the reversed graph; UINT32_MAX = not reached
    uint32_t *idom;
};

// Successors of [pc], at most [MOST] except for branch tables; returns their number.
static uint32_t successors(const struct emu_program *program, const struct graph *graph,
                           uint32_t node, uint32_t *out) {
    const struct emu_insn *insn = &program->code[graph->first + node];
    uint32_t count = 0;
    bool always = insn->guard == 0 && !insn->guard_negated;

    if (emu_is(insn, FACT_SELECTS)) {
        uint32_t list = insn->op[1];
        for (uint32_t i = 0; i < insn->op[list]; i++)
            out[count++] = insn->op[list + 1 + i] - graph->first;
    } else if (emu_is(insn, FACT_BRANCHES)) {
        if (always || !graph->no_early_exits || !emu_is(&program->code[insn->target], FACT_LEAVES))
            out[count++] = insn->target - graph->first;
        if (!always) out[count++] = node + 1;
    } else if (emu_is(insn, FACT_LEAVES)) {
        bool trapped = node > 0 && emu_is(&program->code[graph->first + node - 1], FACT_TRAPS);
        if (!trapped) out[count++] = graph->count;
        if (!always) out[count++] = node + 1;
    } else {  // a trap too, as if one could go on: it must not keep others from meeting
        out[count++] = node + 1;
    }
    return count;
}

static uint32_t out_degree(const struct emu_insn *insn) {
    return emu_is(insn, FACT_SELECTS) ? insn->op[insn->op[1]] + 1 : 2;
}

static void build(struct emu_arena *arena, const struct emu_program *program, struct graph *graph) {
    uint32_t most = 0, n = graph->count;

    for (uint32_t i = 0; i < n; i++) most += out_degree(&program->code[graph->first + i]);
    graph->successors = emu_arena_alloc(arena, most * sizeof(uint32_t));
    graph->predecessors = emu_arena_alloc(arena, most * sizeof(uint32_t));
    graph->start = emu_arena_alloc(arena, (n + 2) * sizeof(uint32_t));
    graph->back_start = emu_arena_alloc(arena, (n + 3) * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++)
        graph->start[i + 1] =
            graph->start[i] + successors(program, graph, i, graph->successors + graph->start[i]);
    graph->start[n + 1] = graph->start[n];
    for (uint32_t e = 0; e < graph->start[n]; e++) graph->back_start[graph->successors[e] + 2]++;
    for (uint32_t i = 2; i < n + 3; i++) graph->back_start[i] += graph->back_start[i - 1];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = graph->start[i]; e < graph->start[i + 1]; e++)
            graph->predecessors[graph->back_start[graph->successors[e] + 1]++] = i;
}

// Depth-first from the exit against the edges; order[] becomes reverse post-order.
static uint32_t number_nodes(struct emu_arena *arena, struct graph *graph) {
    uint32_t n = graph->count + 1, depth = 0, done = 0;
    uint32_t *stack = emu_arena_alloc(arena, n * sizeof *stack);
    uint32_t *next = emu_arena_alloc(arena, n * sizeof *next);

    memset(graph->number, 0xff, n * sizeof *graph->number);
    stack[depth++] = n - 1;
    graph->number[n - 1] = 0;
    next[n - 1] = graph->back_start[n - 1];
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (next[node] == graph->back_start[node + 1]) {
            graph->order[done++] = node;
            depth--;
            continue;
        }
        uint32_t before = graph->predecessors[next[node]++];
        if (graph->number[before] == UINT32_MAX) {
            graph->number[before] = 0;
            next[before] = graph->back_start[before];
            stack[depth++] = before;
        }
    }
    for (uint32_t i = 0; i < done; i++) graph->number[graph->order[i]] = done - 1 - i;
    return done;
}

static uint32_t intersect(const struct graph *graph, uint32_t a, uint32_t b) {
    while (a != b) {
        while (graph->number[a] > graph->number[b]) a = graph->idom[a];
        while (graph->number[b] > graph->number[a]) b = graph->idom[b];
    }
    return a;
}

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", on the reversed graph.
static void dominate(struct graph *graph, uint32_t reached) {
    uint32_t exit_node = graph->count;
    bool changed = true;

    memset(graph->idom, 0xff, (graph->count + 1) * sizeof *graph->idom);
    graph->idom[exit_node] = exit_node;
    while (changed) {
        changed = false;
        for (uint32_t i = reached; i-- > 0;) {
            uint32_t node = graph->order[i], idom = UINT32_MAX;
            if (node == exit_node) continue;
            for (uint32_t e = graph->start[node]; e < graph->start[node + 1]; e++) {
                uint32_t next = graph->successors[e];
                if (graph->number[next] == UINT32_MAX || graph->idom[next] == UINT32_MAX) continue;
                idom = idom == UINT32_MAX ? next : intersect(graph, next, idom);
            }
            if (idom != graph->idom[node]) {
                graph->idom[node] = idom;
                changed = true;
            }
        }
    }
}

static void find_dominators(struct emu_arena *arena, const struct emu_program *program,
                            struct graph *graph) {
    uint32_t n = graph->count + 1;

    build(arena, program, graph);
    graph->order = emu_arena_alloc(arena, n * sizeof(uint32_t));
    graph->number = emu_arena_alloc(arena, n * sizeof(uint32_t));
    graph->idom = emu_arena_alloc(arena, n * sizeof(uint32_t));
    dominate(graph, number_nodes(arena, graph));
}

// Nodes that end only in early exits are known to the whole graph alone. A return is no place to
// meet: lanes leave as they come.
void emu_find_joins(struct emu_decoder *decoder) {
    struct emu_program *program = decoder->program;
    struct emu_arena *arena = &program->arena;
    struct graph whole = {.first = decoder->function->first_pc,
                          .count = decoder->function->end_pc - decoder->function->first_pc};
    struct graph cut = whole;

    cut.no_early_exits = true;
    find_dominators(arena, program, &whole);
    find_dominators(arena, program, &cut);
    for (uint32_t i = 0; i < whole.count; i++) {
        const struct graph *graph = cut.number[i] != UINT32_MAX ? &cut : &whole;
        uint32_t join = graph->idom[i];
        if (whole.start[i + 1] - whole.start[i] < 2 || graph->number[i] == UINT32_MAX ||
            join == graph->count || emu_is(&program->code[whole.first + join], FACT_LEAVES))
            continue;
        program->code[whole.first + i].join = whole.first + join;
    }
}
