/* split_regex.c -- records that start with a line that matches an expression.
 * SPDX-License-Identifier: MIT
 *
 * re_match of glibc is used rather than regexec: it takes any bytes with their length, and
 * tries the start of the line alone. Only the first LINE_LOOK bytes of a line are shown to
 * it, which bounds both what has to be read to judge a line and its offsets, which are
 * ints. An expression with a newline sees the lines behind, too. Most lines are turned down before by the plain text that every match begins with,
 * if RE has some. */
#include "run/split/split_kind.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

enum { LINE_LOOK = 65536 };

static enum cv_start_verdict judge_regex(const struct cv_splitter *splitter,
                                         const struct cv_view *view, size_t line)
{
    const char *text = view->bytes + line;
    const size_t left = view->length - line;
    const char *end;
    size_t seen;
    bool cut; /* whether the line is longer than what is looked at */

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
        return CV_IS_NOT; /* the end of the input is no line */
    seen = cut ? LINE_LOOK : end != NULL ? (size_t)(end - text) : left;
    if (!cut && seen > 0 && text[seen - 1] == '\r' && !splitter->many_lines)
        seen--;
    /* Out of memory, -2, counts as no match: the chunk gets longer, no worse. */
    return re_match(cut ? splitter->regex_cut : splitter->regex, text, (regoff_t)seen, 0,
                    NULL) >= 0
               ? CV_IS_START
               : CV_IS_NOT;
}

static bool next_regex(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t *out)
{
    return cv_next_line(splitter, view, from, out, judge_regex);
}

static bool last_regex(const struct cv_splitter *splitter, const struct cv_view *view,
                       size_t from, size_t to, size_t *out)
{
    return cv_last_line(splitter, view, from, to, out, judge_regex);
}

/* How many bytes of plain ASCII text every match of the expression begins with. */
static size_t plain_start(const char *expression)
{
    size_t length = 0;

    if (strchr(expression, '|') != NULL)
        return 0;
    while (isascii((unsigned char)expression[length]) && expression[length] != '\0' &&
           strchr(".[]()*+?{}^$\\\r\n", expression[length]) == NULL)
        length++;
    /* A repetition that may be none takes back the letter before it. */
    if (length > 0 && (expression[length] == '*' || expression[length] == '?' ||
                       expression[length] == '{'))
        length--;
    return length;
}

/* Compile an expression, or say why it cannot be. */
static enum cleave_status compile(const char *expression, bool many_lines, regex_t **out,
                                  struct cleave_error *err)
{
    char shown[128], reason[128];
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
                   cv_shown(expression, strlen(expression), shown, sizeof shown), reason);
}

/* The bytes behind the first one of a bracket expression, up to its end. */
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

/* A backslash before a letter that does not mean what it seems to mean: glibc takes \n for
 * the letter n, and so on. NULL: there is none. */
static const char *vain_escape(const char *expression)
{
    for (const char *at = expression; *at != '\0'; at++) {
        if (*at == '[') {
            const char *end = bracket_end(at + 1);

            for (; at < end; at++) /* no escapes here: a backslash is one of the set */
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

/* Write \n and \r as the bytes they stand for, in place. */
static void write_out(char *expression)
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

/* Whether something in the expression does not mean what it seems to. */
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
    write_out(expression);
    status = set_up(splitter, expression, err);
    free(expression);
    return status;
}

void cv_split_regex_free(struct cv_splitter *splitter)
{
    regex_t *both[] = { splitter->regex, splitter->regex_cut };

    for (size_t i = 0; i < 2; i++)
        if (both[i] != NULL) {
            regfree(both[i]);
            free(both[i]);
        }
    free(splitter->prefix);
}

const struct cv_split_kind cv_split_regex = {
    .name = "regex",
    .takes = "RE",
    .behind = 1,
    .parse = parse_regex,
    .next = next_regex,
    .last = last_regex,
};
