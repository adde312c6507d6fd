// Errors in what the user wrote, collected so that one run reports all of them, in one form:
//     specs/x.yaml:12:8: error: stages: 9 is not in 2..8
//       stages: 9
//               ^
//       legal: 2..8
// Every stage of the generator reports here and goes on; who drives the stages asks diag_errors().
#pragma once
#include <stddef.h>
#include <stdio.h>

// A place in a text. Line and column count from 1, the column in characters. Line 0: no place in
// particular. [file] is borrowed and must outlive the diag.
struct diag_place {
    const char *file;
    int line, column;
};

struct diag;

struct diag *diag_new(void);
void diag_free(struct diag *);

// Makes the [len] bytes at [text] known as the content of [file], so that errors can show the line.
// Borrowed: both must outlive the diag.
void diag_source(struct diag *, const char *file, const char *text, size_t len);

// Records an error. [legal] says what would have been right; NULL where there is nothing to say.
// The same error at the same place is kept once.
void diag_error(struct diag *, struct diag_place, const char *legal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Records a remark that does not make the run fail.
void diag_note(struct diag *, struct diag_place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Moves the errors at the first [count] lines of [file], with their notes, to [to]: each to the
// place of its line there. Returns a copy of the first one's message; NULL where there is none.
char *diag_move(struct diag *, const char *file, struct diag *to, const struct diag_place *places,
                size_t count);

// The number of errors so far; notes do not count.
size_t diag_errors(const struct diag *);

// Prints all: file by file as they came up, in each by line; notes stay behind what they follow.
// What is not printable is shown as '?'.
void diag_print(const struct diag *, FILE *);

// For an error without a place: prints "tmagen: error: ..." to stderr at once.
void diag_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
