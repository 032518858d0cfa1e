/* exact_sum.c -- sums of columns of decimal numbers. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/fold/reduction_lines.h"

/* A sum is kept in limbs of 9 digits, which may be negative and too large until they are
 * normalized: limb i counts 10^(9 (i - FRACTION)). */
enum {
    BASE = 1000000000,
    GROUP = 9,
    FRACTION = 64,
    LIMBS = 128,
    COLUMNS = 1 << 16,
};
static const uint64_t ADDS = UINT64_C(1)
                             << 32; /* most sums of a group that a limb can hold */

struct column {
    bool is_number;
    bool fixed;        /* a number ends in a zero after its point, as 1.50 */
    uint32_t decimals; /* most digits after the point */
    size_t width;      /* most bytes of blanks and a number; 0: separated otherwise */
    uint64_t adds;
    int64_t limbs[LIMBS];
    struct cv_text_span gap, text; /* borrowed: before the first field; the first field */
};

struct sum {
    struct column *columns; /* owned */
    size_t count, room;
};

/* The carry of the highest limb is lost: false. */
static bool carry(struct column *column)
{
    int64_t over = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        int64_t limb = column->limbs[i] + over;

        over = limb / BASE - (limb % BASE < 0);
        column->limbs[i] = limb - over * BASE;
    }
    /* A negative sum: the highest limb has the sign. */
    column->limbs[LIMBS - 1] += over * BASE;
    column->adds = 1;
    return column->limbs[LIMBS - 1] < BASE && column->limbs[LIMBS - 1] > -BASE;
}

static bool add_number(struct column *column, const struct cv_number *number)
{
    static const int64_t powers[GROUP] = { 1,      10,      100,      1000,     10000,
                                           100000, 1000000, 10000000, 100000000 };
    const size_t count = number->whole.length + number->fraction.length;
    const int64_t sign = number->negative ? -1 : 1;

    if (++column->adds == ADDS && !carry(column))
        return false;
    for (size_t i = cv_number_first(number, count); i < count; i++) {
        const int64_t place = cv_number_place(number, i) + (int64_t)FRACTION * GROUP;
        const int64_t digit = cv_number_digit(number, i) - '0';

        if (digit != 0 && (place < 0 || place >= (int64_t)(LIMBS - 1) * GROUP))
            return false;
        if (digit != 0)
            column->limbs[place / GROUP] += sign * digit * powers[place % GROUP];
    }
    return true;
}

static void note_form(struct column *column, const struct cv_number *number, size_t index,
                      struct cv_text_span gap, size_t length)
{
    const int64_t decimals = (int64_t)number->fraction.length - number->shift;
    size_t blanks = 0;

    while (blanks < gap.length && gap.at[blanks] == ' ')
        blanks++;
    if (blanks == gap.length && blanks >= (index == 0 ? 1 : 2) &&
        blanks + length > column->width)
        column->width = blanks + length;
    if (decimals > column->decimals)
        column->decimals = decimals < (int64_t)FRACTION * GROUP
                               ? (uint32_t)decimals
                               : (uint32_t)FRACTION * GROUP;
    if (number->fraction.length > 0 && number->shift == 0 &&
        number->fraction.at[number->fraction.length - 1] == '0')
        column->fixed = true;
}

/* The column of a field, or of one in a partial. All fields are numbers, or all the same text. */
static enum cleave_status find_column(struct sum *sum, size_t index, bool is_number,
                                      struct cv_text_span gap, struct cv_text_span text,
                                      struct column **out, struct cleave_error *err)
{
    struct column *column;

    if (index == COLUMNS)
        return cv_fail(err, CLEAVE_EENGINE, "sum: expected at most %d columns", COLUMNS);
    if (!CV_ROOM(sum->columns, &sum->room, index + 1))
        return cv_fail_memory(err, "a sum");
    column = *out = &sum->columns[index];
    if (index == sum->count) {
        *column = (struct column){ .is_number = is_number, .gap = gap, .text = text };
        sum->count++;
    }
    if (is_number == column->is_number &&
        (is_number || cv_span_is_same(text, column->text)))
        return CLEAVE_OK;
    return cv_number_expected("sum", index + 1, is_number ? column->text : text, err);
}

static enum cleave_status sum_field(struct sum *sum, size_t index,
                                    struct cv_text_span gap, struct cv_text_span field,
                                    struct cleave_error *err)
{
    struct column *column;
    struct cv_number number;
    const bool is_number = cv_number_read(field, &number);

    CV_TRY(find_column(sum, index, is_number, gap, field, &column, err));
    if (!is_number)
        return CLEAVE_OK;
    note_form(column, &number, index, gap, field.length);
    if (add_number(column, &number))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EENGINE,
        "sum: expected numbers of at most %d digits before and after the point",
        (LIMBS - FRACTION - 1) * GROUP);
}

static struct cv_text_span read_text(const char **at, size_t length)
{
    const struct cv_text_span text = { *at, length };

    *at += length;
    return text;
}

/* A partial is the columns, each followed by its gap and its text. */
static enum cleave_status sum_partial(struct sum *sum, const struct cv_named_part *part,
                                      struct cleave_error *err)
{
    const char *at = part->bytes, *end = part->bytes + part->length;

    for (size_t i = 0; at < end; i++) {
        struct column other, *column;

        memcpy(&other, read_text(&at, sizeof other).at, sizeof other);
        other.gap = read_text(&at, other.gap.length);
        other.text = read_text(&at, other.text.length);
        CV_TRY(find_column(sum, i, other.is_number, other.gap, other.text, &column, err));
        column->fixed |= other.fixed;
        if (other.decimals > column->decimals)
            column->decimals = other.decimals;
        if (other.width > column->width)
            column->width = other.width;
        for (size_t limb = 0; limb < LIMBS; limb++)
            column->limbs[limb] += other.limbs[limb];
    }
    return CLEAVE_OK;
}

enum { NUMBER_ROOM = LIMBS * (GROUP + 1) + 4 };

/* Returns the length. */
static size_t put_group(char *out, size_t at, int digits, int64_t limb)
{
    return (size_t)snprintf(out + at, NUMBER_ROOM - at, "%0*" PRId64, digits, limb);
}

/* The limbs are normalized. Returns the length. */
static size_t format_sum(const struct column *column, char out[NUMBER_ROOM])
{
    struct column sum = *column;
    const bool negative = sum.limbs[LIMBS - 1] < 0;
    size_t high = LIMBS - 1, length = 0, decimals = sum.decimals, point;

    for (size_t i = 0; negative && i < LIMBS; i++)
        sum.limbs[i] = -sum.limbs[i];
    carry(&sum);
    while (high > FRACTION && sum.limbs[high] == 0)
        high--;
    if (negative)
        out[length++] = '-';
    length += put_group(out, length, 1, sum.limbs[high]);
    while (high-- > FRACTION)
        length += put_group(out, length, GROUP, sum.limbs[high]);
    point = length++;
    out[point] = '.';
    for (size_t i = FRACTION; i-- > 0;)
        length += put_group(out, length, GROUP, sum.limbs[i]);
    while (!sum.fixed && decimals > 0 && out[point + decimals] == '0')
        decimals--;
    return decimals > 0 ? point + 1 + decimals : point;
}

static void put_sum(struct cv_reduction_sink *sink, const struct column *column,
                    size_t index)
{
    const size_t least = index == 0 ? 0 : 1;
    struct cv_text_span text = column->text;
    char number[NUMBER_ROOM];

    if (column->is_number)
        text = (struct cv_text_span){ number, format_sum(column, number) };
    if (column->width == 0)
        cv_reduction_put(sink, column->gap.at, column->gap.length);
    else
        cv_reduction_put_blanks(sink, column->width > text.length + least
                                          ? column->width - text.length
                                          : least);
    cv_reduction_put(sink, text.at, text.length);
}

static enum cleave_status write_sum(struct cv_named_call *reduction, struct sum *sum,
                                    struct cleave_error *err)
{
    for (size_t i = 0; i < sum->count; i++) {
        struct column *column = &sum->columns[i];

        if (!carry(column))
            return cv_fail(err, CLEAVE_EENGINE, "sum: it has more than %d digits",
                           (LIMBS - FRACTION - 1) * GROUP);
        if (reduction->last) {
            put_sum(reduction->sink, column, i);
            continue;
        }
        cv_reduction_put(reduction->sink, column, sizeof *column);
        cv_reduction_put(reduction->sink, column->gap.at, column->gap.length);
        cv_reduction_put(reduction->sink, column->text.at, column->text.length);
    }
    if (reduction->last)
        cv_reduction_put(reduction->sink, sum->count > 0 ? "\n" : "0\n",
                         sum->count > 0 ? 1 : 2);
    return CLEAVE_OK;
}

static enum cleave_status add_up(struct cv_named_call *reduction, struct sum *sum,
                                 struct cleave_error *err)
{
    struct cv_text_span line, gap, field;
    bool ended;

    for (; reduction->part < reduction->count; reduction->part++) {
        const size_t part = reduction->part;

        reduction->offset = 0;
        if (reduction->parts[part].is_partial) {
            CV_TRY(sum_partial(sum, &reduction->parts[part], err));
            continue;
        }
        while (reduction->offset < reduction->parts[part].length &&
               cv_reduction_line(reduction, &line, &ended))
            for (size_t i = 0; cv_reduction_field(&line, &gap, &field); i++)
                CV_TRY(sum_field(sum, i, gap, field, err));
        if (atomic_load(reduction->stop))
            return CLEAVE_OK;
    }
    return write_sum(reduction, sum, err);
}

enum cleave_status cv_reduce_sum(struct cv_named_call *reduction,
                                 struct cleave_error *err)
{
    struct sum sum = { NULL, 0, 0 };
    const enum cleave_status status = add_up(reduction, &sum, err);

    free(sum.columns);
    return status;
}
