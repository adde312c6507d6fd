// Reads the GNU build id of an ELF file, with a digest of the file's head as the fallback.
// Every offset is checked against what was read: the file is found in a search path, not trusted.
#include "runtime/elf_id.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/key.h"

enum { HEAD_BYTES = 65536, NOTE_BYTES = 4096, LONGEST_ID = 30 };

static size_t read_at(int file, void *to, size_t bytes, off_t offset) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(file, (char *)to + done, bytes - done, offset + (off_t)done);
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

static void print_hex(char *text, const char *prefix, const uint8_t *bytes, size_t count) {
    text += sprintf(text, "%s ", prefix);
    for (size_t i = 0; i < count; ++i) text += sprintf(text, "%02x", bytes[i]);
}

// Finds the GNU build id among the notes in [data]; its bytes, and their count in [length].
static const uint8_t *find_note(const uint8_t *data, size_t bytes, size_t *length) {
    size_t at = 0;
    while (bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, data + at, sizeof note);
        at += sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t value = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - at || value > bytes - at - name) return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(data + at, "GNU", 4)) {
            *length = note.n_descsz;
            return data + at + name;
        }
        at += name + value;
    }
    return NULL;
}

// The build id from the program header's note segment [segment] of [file].
static int identify_segment(int file, const Elf64_Phdr *segment, char *id) {
    uint8_t notes[NOTE_BYTES];
    size_t wanted = segment->p_filesz < sizeof notes ? segment->p_filesz : sizeof notes;
    size_t got = read_at(file, notes, wanted, (off_t)segment->p_offset), length = 0;
    const uint8_t *found = find_note(notes, got, &length);
    if (!found || !length || length > LONGEST_ID) return -1;
    print_hex(id, "build-id", found, length);
    return 0;
}

static int identify_elf(int file, const uint8_t *head, size_t bytes, char *id) {
    Elf64_Ehdr header;
    if (bytes < sizeof header) return -1;
    memcpy(&header, head, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64)
        return -1;
    for (size_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        size_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > bytes || at + sizeof segment > bytes) return -1;
        memcpy(&segment, head + at, sizeof segment);
        if (segment.p_type == PT_NOTE && !identify_segment(file, &segment, id)) return 0;
    }
    return -1;
}

int tmg_elf_identify(const char *path, char *id, size_t size) {
    static _Thread_local uint8_t head[HEAD_BYTES];
    if (size < 72) return -1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    struct stat about;
    size_t bytes = read_at(file, head, sizeof head, 0);
    int status = fstat(file, &about);
    if (!status && identify_elf(file, head, bytes, id)) {
        struct tmg_key key;
        uint64_t length = (uint64_t)about.st_size;
        tmg_key_begin(&key);
        tmg_key_add(&key, &length, sizeof length);
        tmg_key_add(&key, head, bytes);
        uint8_t digest[TMG_DIGEST_BYTES];
        tmg_key_end(&key, digest);
        print_hex(id, "head", digest, LONGEST_ID);
    }
    close(file);
    return status;
}
