/* split_json.c -- values of JSON, over any number of lines. SPDX-License-Identifier: MIT
 *
 * The input is values one after the other, or one array, whose values are the records; the
 * first byte that is no space tells which, unless json:values was asked for. A record of an
 * array begins with the comma before its value, which is not given to the command: that gets
 * the head of the array, its values, and its end.
 *
 * What counts is how deep a byte is and whether it is in a string, 64 bytes at a time: the
 * running parity of quotes that are not escaped tells what is in strings; brackets outside
 * change the depth. Only where the depth comes down to that of the records are they looked
 * at one after the other, and 64 bytes that hold anything else (a number between records, the
 * end of the array, a backslash outside a string) are done byte by byte. */
#include "run/split/split_kind.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_mask.h"

/* Bits of walk->phase. The depth is walk->sequence; bytes of a byte order mark at the start
 * are walk->quality. */
enum {
    DECIDED = 1, /* whether it is an array */
    ARRAY = 2,
    STRING = 4,
    ESCAPED = 8, /* the byte before was a backslash in a string        */
    SCALAR = 16, /* within a number or the like between records         */
    ENDED = 32,  /* the array is closed                                 */
    OPENED = 64, /* the array has begun, and no value has come          */
    COMMA = 128, /* a comma between its values, behind which none has come */
};
enum { STEP = 64 };

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static enum cleave_status fail_byte(struct cv_walk *walk, const char *expected, char got,
                                    struct cleave_error *err)
{
    char shown[8];

    walk->bad = true;
    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected %s, got '%s'",
                   walk->at, expected, cv_shown(&got, 1, shown, sizeof shown));
}

/* --- byte by byte ------------------------------------------------------------------------- */

/* What kind of input it is, by the first byte of a record. *skip: it is before all. */
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

/* Behind a comma there has to be a value: cut there, what is no JSON would become some. */
static enum cleave_status value_byte(struct cv_walk *walk, char byte,
                                     struct cleave_error *err)
{
    const bool ends = byte == ']' || byte == '}';

    if ((byte == ',' && (walk->phase & (OPENED | COMMA)) != 0) ||
        (ends && (walk->phase & COMMA) != 0))
        return fail_byte(walk, "a JSON value", byte, err);
    walk->phase &= ~(OPENED | COMMA);
    walk->phase |= byte == ',' ? COMMA : walk->sequence == 0 ? OPENED : 0;
    return CLEAVE_OK;
}

/* A byte that is in no record of an array deeper than its values; or between values. */
static enum cleave_status outer_byte(struct cv_walk *walk, char byte, bool *starts,
                                     struct cleave_error *err)
{
    const bool array = (walk->phase & ARRAY) != 0;

    if (walk->phase & ENDED)
        return fail_byte(walk,
                         "the end of the input behind its array (json:values: arrays are "
                         "values)",
                         byte, err);
    if (array) { /* at its start, or between its values */
        *starts = byte == ',';
        return value_byte(walk, byte, err);
    }
    if (byte == ',' || byte == ']' || byte == '}')
        return fail_byte(walk, "a JSON value", byte, err);
    *starts = byte == '"' || byte == '{' || byte == '[' || (walk->phase & SCALAR) == 0;
    walk->phase |= SCALAR;
    return CLEAVE_OK;
}

/* The next byte changes the state; *starts tells whether a record begins with it. */
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

/* A record begins at walk->at. False: the walk ends there. */
static bool begin_record(struct cv_walk *walk)
{
    if (!walk->begun)
        return true;
    walk->boundary = walk->at;
    walk->found++;
    walk->begun = false;
    return walk->at < walk->until;
}

static enum cleave_status slowly(const struct cv_splitter *splitter, struct cv_walk *walk,
                                 const char *bytes, size_t length, bool *stop,
                                 struct cleave_error *err)
{
    for (size_t i = 0; i < length; i++) {
        const int phase = walk->phase;
        const uint64_t depth = walk->sequence;
        bool starts = false, skip = false;

        if ((phase & DECIDED) == 0)
            decide(splitter, walk, bytes[i], &skip);
        if (!skip)
            CV_TRY(next_byte(walk, bytes[i], &starts, err));
        if (starts && !begin_record(walk)) {
            walk->phase = phase; /* as if the byte had not been seen */
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

/* Bit i of the result is the parity of the bits 0 to i. */
static uint64_t running_parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Which bytes follow a backslash that is not escaped itself. *carry: whether the one behind
 * does. */
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

/* What 64 bytes are. */
struct marks {
    uint64_t string, opens, closes; /* the latter two outside strings */
    bool escaping;                  /* the byte behind them is escaped */
};

static bool find_marks(int phase, const char *bytes, struct marks *out)
{
    const uint64_t backslashes = cv_mask64(bytes, '\\');
    uint64_t quotes = cv_mask64(bytes, '"');

    out->escaping = false;
    if (backslashes != 0 || (phase & ESCAPED) != 0)
        quotes &= ~escaped_by(backslashes, (phase & ESCAPED) != 0, &out->escaping);
    out->string = running_parity(quotes) ^ ((phase & STRING) != 0 ? UINT64_MAX : 0);
    if ((backslashes & ~out->string) != 0)
        return false;
    out->opens = (cv_mask64(bytes, '{') | cv_mask64(bytes, '[')) & ~out->string;
    out->closes = (cv_mask64(bytes, '}') | cv_mask64(bytes, ']')) & ~out->string;
    return true;
}

/* Follow the depth from bracket to bracket; *starts are bytes that begin a record: commas
 * at depth 1 of an array, and brackets at depth 0 with nothing but space between them. */
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

/* Whether a value is behind each of these commas, as far as the bytes show; *phase keeps
 * whether one is missing yet. A sum carries a bit over the spaces behind a comma. */
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

/* Take 64 bytes from one state to the next; false: they take more than that. */
static bool quickly(struct cv_walk *walk, const char *bytes, uint64_t *starts)
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
        *starts &= *starts - 1; /* the one at which it begins */
    walk->sequence = depth;
    walk->phase = phase & ~(STRING | ESCAPED);
    walk->phase |=
        (marks.string >> 63 != 0 ? STRING : 0) | (marks.escaping ? ESCAPED : 0);
    return true;
}

/* Count the records that start in the 64 bytes just done. False: the walk ends within. */
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
        if (step == STEP && quickly(walk, bytes + done, &starts)) {
            walk->at += STEP;
            stop = !count_starts(walk, starts);
        } else {
            CV_TRY(slowly(splitter, walk, bytes + done, step, &stop, err));
        }
    }
    return CLEAVE_OK;
}

static bool whole_json(const struct cv_walk *walk)
{
    return (walk->phase & STRING) == 0 && walk->sequence == 0;
}

/* The bracket of an array, with what is before it; nothing of other values. */
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
    char shown[64];

    if (strcmp(argument, "values") == 0)
        splitter->byte = 'v';
    else if (argument[0] != '\0')
        return cv_fail(err, CLEAVE_EINPUT, "expected 'json' or 'json:values', got '%s'",
                       cv_shown(argument, strlen(argument), shown, sizeof shown));
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
