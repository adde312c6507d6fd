// Finds directives that take in files, by the phases of translation of C++: trigraphs, spliced
// lines, comments and strings, then what begins a line. Where compilers differ in a phase, a source
// is read each way, since it is the compiler's reading that counts and nobody asks it here.
#include "runtime/directive.h"

#include <stdbool.h>
#include <string.h>

// Ways of reading that compilers differ in; all combinations are tried.
enum {
    TRIGRAPHS = 1,         // ??= is #, and ??/ is a backslash
    LOOSE_SPLICES = 2,     // blanks may stand between a backslash and the line's end
    CARRIAGE_RETURNS = 4,  // alone, they end a line
    READINGS = 8
};
enum { END = -1 };

// Asked for by a directive, or (from [first_anywhere] on) wherever they stand in one.
static const char *const words[] = {"include",       "include_next",       "import",     "embed",
                                    "__has_include", "__has_include_next", "__has_embed"};
enum { FIRST_ANYWHERE = 4, WORDS = sizeof words / sizeof *words };

struct source_reader {
    const char *at, *end;
    unsigned reading;
    bool raw;  // inside a raw string nothing is a trigraph or a splice
    int line, line_before;
};

static bool is_space(int c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static bool is_word(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '$' || c >= 128;
}

// The bytes of the line's end at [at]; 0 where there is none.
static size_t newline(const struct source_reader *r, const char *at) {
    if (at < r->end && *at == '\n') return 1;
    if (at + 1 < r->end && at[0] == '\r' && at[1] == '\n') return 2;
    return at < r->end && *at == '\r' && (r->reading & CARRIAGE_RETURNS) ? 1 : 0;
}

static int trigraph(const struct source_reader *r) {
    static const char from[] = "=/'()!<>-", to[] = "#\\^[]|{}~";
    if (!(r->reading & TRIGRAPHS) || r->end - r->at < 3 || r->at[0] != '?' || r->at[1] != '?')
        return 0;
    const char *found = r->at[2] ? strchr(from, r->at[2]) : NULL;
    return found ? to[found - from] : 0;
}

// Steps over the splices at hand: backslashes that end their lines.
static void skip_splices(struct source_reader *r) {
    for (;;) {
        const int three = r->raw ? 0 : trigraph(r);
        if (r->raw || r->at >= r->end || (*r->at != '\\' && three != '\\')) return;
        const char *at = r->at + (three ? 3 : 1);
        while ((r->reading & LOOSE_SPLICES) && at < r->end && is_space((unsigned char)*at)) ++at;
        const size_t ended = newline(r, at);
        if (!ended) return;
        r->at = at + ended;
        ++r->line;
    }
}

// The next character, behind splices, without and with taking it. A line's end is '\n'.
static int peek(struct source_reader *r) {
    skip_splices(r);
    if (r->at >= r->end) return END;
    if (newline(r, r->at)) return '\n';
    const int three = r->raw ? 0 : trigraph(r);
    return three ? three : (unsigned char)*r->at;
}

static int take(struct source_reader *r) {
    const int c = peek(r);
    if (c == END) return END;
    const size_t ended = newline(r, r->at);
    r->line += ended != 0;
    r->at += ended ? ended : !r->raw && trigraph(r) ? 3 : 1;
    return c;
}

// Takes [c] if it is next.
static bool taken(struct source_reader *r, int c) {
    if (peek(r) != c) return false;
    take(r);
    return true;
}

// The two at hand, if they are [text]; both are taken then.
static bool taken_both(struct source_reader *r, const char *text) {
    const struct source_reader before = *r;
    if (taken(r, text[0]) && taken(r, text[1])) return true;
    *r = before;
    return false;
}

// Steps over the comment at hand, not over the end of the line behind //.
static bool skip_comment(struct source_reader *r) {
    if (taken_both(r, "//")) {
        while (peek(r) != '\n' && peek(r) != END) take(r);
        return true;
    }
    if (!taken_both(r, "/*")) return false;
    while (peek(r) != END && !taken_both(r, "*/")) take(r);
    return true;
}

static void skip_blanks(struct source_reader *r) {
    while (is_space(peek(r)) || peek(r) == '\r' || skip_comment(r))
        if (is_space(peek(r)) || peek(r) == '\r') take(r);
}

// Steps over what follows the opening [quote], which ends at the line's end at the latest.
static void skip_quoted(struct source_reader *r, int quote) {
    for (int c; (c = peek(r)) != END && c != '\n';) {
        take(r);
        if (c == quote) return;
        if (c == '\\' && peek(r) != '\n') take(r);
    }
}

// Steps over a raw string whose opening quote has been taken: DELIMITER( ... )DELIMITER".
static void skip_raw(struct source_reader *r) {
    const char *delimiter = r->at, *open = delimiter;
    while (open < r->end && open - delimiter <= 16 && !strchr("() \\\t\v\f\n\"", *open)) ++open;
    if (open >= r->end || *open != '(') {  // no raw string after all
        skip_quoted(r, '"');
        return;
    }
    const size_t length = (size_t)(open - delimiter);
    for (r->at = open; r->at < r->end; ++r->at) {
        r->line += *r->at == '\n';
        if (*r->at == ')' && (size_t)(r->end - r->at) > length + 1 &&
            !memcmp(r->at + 1, delimiter, length) && r->at[length + 1] == '"') {
            r->at += length + 2;
            return;
        }
    }
}

// Takes the word at hand into [text], cut at [size] - 1 characters.
static void take_word(struct source_reader *r, char *text, size_t size) {
    size_t length = 0;
    while (is_word(peek(r))) {
        const int c = take(r);
        if (length + 1 < size) text[length++] = (char)c;
    }
    text[length] = 0;
}

// Steps over a number, in which apostrophes stand between digits and + or - behind an exponent's e.
static void skip_number(struct source_reader *r) {
    for (int before = 0, c; (c = peek(r)) != END; before = c) {
        const bool sign = (c == '+' || c == '-') && before && strchr("eEpP", before);
        if (!is_word(c) && c != '.' && c != '\'' && !sign) return;
        const struct source_reader start = *r;
        take(r);
        if (c == '\'' && !is_word(peek(r))) {
            *r = start;
            return;
        }
    }
}

static const char *asked_by(const char *word, size_t first) {
    for (size_t i = first; i < WORDS; ++i)
        if (!strcmp(words[i], word)) return words[i];
    return NULL;
}

// Steps over one token. What it asks for, if it is a word that asks anywhere.
static const char *skip_token(struct source_reader *r) {
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R"};
    char word[32];
    const int c = peek(r);
    if (is_digit(c)) {
        skip_number(r);
    } else if (is_word(c)) {
        take_word(r, word, sizeof word);
        for (size_t i = 0; i < sizeof raw / sizeof *raw; ++i)
            if (!strcmp(word, raw[i]) && taken(r, '"')) skip_raw(r);
        return asked_by(word, FIRST_ANYWHERE);
    } else if (!skip_comment(r)) {
        take(r);
        if (c == '"' || c == '\'') skip_quoted(r, c);
        if (c == '.' && is_digit(peek(r))) skip_number(r);
    }
    return NULL;
}

// What the directive at the beginning of a line asks for. Steps over its name.
static const char *directive(struct source_reader *r) {
    char name[32] = "";
    if (!taken(r, '#') && !taken_both(r, "%:")) return NULL;
    skip_blanks(r);
    r->line_before = r->line;
    take_word(r, name, sizeof name);
    return asked_by(name, 0);
}

static int read_once(const char *source, size_t bytes, unsigned reading, const char **word) {
    struct source_reader r = {.at = source, .end = source + bytes, .reading = reading, .line = 1};
    for (bool beginning = true; peek(&r) != END;) {
        if (beginning) skip_blanks(&r);
        *word = beginning ? directive(&r) : NULL;
        if (*word) return r.line_before;
        beginning = peek(&r) == '\n';
        r.line_before = r.line;
        *word = beginning ? (take(&r), NULL) : skip_token(&r);
        if (*word) return r.line_before;
    }
    return 0;
}

// Whether [root] stands there inside one of the words.
static bool has_word(const char *source, size_t bytes, const char *root) {
    const char *const stop = source + bytes;
    for (const char *end = source, *at;
         (at = memmem(end, (size_t)(stop - end), root, strlen(root)));) {
        for (end = at; end < stop && is_word((unsigned char)*end);) ++end;
        while (at > source && is_word((unsigned char)at[-1])) --at;
        for (size_t i = 0; i < WORDS; ++i)
            if (!strncmp(words[i], at, (size_t)(end - at)) && !words[i][end - at]) return true;
    }
    return false;
}

// Whether [bytes] bytes hold none of the words, nor anything that could hide one or be read in
// several ways: so are nearly all sources.
static bool is_plain(const char *source, size_t bytes) {
    const char *slash = source;
    while ((slash = memchr(slash, '\\', (size_t)(source + bytes - slash)))) {
        if (++slash == source + bytes || strchr(" \t\v\f\r\n", *slash)) return false;
    }
    const char *mark = source;
    while ((mark = memchr(mark, '?', (size_t)(source + bytes - mark))))
        if (source + bytes - mark++ > 2 && mark[0] == '?' && mark[1] == '/') return false;
    return !has_word(source, bytes, "include") && !has_word(source, bytes, "import") &&
           !has_word(source, bytes, "embed");
}

int tmg_source_asks(const char *source, size_t bytes, const char **word) {
    int line = 0;
    if (is_plain(source, bytes)) return 0;
    for (unsigned reading = 0; reading < READINGS && !line; ++reading)
        line = read_once(source, bytes, reading, word);
    return line;
}
