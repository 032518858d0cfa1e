/* reduction_lines.c -- functions shared by named reductions: lines, numbers and the
 * result. SPDX-License-Identifier: MIT */
#include "run/fold/reduction_lines.h"

#include <ctype.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "base/write_all.h"

/* --- the result --------------------------------------------------------------------------- */

void cv_reduction_flush(struct cv_reduction_sink *sink)
{
    if (sink->error == 0)
        sink->error = cv_write_all(sink->fd, sink->bytes, sink->used);
    sink->used = 0;
}

void cv_reduction_put(struct cv_reduction_sink *sink, const void *bytes, size_t length)
{
    if (length > sizeof sink->bytes - sink->used)
        cv_reduction_flush(sink);
    if (length > sizeof sink->bytes) {
        if (sink->error == 0)
            sink->error = cv_write_all(sink->fd, bytes, length);
        return;
    }
    memcpy(sink->bytes + sink->used, bytes, length);
    sink->used += length;
}

void cv_reduction_put_blanks(struct cv_reduction_sink *sink, size_t count)
{
    while (count-- > 0)
        cv_reduction_put(sink, " ", 1);
}

/* --- lines -------------------------------------------------------------------------------- */

/* Between two looks at *stop. */
enum { LOOK = 1 << 16 };

bool cv_span_is_same(struct cv_text_span a, struct cv_text_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

bool cv_reduction_line(struct cv_named_call *reduction, struct cv_text_span *line,
                       bool *out_ended)
{
    const struct cv_named_part *part;
    const char *end;

    if (++reduction->taken % LOOK == 0 && atomic_load(reduction->stop))
        return false;
    while (reduction->part < reduction->count &&
           reduction->offset == reduction->parts[reduction->part].length) {
        reduction->part++;
        reduction->offset = 0;
    }
    if (reduction->part == reduction->count)
        return false;
    part = &reduction->parts[reduction->part];
    line->at = part->bytes + reduction->offset;
    line->length = part->length - reduction->offset;
    end = memchr(line->at, '\n', line->length);
    if (end != NULL)
        line->length = (size_t)(end - line->at);
    reduction->offset += line->length + (end != NULL);
    *out_ended = end != NULL;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool cv_reduction_field(struct cv_text_span *line, struct cv_text_span *gap,
                        struct cv_text_span *field)
{
    size_t at = 0, end;

    while (at < line->length && is_blank(line->at[at]))
        at++;
    for (end = at; end < line->length && !is_blank(line->at[end]);)
        end++;
    *gap = (struct cv_text_span){ line->at, at };
    *field = (struct cv_text_span){ line->at + at, end - at };
    line->at += end;
    line->length -= end;
    return end > at;
}

/* --- decimal numbers ---------------------------------------------------------------------- */

static size_t count_digits(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && isdigit((unsigned char)*at))
        at++;
    return (size_t)(at - from);
}

enum { SHIFT_MOST = 1000000000 };

bool cv_number_read(struct cv_text_span text, struct cv_number *out)
{
    const char *at = text.at, *end = text.at + text.length;
    bool down;

    *out = (struct cv_number){ .negative = at < end && *at == '-' };
    at += at < end && (*at == '-' || *at == '+');
    out->whole = (struct cv_text_span){ at, count_digits(at, end) };
    at += out->whole.length;
    out->fraction = (struct cv_text_span){ at, 0 };
    if (at < end && *at == '.') {
        out->fraction = (struct cv_text_span){ at + 1, count_digits(at + 1, end) };
        at += 1 + out->fraction.length;
    }
    if (out->whole.length + out->fraction.length == 0)
        return false;
    if (at == end)
        return true;
    if (*at != 'e' && *at != 'E')
        return false;
    at++;
    down = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    for (; at < end && isdigit((unsigned char)*at); at++)
        if (out->shift < SHIFT_MOST)
            out->shift = 10 * out->shift + (*at - '0');
    out->shift = down ? -out->shift : out->shift;
    return at == end;
}

char cv_number_digit(const struct cv_number *number, size_t index)
{
    return index < number->whole.length
               ? number->whole.at[index]
               : number->fraction.at[index - number->whole.length];
}

int64_t cv_number_place(const struct cv_number *number, size_t index)
{
    return (int64_t)number->whole.length - 1 - (int64_t)index + number->shift;
}

size_t cv_number_first(const struct cv_number *number, size_t count)
{
    size_t i = 0;

    while (i < count && cv_number_digit(number, i) == '0')
        i++;
    return i;
}

int cv_number_compare(const struct cv_number *a, const struct cv_number *b)
{
    const size_t na = a->whole.length + a->fraction.length;
    const size_t nb = b->whole.length + b->fraction.length;
    size_t i = cv_number_first(a, na), k = cv_number_first(b, nb);
    const bool zero_a = i == na, zero_b = k == nb;
    const int sign = a->negative ? -1 : 1;

    if (zero_a || zero_b)
        return zero_a && zero_b ? 0 : zero_a ? (b->negative ? 1 : -1) : sign;
    if (a->negative != b->negative)
        return sign;
    if (cv_number_place(a, i) != cv_number_place(b, k))
        return cv_number_place(a, i) > cv_number_place(b, k) ? sign : -sign;
    for (; i < na || k < nb; i++, k++) {
        const char da = i < na ? cv_number_digit(a, i) : '0',
                   db = k < nb ? cv_number_digit(b, k) : '0';

        if (da != db)
            return da > db ? sign : -sign;
    }
    return 0;
}

enum cleave_status cv_number_expected(const char *name, size_t column,
                                      struct cv_text_span got, struct cleave_error *err)
{
    char shown[64];

    return cv_fail(err, CLEAVE_EENGINE, "%s: expected a number in column %zu, got '%s'",
                   name, column, cv_shown(got.at, got.length, shown, sizeof shown));
}
