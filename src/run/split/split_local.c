/* split_local.c -- splitters that need only the bytes near a boundary. SPDX-License-Identifier: MIT
 *
 *   lines, jsonl   after every newline (JSON has no newline within a string)
 *   nul            after every zero byte
 *   fixed:BYTES    at every multiple of BYTES; a shorter last record is incomplete
 *   fasta          before every line that begins with >
 *   paragraph      before a line that is not empty and follows an empty one
 *   regex:RE       before every line at whose first byte a match of the POSIX extended expression RE
 *                  begins. RE sees the first 64 KiB of the line without its end (newline, and a
 *                  carriage return before it). If RE contains a newline (\n), it sees 64 KiB with all
 *                  line ends, and . does not match a newline */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "base/quantity.h"
#include "base/text.h"
#include "run/split/split_kind.h"

/* --- lines, nul, jsonl ------------------------------------------------------------------- */

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

enum cleave_status cv_walk_fail(const struct cv_walk *walk, const char *expected,
                                char got, struct cleave_error *err)
{
    char shown[8];

    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected %s, got '%s'",
                   walk->at, expected, cv_shown(&got, 1, shown, sizeof shown));
}

#define ENDED(end)                                                        \
    .ends_in_byte = true, .byte = (end), .behind = 1, .next = next_ended, \
    .last = last_ended

const struct cv_split_kind cv_split_lines = { .name = "lines", ENDED('\n') };
const struct cv_split_kind cv_split_jsonl = { .name = "jsonl", ENDED('\n') };
const struct cv_split_kind cv_split_nul = { .name = "nul", ENDED('\0') };

/* A vector register. */
typedef uint8_t vector __attribute__((vector_size(16)));
enum { WIDTH = 4 * sizeof(vector) };

/* -1 where the bytes are the same. */
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

/* Count in `turns` * WIDTH bytes; a sum of bytes allows 255 turns. Four named sums stay in registers;
 * an array of them took four times as long. */
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

/* --- fixed ------------------------------------------------------------------------------- */

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
    const double max = 0x1p53; /* larger integers are not exact */
    double size = 0;

    if (cv_quantity_parse(argument, CV_UNITS, &size) != NULL || !(size >= 1) ||
        size > max || size != floor(size))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'fixed:BYTES' with a whole number of bytes, 1 or more, "
                       "such as 4096 or 64Ki, got '%s'",
                       CV_SHOWN(argument, 64));
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

/* --- records that start with a certain line: paragraph, regex ------------------------------- */

static bool next_line(const struct cv_splitter *splitter, const struct cv_view *view,
                      size_t from, size_t *out)
{
    size_t line = from;

    if (from > view->length) {
        *out = from;
        return false;
    }
    for (;; line++) {
        enum cv_verdict verdict;

        if (line > 0) { /* the next line at or after this position */
            const char *end =
                memchr(view->bytes + line - 1, '\n', view->length - line + 1);

            if (end == NULL) {
                *out = view->length + 1;
                return false;
            }
            line = (size_t)(end - view->bytes) + 1;
        }
        verdict = splitter->kind->judge(splitter, view, line);
        if (verdict != CV_IS_NOT || line == view->length) {
            *out = verdict == CV_IS_NOT ? line + 1 : line;
            return verdict == CV_IS_START;
        }
    }
}

static bool last_line(const struct cv_splitter *splitter, const struct cv_view *view,
                      size_t from, size_t to, size_t *out)
{
    size_t line = to + 1, unknown = to + 1;
    const char *end;

    while (line > from &&
           (end = memrchr(view->bytes + from - 1, '\n', line - from)) != NULL) {
        enum cv_verdict verdict;

        line = (size_t)(end - view->bytes) + 1;
        verdict = splitter->kind->judge(splitter, view, line);
        if (verdict == CV_IS_START) {
            *out = line;
            return true;
        }
        if (verdict == CV_NEEDS_MORE)
            unknown = line;
    }
    *out = unknown;
    return false;
}

/* --- fasta ------------------------------------------------------------------------------ */

/* Nearly every '>' is at the start of a line: search for it, not for lines. */
static bool next_fasta(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t *out)
{
    (void)splitter;
    while (from < view->length) {
        const char *mark = memchr(view->bytes + from, '>', view->length - from);
        size_t at;

        if (mark == NULL)
            break;
        at = (size_t)(mark - view->bytes);
        if (at == 0 || mark[-1] == '\n') {
            *out = at;
            return true;
        }
        from = at + 1;
    }
    *out = from > view->length ? from : view->length;
    return false;
}

static bool last_fasta(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t to, size_t *out)
{
    /* The byte at `length` is not known. */
    size_t end = to < view->length ? to + 1 : view->length;

    (void)splitter;
    *out = end > from ? end : from;
    while (end > from) {
        const char *mark = memrchr(view->bytes + from, '>', end - from);

        if (mark == NULL)
            return false;
        end = (size_t)(mark - view->bytes);
        if (mark[-1] == '\n') {
            *out = end;
            return true;
        }
    }
    return false;
}

const struct cv_split_kind cv_split_fasta = {
    .name = "fasta",
    .behind = 1,
    .next = next_fasta,
    .last = last_fasta,
};

/* --- paragraph -------------------------------------------------------------------------- */

/* Whether the line that ends in the newline before `line` is empty. */
static bool after_empty(const struct cv_view *view, size_t line)
{
    const char *before = view->bytes + line - 1; /* the newline */

    if (line > 1 && before[-1] == '\r') {
        before--;
        line--;
    }
    return line == 1 || before[-1] == '\n';
}

static enum cv_verdict judge_paragraph(const struct cv_splitter *splitter,
                                       const struct cv_view *view, size_t line)
{
    const size_t left = view->length - line;

    (void)splitter;
    if (line > 0 && !after_empty(view, line))
        return CV_IS_NOT;
    if (left == 0 || (left == 1 && view->bytes[line] == '\r'))
        return view->ends ? CV_IS_NOT : CV_NEEDS_MORE;
    if (view->bytes[line] == '\n' ||
        (view->bytes[line] == '\r' && view->bytes[line + 1] == '\n'))
        return CV_IS_NOT;
    return CV_IS_START;
}

const struct cv_split_kind cv_split_paragraph = {
    .name = "paragraph",
    .spaced = true,
    .behind = 3,
    .judge = judge_paragraph,
    .next = next_line,
    .last = last_line,
};

/* --- regex ------------------------------------------------------------------------------- */

/* re_match of glibc is used instead of regexec: it takes bytes with a length, and tries only the
 * start of the line. It sees LINE_LOOK bytes, which limits the bytes that must be read and its
 * offsets, which are ints. Most lines are refused before by the plain text that matches begin
 * with, if RE has some. */

enum { LINE_LOOK = 65536 };

static enum cv_verdict judge_regex(const struct cv_splitter *splitter,
                                   const struct cv_view *view, size_t line)
{
    const char *text = view->bytes + line;
    const size_t left = view->length - line;
    const char *end;
    size_t seen;
    bool cut; /* the line is longer than LINE_LOOK */

    if (line == 0 && splitter->opens)
        return left > 0 ? CV_IS_START : view->ends ? CV_IS_NOT : CV_NEEDS_MORE;
    if (left >= splitter->prefix_length &&
        memcmp(text, splitter->prefix, splitter->prefix_length) != 0)
        return CV_IS_NOT;
    if (left >= splitter->prefix_length && splitter->plain)
        return CV_IS_START;
    end = splitter->many_lines
              ? NULL
              : memchr(text, '\n', left > LINE_LOOK ? LINE_LOOK + 1 : left);
    cut = end == NULL && left > LINE_LOOK;
    if (end == NULL && !cut && !view->ends)
        return CV_NEEDS_MORE;
    if (left == 0)
        return CV_IS_NOT; /* the end of the input */
    seen = cut ? LINE_LOOK : end != NULL ? (size_t)(end - text) : left;
    if (!cut && seen > 0 && text[seen - 1] == '\r' && !splitter->many_lines)
        seen--;
    /* Out of memory (-2) counts as no match: the chunk only gets longer. */
    return re_match(cut ? splitter->regex_cut : splitter->regex, text, (regoff_t)seen, 0,
                    NULL) >= 0
               ? CV_IS_START
               : CV_IS_NOT;
}

/* The number of bytes of plain ASCII text that every match begins with. */
static size_t plain_start(const char *expression)
{
    size_t length = 0;

    if (strchr(expression, '|') != NULL)
        return 0;
    while (isascii((unsigned char)expression[length]) && expression[length] != '\0' &&
           strchr(".[]()*+?{}^$\\\r\n", expression[length]) == NULL)
        length++;
    /* A repetition of zero times removes the letter before it. */
    if (length > 0 && (expression[length] == '*' || expression[length] == '?' ||
                       expression[length] == '{'))
        length--;
    return length;
}

static enum cleave_status compile(const char *expression, bool many_lines, regex_t **out,
                                  struct cleave_error *err)
{
    char reason[128];
    regex_t *regex = calloc(1, sizeof *regex);
    int failure;

    if (regex == NULL)
        return cv_fail_memory(err, "an expression");
    failure = regcomp(regex, expression, REG_EXTENDED | (many_lines ? REG_NEWLINE : 0));
    if (failure == 0) {
        *out = regex;
        return CLEAVE_OK;
    }
    regerror(failure, regex, reason, sizeof reason);
    free(regex);
    if (failure == REG_ESPACE)
        return cv_fail_memory(err, "an expression");
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected an extended regular expression, got '%s': %s",
                   CV_SHOWN(expression, 128), reason);
}

/* The end of a bracket expression, given the byte after its first one. */
static const char *bracket_end(const char *at)
{
    if (*at == '^')
        at++;
    if (*at == ']')
        at++;
    while (*at != '\0' && *at != ']') {
        const char kind = at[0] == '[' ? at[1] : '\0';
        const char *closed = NULL;

        if (kind == ':' || kind == '.' || kind == '=')
            closed = strstr(at + 2, (const char[]){ kind, ']', '\0' });
        at = closed != NULL ? closed + 2 : at + 1;
    }
    return at;
}

/* A backslash before a letter that glibc takes for the letter itself; NULL: none. */
static const char *vain_escape(const char *expression)
{
    for (const char *at = expression; *at != '\0'; at++) {
        if (*at == '[') {
            const char *end = bracket_end(at + 1);

            for (; at < end; at++) /* a backslash is not special in brackets */
                if (at[0] == '\\' && at[1] != '\0' && strchr("dstw", at[1]) != NULL)
                    return at;
            if (*at == '\0')
                return NULL;
        } else if (*at == '\\') {
            at++;
            if (isalpha((unsigned char)*at) && strchr("bBsSwW", *at) == NULL)
                return at - 1;
            if (*at == '\0')
                return NULL;
        }
    }
    return NULL;
}

/* Replace \n and \r by the bytes, in place. */
static void unescape(char *expression)
{
    char *to = expression;

    for (const char *at = expression; *at != '\0'; at++) {
        if (at[0] == '\\' && (at[1] == 'n' || at[1] == 'r')) {
            *to++ = *++at == 'n' ? '\n' : '\r';
        } else {
            if (at[0] == '\\' && at[1] != '\0')
                *to++ = *at++;
            *to++ = *at;
        }
    }
    *to = '\0';
}

static enum cleave_status check_letters(const char *expression, struct cleave_error *err)
{
    const char *vain = vain_escape(expression);

    if (vain == NULL)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected an extended regular expression, as of grep -E, got '\\%c', "
                   "which there is the letter %c (%s)",
                   vain[1], vain[1],
                   vain[1] == 'd'   ? "a digit is [0-9]"
                   : vain[1] == 't' ? "write the tab itself"
                                    : "classes are [[:alpha:]] and so on");
}

static enum cleave_status set_up(struct cv_splitter *splitter, const char *expression,
                                 struct cleave_error *err)
{
    const char *plain = expression + (expression[0] == '^');

    CV_TRY(check_letters(expression, err));
    splitter->many_lines = strchr(expression, '\n') != NULL;
    CV_TRY(compile(expression, splitter->many_lines, &splitter->regex, err));
    CV_TRY(compile(expression, splitter->many_lines, &splitter->regex_cut, err));
    splitter->regex_cut->not_eol = 1;
    splitter->prefix_length = plain_start(plain);
    splitter->prefix = strndup(plain, splitter->prefix_length);
    splitter->plain = plain[splitter->prefix_length] == '\0' && plain[0] != '\0';
    return splitter->prefix == NULL ? cv_fail_memory(err, "an expression") : CLEAVE_OK;
}

static enum cleave_status parse_regex(struct cv_splitter *splitter, const char *argument,
                                      struct cleave_error *err)
{
    char *expression = strdup(argument);
    enum cleave_status status;

    if (expression == NULL)
        return cv_fail_memory(err, "an expression");
    unescape(expression);
    splitter->opens = strncmp(expression, "\\`|", 3) == 0;
    status = set_up(splitter, expression + (splitter->opens ? 3 : 0), err);
    free(expression);
    return status;
}

const struct cv_split_kind cv_split_regex = {
    .name = "regex",
    .takes = "RE",
    .behind = 1,
    .parse = parse_regex,
    .judge = judge_regex,
    .next = next_line,
    .last = last_line,
};
