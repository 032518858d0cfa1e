/* text.c -- suggestions for mistyped names, text that grows, and text for messages.
 * SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum {
    NAME_MOST = 64,   /* longest name that is compared letter by letter */
    SUGGEST_MOST = 3, /* names offered at a time                        */
};

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned cv_edit_distance(const char *a, const char *b)
{
    /* Rows of the last three letters of `a`, in turn. */
    unsigned rows[3][NAME_MOST + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > NAME_MOST || nb > NAME_MOST)
        return strcmp(a, b) == 0 ? 0 : (unsigned)(na > nb ? na : nb);
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3];
        const unsigned *older = rows[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): strlen */
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);

            best = min(best, min(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = min(best, older[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[na % 3][nb];
}

/* False: the text does not fit, and nothing was appended. */
static bool append(char *buffer, size_t size, const char *text)
{
    size_t used = strlen(buffer), length = strlen(text);

    if (length >= size - used)
        return false;
    memcpy(buffer + used, text, length + 1);
    return true;
}

static void list_known(size_t count, const char *(*name_at)(const void *, size_t),
                       const void *context, char *buffer, size_t size)
{
    static const char more[] = ", ...";

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(buffer);
        /* All names but the last leave room for ", ...". */
        size_t room =
            i + 1 == count ? size : size - (size < sizeof more ? size : sizeof more);

        if (used < room && append(buffer, room, i == 0 ? "; known: " : ", ") &&
            append(buffer, room, name_at(context, i)))
            continue;
        buffer[used] = '\0';
        append(buffer, size, more);
        return;
    }
}

/* The distance without regard to case. A prefix of a name counts as one mistake. */
static unsigned distance_to(const char *typed, const char *name)
{
    char lower[NAME_MOST + 1];
    size_t length = strlen(typed);
    unsigned distance;

    if (length > NAME_MOST)
        return (unsigned)length;
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)(typed[i] >= 'A' && typed[i] <= 'Z' ? typed[i] | 32 : typed[i]);
    distance = cv_edit_distance(lower, name);
    if (distance > 1 && length >= 3 && strncmp(lower, name, length) == 0)
        distance = 1;
    return distance;
}

void cv_suggest(const char *typed, size_t count,
                const char *(*name_at)(const void *context, size_t index),
                const void *context, char *buffer, size_t size)
{
    size_t length = strlen(typed), last = 0;
    /* The mistakes allowed grow with the length of the word. */
    unsigned reach = length < 4 ? 1 : length < 9 ? 2 : length < 12 ? 3 : 4, nearest = 0;

    if (size == 0)
        return;
    buffer[0] = '\0';
    /* Each turn takes the next name in the order (distance, index). */
    for (int turn = 0; turn < SUGGEST_MOST; turn++) {
        size_t best = count;
        unsigned best_distance = reach + 1;

        for (size_t i = 0; i < count; i++) {
            unsigned distance = distance_to(typed, name_at(context, i));

            if (turn > 0 && (distance < nearest || (distance == nearest && i <= last)))
                continue; /* offered already */
            if (distance < best_distance) {
                best = i;
                best_distance = distance;
            }
        }
        if (best == count)
            break;
        if (turn == 0 && best_distance + 1 < reach)
            reach = best_distance + 1; /* ignore names much further than the best */
        append(buffer, size, turn == 0 ? "; did you mean '" : " or '");
        append(buffer, size, name_at(context, best));
        append(buffer, size, "'");
        nearest = best_distance;
        last = best;
    }
    if (buffer[0] != '\0')
        append(buffer, size, "?");
    else
        list_known(count, name_at, context, buffer, size);
}

bool cv_is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

void cv_text_done(struct cv_text *text)
{
    if (text == NULL)
        return;
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

void cv_text_add(struct cv_text *text, const char *format, ...)
{
    va_list arguments;
    int added;

    if (text->failed)
        return;
    va_start(arguments, format);
    added = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (added < 0 || (size_t)added > SIZE_MAX - 1 - text->length) {
        text->failed = true;
        return;
    }
    if (!CV_ROOM(text->bytes, &text->capacity, text->length + (size_t)added + 1)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, text->capacity - text->length, format,
              arguments);
    va_end(arguments);
    text->length += (size_t)added;
}

char *cv_text_take(struct cv_text *text, struct cv_arena *arena)
{
    char *copy =
        text->failed || text->bytes == NULL ? NULL : cv_arena_text(arena, text->bytes);

    cv_text_done(text);
    return copy;
}

size_t cv_utf8(const char *text, size_t length, uint32_t *out_code)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t code;
    size_t n;

    if (length == 0)
        return 0;
    code = bytes[0];
    n = code < 0x80 ? 1 : code < 0xc0 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
    if (n == 0 || n > length || code >= 0xf8)
        return 0;
    if (n > 1)
        code &= 0x7fu >> n;
    for (size_t i = 1; i < n; i++) {
        if (bytes[i] >> 6 != 2)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fu);
    }
    if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    if (out_code != NULL)
        *out_code = code;
    return n;
}

/* Not visible: spaces of other widths, marks that reorder or hide text, and
 * noncharacters. */
static bool shows(uint32_t code)
{
    static const uint32_t hidden[][2] = {
        { 0x00, 0x20 },     { 0x7f, 0xa0 },     { 0xad, 0xad },     { 0x2000, 0x200f },
        { 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 }, { 0xfeff, 0xfeff },
        { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i][0] && code <= hidden[i][1])
            return false;
    return true;
}

bool cv_printable(const char *text, size_t length, bool spaces)
{
    uint32_t code;

    for (size_t at = 0, n; at < length; at += n) {
        n = cv_utf8(text + at, length - at, &code);
        if (n == 0 || !(shows(code) || (spaces && code == ' ')))
            return false;
    }
    return true;
}

size_t cv_show_one(const char *text, size_t length, char out[CV_SHOWN_ROOM])
{
    static const char hex[] = "0123456789abcdef";
    uint32_t code;
    const size_t n = cv_utf8(text, length, &code);

    if (n > 0 && (shows(code) || code == ' ')) {
        memcpy(out, text, n);
        out[n] = '\0';
        return n;
    }
    memcpy(out, "\\x", 2);
    out[2] = hex[(unsigned char)text[0] >> 4];
    out[3] = hex[(unsigned char)text[0] & 15];
    out[4] = '\0';
    return 1;
}

const char *cv_shown(const char *text, size_t length, char *buffer, size_t size)
{
    size_t used = 0, fits = 0; /* fits: where "..." may still be put */

    if (size < 4) {
        if (size > 0)
            buffer[0] = '\0';
        return buffer;
    }
    for (size_t at = 0; at < length;) {
        char piece[CV_SHOWN_ROOM];
        size_t width;

        at += cv_show_one(text + at, length - at, piece);
        width = strlen(piece);
        if (used + width >= size) {
            memcpy(buffer + fits, "...", 4);
            return buffer;
        }
        memcpy(buffer + used, piece, width);
        used += width;
        if (used + 4 <= size)
            fits = used;
    }
    buffer[used] = '\0';
    return buffer;
}
