// The PTX of a program: a prologue with the addresses, then each form in a scope of its own.
// Thread t of block b reads and writes element b * threads + t of every slot, 8 bytes each.
#include "tests/emu/vectors/vectors.h"

static void add_prologue(struct program_lines *text, const struct form *forms, size_t count) {
    const struct vector_table *table = forms->table;
    text_add(text, ".version 8.7\n.target sm_90a\n.address_size 64\n\n.visible .entry vectors(\n"
                   ".param .u64 p_in, .param .u64 p_out, .param .u64 p_scratch");
    for (size_t i = 0; i < count; ++i)
        if (forms[i].row->map) text_add(text, ",\n.param .align 64 .b8 map%zu[128]", i);
    text_add(text, ")\n.reqntid %u\n{\n.shared .align 1024 .b8 sm[%d];\n", table->threads,
             SHARED_BYTES);
    text_add(text,
             ".reg .b64 pi, po, g, g4, g8, g16, map, wide;\n"
             ".reg .b32 tid, cta, s4, s8, s16, word;\n"
             "mov.u32 tid, %%tid.x;\nmov.u32 cta, %%ctaid.x;\n"
             "ld.param.u64 pi, [p_in];\nld.param.u64 po, [p_out];\n"
             "ld.param.u64 g, [p_scratch];\n"
             "cvta.to.global.u64 pi, pi;\ncvta.to.global.u64 po, po;\n"
             "cvta.to.global.u64 g, g;\n"
             "mad.lo.u32 word, cta, %u, tid;\nmul.wide.u32 wide, word, 8;\n"
             "add.u64 pi, pi, wide;\nadd.u64 po, po, wide;\n"
             "mul.wide.u32 wide, cta, %d;\nadd.u64 g, g, wide;\n",
             table->threads, SCRATCH_BYTES);
    for (unsigned size = 4; size <= 16; size *= 2)
        text_add(text,
                 "mul.wide.u32 wide, tid, %u;\nadd.u64 g%u, g, wide;\n"
                 "mov.u32 word, sm;\nmad.lo.u32 s%u, tid, %u, word;\n",
                 size, size, size, size);
}

static const char *memory_type(const struct class *class) {
    return class->bytes == 2 ? "b16" : class->bytes == 4 ? "b32" : "b64";
}

static void add_loads(struct program_lines *text, const struct form *form, size_t offset,
                      size_t stride) {
    for (size_t i = 0; i < form->in_count; ++i) {
        const struct class *class = class_of(form->in[i]);
        bool predicate = class->kind == PREDICATE;
        text_add(text, ".reg %s a%zu;\n", class->register_type, i);
        if (predicate)
            text_add(text, "ld.global.b32 word, [pi+%zu];\nsetp.ne.b32 a%zu, word, 0;\n",
                     (offset + i) * stride, i);
        else
            text_add(text, "ld.global.%s a%zu, [pi+%zu];\n", memory_type(class), i,
                     (offset + i) * stride);
    }
}

static void add_stores(struct program_lines *text, const struct form *form, size_t offset,
                       size_t stride) {
    for (size_t i = 0; i < form->out_count; ++i) {
        const struct class *class = class_of(form->out[i]);
        size_t at = (offset + i) * stride;
        if (class->kind == PREDICATE)
            text_add(text, "selp.b32 word, 1, 0, r%zu;\nst.global.b32 [po+%zu], word;\n", i, at);
        else
            text_add(text, "st.global.%s [po+%zu], r%zu;\n", memory_type(class), at, i);
    }
}

char *program_text(const struct form *forms, size_t count) {
    const struct vector_table *table = forms->table;
    size_t stride = 8 * (size_t)table->threads * table->rounds, in = 0, out = 0;
    struct program_lines text = {0};
    add_prologue(&text, forms, count);
    for (size_t i = 0; i < count; ++i) {
        const struct form *form = &forms[i];
        if (table->meets) text_add(&text, "bar.sync 0;\n");
        text_add(&text, "{ // %s\n", form->text);
        add_loads(&text, form, in, stride);
        for (size_t slot = 0; slot < form->out_count; ++slot)
            text_add(&text, ".reg %s r%zu;\n", class_of(form->out[slot])->register_type, slot);
        if (form->row->map) text_add(&text, "mov.b64 map, map%zu;\ncvta.param.u64 map, map;\n", i);
        text_add(&text, "%s\n", form->body);
        add_stores(&text, form, out, stride);
        text_add(&text, "}\n");
        in += form->in_count;
        out += form->out_count;
    }
    text_add(&text, "ret;\n}\n");
    return text.data;
}
