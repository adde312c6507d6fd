// Counts beside a run. An access of a warp costs what its addresses say: 32 banks of 4 bytes a
// wavefront, 32 bytes a sector (CUDA C++ Best Practices Guide, memory optimizations).
#include "runtime/emu/check/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BANKS = 32, SECTOR = 32, LINE = 128, ACCESSES = 4 * EMU_LANES, PLACES = 6, WARPS = 1 << 16 };

// Of one instruction of the program.
struct insn_profile {
    uint64_t executed;    // by warps
    uint64_t requests;    // those that touched memory
    uint64_t wavefronts;  // of shared memory
    uint64_t least;       // wavefronts without a bank conflict
    uint64_t sectors;     // of global memory
    int32_t places[PLACES][5];
    uint8_t place_count, place_rank;
};

struct access {
    uint64_t address;
    uint32_t bytes;
};

struct emu_profile {
    const struct emu_program *program;
    struct insn_profile *rows;  // by pc
    uint64_t *orders;           // a digest for each warp of the grid, by number modulo WARPS
    unsigned grid[3], block[3], cluster[3];
    const struct emu_insn *insn;  // that runs now; NULL: none
    struct access shared[ACCESSES], global[ACCESSES];
    unsigned shared_count, global_count;
};

struct emu_profile *emu_profile_new(void) {
    return calloc(1, sizeof(struct emu_profile));
}

void emu_profile_delete(struct emu_profile *profile) {
    if (profile == NULL) return;
    free(profile->rows);
    free(profile->orders);
    free(profile);
}

static struct emu_profile *profile_of(const struct emu_machine *machine) {
    return machine->launch->profile;
}

// The instruction's row; makes room when the launch begins. NULL: memory is out.
static struct insn_profile *row_of(const struct emu_machine *machine, const struct emu_insn *insn) {
    struct emu_profile *profile = profile_of(machine);

    if (profile->rows == NULL) {
        profile->program = machine->program;
        profile->rows = calloc(machine->program->code_count, sizeof *profile->rows);
        profile->orders = calloc(WARPS, sizeof *profile->orders);
        memcpy(profile->grid, machine->grid, sizeof profile->grid);
        memcpy(profile->block, machine->block, sizeof profile->block);
        memcpy(profile->cluster, machine->cluster_size, sizeof profile->cluster);
    }
    if (profile->rows == NULL || profile->orders == NULL) return NULL;
    return &profile->rows[insn - machine->program->code];
}

void emu_profile_begin(struct emu_warp *warp, const struct emu_insn *insn) {
    struct insn_profile *row = row_of(emu_machine(warp), insn);

    if (row != NULL) row->executed++;
    profile_of(emu_machine(warp))->insn = insn;
}

void emu_profile_access(struct emu_warp *warp, bool shared, uint64_t address, uint32_t bytes) {
    struct emu_profile *profile = profile_of(emu_machine(warp));
    unsigned *count = shared ? &profile->shared_count : &profile->global_count;

    if (profile->insn != NULL && *count < ACCESSES)
        (shared ? profile->shared : profile->global)[(*count)++] = (struct access){address, bytes};
}

// Wavefronts of the accesses that the hardware serves together: the words of the fullest bank.
static unsigned wavefronts(const struct access *accesses, unsigned count) {
    uint64_t words[BANKS][ACCESSES];
    unsigned in_bank[BANKS] = {0}, most = 0;

    for (unsigned i = 0; i < count; i++)
        for (uint64_t at = accesses[i].address; at < accesses[i].address + accesses[i].bytes;
             at += 4) {
            uint64_t word = at / 4;
            unsigned bank = word % BANKS, k = 0;
            while (k < in_bank[bank] && words[bank][k] != word) k++;
            if (k == in_bank[bank] && k < ACCESSES) words[bank][in_bank[bank]++] = word;
            if (in_bank[bank] > most) most = in_bank[bank];
        }
    return most;
}

// Lanes are served together as far as their widths fill the 128 bytes of a wavefront.
static void count_shared(struct insn_profile *row, const struct access *accesses, unsigned count) {
    for (unsigned first = 0; first < count;) {
        unsigned together = LINE / (accesses[first].bytes < 4 ? 4 : accesses[first].bytes);
        if (together == 0) together = 1;
        if (together > count - first) together = count - first;
        row->wavefronts += wavefronts(accesses + first, together);
        row->least++;
        first += together;
    }
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static unsigned distinct_sectors(const struct access *accesses, unsigned count) {
    uint64_t sectors[2 * ACCESSES];
    unsigned listed = 0, distinct = 0;

    for (unsigned i = 0; i < count; i++)
        for (uint64_t at = accesses[i].address / SECTOR;
             at <= (accesses[i].address + accesses[i].bytes - 1) / SECTOR; at++)
            if (listed < 2 * ACCESSES) sectors[listed++] = at;
    qsort(sectors, listed, sizeof *sectors, by_number);
    for (unsigned i = 0; i < listed; i++) distinct += i == 0 || sectors[i] != sectors[i - 1];
    return distinct;
}

// FNV-1a over numbers.
static uint64_t digest(uint64_t so_far, uint64_t number) {
    if (so_far == 0) so_far = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 8; i++, number >>= 8)
        so_far = (so_far ^ (number & 0xff)) * UINT64_C(0x100000001b3);
    return so_far;
}

// The digest of what [warp] has taken up, in the grid's list of them.
static uint64_t *order_of(struct emu_warp *warp) {
    const struct emu_machine *machine = emu_machine(warp);
    const struct emu_cta *cta = warp->cta;
    uint64_t number = ((uint64_t)cta->id[2] * machine->grid[1] + cta->id[1]) * machine->grid[0];

    number = (number + cta->id[0]) * cta->warp_count + warp->index;
    return &profile_of(machine)->orders[number % WARPS];
}

// Where in its allocation: the same on every machine.
static uint64_t place_in(const struct emu_machine *machine, uint64_t address) {
    const struct emu_allocation *found = emu_memory_find(machine->memory, address);

    return found ? address - found->base : 0;
}

void emu_profile_end(struct emu_warp *warp) {
    struct emu_machine *machine = emu_machine(warp);
    struct emu_profile *profile = profile_of(machine);
    struct insn_profile *row = profile->insn ? row_of(machine, profile->insn) : NULL;

    if (row != NULL && (profile->shared_count || profile->global_count)) {
        row->requests++;
        count_shared(row, profile->shared, profile->shared_count);
        row->sectors += distinct_sectors(profile->global, profile->global_count);
        if (profile->global_count)
            *order_of(warp) =
                digest(*order_of(warp), place_in(machine, profile->global[0].address));
    }
    profile->insn = NULL;
    profile->shared_count = profile->global_count = 0;
}

void emu_profile_copy(struct emu_machine *machine, const struct emu_insn *insn, uint64_t address,
                      uint64_t bytes) {
    struct insn_profile *row = row_of(machine, insn);

    if (row != NULL && bytes) row->sectors += (address + bytes - 1) / SECTOR - address / SECTOR + 1;
}

void emu_profile_place(struct emu_warp *warp, const struct emu_insn *insn,
                       const int32_t *coordinates, uint32_t count) {
    struct insn_profile *row = row_of(emu_machine(warp), insn);

    if (row == NULL) return;
    for (uint32_t i = 0; i < count; i++)
        *order_of(warp) = digest(*order_of(warp), (uint32_t)coordinates[i]);
    if (row->place_count == PLACES || warp->cta->rank || warp->cta->cluster->number) return;
    row->place_rank = (uint8_t)count;
    for (uint32_t i = 0; i < count && i < 5; i++) row->places[row->place_count][i] = coordinates[i];
    row->place_count++;
}

// ---- as text ----

static const struct ptx_statement *statement_of(const struct emu_insn *insn) {
    const struct ptx_function *function = insn->function->source;

    for (uint32_t i = 0; i < function->statement_count; i++)
        if (function->statements[i].line == insn->line) return &function->statements[i];
    return NULL;
}

// "wgmma.wait_group.sync.aligned 1": the instruction, with the number where that is all it takes.
static void name_of(const struct emu_insn *insn, char *text, size_t size) {
    const struct ptx_statement *statement = statement_of(insn);
    size_t used;

    *text = '\0';
    if (statement == NULL) return;
    used =
        (size_t)snprintf(text, size, "%.*s", (int)statement->opcode.length, statement->opcode.text);
    for (uint32_t i = 0; i < statement->word_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ".%.*s", (int)statement->words[i].length,
                                 statement->words[i].text);
    if (statement->operand_count == 1 && statement->operands[0].kind == OPERAND_INT && used < size)
        snprintf(text + used, size - used, " %" PRIu64, statement->operands[0].value);
}

struct profile_line {
    char name[128];
    struct insn_profile row;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct profile_line *)a)->name, ((const struct profile_line *)b)->name);
}

static void add_row(struct insn_profile *into, const struct insn_profile *row) {
    into->executed += row->executed;
    into->requests += row->requests;
    into->wavefronts += row->wavefronts;
    into->least += row->least;
    into->sectors += row->sectors;
    for (int i = 0; i < row->place_count && into->place_count < PLACES; i++)
        memcpy(into->places[into->place_count++], row->places[i], sizeof *row->places);
    if (row->place_rank) into->place_rank = row->place_rank;
}

static void print_line(FILE *out, const struct profile_line *line) {
    const struct insn_profile *row = &line->row;

    fprintf(out, "  %9" PRIu64 "  %s", row->executed, line->name);
    if (row->wavefronts)
        fprintf(out, ": %" PRIu64 " wavefronts, %" PRIu64 " at least", row->wavefronts, row->least);
    if (row->sectors) fprintf(out, ": %" PRIu64 " sectors", row->sectors);
    if (row->place_count) fputs("; at", out);
    for (int i = 0; i < row->place_count; i++) {
        for (int k = 0; k < row->place_rank; k++)
            fprintf(out, "%s%d", k ? "," : " (", row->places[i][k]);
        fputc(')', out);
    }
    fputc('\n', out);
}

// What ordinary code is told as: its counts, and no more, so that a compiler's whim moves one line.
static void print_kinds(FILE *out, const struct emu_profile *profile) {
    const struct emu_program *program = profile->program;

    fputs("  ordinary:", out);
    for (const struct emu_table *table = program->tables; table->rows != NULL; table++) {
        uint64_t count = 0;
        for (uint32_t pc = 0; pc < program->code_count; pc++)
            if (program->code[pc].table == table) count += profile->rows[pc].executed;
        if (count && table->ordinary) fprintf(out, " %s %" PRIu64, table->name, count);
    }
    fputc('\n', out);
}

// Lines of equal names become one.
static size_t unite(struct profile_line *lines, size_t count) {
    size_t kept = 0;

    for (size_t i = 1; i < count; i++)
        if (strcmp(lines[kept].name, lines[i].name) == 0)
            add_row(&lines[kept].row, &lines[i].row);
        else
            lines[++kept] = lines[i];
    return count ? kept + 1 : 0;
}

static void print_rows(FILE *out, const struct emu_profile *profile) {
    struct profile_line *lines = calloc(profile->program->code_count + 1, sizeof *lines);
    size_t count = 0;

    if (lines == NULL) return;
    for (uint32_t pc = 0; pc < profile->program->code_count; pc++) {
        const struct emu_insn *insn = &profile->program->code[pc];
        if (profile->rows[pc].executed == 0 || insn->table->ordinary) continue;
        name_of(insn, lines[count].name, sizeof lines->name);
        lines[count++].row = profile->rows[pc];
    }
    qsort(lines, count, sizeof *lines, by_name);
    count = unite(lines, count);
    for (size_t i = 0; i < count; i++) print_line(out, &lines[i]);
    free(lines);
}

void emu_profile_print(const struct emu_profile *profile, FILE *out) {
    uint64_t order = 0;

    if (profile->rows == NULL || profile->orders == NULL) return;
    for (size_t i = 0; i < WARPS; i++)
        if (profile->orders[i]) order = digest(order, profile->orders[i]);
    fprintf(out, "  grid %ux%ux%u, block %ux%ux%u, cluster %ux%ux%u, order %016" PRIx64 "\n",
            profile->grid[0], profile->grid[1], profile->grid[2], profile->block[0],
            profile->block[1], profile->block[2], profile->cluster[0], profile->cluster[1],
            profile->cluster[2], order);
    print_kinds(out, profile);
    print_rows(out, profile);
}
