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
 * name of more than 64 bytes counts as different in every byte. */
unsigned cv_edit_distance(const char *a, const char *b);

/* Write "; did you mean 'umr' or 'rumr'?" with the nearest of `names`, or
 * "; known: a, b, c" when none is near. name_at(context, i) gives name i. Always
 * terminates `buffer`. */
void cv_suggest(const char *typed, size_t count,
                const char *(*name_at)(const void *context, size_t index),
                const void *context, char *buffer, size_t size);

bool cv_is_one_of(const char *word, const char *const *list, size_t count);

/* Text that grows; once memory runs out `failed` is set and appending does nothing. */
struct cv_text {
    char *bytes; /* owned, terminated; NULL while empty */
    size_t length, capacity;
    bool failed;
};

void cv_text_done(struct cv_text *text);
void cv_text_add(struct cv_text *text, const char *format, ...) CV_PRINTF(2, 3);
/* A copy in the arena, and the text is released; NULL when memory was short. */
char *cv_text_take(struct cv_text *text, struct cv_arena *arena);

/* Length in bytes of the UTF-8 character at `text`, of which `length` bytes may be read;
 * 0 when there is none or it is malformed. *out_code, if not NULL, gets its code. */
size_t cv_utf8(const char *text, size_t length, uint32_t *out_code);

/* Whether all of `text` is UTF-8 that shows on a line: no control characters, no spaces
 * but the plain one, and that one only if `spaces`. */
bool cv_printable(const char *text, size_t length, bool spaces);

/* The character at `text`, of which `length` bytes (1 or more) may be read, as a message may
 * hold it: itself, or the byte as \xNN if it does not show or is no UTF-8. Returns how many
 * bytes it has in `text`. */
enum { CV_SHOWN_ROOM = 5 };
size_t cv_show_one(const char *text, size_t length, char out[CV_SHOWN_ROOM]);

/* Copy a user's text for a message: what does not show becomes \xNN, what does not fit is
 * cut and ends in "...". Returns `buffer`, always terminated. */
const char *cv_shown(const char *text, size_t length, char *buffer, size_t size);

#endif
