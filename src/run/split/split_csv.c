/* split_csv.c -- records of comma-separated values. SPDX-License-Identifier: MIT
 *
 * A reader is in one of three states: READY where a quote would open (at the start of a
 * field, or right after a closing quote, where it means a quote within quotes), PLAIN, or
 * QUOTED. As long as quotes stand only where RFC 4180 has them, the state is the parity of
 * the quotes so far, and 64 bytes are done at once: the running parity of all of them is a
 * few shifts of the mask of their quotes. Wherever a quote opens by its parity alone, but
 * not by the byte before it, those 64 bytes are done one by one.
 *
 * Near a cut one cannot tell whether a newline is within quotes: it takes the parity of
 * all quotes since the last record start that is known. */
#include "run/split/split_kind.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_mask.h"

enum { READY, PLAIN, QUOTED };
enum { STEP = 64 };

/* Bit i of the result is the parity of the bits 0 to i. */
static uint64_t running_parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Both take up to 64 bytes from *phase to the phase after them and return, as bits, which
 * bytes end a record. `quick` needs 64, and declines them if that takes more than
 * parities. */
static bool quick(char separator, int *phase, const char *bytes, uint64_t *ends)
{
    const uint64_t quotes = cv_mask64(bytes, '"'), newlines = cv_mask64(bytes, '\n');
    uint64_t opens_next, quoted, quoted_before;

    if (quotes == 0) {
        *ends = *phase == QUOTED ? 0 : newlines;
        if (*phase != QUOTED)
            *phase = bytes[63] == separator || bytes[63] == '\n' ? READY : PLAIN;
        return true;
    }
    opens_next = cv_mask64(bytes, separator) | newlines | quotes;
    quoted = running_parity(quotes) ^ (*phase == QUOTED ? UINT64_MAX : 0);
    quoted_before = quoted << 1 | (*phase == QUOTED);
    if ((quotes & ~quoted_before & ~(opens_next << 1 | (*phase == READY))) != 0)
        return false;
    *ends = newlines & ~quoted;
    *phase = quoted >> 63 != 0 ? QUOTED : opens_next >> 63 != 0 ? READY : PLAIN;
    return true;
}

static uint64_t one_by_one(char separator, struct cv_walk *walk, const char *bytes,
                           size_t length)
{
    static const char byte_order_mark[3] = "\xef\xbb\xbf";
    uint64_t ends = 0;

    for (size_t i = 0; i < length; i++) {
        const char byte = bytes[i];

        if (walk->phase == QUOTED) {
            if (byte == '"')
                walk->phase = READY;
        } else if (byte == '"') {
            if (walk->phase == READY)
                walk->phase = QUOTED;
        } else if (byte == '\n') {
            walk->phase = READY;
            ends |= UINT64_C(1) << i;
        } else if (byte == separator) {
            walk->phase = READY;
        } else if (walk->mark < 3 && walk->mark == walk->at + i &&
                   byte == byte_order_mark[walk->mark]) {
            walk->mark++;
            walk->phase = walk->mark == 3 ? READY : PLAIN; /* the first field begins */
        } else {
            walk->phase = PLAIN;
        }
    }
    return ends;
}

static enum cleave_status walk_csv(const struct cv_splitter *splitter,
                                   struct cv_walk *walk, const char *bytes, size_t length,
                                   struct cleave_error *err)
{
    (void)err;
    for (size_t done = 0, step; done < length; done += step) {
        const uint64_t at = walk->at;
        uint64_t ends = 0, last;

        step = length - done < STEP ? length - done : STEP;
        if (step < STEP || at < 3 ||
            !quick(splitter->byte, &walk->phase, bytes + done, &ends))
            ends = one_by_one(splitter->byte, walk, bytes + done, step);
        walk->at = at + step;
        walk->begun = true;
        if (ends == 0)
            continue;
        last = at + 64 - (unsigned)__builtin_clzll(ends);
        if (last >= walk->until) {
            /* Go back to the first of them that is far enough. */
            uint64_t early = walk->until > at + 1 ? walk->until - at - 1 : 0;

            last = at + 1 + (unsigned)__builtin_ctzll(ends >> early << early);
            ends &= UINT64_MAX >> (63 - (last - at - 1));
            walk->at = last;
            walk->phase = READY;
        }
        walk->found += (unsigned)__builtin_popcountll(ends);
        walk->boundary = last;
        walk->begun = walk->at > last;
        if (last >= walk->until)
            break;
    }
    return CLEAVE_OK;
}

static bool whole_csv(const struct cv_walk *walk)
{
    return walk->phase != QUOTED;
}

static enum cleave_status parse_csv(struct cv_splitter *splitter, const char *argument,
                                    struct cleave_error *err)
{
    char shown[64];

    if (strcmp(argument, "tab") == 0)
        splitter->byte = '\t';
    else if (argument[0] == '\0')
        splitter->byte = ',';
    else if (argument[1] == '\0' && strchr("\"\r\n", argument[0]) == NULL)
        splitter->byte = argument[0];
    else
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'csv:' and one character between fields, or 'tab', "
                       "got '%s'",
                       cv_shown(argument, strlen(argument), shown, sizeof shown));
    return CLEAVE_OK;
}

const struct cv_split_kind cv_split_csv = {
    .name = "csv",
    .takes = "SEPARATOR",
    .optional = true,
    .needs_pass = true,
    .parse = parse_csv,
    .walk = walk_csv,
    .whole = whole_csv,
};
