/* text.h -- lists of names, names near to a mistyped one, and text that grows.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TEXT_H
#define CV_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/fail.h"

struct cv_arena;

/* Edits (insert, delete, replace, swap neighbours) that turn one name into another. A
 * name of more than 64 bytes differs in every byte. */
unsigned cv_edit_distance(const char *a, const char *b);

/* Write "; did you mean 'umr' or 'rumr'?" with the nearest names, or "; known: a, b, c"
 * if none is near. name_at(context, i) returns name i. Always terminates `buffer`. */
void cv_suggest(const char *typed, size_t count,
                const char *(*name_at)(const void *context, size_t index),
                const void *context, char *buffer, size_t size);

bool cv_is_one_of(const char *word, const char *const *list, size_t count);

/* Text that grows. Out of memory: `failed` is set, and appending does nothing. */
struct cv_text {
    char *bytes; /* owned, terminated; NULL while empty */
    size_t length, capacity;
    bool failed;
};

void cv_text_done(struct cv_text *text);
void cv_text_add(struct cv_text *text, const char *format, ...) CV_PRINTF(2, 3);
/* Releases the text and returns a copy in the arena; NULL: out of memory. */
char *cv_text_take(struct cv_text *text, struct cv_arena *arena);

/* Length in bytes of the UTF-8 character at `text`, which has `length` bytes; 0: none, or
 * malformed. *out_code, if not NULL, gets its code. */
size_t cv_utf8(const char *text, size_t length, uint32_t *out_code);

/* Whether all of `text` is visible UTF-8: no control characters, and no spaces except the
 * plain one if `spaces`. */
bool cv_printable(const char *text, size_t length, bool spaces);

/* The first character of `text`, which has `length` >= 1 bytes, for a message: unchanged,
 * or the byte as \xNN if it is not visible UTF-8. Returns its bytes in `text`. */
enum { CV_SHOWN_ROOM = 5 };
size_t cv_show_one(const char *text, size_t length, char out[CV_SHOWN_ROOM]);

/* Copy a user's text for a message: invisible bytes become \xNN, and a text that is too
 * long ends in "...". Returns `buffer`, always terminated. */
const char *cv_shown(const char *text, size_t length, char *buffer, size_t size);
/* A string, in a buffer of `size` bytes that lasts as long as the enclosing block. */
#define CV_SHOWN(text, size) cv_shown(text, strlen(text), (char[size]){ "" }, size)

/* An option of another program in a text. The library does not name options of cleave. */
#define CV_LONG_OPTION(name) "--" name

#endif
