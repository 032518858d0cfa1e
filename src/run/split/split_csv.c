/* split_csv.c -- splitter of comma-separated values. SPDX-License-Identifier: MIT
 *
 *   csv, csv:;, csv:tab   after every newline outside of quotes. A quote opens only at the start of a
 *                         field, so that the one of 5" pipe is plain text; "" within quotes is a quote.
 *                         A quote that is never closed makes the rest one record
 *
 * The state is READY where a quote would open (at the start of a field, or after a closing quote,
 * where it is a quote within quotes), PLAIN, or QUOTED. The START of a record is ready, too; a byte
 * order mark there is ignored, because a chunk that begins there looks like a file. If quotes are
 * only where RFC 4180 has them, the state is the parity of the quotes so far, and 64 bytes are done
 * at once: their running parity takes a few shifts. If a quote opens by parity, but not by the byte
 * before it, the 64 bytes are done one by one.
 *
 * Whether a newline is quoted depends on all quotes since a known record start. */
#include "run/split/split_kind.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_mask.h"

enum { START, READY, PLAIN, QUOTED, MARK_1, MARK_2 }; /* MARK: within a byte order mark */
enum { STEP = 64 };

static const char byte_order_mark[3] = "\xef\xbb\xbf";

/* The phase after 64 bytes that end outside of quotes. */
static int phase_after(const char *bytes, uint64_t ends, bool opens_next)
{
    if (ends >> 63 != 0)
        return START;
    if ((ends >> 62 & 1) != 0 && bytes[63] == byte_order_mark[0])
        return MARK_1;
    if ((ends >> 61 & 1) != 0 && memcmp(bytes + 62, byte_order_mark, 2) == 0)
        return MARK_2;
    if ((ends >> 60 & 1) != 0 && memcmp(bytes + 61, byte_order_mark, 3) == 0)
        return READY;
    return opens_next ? READY : PLAIN;
}

/* Process 64 bytes; *ends has a bit for each byte that ends a record. False: parity is not enough. */
static bool walk_64(char separator, int *phase, const char *bytes, uint64_t *ends)
{
    const uint64_t quotes = cv_mask64(bytes, '"'), newlines = cv_mask64(bytes, '\n');
    uint64_t opens_next, quoted, quoted_before;

    if (quotes == 0) {
        *ends = *phase == QUOTED ? 0 : newlines;
        if (*phase != QUOTED)
            *phase = phase_after(bytes, *ends, bytes[63] == separator);
        return true;
    }
    opens_next = cv_mask64(bytes, separator) | newlines | quotes;
    quoted = cv_running_parity(quotes) ^ (*phase == QUOTED ? UINT64_MAX : 0);
    quoted_before = quoted << 1 | (*phase == QUOTED);
    if ((quotes & ~quoted_before & ~(opens_next << 1 | (*phase <= READY))) != 0)
        return false;
    *ends = newlines & ~quoted;
    *phase =
        quoted >> 63 != 0 ? QUOTED : phase_after(bytes, *ends, opens_next >> 63 != 0);
    return true;
}

static int phase_of_plain(int phase, char byte)
{
    if (phase == START && byte == byte_order_mark[0])
        return MARK_1;
    if (phase == MARK_1 && byte == byte_order_mark[1])
        return MARK_2;
    return phase == MARK_2 && byte == byte_order_mark[2] ? READY : PLAIN;
}

/* Process up to 64 bytes; the result has a bit for each byte that ends a record. */
static uint64_t walk_bytes(char separator, int *phase, const char *bytes, size_t length)
{
    uint64_t ends = 0;

    for (size_t i = 0; i < length; i++) {
        const char byte = bytes[i];

        if (*phase == QUOTED) {
            if (byte == '"')
                *phase = READY;
        } else if (byte == '"') {
            if (*phase <= READY)
                *phase = QUOTED;
        } else if (byte == '\n') {
            *phase = START;
            ends |= UINT64_C(1) << i;
        } else if (byte == separator) {
            *phase = READY;
        } else {
            *phase = phase_of_plain(*phase, byte);
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
        if (step < STEP || walk->phase >= MARK_1 ||
            !walk_64(splitter->byte, &walk->phase, bytes + done, &ends))
            ends = walk_bytes(splitter->byte, &walk->phase, bytes + done, step);
        walk->at = at + step;
        walk->begun = true;
        if (ends == 0)
            continue;
        last = at + 64 - (unsigned)__builtin_clzll(ends);
        if (last >= walk->until) {
            /* Go back to the first end at or after `until`. */
            uint64_t early = walk->until > at + 1 ? walk->until - at - 1 : 0;

            last = at + 1 + (unsigned)__builtin_ctzll(ends >> early << early);
            ends &= UINT64_MAX >> (63 - (last - at - 1));
            walk->at = last;
            walk->phase = START;
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
                       CV_SHOWN(argument, 64));
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
