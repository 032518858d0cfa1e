/* split_json.c -- splitter of JSON values over any number of lines. SPDX-License-Identifier: MIT
 *
 *   json          before each value of a sequence, or before each comma of an array that is the whole
 *                 input: the first byte that is not a space decides. Chunks of an array are arrays:
 *                 they get the head and the end of the array, without the comma
 *   json:values   before each value of a sequence; an array at the start is a value
 *
 * Bytes have a depth and are in strings or not. 64 bytes are done at once: the running parity of quotes
 * that are not escaped tells what is in strings, and brackets outside change the depth. Brackets are
 * processed one by one only if the depth falls to that of records. 64 bytes with anything else (a
 * number between records, the end of the array, a backslash outside of a string) are done byte by
 * byte. */
#include "run/split/split_kind.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_mask.h"

/* Bits of walk->phase. walk->sequence: the depth; quality: bytes of a byte order mark. */
enum {
    DECIDED = 1, /* the input is an array or not                    */
    ARRAY = 2,
    STRING = 4,
    ESCAPED = 8, /* after a backslash in a string                   */
    SCALAR = 16, /* within a number, true, false or null            */
    ENDED = 32,  /* the array is closed                             */
    OPENED = 64, /* after the start of the array, before a value    */
    COMMA = 128, /* after a comma of the array, before a value      */
};
enum { STEP = 64 };

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* --- byte by byte ------------------------------------------------------------------------- */

/* Decide by the first byte of a record. *skip: it is a space or a byte order mark. */
static void decide(const struct cv_splitter *splitter, struct cv_walk *walk, char byte,
                   bool *skip)
{
    static const char byte_order_mark[3] = "\xef\xbb\xbf";

    *skip = is_space(byte);
    if (walk->quality < 3 && walk->quality == walk->at &&
        byte == byte_order_mark[walk->quality]) {
        walk->quality++;
        *skip = true;
    }
    if (*skip)
        return;
    walk->phase = DECIDED;
    if (byte == ',' && walk->at == walk->boundary) {
        walk->phase |= ARRAY;
        walk->sequence = 1;
    } else if (byte == '[' && walk->boundary == 0 && splitter->byte != 'v') {
        walk->phase |= ARRAY;
    }
}

/* A value must follow a comma: a cut there would make valid JSON of invalid JSON. */
static enum cleave_status value_byte(struct cv_walk *walk, char byte,
                                     struct cleave_error *err)
{
    const bool ends = byte == ']' || byte == '}';

    if ((byte == ',' && (walk->phase & (OPENED | COMMA)) != 0) ||
        (ends && (walk->phase & COMMA) != 0))
        return cv_walk_fail(walk, "a JSON value", byte, err);
    walk->phase &= ~(OPENED | COMMA);
    walk->phase |= byte == ',' ? COMMA : walk->sequence == 0 ? OPENED : 0;
    return CLEAVE_OK;
}

/* A byte between values, in an array or a sequence. */
static enum cleave_status outer_byte(struct cv_walk *walk, char byte, bool *starts,
                                     struct cleave_error *err)
{
    const bool array = (walk->phase & ARRAY) != 0;

    if (walk->phase & ENDED)
        return cv_walk_fail(
            walk, "the end of the input after its array (json:values: arrays are values)",
            byte, err);
    if (array) { /* at its start, or between its values */
        *starts = byte == ',';
        return value_byte(walk, byte, err);
    }
    if (byte == ',' || byte == ']' || byte == '}')
        return cv_walk_fail(walk, "a JSON value", byte, err);
    *starts = byte == '"' || byte == '{' || byte == '[' || (walk->phase & SCALAR) == 0;
    walk->phase |= SCALAR;
    return CLEAVE_OK;
}

/* *starts: a record begins with this byte. */
static enum cleave_status next_byte(struct cv_walk *walk, char byte, bool *starts,
                                    struct cleave_error *err)
{
    const uint64_t outer = (walk->phase & ARRAY) != 0 ? 1 : 0;

    *starts = false;
    if (walk->phase & ESCAPED) {
        walk->phase &= ~ESCAPED;
        return CLEAVE_OK;
    }
    if (walk->phase & STRING) {
        if (byte == '\\')
            walk->phase |= ESCAPED;
        else if (byte == '"')
            walk->phase &= ~(STRING | SCALAR);
        return CLEAVE_OK;
    }
    if (is_space(byte)) {
        walk->phase &= ~SCALAR;
        return CLEAVE_OK;
    }
    if (walk->sequence <= outer)
        CV_TRY(outer_byte(walk, byte, starts, err));
    if (byte == '"') {
        walk->phase |= STRING;
    } else if (byte == '{' || byte == '[') {
        walk->phase &= ~SCALAR;
        walk->sequence++;
    } else if (byte == '}' || byte == ']') {
        walk->sequence--;
        if (walk->sequence == 0 && outer == 1)
            walk->phase |= ENDED;
    }
    return CLEAVE_OK;
}

static enum cleave_status walk_bytes(const struct cv_splitter *splitter,
                                     struct cv_walk *walk, const char *bytes,
                                     size_t length, bool *stop, struct cleave_error *err)
{
    for (size_t i = 0; i < length; i++) {
        const int phase = walk->phase;
        const uint64_t depth = walk->sequence;
        bool starts = false, skip = false;

        if ((phase & DECIDED) == 0)
            decide(splitter, walk, bytes[i], &skip);
        if (!skip)
            CV_TRY(next_byte(walk, bytes[i], &starts, err));
        if (starts && walk->begun && !cv_walk_begin_record(walk)) {
            walk->phase = phase; /* before this byte */
            walk->sequence = depth;
            *stop = true;
            return CLEAVE_OK;
        }
        walk->begun = walk->begun || !skip;
        walk->at++;
    }
    return CLEAVE_OK;
}

/* --- 64 at once ----------------------------------------------------------------------------- */

/* The bytes after a backslash that is not escaped itself. *carry: the next byte is one. */
static uint64_t escaped_by(uint64_t backslashes, bool first, bool *carry)
{
    uint64_t escaped = first ? 1 : 0;

    *carry = false;
    backslashes &= ~escaped;
    while (backslashes != 0) {
        const uint64_t lowest = backslashes & (~backslashes + 1);

        escaped |= lowest << 1;
        *carry = lowest >> 63 != 0;
        backslashes &= ~(lowest | lowest << 1);
    }
    return escaped;
}

static uint64_t below(unsigned position)
{
    return position < 64 ? (UINT64_C(1) << position) - 1 : UINT64_MAX;
}

struct marks {
    uint64_t string, opens, closes; /* bytes in strings; brackets outside of strings */
    bool escaping;                  /* the next byte is escaped                      */
};

static bool find_marks(int phase, const char *bytes, struct marks *out)
{
    const uint64_t backslashes = cv_mask64(bytes, '\\');
    uint64_t quotes = cv_mask64(bytes, '"');

    out->escaping = false;
    if (backslashes != 0 || (phase & ESCAPED) != 0)
        quotes &= ~escaped_by(backslashes, (phase & ESCAPED) != 0, &out->escaping);
    out->string = cv_running_parity(quotes) ^ ((phase & STRING) != 0 ? UINT64_MAX : 0);
    if ((backslashes & ~out->string) != 0)
        return false;
    out->opens = (cv_mask64(bytes, '{') | cv_mask64(bytes, '[')) & ~out->string;
    out->closes = (cv_mask64(bytes, '}') | cv_mask64(bytes, ']')) & ~out->string;
    return true;
}

/* Follow the depth from bracket to bracket. *starts: bytes that begin a record, which are commas at
 * depth 1 of an array, and brackets at depth 0 with only space between them. */
static bool find_starts(bool array, const char *bytes, const struct marks *marks,
                        uint64_t *depth, uint64_t *starts)
{
    const uint64_t outer = array ? 1 : 0;
    const uint64_t quiet = array ? cv_mask64(bytes, ',') & ~marks->string
                                 : ~(cv_mask64(bytes, ' ') | cv_mask64(bytes, '\n') |
                                     cv_mask64(bytes, '\r') | cv_mask64(bytes, '\t'));
    uint64_t events = marks->opens | marks->closes, now = *depth, begin = 0;

    *starts = 0;
    for (;;) {
        const unsigned at = events != 0 ? (unsigned)__builtin_ctzll(events) : 64;
        const uint64_t bit = at < 64 ? UINT64_C(1) << at : 0;

        if (now == outer) {
            const uint64_t between = quiet & below(at) & ~begin;

            if (!array && between != 0)
                return false;
            *starts |= array ? between : bit & marks->opens;
        }
        if (at == 64)
            break;
        if ((bit & marks->closes) != 0 && now == outer)
            return false;
        now = (bit & marks->opens) != 0 ? now + 1 : now - 1;
        begin = below(at + 1);
        events &= events - 1;
    }
    *depth = now;
    return true;
}

/* Whether a value follows each comma, as far as the bytes show; *phase: one is still missing. An
 * addition carries a bit over the spaces after a comma. */
static bool values_follow(const char *bytes, uint64_t commas, int *phase)
{
    const uint64_t space = cv_mask64(bytes, ' ') | cv_mask64(bytes, '\n') |
                           cv_mask64(bytes, '\r') | cv_mask64(bytes, '\t');
    const int missing = *phase & (OPENED | COMMA);
    uint64_t behind;
    bool carried;

    carried = __builtin_add_overflow(commas << 1 | (missing != 0), space, &behind);
    carried = carried || commas >> 63 != 0;
    *phase &= ~(OPENED | COMMA);
    *phase |= !carried ? 0 : commas != 0 ? COMMA : missing;
    return (behind & ~space & commas) == 0;
}

/* Process 64 bytes. False: they must be done byte by byte. */
static bool walk_64(struct cv_walk *walk, const char *bytes, uint64_t *starts)
{
    const bool array = (walk->phase & ARRAY) != 0;
    uint64_t depth = walk->sequence;
    int phase = walk->phase;
    struct marks marks;
    unsigned closes;

    *starts = 0;
    if ((walk->phase & DECIDED) == 0 || (walk->phase & (ENDED | SCALAR)) != 0 ||
        !find_marks(walk->phase, bytes, &marks))
        return false;
    closes = (unsigned)__builtin_popcountll(marks.closes);
    if (depth > closes + array)
        depth = depth - closes + (unsigned)__builtin_popcountll(marks.opens);
    else if (!find_starts(array, bytes, &marks, &depth, starts))
        return false;
    if (array && (*starts != 0 || (phase & (OPENED | COMMA)) != 0) &&
        !values_follow(bytes, *starts, &phase))
        return false;
    if (!walk->begun)
        *starts &= *starts - 1; /* the start of the walk */
    walk->sequence = depth;
    walk->phase = phase & ~(STRING | ESCAPED);
    walk->phase |=
        (marks.string >> 63 != 0 ? STRING : 0) | (marks.escaping ? ESCAPED : 0);
    return true;
}

/* Count the records that start in the last 64 bytes. False: the walk ends within them. */
static bool count_starts(struct cv_walk *walk, uint64_t starts)
{
    const uint64_t at = walk->at - STEP;
    uint64_t last;

    walk->begun = true;
    if (starts == 0)
        return true;
    last = at + 63 - (unsigned)__builtin_clzll(starts);
    if (last >= walk->until) {
        const uint64_t early = walk->until > at ? walk->until - at : 0;

        last = at + (unsigned)__builtin_ctzll(starts >> early << early);
        starts &= below((unsigned)(last - at) + 1);
        walk->at = last;
        walk->begun = false;
        walk->sequence = (walk->phase & ARRAY) != 0;
        walk->phase &= ~(STRING | ESCAPED | COMMA);
    }
    walk->found += (unsigned)__builtin_popcountll(starts);
    walk->boundary = last;
    return walk->begun;
}

static enum cleave_status walk_json(const struct cv_splitter *splitter,
                                    struct cv_walk *walk, const char *bytes,
                                    size_t length, struct cleave_error *err)
{
    bool stop = false;

    for (size_t done = 0, step; done < length && !stop; done += step) {
        uint64_t starts;

        step = length - done < STEP ? length - done : STEP;
        if (step == STEP && walk_64(walk, bytes + done, &starts)) {
            walk->at += STEP;
            stop = !count_starts(walk, starts);
        } else {
            CV_TRY(walk_bytes(splitter, walk, bytes + done, step, &stop, err));
        }
    }
    return CLEAVE_OK;
}

static bool whole_json(const struct cv_walk *walk)
{
    return (walk->phase & STRING) == 0 && walk->sequence == 0;
}

/* The bracket of an array and the bytes before it. */
static bool head_json(const struct cv_splitter *splitter, const char *bytes,
                      size_t length, size_t *out)
{
    size_t at = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < length && is_space(bytes[at]))
        at++;
    *out = at < length && bytes[at] == '[' && splitter->byte != 'v' ? at + 1 : 0;
    return at < length && length >= 3;
}

static enum cleave_status parse_json(struct cv_splitter *splitter, const char *argument,
                                     struct cleave_error *err)
{
    if (strcmp(argument, "values") == 0)
        splitter->byte = 'v';
    else if (argument[0] != '\0')
        return cv_fail(err, CLEAVE_EINPUT, "expected 'json' or 'json:values', got '%s'",
                       CV_SHOWN(argument, 64));
    return CLEAVE_OK;
}

const struct cv_split_kind cv_split_json = {
    .name = "json",
    .takes = "values",
    .optional = true,
    .needs_pass = true,
    .frames = true,
    .ahead = 1,
    .parse = parse_json,
    .walk = walk_json,
    .whole = whole_json,
    .head = head_json,
};
