// The emulator's public face: PTX text in, a launch run on the CPU, reports out.
// It depends on libc only, so that it can be a device of the runtime, a command, or a test driver.
#ifndef TMG_EMU_H
#define TMG_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---- modules ----

struct emu_module;

// Where and why something was refused; [text] is "file:line:column: error: ..." or a plain
// sentence.
struct emu_error {
    char text[1024];
};

// What a launch, or what is read for one, may take; 0 is a generous default of each. A launch ends
// with a report of what every warp was doing, reading with an error.
struct emu_budget {
    uint64_t steps;        // warp instructions of the grid
    double seconds;        // on the clock
    uint64_t memory;       // bytes for registers, local and shared memory of what runs at once; or
                           // for what is read
    uint64_t output;       // bytes that the kernel prints
    volatile int *cancel;  // by a signal or another thread: nonzero ends it now; NULL: nobody can
};

// Parses [text] (of [length] bytes, called [name] in messages); [budget] may be NULL: all defaults.
// 0 and *out owned by the caller, or -1 and *error. The text isn't kept.
int emu_module_parse(const char *name, const char *text, size_t length,
                     const struct emu_budget *budget, struct emu_module **out,
                     struct emu_error *error);
void emu_module_free(struct emu_module *module);

// What people call a function that C++ has mangled, template arguments as <...>: "ns::scale<...>";
// [mangled] itself where it is none, or not understood, or does not fit; else in [text].
const char *emu_plain_name(const char *mangled, char *text, size_t size);
// The [index]th entry point's name, or NULL past the last.
const char *emu_module_entry(const struct emu_module *module, size_t index);
// What a launch of [entry] would refuse of its code: an instruction that is not implemented in it
// or in a function that it calls, too many registers, too much static shared memory. The module's
// other entries may have what they like. 0, or -1 and *error.
int emu_entry_check(struct emu_module *module, const char *entry, const struct emu_budget *budget,
                    struct emu_error *error);
// Number of parameters of [entry], -1 if there is no such entry; *size of parameter [index].
int emu_entry_params(const struct emu_module *module, const char *entry);
size_t emu_entry_param_size(const struct emu_module *module, const char *entry, int index);

// ---- device memory: allocations with known bounds in an address space of the emulator's own ----

struct emu_memory;

struct emu_memory *emu_memory_new(void);
// As new, at addresses that memory with another number has nothing at (of some 100 numbers).
struct emu_memory *emu_memory_new_apart(unsigned number);
void emu_memory_delete(struct emu_memory *memory);
// An address aligned to 256, or 0 when there is no memory. [name] (may be NULL) is for reports.
uint64_t emu_memory_alloc(struct emu_memory *memory, size_t bytes, const char *name);
// 0, or -1 when [address] isn't what emu_memory_alloc returned.
int emu_memory_free(struct emu_memory *memory, uint64_t address);
// 0, or -1 when the range isn't inside one allocation. Written bytes count as initialised.
int emu_memory_write(struct emu_memory *memory, uint64_t to, const void *from, size_t bytes);
int emu_memory_read(const struct emu_memory *memory, void *to, uint64_t from, size_t bytes);
int emu_memory_fill(struct emu_memory *memory, uint64_t to, int byte, size_t bytes);
// How many elements of [size] bytes, of which [bytes] are made, have a byte that was never written;
// *first is the number of the first of these.
size_t emu_memory_unwritten(const struct emu_memory *memory, uint64_t from, size_t bytes,
                            size_t size, size_t *first);
// All launches until now are over: one that depends on the latest (programmatic dependent launch)
// has nothing to wait for. So it is behind whatever else a stream does between the two.
void emu_memory_settle(struct emu_memory *memory);
// Marks a range as never written, so that a kernel's read of it is reported.
int emu_memory_poison(struct emu_memory *memory, uint64_t to, size_t bytes);

// ---- reports ----

enum emu_class {
    EMU_DEADLOCK,
    EMU_BUDGET,
    EMU_RACE,
    EMU_MISSING_PROXY_FENCE,
    EMU_MISSING_TENSOR_FENCE,
    EMU_UNINITIALISED,
    EMU_OUT_OF_BOUNDS,
    EMU_MISALIGNED,
    EMU_BARRIER_MISUSE,
    EMU_TENSOR_MISUSE,
    EMU_DIVERGENT,
    EMU_REGISTER_HAZARD,
    EMU_PEER_EXITED,
    EMU_TRAP,
    EMU_BAD_OPERAND,
    EMU_MISCOMPILED,
    EMU_UNIMPLEMENTED,
    EMU_BAD_LAUNCH,
    EMU_CLASSES
};

// "deadlock", "race", ...: the class as reports and the bug corpus spell it.
const char *emu_class_name(enum emu_class class_);

struct emu_report {
    enum emu_class class_;
    unsigned ptx_line;     // of the instruction at fault; 0 where none is
    unsigned source_line;  // by .loc, 0 if the PTX has none
    const char *source;    // file of .loc; owned by the module
    uint64_t place,
        other;       // what tells places apart: two source lines; other: 0 where there is one
    unsigned count;  // how often the same thing happened there
    bool watched;    // it is of a load, and what is loaded was looked for in registers:
    bool used;       // an instruction has used it
    bool no_fault;   // none has
    char *text;      // the whole report, several lines
};

struct emu_result {
    struct emu_report *reports;  // hangs first, then misuse, bounds, races, uninitialised reads
    size_t report_count;
    size_t note_count;  // behind the reports: reads for nothing, which are no fault
    uint64_t thread_instructions;
    uint64_t warp_instructions;
    uint64_t multiply_adds;  // of matrix instructions, one of which does thousands
    double core_seconds;     // that all CPUs together took for it
    bool stopped;            // by a report that makes going on senseless
    uint64_t left_out;       // reports that there was no room for
    char end[160];           // how the launch ended, a sentence
};

void emu_result_free(struct emu_result *result);

// ---- profiles: what a launch did, as counts and addresses ----

struct emu_profile;

// NULL: memory is out. A profile is of one launch; the module must outlive it.
struct emu_profile *emu_profile_new(void);
void emu_profile_delete(struct emu_profile *profile);
// Grid, order of the work, and a line for each instruction that touches memory, waits, or
// multiplies matrices: how often warps ran it, its wavefronts of shared memory and how few they
// could be, its sectors of global memory, and where its first tensor copies lay.
void emu_profile_print(const struct emu_profile *profile, FILE *out);

// ---- launches ----

// What the manifest calls a barrier or a warp role; only for reports.
struct emu_barrier_name {
    const char *name;
    uint32_t offset;  // in dynamic shared memory
    uint32_t count;   // barriers in a row, 8 bytes each
};

struct emu_role {
    const char *name;
    unsigned first_warp, warps;
};

// A tensor that the parameters lead to, anywhere in an allocation: reports speak of it and of its
// elements, and what a launch touches of an allocation with tensors must be of one of them.
struct emu_tensor {
    const char *name;
    uint64_t address, bytes;  // from its first element to behind its last
    unsigned bits;            // of an element; 0: they are not spoken of
    int rank;
    const int64_t *dims, *strides;  // outermost first, in elements
    bool writes;                    // false: nobody may write it
};

// Line [i] (from 1) of the generated source came from file lines[i].file, line lines[i].line.
struct emu_source_line {
    const char *file;
    unsigned line;
};

struct emu_launch {
    const struct emu_module *module;
    const char *entry;
    unsigned grid[3], block[3], cluster[3];  // cluster 0 = as the entry says, else 1
    unsigned dynamic_smem;
    const void *const *params;  // as cuLaunchKernel's: one pointer a parameter
    size_t param_count;
    uint64_t seed;
    struct emu_budget budget;
    unsigned threads;   // 0 = one a CPU; the result is the same for any number
    unsigned sms;       // what %nsmid says; 0 = 4
    bool cooperative;   // all CTAs are there at once, and %envreg1 and 2 name the grid's workspace
    bool non_portable;  // cudaFuncAttributeNonPortableClusterSizeAllowed
    bool dependent;     // it may start before the memory's latest launch has ended (programmatic
                        // dependent launch): what that touches is free behind griddepcontrol.wait
    bool unchecked;     // true: no race, proxy and initialisation checks
    const struct emu_barrier_name *barriers;
    size_t barrier_count;
    const struct emu_role *roles;
    size_t role_count;
    const struct emu_source_line *lines;
    size_t line_count;
    const struct emu_tensor *tensors;
    size_t tensor_count;
    FILE *print;                  // where the kernel's printf goes; NULL = stdout
    struct emu_profile *profile;  // what the launch does is counted in it; NULL: nobody asks
};

// Runs the launch to its end, or to the first report that makes going on senseless.
// 0: it ran, see result->reports (free with emu_result_free); -1: refused, *error says why.
int emu_launch_run(struct emu_memory *memory, const struct emu_launch *launch,
                   struct emu_result *result, struct emu_error *error);

// ---- tensor maps ----

enum { EMU_TENSOR_MAP_BYTES = 128 };

// As cuTensorMapEncodeTiled, with the same numbers for its enums, into [map] (EMU_TENSOR_MAP_BYTES,
// aligned to 64). 0, or -1 and *error names the rule that is broken.
int emu_tensor_map_encode(void *map, int type, uint32_t rank, uint64_t address,
                          const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                          const uint32_t *element_strides, int interleave, int swizzle,
                          int l2_promotion, int fill, struct emu_error *error);
// As cuTensorMapEncodeIm2col, likewise; corners for W, H, D.
int emu_tensor_map_encode_im2col(void *map, int type, uint32_t rank, uint64_t address,
                                 const uint64_t *dims, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int l2_promotion, int fill, struct emu_error *error);

#endif
