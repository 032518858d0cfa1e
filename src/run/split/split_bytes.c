/* split_bytes.c -- records that end in a byte, or are all of one size.
 * SPDX-License-Identifier: MIT */
#include "run/split/split_kind.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "base/text.h"

/* --- ends in a byte: lines, nul, jsonl -------------------------------------------------- */

static bool next_ended(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t *out)
{
    const char *end;

    if (from == 0 || from > view->length) {
        *out = from;
        return from == 0;
    }
    end = memchr(view->bytes + from - 1, splitter->byte, view->length - from + 1);
    *out = end != NULL ? (size_t)(end - view->bytes) + 1 : view->length + 1;
    return end != NULL;
}

static bool last_ended(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t to, size_t *out)
{
    const char *end = memrchr(view->bytes + from - 1, splitter->byte, to - from + 1);

    *out = end != NULL ? (size_t)(end - view->bytes) + 1 : to + 1;
    return end != NULL;
}

static enum cleave_status parse_nul(struct cv_splitter *splitter, const char *argument,
                                    struct cleave_error *err)
{
    (void)argument;
    (void)err;
    splitter->byte = '\0';
    return CLEAVE_OK;
}

const struct cv_split_kind cv_split_lines = {
    .name = "lines",
    .ends_in_byte = true,
    .behind = 1,
    .next = next_ended,
    .last = last_ended,
};

/* JSON has no newlines within its strings, so a record of JSON lines is a line. */
const struct cv_split_kind cv_split_jsonl = {
    .name = "jsonl",
    .ends_in_byte = true,
    .behind = 1,
    .next = next_ended,
    .last = last_ended,
};

const struct cv_split_kind cv_split_nul = {
    .name = "nul",
    .ends_in_byte = true,
    .behind = 1,
    .parse = parse_nul,
    .next = next_ended,
    .last = last_ended,
};

/* Bytes that the compiler puts side by side in a vector register. */
typedef uint8_t vector __attribute__((vector_size(16)));
enum { WIDTH = 4 * sizeof(vector) };

/* All ones, which is -1, in places that are the same. */
static inline vector compare(const char *bytes, vector same)
{
    vector some;

    memcpy(&some, bytes, sizeof some);
    return (vector)(some == same);
}

static uint64_t sum_of(vector sum)
{
    uint64_t count = 0;

    for (size_t i = 0; i < sizeof sum; i++)
        count += sum[i];
    return count;
}

/* Count in `turns` times WIDTH bytes, at most 255, as far as a byte can count. Four sums by
 * name stay in registers; as an array they did not, and took four times as long. */
static uint64_t count_vectors(const char *bytes, size_t turns, vector same)
{
    vector a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

    for (; turns > 0; turns--, bytes += WIDTH) {
        a -= compare(bytes, same);
        b -= compare(bytes + sizeof a, same);
        c -= compare(bytes + 2 * sizeof a, same);
        d -= compare(bytes + 3 * sizeof a, same);
    }
    return sum_of(a) + sum_of(b) + sum_of(c) + sum_of(d);
}

uint64_t cv_count_byte(const char *bytes, size_t length, char byte)
{
    vector same;
    uint64_t count = 0;

    memset(&same, (uint8_t)byte, sizeof same);
    while (length >= WIDTH) {
        const size_t turns = length / WIDTH < 255 ? length / WIDTH : 255;

        count += count_vectors(bytes, turns, same);
        bytes += turns * WIDTH;
        length -= turns * WIDTH;
    }
    for (; length > 0; length--)
        count += *bytes++ == byte;
    return count;
}

/* --- all of one size: fixed ------------------------------------------------------------- */

static bool next_fixed(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t *out)
{
    const uint64_t size = splitter->record_bytes;
    const uint64_t over = (view->offset + from) % size;
    const uint64_t step = over == 0 ? 0 : size - over;

    if (from > view->length || step > view->length - from) {
        *out = from > view->length ? from : view->length + 1;
        return false;
    }
    *out = from + (size_t)step;
    return true;
}

static bool last_fixed(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t to, size_t *out)
{
    const uint64_t over = (view->offset + to) % splitter->record_bytes;

    *out = over > to - from ? to + 1 : to - (size_t)over;
    return *out <= to;
}

static enum cleave_status parse_fixed(struct cv_splitter *splitter, const char *argument,
                                      struct cleave_error *err)
{
    const double max = 0x1p53; /* whole numbers up to here are exact */
    char shown[64];
    double size = 0;

    if (cv_quantity_parse(argument, CV_UNITS, &size) != NULL || !(size >= 1) ||
        size > max || size != floor(size))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'fixed:BYTES' with a whole number of bytes from 1 on, "
                       "such as 4096 or 64Ki, got '%s'",
                       cv_shown(argument, strlen(argument), shown, sizeof shown));
    splitter->record_bytes = (uint64_t)size;
    return CLEAVE_OK;
}

const struct cv_split_kind cv_split_fixed = {
    .name = "fixed",
    .takes = "BYTES",
    .parse = parse_fixed,
    .next = next_fixed,
    .last = last_fixed,
};
