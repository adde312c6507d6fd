// A bundle as a relocatable object: so little of ELF that no library is worth its licence and what
// it links. System V gABI 4.1, chapters 4.1 to 4.20.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/pack.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE };
#endif

enum { NOTHING, RODATA, SYMTAB, STRTAB, SHSTRTAB, STACK, SECTIONS };
enum { SYMBOLS = 3, DATA_ALIGNMENT = TMG_BUNDLE_ALIGNMENT };

static const char section_names[] = "\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack";
enum { AT_RODATA = 1, AT_SYMTAB = 9, AT_STRTAB = 17, AT_SHSTRTAB = 25, AT_STACK = 35 };

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static Elf64_Ehdr make_header(void) {
    Elf64_Ehdr header = {.e_type = ET_REL,
                         .e_machine = MACHINE,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shoff = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = SHSTRTAB};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    return header;
}

// The sections but their places, which follow from their order.
static void make_sections(Elf64_Shdr sections[SECTIONS], size_t data_bytes, size_t name_bytes) {
    const Elf64_Shdr made[SECTIONS] = {
        [RODATA] = {.sh_name = AT_RODATA,
                    .sh_type = SHT_PROGBITS,
                    .sh_flags = SHF_ALLOC,
                    .sh_size = data_bytes,
                    .sh_addralign = DATA_ALIGNMENT},
        [SYMTAB] = {.sh_name = AT_SYMTAB,
                    .sh_type = SHT_SYMTAB,
                    .sh_size = SYMBOLS * sizeof(Elf64_Sym),
                    .sh_link = STRTAB,
                    .sh_info = 1,  // the first global symbol
                    .sh_addralign = 8,
                    .sh_entsize = sizeof(Elf64_Sym)},
        [STRTAB] = {AT_STRTAB, .sh_type = SHT_STRTAB, .sh_size = name_bytes, .sh_addralign = 1},
        [SHSTRTAB] = {AT_SHSTRTAB, .sh_type = SHT_STRTAB, .sh_size = sizeof section_names,
                      .sh_addralign = 1},
        [STACK] = {AT_STACK, .sh_type = SHT_PROGBITS, .sh_addralign = 1}};
    size_t at = sizeof(Elf64_Ehdr) + sizeof made;
    memcpy(sections, made, sizeof made);
    for (int i = RODATA; i < SECTIONS; i++) {
        at = round_up(at, sections[i].sh_addralign);
        sections[i].sh_offset = at;
        at += sections[i].sh_size;
    }
}

static Elf64_Sym make_symbol(size_t name, size_t at, size_t bytes) {
    return (Elf64_Sym){.st_name = (Elf64_Word)name,
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                       .st_shndx = RODATA,
                       .st_value = at,
                       .st_size = bytes};
}

char *pack_object(const char *name, const char *data, size_t len, size_t *object_len) {
    if (MACHINE == EM_NONE) return NULL;
    const uint64_t bytes = len;
    const size_t number_at = round_up(len, sizeof bytes);
    char *names = mem_format("_%s_%s_bytes", name, name);  // the first byte becomes the empty name
    const size_t name_bytes = strlen(names) + 1, second = strlen(name) + 2;
    names[0] = names[second - 1] = 0;
    const Elf64_Ehdr header = make_header();
    const Elf64_Sym symbols[SYMBOLS] = {
        {0}, make_symbol(1, 0, len), make_symbol(second, number_at, sizeof bytes)};
    Elf64_Shdr sections[SECTIONS];
    make_sections(sections, number_at + sizeof bytes, name_bytes);
    *object_len = sections[STACK].sh_offset;
    char *object = mem_zero(*object_len);
    memcpy(object, &header, sizeof header);
    memcpy(object + header.e_shoff, sections, sizeof sections);
    memcpy(object + sections[RODATA].sh_offset, data, len);
    memcpy(object + sections[RODATA].sh_offset + number_at, &bytes, sizeof bytes);
    memcpy(object + sections[SYMTAB].sh_offset, symbols, sizeof symbols);
    memcpy(object + sections[STRTAB].sh_offset, names, name_bytes);
    memcpy(object + sections[SHSTRTAB].sh_offset, section_names, sizeof section_names);
    free(names);
    return object;
}
