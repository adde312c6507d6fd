// YAML text to a tree of values with their places, by libyaml's events.
// Events instead of libyaml's documents, since those forget duplicate keys and where keys stand.
#include "gen/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { ANCHORS_MAX = 1000 };  // each alias looks through them

struct anchor {
    const char *name;
    struct spec_node *node;  // NULL while it is being read
};

struct spec_reader {
    struct arena *arena;
    struct diag *diag;
    struct diag_place start;
    enum spec_origin origin;
    yaml_parser_t yaml;
    struct anchor *anchors;
    size_t anchor_count, anchor_capacity;
    size_t size;  // of all nodes, aliases written out
    bool failed;  // the events are of no more use
};

static struct diag_place place_of(const struct spec_reader *r, yaml_mark_t mark) {
    return (struct diag_place){
        .file = r->start.file,
        .line = r->start.line + (int)mark.line,
        .column = (int)mark.column + (mark.line ? 1 : r->start.column),
    };
}

// Where byte [offset] of the text is.
static struct diag_place place_at(const struct spec_reader *r, const char *text, size_t offset) {
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset; i++) {
        mark.column = text[i] == '\n' ? 0 : mark.column + ((text[i] & 0xc0) != 0x80);
        mark.line += text[i] == '\n';
    }
    return place_of(r, mark);
}

static struct spec_node *new_node(struct spec_reader *r, enum spec_kind kind, yaml_mark_t mark) {
    struct spec_node *node = arena_alloc(r->arena, sizeof *node);
    node->kind = kind;
    node->origin = r->origin;
    node->place = place_of(r, mark);
    node->size = 1;
    r->size++;
    return node;
}

// Room for one more entry of a list or map.
static void reserve(struct spec_reader *r, struct spec_node *node) {
    if (node->count < node->capacity) return;
    node->capacity = node->capacity ? 2 * node->capacity : 8;
    size_t bytes = node->capacity * sizeof(void *), old = node->count * sizeof(void *);
    struct spec_node **keys = arena_alloc(r->arena, bytes);
    struct spec_node **values = arena_alloc(r->arena, bytes);
    if (old && node->keys) memcpy(keys, node->keys, old);
    if (old) memcpy(values, node->values, old);
    node->keys = keys;
    node->values = values;
}

static void append(struct spec_reader *r, struct spec_node *node, struct spec_node *key,
                   struct spec_node *value) {
    reserve(r, node);
    node->keys[node->count] = key;
    node->values[node->count++] = value;
    node->size += value->size;
}

static struct spec_node *fail(struct spec_reader *r, struct diag_place place, const char *legal,
                              const char *message) {
    r->failed = true;
    diag_error(r->diag, place, legal, "%s", message);
    return NULL;
}

// Refuses what goes beyond a limit: [most] of what [of] says are legal.
static void fail_beyond(struct spec_reader *r, yaml_mark_t mark, int most, const char *of,
                        const char *message) {
    char legal[80];
    snprintf(legal, sizeof legal, "at most %d %s", most, of);
    fail(r, place_of(r, mark), legal, message);
}

static bool too_large(struct spec_reader *r, yaml_mark_t mark) {
    if (r->size <= SPEC_SIZE_MAX) return false;
    fail_beyond(r, mark, SPEC_SIZE_MAX, "values, aliases written out",
                "the spec is too large from here on");
    return true;
}

static struct anchor *find_anchor(struct spec_reader *r, const char *name) {
    for (size_t i = r->anchor_count; i-- > 0;)  // the latest of a name counts
        if (!strcmp(r->anchors[i].name, name)) return &r->anchors[i];
    return NULL;
}

// Remembers that the value to come is called [name]. Returns its index, or -1 without a name.
static ptrdiff_t open_anchor(struct spec_reader *r, const yaml_char_t *name, yaml_mark_t mark) {
    if (!name) return -1;
    if (r->anchor_count == ANCHORS_MAX) {
        fail_beyond(r, mark, ANCHORS_MAX, "anchors", "the spec has too many anchors");
        return -1;
    }
    const char *text = (const char *)name;
    struct anchor anchor = {.name = arena_copy(r->arena, text, strlen(text))};
    MEM_PUSH(r->anchors, r->anchor_count, r->anchor_capacity, anchor);
    return (ptrdiff_t)r->anchor_count - 1;
}

static void close_anchor(struct spec_reader *r, ptrdiff_t index, struct spec_node *node) {
    if (index >= 0) r->anchors[index].node = node;
}

static struct spec_node *read_alias(struct spec_reader *r, const yaml_event_t *event) {
    const char *name = (const char *)event->data.alias.anchor;
    struct diag_place place = place_of(r, event->start_mark);
    struct anchor *anchor = find_anchor(r, name);
    if (!anchor) {
        diag_error(r->diag, place, "an alias of an anchor (&name) above it", "*%s is not known",
                   name);
    } else if (!anchor->node) {
        diag_error(r->diag, place, "an alias of a value that is complete", "*%s contains itself",
                   name);
    } else {
        r->size += anchor->node->size;
        return too_large(r, event->start_mark) ? NULL : anchor->node;
    }
    r->failed = true;
    return NULL;
}

static struct spec_node *read_scalar(struct spec_reader *r, const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (memchr(text, 0, len))
        return fail(r, place_of(r, event->start_mark), NULL, "a text must not hold a NUL");
    struct spec_node *node = new_node(r, SPEC_SCALAR, event->start_mark);
    node->text = arena_copy(r->arena, text, len);
    node->len = len;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    close_anchor(r, open_anchor(r, event->data.scalar.anchor, event->start_mark), node);
    return node;
}

static bool next_event(struct spec_reader *r, yaml_event_t *event) {
    if (!r->failed && yaml_parser_parse(&r->yaml, event)) return true;
    memset(event, 0, sizeof *event);
    r->failed = true;
    return false;
}

static struct spec_node *read_value(struct spec_reader *r, const yaml_event_t *event, int depth);

static struct spec_node *read_list(struct spec_reader *r, const yaml_event_t *start, int depth) {
    struct spec_node *list = new_node(r, SPEC_LIST, start->start_mark);
    ptrdiff_t anchor = open_anchor(r, start->data.sequence_start.anchor, start->start_mark);
    for (bool more = true; more && !r->failed;) {
        yaml_event_t event;
        if (!next_event(r, &event)) break;
        more = event.type != YAML_SEQUENCE_END_EVENT;
        struct spec_node *value = more ? read_value(r, &event, depth) : NULL;
        if (value) append(r, list, NULL, value);
        yaml_event_delete(&event);
    }
    close_anchor(r, anchor, list);
    return list;
}

static bool is_merge_key(const struct spec_node *key) {
    return !key->quoted && !strcmp(key->text, "<<");
}

// Adds what [map] says to [into], where [into] does not say it itself.
static void merge_map(struct spec_reader *r, struct spec_node *into, const struct spec_node *map) {
    for (size_t i = 0; i < map->count && into->count < SPEC_KEYS_MAX; i++) {
        if (spec_get(into, map->keys[i]->text)) continue;
        r->size += map->values[i]->size;
        append(r, into, map->keys[i], map->values[i]);
    }
}

// Lays the value of a merge key under [into]: a map, or a list of maps of which the first wins.
static void merge(struct spec_reader *r, struct spec_node *into, const struct spec_node *value) {
    if (value->kind == SPEC_MAP) {
        merge_map(r, into, value);
        return;
    }
    bool legal = value->kind == SPEC_LIST;
    for (size_t i = 0; legal && i < value->count; i++) {
        legal = value->values[i]->kind == SPEC_MAP;
        if (legal) merge_map(r, into, value->values[i]);
        if (r->size > SPEC_SIZE_MAX) break;
    }
    if (!legal)
        diag_error(r->diag, value->place, "<<: *name, or <<: [*name, *other]",
                   "a merge key takes maps");
}

// Reads a key; NULL where it is none.
static struct spec_node *read_key(struct spec_reader *r, const yaml_event_t *event, int depth) {
    struct spec_node *key = read_value(r, event, depth);
    if (!key || key->kind == SPEC_SCALAR) return key;
    return fail(r, key->place, NULL, "a key must be a word");
}

static void add_entry(struct spec_reader *r, struct spec_node *map, struct spec_node *key,
                      struct spec_node *value) {
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i]->text, key->text) != 0) continue;
        diag_error(r->diag, key->place, NULL, "%s: given twice; the first is on line %d", key->text,
                   map->keys[i]->place.line);
        return;
    }
    if (map->count == SPEC_KEYS_MAX)
        fail(r, key->place, "at most 1000 keys", "the map has too many keys");
    else
        append(r, map, key, value);
}

static struct spec_node *read_map(struct spec_reader *r, const yaml_event_t *start, int depth) {
    struct spec_node *map = new_node(r, SPEC_MAP, start->start_mark), *merged = NULL;
    ptrdiff_t anchor = open_anchor(r, start->data.mapping_start.anchor, start->start_mark);
    while (!r->failed) {
        yaml_event_t event;
        if (!next_event(r, &event)) break;
        bool end = event.type == YAML_MAPPING_END_EVENT;
        struct spec_node *key = end ? NULL : read_key(r, &event, depth);
        yaml_event_delete(&event);
        if (end || !key || !next_event(r, &event)) break;
        struct spec_node *value = read_value(r, &event, depth);
        yaml_event_delete(&event);
        if (!value) break;
        if (is_merge_key(key) && !merged)
            merged = value;
        else
            add_entry(r, map, key, value);
    }
    if (merged) merge(r, map, merged);
    close_anchor(r, anchor, map);
    return map;
}

static bool has_tag(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT: return event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT: return event->data.mapping_start.tag;
    default: return false;
    }
}

// The value that starts with [event]; NULL where there is none, and then reading has failed.
static struct spec_node *read_value(struct spec_reader *r, const yaml_event_t *event, int depth) {
    struct diag_place place = place_of(r, event->start_mark);
    if (depth == SPEC_DEPTH_MAX)
        return fail(r, place, "at most 32 levels", "the values are nested too deeply");
    if (has_tag(event)) return fail(r, place, "plain values", "tags are not supported");
    if (too_large(r, event->start_mark)) return NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT: return read_alias(r, event);
    case YAML_SCALAR_EVENT: return read_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT: return read_list(r, event, depth + 1);
    case YAML_MAPPING_START_EVENT: return read_map(r, event, depth + 1);
    default: return fail(r, place, NULL, "a value is missing here");
    }
}

static size_t text_chars(const char *text, size_t len) {
    size_t chars = 0;
    for (size_t i = 0; i < len; i++) chars += (text[i] & 0xc0) != 0x80;
    return chars;
}

// The end of the text without the newlines at its end.
static size_t text_end(const char *text, size_t len) {
    while (len && text[len - 1] == '\n') len--;
    return len;
}

// Reports why libyaml stopped.
static void report_yaml(struct spec_reader *r, const char *text, size_t len) {
    const yaml_parser_t *y = &r->yaml;
    if (y->error == YAML_NO_ERROR) return;
    struct diag_place place = place_of(r, y->problem_mark);
    if (y->error == YAML_READER_ERROR)
        place = place_at(r, text, y->problem_offset < len ? y->problem_offset : len);
    else if (y->problem_mark.index >= text_chars(text, len))
        place = place_at(r, text, text_end(text, len));
    if (y->context)
        diag_error(r->diag, place, NULL, "%s: %s", y->context, y->problem);
    else
        diag_error(r->diag, place, NULL, "%s", y->problem ? y->problem : "this is no YAML");
}

// Walks the stream: exactly one document.
static struct spec_node *read_stream(struct spec_reader *r) {
    struct spec_node *top = NULL;
    yaml_event_t event = {0};
    for (bool more = true; more && next_event(r, &event); yaml_event_delete(&event)) {
        more = event.type != YAML_STREAM_END_EVENT;
        if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT)
            continue;
        if (event.type == YAML_DOCUMENT_START_EVENT && !top) continue;
        if (event.type == YAML_DOCUMENT_START_EVENT)
            fail(r, place_of(r, event.start_mark), "one document a file", "a second document");
        else if (more)
            top = read_value(r, &event, 0);
    }
    return top;
}

struct spec_node *spec_parse(struct arena *arena, struct diag *diag, struct diag_place start,
                             enum spec_origin origin, const char *text, size_t len) {
    struct spec_reader r = {.arena = arena, .diag = diag, .start = start, .origin = origin};
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, len -= 3;  // a byte order mark
    size_t errors = diag_errors(diag);
    if (!yaml_parser_initialize(&r.yaml)) {
        diag_error(diag, start, NULL, "out of memory");
        return NULL;
    }
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
    struct spec_node *top = read_stream(&r);
    report_yaml(&r, text, len);
    if (!top && diag_errors(diag) == errors && origin == SPEC_FROM_SET)
        diag_error(diag, start, NULL, "there is no value");
    else if (!top && diag_errors(diag) == errors)
        diag_error(diag, start, "at least kernel: NAME", "there is nothing in it");
    yaml_parser_delete(&r.yaml);
    free(r.anchors);
    return r.failed ? NULL : top;
}

struct spec_node *spec_get(const struct spec_node *map, const char *key) {
    for (size_t i = 0; map->kind == SPEC_MAP && i < map->count; i++)
        if (!strcmp(map->keys[i]->text, key)) return map->values[i];
    return NULL;
}
