/* key_counts.c -- counts of `uniq -c` added up by key. SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/fold/reduction_lines.h"

struct key {
    struct cv_text_span text;
    uint64_t hash, count;
    char *sorted; /* owned: the text, terminated; NULL: the order is that of bytes */
};

struct counts {
    struct key *keys; /* owned */
    size_t count, room;
    size_t *slots; /* owned: index of a key + 1, or 0; a power of two of them */
    size_t nslots;
    size_t width; /* most bytes of blanks and a count; 0: no blanks */
    char separator;
};

static bool grow_slots(struct counts *counts)
{
    const size_t nslots = counts->nslots > 0 ? 2 * counts->nslots : 1024;
    size_t *slots = calloc(nslots, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < counts->count; i++) {
        size_t at = counts->keys[i].hash & (nslots - 1);

        while (slots[at] != 0)
            at = (at + 1) & (nslots - 1);
        slots[at] = i + 1;
    }
    free(counts->slots);
    counts->slots = slots;
    counts->nslots = nslots;
    return true;
}

/* The key with this text, which is added; NULL: out of memory. */
static struct key *find_key(struct counts *counts, struct cv_text_span text)
{
    const uint64_t hash = XXH3_64bits(text.at, text.length);
    size_t at;

    if (2 * counts->count >= counts->nslots && !grow_slots(counts))
        return NULL;
    for (at = hash & (counts->nslots - 1); counts->slots[at] != 0;
         at = (at + 1) & (counts->nslots - 1)) {
        struct key *key = &counts->keys[counts->slots[at] - 1];

        if (key->hash == hash && cv_span_is_same(key->text, text))
            return key;
    }
    if (!CV_ROOM(counts->keys, &counts->room, counts->count + 1))
        return NULL;
    counts->keys[counts->count] = (struct key){ .text = text, .hash = hash };
    counts->slots[at] = ++counts->count;
    return &counts->keys[counts->count - 1];
}

static enum cleave_status add_count(struct counts *counts, struct cv_text_span line,
                                    struct cleave_error *err)
{
    struct cv_text_span rest = line, gap, field, text;
    const bool any = cv_reduction_field(&rest, &gap, &field);
    struct key *key;
    uint64_t number = 0;
    bool fits = true;
    size_t i;
    char shown[64];

    for (i = 0; any && i < field.length && isdigit((unsigned char)field.at[i]); i++)
        fits = !__builtin_mul_overflow(number, 10, &number) &&
               !__builtin_add_overflow(number, (uint64_t)(field.at[i] - '0'), &number) &&
               fits;
    if (!any || i < field.length)
        return cv_fail(
            err, CLEAVE_EENGINE,
            "counts: expected a count and a key, as 'uniq -c' writes, got '%s'",
            cv_shown(line.at, line.length, shown, sizeof shown));
    text = (struct cv_text_span){ rest.at + (rest.length > 0),
                                  rest.length - (rest.length > 0) };
    if (gap.length > 0 && gap.length + field.length > counts->width)
        counts->width = gap.length + field.length;
    if (counts->separator == '\0' && rest.length > 0)
        counts->separator = rest.at[0];
    key = find_key(counts, text);
    if (key == NULL)
        return cv_fail_memory(err, "counts");
    if (fits && !__builtin_add_overflow(key->count, number, &key->count))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EENGINE, "counts: the count of '%s' is above 2^64 - 1",
                   cv_shown(text.at, text.length, shown, sizeof shown));
}

static int compare_bytes(const struct key *a, const struct key *b)
{
    const size_t least =
        a->text.length < b->text.length ? a->text.length : b->text.length;
    const int order = memcmp(a->text.at, b->text.at, least);

    return order != 0 ? order
                      : (a->text.length > b->text.length) - (least < b->text.length);
}

/* The order of sort(1): by strcoll from one zero byte to the next, then by bytes. */
static int compare_keys(const void *left, const void *right, void *locale)
{
    const struct key *a = left, *b = right;
    size_t at_a = 0, at_b = 0;

    while (a->sorted != NULL && at_a <= a->text.length && at_b <= b->text.length) {
        const int order = strcoll_l(a->sorted + at_a, b->sorted + at_b, locale);

        if (order != 0)
            return order;
        at_a += strlen(a->sorted + at_a) + 1;
        at_b += strlen(b->sorted + at_b) + 1;
    }
    return compare_bytes(a, b);
}

/* Whether the locale of the environment orders text by its bytes. */
static bool is_order_of_bytes(void)
{
    static const char *const names[] = { "LC_ALL", "LC_COLLATE", "LANG" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0')
            return strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0 ||
                   strncmp(value, "C.", 2) == 0;
    }
    return true;
}

static enum cleave_status sort_keys(struct counts *counts, struct cleave_error *err)
{
    const locale_t locale =
        is_order_of_bytes() ? (locale_t)0 : newlocale(LC_COLLATE_MASK, "", (locale_t)0);

    /* sort(1), too, orders by bytes if the machine lacks the locale. */
    for (size_t i = 0; locale != (locale_t)0 && i < counts->count; i++) {
        struct key *key = &counts->keys[i];

        key->sorted = malloc(key->text.length + 1);
        if (key->sorted == NULL) {
            freelocale(locale);
            return cv_fail_memory(err, "counts");
        }
        memcpy(key->sorted, key->text.at, key->text.length);
        key->sorted[key->text.length] = '\0';
    }
    if (counts->count > 1)
        qsort_r(counts->keys, counts->count, sizeof *counts->keys, compare_keys, locale);
    if (locale != (locale_t)0)
        freelocale(locale);
    return CLEAVE_OK;
}

static enum cleave_status count_keys(struct cv_named_call *reduction,
                                     struct counts *counts, struct cleave_error *err)
{
    struct cv_text_span line;
    bool ended;
    char number[32];

    while (cv_reduction_line(reduction, &line, &ended))
        CV_TRY(add_count(counts, line, err));
    CV_TRY(sort_keys(counts, err));
    for (size_t i = 0; i < counts->count; i++) {
        const struct key *key = &counts->keys[i];
        const size_t length =
            (size_t)snprintf(number, sizeof number, "%" PRIu64, key->count);

        cv_reduction_put_blanks(reduction->sink,
                                counts->width > length ? counts->width - length : 0);
        cv_reduction_put(reduction->sink, number, length);
        if (counts->separator != '\0')
            cv_reduction_put(reduction->sink, &counts->separator, 1);
        cv_reduction_put(reduction->sink, key->text.at, key->text.length);
        cv_reduction_put(reduction->sink, "\n", 1);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_reduce_counts(struct cv_named_call *reduction,
                                    struct cleave_error *err)
{
    struct counts counts = { .keys = NULL };
    const enum cleave_status status = count_keys(reduction, &counts, err);

    for (size_t i = 0; i < counts.count; i++)
        free(counts.keys[i].sorted);
    free(counts.keys);
    free(counts.slots);
    return status;
}
