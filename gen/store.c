// Named files: the user's folders of templates over the embedded ones.
// What was read is kept, since errors quote it and many specs share it.
#include "gen/store.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gen/embed.h"
#include "gen/file.h"
#include "gen/alloc.h"

enum { FILE_MAX = 4 << 20 };

struct entry {
    char *path;
    size_t place;  // the number of its folder; the program's own come last
    size_t number;
    const char *name, *text;  // of an embedded file the program's own, else owned
    size_t len;
    bool owned;
    char *code;  // of an owned file; NULL: not compiled yet
    size_t code_len;
};

struct store {
    char **folders;  // the user's, in the order of the search
    size_t folder_count, folder_capacity;
    struct entry *entries;
    size_t count, capacity;
};

static const char TEMPLATES[] = "templates/";

struct store *store_new(const char *folders) {
    struct store *s = mem_zero(sizeof *s);
    for (const char *at = folders; at && *at; at += *at == ':') {
        size_t len = strcspn(at, ":"), kept = len;
        while (kept > 1 && at[kept - 1] == '/') kept--;
        if (len) MEM_PUSH(s->folders, s->folder_count, s->folder_capacity, mem_copy_n(at, kept));
        at += len;
    }
    return s;
}

size_t store_places(const struct store *s) { return s->folder_count + 1; }

static struct store_file file_of(const struct entry *e) {
    return (struct store_file){
        .name = e->name, .text = e->text, .len = e->len, .number = e->number};
}

static struct entry *find_number(const struct store *s, size_t number) {
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].number == number) return &s->entries[i];
    return NULL;
}

struct store_file store_known(const struct store *s, size_t number) {
    const struct entry *e = find_number(s, number);
    return e ? file_of(e) : (struct store_file){0};
}

struct store_file store_named(const struct store *s, const char *name) {
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->entries[i].name, name)) return file_of(&s->entries[i]);
    return (struct store_file){0};
}

const char *store_compiled(const struct store *s, size_t number, size_t *len) {
    if (number < embed_files_count) {
        *len = (size_t)(embed_files[number].code_end - embed_files[number].code);
        return embed_files[number].code;
    }
    const struct entry *e = find_number(s, number);
    *len = e->code_len;
    return e->code;
}

void store_keep(struct store *s, size_t number, char *code, size_t len) {
    struct entry *e = find_number(s, number);
    free(e->code);
    e->code = code;
    e->code_len = len;
}

bool store_is_path(const char *path) {
    for (const char *word = path;; word++) {
        size_t len = strcspn(word, "/");
        if (len == 0 || *word == '.') return false;
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)word[i] <= ' ' || word[i] == 127 || word[i] == '\\') return false;
        word += len;
        if (!*word) return true;
    }
}

// True where a link on the way leads from [folder] to a file outside.
static bool leads_out(const char *folder, const char *file) {
    char *root = realpath(folder, NULL), *real = realpath(file, NULL);
    size_t len = root ? strlen(root) : 0;
    bool out = root && real && len > 1 && (strncmp(real, root, len) != 0 || real[len] != '/');
    free(root);
    free(real);
    return out;
}

// Reads [path] from a folder of the user's. Returns false where it is not there, or cannot be read.
static bool read_entry(const char *folder, const char *path, struct entry *e, const char **why) {
    size_t prefix = sizeof TEMPLATES - 1;
    if (strncmp(path, TEMPLATES, prefix) != 0) return false;
    char *name = mem_format("%s/%s", folder, path + prefix);
    struct file_bytes bytes = {0};
    if (leads_out(folder, name))
        *why = "it is a link that leads out of the folder of templates";
    else
        bytes = file_read(name, FILE_MAX, why);
    *e = (struct entry){.name = name, .text = bytes.data, .len = bytes.len, .owned = true};
    if (bytes.data) return true;
    if (!file_exists(name)) *why = NULL;
    free(name);
    return false;
}

static int by_path(const void *path, const void *file) {
    return strcmp(path, ((const struct embed_file *)file)->path);
}

static bool embedded_entry(const char *path, struct entry *e) {
    const struct embed_file *found =
        bsearch(path, embed_files, embed_files_count, sizeof *embed_files, by_path);
    if (!found) return false;
    *e = (struct entry){.number = (size_t)(found - embed_files),
                        .name = found->path,
                        .text = found->begin,
                        .len = (size_t)(found->end - found->begin)};
    return true;
}

bool store_embedded(const char *path, const char *text, size_t len) {
    struct entry e;
    return embedded_entry(path, &e) && e.len == len && !memcmp(e.text, text, len);
}

static bool same_text(const char *file, const struct entry *e) {
    const char *why;
    struct file_bytes bytes = file_read(file, FILE_MAX, &why);
    const bool same = !bytes.data || (bytes.len == e->len && !memcmp(bytes.data, e->text, e->len));
    free(bytes.data);
    return same;
}

const char *store_outdated(const struct store *s, const char *folder, size_t *from) {
    const char *found = NULL;
    for (; *from < s->count && !found; ++*from) {
        const struct entry *e = &s->entries[*from];
        if (e->owned || strncmp(e->path, TEMPLATES, sizeof TEMPLATES - 1) != 0) continue;
        char *file = mem_format("%s/%s", folder, e->path + sizeof TEMPLATES - 1);
        if (!same_text(file, e)) found = e->path;
        free(file);
    }
    return found;
}

struct store_file store_find_at(struct store *s, size_t place, const char *path, const char **why) {
    struct entry e;
    *why = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].place == place && !strcmp(s->entries[i].path, path))
            return file_of(&s->entries[i]);
    if (!store_is_path(path)) return (struct store_file){0};  // never out of the folder
    bool found = place < s->folder_count ? read_entry(s->folders[place], path, &e, why)
                                         : embedded_entry(path, &e);
    if (!found) return (struct store_file){0};
    e.path = mem_copy(path);
    e.place = place;
    if (e.owned) e.number = embed_files_count + s->count;
    MEM_PUSH(s->entries, s->count, s->capacity, e);
    return file_of(&e);
}

struct store_file store_find(struct store *s, const char *path, const char **why) {
    struct store_file file = {0};
    *why = NULL;
    for (size_t i = 0; i < store_places(s) && !file.text && !*why; i++)
        file = store_find_at(s, i, path, why);
    return file;
}

struct list {
    char **items;
    size_t count, capacity;
};

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Sorts, drops what is there twice, and ends the list with NULL.
static char **finish(struct list list) {
    if (list.count) qsort(list.items, list.count, sizeof *list.items, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (kept && !strcmp(list.items[kept - 1], list.items[i]))
            free(list.items[i]);
        else
            list.items[kept++] = list.items[i];
    }
    list.count = kept;
    MEM_PUSH(list.items, list.count, list.capacity, NULL);
    return list.items;
}

// Adds what is in [folder] of the user's, [below] ("/ptx" or ""), each as "templates/BELOW/NAME".
static void list_folder(const char *folder, const char *below, struct list *list) {
    char *name = mem_format("%s%s", folder, below);
    DIR *open = opendir(name);
    for (struct dirent *e; open && (e = readdir(open));) {
        size_t len = strlen(e->d_name);
        if (e->d_name[0] == '.' || e->d_name[len - 1] == '~') continue;
        char *path = mem_format("templates%s/%s", below, e->d_name);
        MEM_PUSH(list->items, list->count, list->capacity, path);
    }
    if (open) closedir(open);
    free(name);
}

char **store_list(const struct store *s, const char *folder) {
    struct list list = {0};
    size_t prefix = strlen(folder);
    for (size_t i = 0; i < s->folder_count; i++)
        if (!strncmp(folder, TEMPLATES, sizeof TEMPLATES - 1))
            list_folder(s->folders[i], folder + sizeof TEMPLATES - 2, &list);
    for (size_t i = 0; i < embed_files_count; i++) {
        const char *path = embed_files[i].path;
        if (strncmp(path, folder, prefix) != 0 || path[prefix] != '/') continue;
        if (strchr(path + prefix + 1, '/')) continue;
        MEM_PUSH(list.items, list.count, list.capacity, mem_copy(path));
    }
    return finish(list);
}

// Adds the families of [folder], a folder of the user's.
static void list_families(const char *folder, struct list *list) {
    struct list found = {0};
    list_folder(folder, "", &found);
    for (size_t i = 0; i < found.count; i++) {
        const char *name = found.items[i] + sizeof TEMPLATES - 1;
        char *path = mem_format("%s/%s/family.lua", folder, name);
        if (file_exists(path)) MEM_PUSH(list->items, list->count, list->capacity, mem_copy(name));
        free(path);
        free(found.items[i]);
    }
    free(found.items);
}

char **store_families(const struct store *s) {
    struct list list = {0};
    for (size_t i = 0; i < s->folder_count; i++) list_families(s->folders[i], &list);
    for (size_t i = 0; i < embed_files_count; i++) {
        const char *path = embed_files[i].path;
        if (strncmp(path, TEMPLATES, sizeof TEMPLATES - 1) != 0) continue;
        const char *name = path + sizeof TEMPLATES - 1, *slash = strchr(name, '/');
        if (slash && !strcmp(slash, "/family.lua"))
            MEM_PUSH(list.items, list.count, list.capacity,
                     mem_copy_n(name, (size_t)(slash - name)));
    }
    return finish(list);
}

void store_list_free(char **list) {
    for (size_t i = 0; list[i]; i++) free(list[i]);
    free(list);
}
