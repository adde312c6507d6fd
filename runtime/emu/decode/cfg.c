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
    uint32_t *node, *number;  // as found from the exit, and back; UINT32_MAX: not found
    uint32_t *parent;         // by number: the number of who found it
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

// Depth-first from the exit against the edges: numbers the nodes as they are found, and returns how
// many are.
static uint32_t number_nodes(struct emu_arena *arena, struct graph *graph) {
    uint32_t n = graph->count + 1, depth = 0, reached = 0;
    uint32_t *stack = emu_arena_alloc(arena, n * sizeof *stack);
    uint32_t *next = emu_arena_alloc(arena, n * sizeof *next);

    memset(graph->number, 0xff, n * sizeof *graph->number);
    memcpy(next, graph->back_start, n * sizeof *next);
    graph->number[n - 1] = reached;
    graph->node[reached++] = stack[depth++] = n - 1;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (next[node] == graph->back_start[node + 1]) {
            depth--;
            continue;
        }
        uint32_t before = graph->predecessors[next[node]++];
        if (graph->number[before] != UINT32_MAX) continue;
        graph->parent[reached] = graph->number[node];
        graph->number[before] = reached;
        graph->node[reached++] = stack[depth++] = before;
    }
    return reached;
}

// ---- Lengauer, Tarjan: "A Fast Algorithm for Finding Dominators in a Flowgraph", the simple
// version, on the reversed graph; of nodes by their numbers ----

struct forest {
    uint32_t *semi;   // semidominator
    uint32_t *above;  // in the forest of nodes looked at; UINT32_MAX: a root
    uint32_t *least;  // between the node and its root: whose semidominator is least
    uint32_t *path;
    uint32_t *first, *next;  // lists of those with that semidominator
};

// Whose semidominator is least between [v] and its root. Later walks take the short way.
static uint32_t least_above(struct forest *forest, uint32_t v) {
    uint32_t depth = 0;

    for (uint32_t at = v; forest->above[at] != UINT32_MAX; at = forest->above[at])
        forest->path[depth++] = at;
    if (depth < 2) return forest->least[v];
    for (depth--; depth-- > 0;) {
        uint32_t at = forest->path[depth], up = forest->above[at];
        if (forest->semi[forest->least[up]] < forest->semi[forest->least[at]])
            forest->least[at] = forest->least[up];
        forest->above[at] = forest->above[up];
    }
    return forest->least[v];
}

static struct forest plant(struct emu_arena *arena, uint32_t reached) {
    size_t bytes = reached * sizeof(uint32_t);
    struct forest forest = {.semi = emu_arena_alloc(arena, bytes),
                            .above = emu_arena_alloc(arena, bytes),
                            .least = emu_arena_alloc(arena, bytes),
                            .path = emu_arena_alloc(arena, bytes),
                            .first = emu_arena_alloc(arena, bytes),
                            .next = emu_arena_alloc(arena, bytes)};

    memset(forest.above, 0xff, bytes);
    memset(forest.first, 0xff, bytes);
    for (uint32_t i = 0; i < reached; i++) forest.semi[i] = forest.least[i] = i;
    return forest;
}

// The semidominator of [w], by the edges that leave it.
static void find_semi(const struct graph *graph, struct forest *forest, uint32_t w) {
    uint32_t node = graph->node[w];

    for (uint32_t e = graph->start[node]; e < graph->start[node + 1]; e++) {
        uint32_t v = graph->number[graph->successors[e]];
        if (v == UINT32_MAX) continue;
        uint32_t semi = forest->semi[least_above(forest, v)];
        if (semi < forest->semi[w]) forest->semi[w] = semi;
    }
}

// Gives idom, in numbers, where it is known yet; where it is that of another node, that one.
static void dominate(struct emu_decoder *decoder, const struct graph *graph, uint32_t reached,
                     uint32_t *idom) {
    struct forest forest = plant(&decoder->program->arena, reached);

    for (uint32_t w = reached; w-- > 1;) {
        uint32_t parent = graph->parent[w];
        ptx_lex_look(decoder->lexer, decoder->program->code[graph->first].line);
        find_semi(graph, &forest, w);
        forest.next[w] = forest.first[forest.semi[w]];
        forest.first[forest.semi[w]] = w;
        forest.above[w] = parent;
        for (uint32_t v = forest.first[parent]; v != UINT32_MAX; v = forest.next[v]) {
            uint32_t u = least_above(&forest, v);
            idom[v] = forest.semi[u] < parent ? u : parent;
        }
        forest.first[parent] = UINT32_MAX;
    }
    for (uint32_t w = 1; w < reached; w++)
        if (idom[w] != forest.semi[w]) idom[w] = idom[idom[w]];
}

static void find_dominators(struct emu_decoder *decoder, struct graph *graph) {
    struct emu_arena *arena = &decoder->program->arena;
    size_t bytes = (graph->count + 1) * sizeof(uint32_t);

    build(arena, decoder->program, graph);
    graph->node = emu_arena_alloc(arena, bytes);
    graph->number = emu_arena_alloc(arena, bytes);
    graph->parent = emu_arena_alloc(arena, bytes);
    uint32_t reached = number_nodes(arena, graph), *idom = emu_arena_alloc(arena, bytes);
    dominate(decoder, graph, reached, idom);
    graph->idom = emu_arena_alloc(arena, bytes);
    for (uint32_t i = 0; i < reached; i++) graph->idom[graph->node[i]] = graph->node[idom[i]];
}

// Nodes that end only in early exits are known to the whole graph alone. A return is no place to
// meet: lanes leave as they come.
void emu_find_joins(struct emu_decoder *decoder) {
    struct emu_program *program = decoder->program;
    struct graph whole = {.first = decoder->function->first_pc,
                          .count = decoder->function->end_pc - decoder->function->first_pc};
    struct graph cut = whole;

    cut.no_early_exits = true;
    find_dominators(decoder, &whole);
    find_dominators(decoder, &cut);
    for (uint32_t i = 0; i < whole.count; i++) {
        const struct graph *graph = cut.number[i] != UINT32_MAX ? &cut : &whole;
        uint32_t join = graph->idom[i];
        if (whole.start[i + 1] - whole.start[i] < 2 || graph->number[i] == UINT32_MAX ||
            join == graph->count || emu_is(&program->code[whole.first + join], FACT_LEAVES))
            continue;
        program->code[whole.first + i].join = whole.first + join;
    }
}
