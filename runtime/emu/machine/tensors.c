// The launch's tensors in their allocations: what an address is called, and whether it is in one.
// An allocation that is one tensor and no more has bounds of its own; others are divided.
#include "runtime/emu/machine/machine.h"

#include <stdarg.h>
#include <string.h>

static bool lies_in(const struct emu_tensor *tensor, const struct emu_allocation *allocation) {
    return tensor->address - allocation->base < allocation->bytes;
}

void emu_tensors_start(struct emu_machine *machine) {
    const struct emu_launch *launch = machine->launch;

    for (size_t i = 0; i < machine->memory->count; i++) {
        struct emu_allocation *allocation = &machine->memory->allocations[i];
        allocation->divided = false;
        for (size_t t = 0; t < launch->tensor_count; t++)
            if (lies_in(&launch->tensors[t], allocation))
                allocation->divided |= launch->tensors[t].bytes != allocation->bytes;
    }
}

const struct emu_tensor *emu_tensor_at(const struct emu_machine *machine, uint64_t address,
                                       uint64_t bytes, bool writes) {
    const struct emu_launch *launch = machine->launch;

    for (size_t t = 0; t < launch->tensor_count; t++) {
        const struct emu_tensor *tensor = &launch->tensors[t];
        uint64_t offset = address - tensor->address;
        if (offset < tensor->bytes && bytes <= tensor->bytes - offset &&
            (!writes || tensor->writes))
            return tensor;
    }
    return NULL;
}

// ---- what an address is called ----

static void put(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Appends.
static void put(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

// ", element [1, 7]" where that is one, and not in the gap behind a row.
static void put_element(const struct emu_tensor *tensor, uint64_t offset, char *text, size_t size) {
    int64_t left = tensor->bits ? (int64_t)(offset * 8 / tensor->bits) : 0;
    int64_t index[8];

    if (tensor->bits == 0 || tensor->rank < 1 || tensor->rank > 8) return;
    for (int axis = 0; axis < tensor->rank; axis++) {
        int64_t stride = tensor->strides[axis] > 0 ? tensor->strides[axis] : 1;
        index[axis] = tensor->dims[axis] > 1 ? left / stride : 0;
        if (index[axis] >= tensor->dims[axis]) index[axis] = tensor->dims[axis] - 1;
        left -= index[axis] * stride;
    }
    if (left != 0) {
        put(text, size, ", in the gap behind a row");
        return;
    }
    for (int axis = 0; axis < tensor->rank; axis++)
        put(text, size, "%s%lld", axis ? ", " : ", element [", (long long)index[axis]);
    put(text, size, "]");
}

// The tensor of [allocation] that ends last at or before [address]; NULL: there is none.
static const struct emu_tensor *before(const struct emu_machine *machine,
                                       const struct emu_allocation *allocation, uint64_t address) {
    const struct emu_tensor *last = NULL;

    for (size_t t = 0; t < machine->launch->tensor_count; t++) {
        const struct emu_tensor *tensor = &machine->launch->tensors[t];
        if (lies_in(tensor, allocation) && tensor->address + tensor->bytes <= address &&
            (last == NULL || tensor->address + tensor->bytes > last->address + last->bytes))
            last = tensor;
    }
    return last;
}

// The tensor of [allocation] that begins first behind [address].
static const struct emu_tensor *behind(const struct emu_machine *machine,
                                       const struct emu_allocation *allocation, uint64_t address) {
    const struct emu_tensor *first = NULL;

    for (size_t t = 0; t < machine->launch->tensor_count; t++) {
        const struct emu_tensor *tensor = &machine->launch->tensors[t];
        if (lies_in(tensor, allocation) && tensor->address > address &&
            (first == NULL || tensor->address < first->address))
            first = tensor;
    }
    return first;
}

const char *emu_memory_text(const struct emu_machine *machine,
                            const struct emu_allocation *allocation, uint64_t offset,
                            uint64_t bytes, char *text, size_t size) {
    uint64_t address = allocation->base + offset, end = allocation->base + allocation->bytes;
    const struct emu_tensor *tensor = emu_tensor_at(machine, address, 1, false);
    const struct emu_tensor *next = behind(machine, allocation, address);
    const char *name = allocation->name;
    uint64_t begin = allocation->base;
    bool within = tensor != NULL;

    text[0] = '\0';
    if (tensor == NULL) tensor = before(machine, allocation, address);
    if (tensor != NULL) {
        begin = tensor->address;
        end = begin + tensor->bytes;
        name = tensor->name;
    }
    put(text, size, "offset %llu of %s", (unsigned long long)(address - begin), name);
    if (address + bytes > end) {
        put(text, size, ", which has %llu bytes", (unsigned long long)(end - begin));
        within = false;
    } else if (offset + bytes > allocation->bytes) {
        put(text, size, ", beyond the %zu bytes of %s", allocation->bytes, allocation->name);
        within = false;
    }
    if (within)
        put_element(tensor, address - begin, text, size);
    else if (next != NULL)
        put(text, size, ", %llu bytes before %s", (unsigned long long)(next->address - address),
            next->name);
    return text;
}
