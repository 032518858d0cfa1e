/* named_reduction.c -- the reductions that cleave does itself. SPDX-License-Identifier: MIT */
#include "run/fold/reduction_lines.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/shell_word.h"
#include "base/text.h"

/* --- names -------------------------------------------------------------------------------- */

enum { LINES_DEFAULT = 10 };
static const double LINES_MOST = 1e15;

/* Short options of sort(1) that keep merging of sorted files right. */
static const char sort_flags[] = "bdfghiMnrsuVz", sort_values[] = "kStT";

static enum cleave_status check_sort_options(const char *options,
                                             struct cleave_error *err)
{
    while (*options != '\0') {
        const size_t length = strcspn(options, " ");
        size_t at = 1;

        while (options[0] == '-' && at < length &&
               strchr(sort_flags, options[at]) != NULL)
            at++;
        if (length > 0 && (options[0] != '-' || length == 1 ||
                           (at < length && strchr(sort_values, options[at]) == NULL)))
            return cv_fail(err, CLEAVE_EINPUT,
                           "sort: expected short options of sort(1) out of -%s, -kKEY, "
                           "-tCHAR, -SSIZE and -TDIR, got '%s'",
                           sort_flags, CV_SHOWN(options, 64));
        options += length;
        /* the value of -k 2 is the next word */
        if (length > 0 && at + 1 == length && *options != '\0')
            options += 1 + strcspn(options + 1, " ");
        options += strspn(options, " ");
    }
    return CLEAVE_OK;
}

static enum cleave_status parse_lines(const char *text, const char *number, uint64_t *out,
                                      struct cleave_error *err)
{
    char *rest = NULL;

    *out = LINES_DEFAULT;
    if (number == NULL)
        return CLEAVE_OK;
    if (isdigit((unsigned char)*number))
        *out = strtoull(number, &rest, 10);
    if (rest != NULL && *rest == '\0' && *out >= 1 && (double)*out <= LINES_MOST)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT, "expected %.4s:N with 1 or more lines, got '%s'",
                   text, CV_SHOWN(text, 64));
}

enum cleave_status cv_named_reduction_parse(const char *text,
                                            struct cv_named_reduction *out,
                                            struct cleave_error *err)
{
    static const struct {
        const char *name;
        enum cv_named_kind kind;
        uint64_t lines; /* 0: from the text */
    } known[] = {
        { "sum", CV_NAMED_SUM, 1 },       { "count", CV_NAMED_COUNT, 1 },
        { "min", CV_NAMED_MIN, 1 },       { "max", CV_NAMED_MAX, 1 },
        { "sort", CV_NAMED_SORT, 0 },     { "uniq", CV_NAMED_UNIQ, 1 },
        { "counts", CV_NAMED_COUNTS, 1 }, { "first", CV_NAMED_HEAD, 1 },
        { "last", CV_NAMED_TAIL, 1 },     { "head", CV_NAMED_HEAD, 0 },
        { "tail", CV_NAMED_TAIL, 0 },
    };
    const size_t length = strcspn(text, ":");
    const char *rest = text[length] == ':' ? text + length + 1 : NULL;

    *out = (struct cv_named_reduction){ .kind = CV_NAMED_NONE };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || strncmp(text, known[i].name, length) != 0)
            continue;
        *out = (struct cv_named_reduction){ .kind = known[i].kind,
                                            .lines = known[i].lines,
                                            .options = rest != NULL ? rest : "" };
        if (known[i].lines > 0 && rest != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "expected %s without ':', got '%s'",
                           known[i].name, CV_SHOWN(text, 64));
        return known[i].kind == CV_NAMED_SORT ? check_sort_options(out->options, err)
               : known[i].lines == 0          ? parse_lines(text, rest, &out->lines, err)
                                              : CLEAVE_OK;
    }
    return CLEAVE_OK;
}

bool cv_named_is_commutative(const struct cv_named_reduction *how)
{
    /* Without -s and -u, sort(1) compares equal keys as whole lines. */
    return how->kind == CV_NAMED_SUM || how->kind == CV_NAMED_COUNT ||
           how->kind == CV_NAMED_COUNTS ||
           (how->kind == CV_NAMED_SORT && strpbrk(how->options, "su") == NULL);
}

static void add_options(const char *options, struct cv_text *out)
{
    while (*options != '\0') {
        const size_t length = strcspn(options, " ");
        struct cv_text word = { NULL, 0, 0, false };

        if (length > 0) {
            cv_text_add(&word, "%.*s", (int)length, options);
            cv_text_add(out, " ");
            cv_sh_words_add(out, (const char *const[]){ word.bytes, NULL });
        }
        out->failed |= word.failed;
        cv_text_done(&word);
        options += length + (options[length] == ' ');
    }
}

void cv_named_sort_command(const struct cv_named_reduction *how, bool sorted,
                           struct cv_text *out)
{
    /* Outputs that are sorted already need only be merged. */
    if (!sorted) {
        cv_text_add(out, "for f in {}; do sort -C");
        add_options(how->options, out);
        cv_text_add(out, " \"$f\" || exec sort");
        add_options(how->options, out);
        cv_text_add(out, " {}; done; ");
    }
    cv_text_add(out, "exec sort -m");
    add_options(how->options, out);
    cv_text_add(out, " {}");
}

/* --- count -------------------------------------------------------------------------------- */

static enum cleave_status reduce_count(struct cv_named_call *reduction,
                                       struct cleave_error *err)
{
    uint64_t count = 0;
    char text[32];

    (void)err;
    for (size_t i = 0; i < reduction->count; i++) {
        const struct cv_named_part *part = &reduction->parts[i];
        const char *at = part->bytes, *end = at + part->length;

        if (part->is_partial) {
            memcpy(text, part->bytes, part->length < 31 ? part->length : 31);
            text[part->length < 31 ? part->length : 31] = '\0';
            count += strtoull(text, NULL, 10);
            continue;
        }
        for (const char *next; at < end; at = next + 1, count++) {
            next = memchr(at, '\n', (size_t)(end - at));
            if (next == NULL)
                next = end - 1;
        }
    }
    cv_reduction_put(reduction->sink, text,
                     (size_t)snprintf(text, sizeof text, "%" PRIu64 "\n", count));
    return CLEAVE_OK;
}

/* --- lines that are kept ------------------------------------------------------------------ */

static void end_line(struct cv_reduction_sink *sink)
{
    if (sink->lacks_end)
        cv_reduction_put(sink, "\n", 1);
    sink->lacks_end = false;
}

static void put_line(struct cv_reduction_sink *sink, struct cv_text_span line, bool ended)
{
    end_line(sink);
    cv_reduction_put(sink, line.at, line.length);
    sink->lacks_end = !ended;
    if (ended)
        cv_reduction_put(sink, "\n", 1);
}

static enum cleave_status reduce_extreme(struct cv_named_call *reduction,
                                         struct cleave_error *err)
{
    const bool min = reduction->how->kind == CV_NAMED_MIN;
    struct cv_text_span line, left, gap, field, best = { NULL, 0 };
    struct cv_number number, found = { false };
    bool ended;

    while (cv_reduction_line(reduction, &line, &ended)) {
        int order;

        left = line;
        if (!cv_reduction_field(&left, &gap, &field))
            continue;
        if (!cv_number_read(field, &number))
            return cv_number_expected(min ? "min" : "max", 1, field, err);
        order = best.at != NULL ? cv_number_compare(&number, &found) : 0;
        if (best.at != NULL && (min ? order >= 0 : order <= 0))
            continue;
        best = line;
        found = number;
    }
    if (best.at != NULL)
        put_line(reduction->sink, best, true);
    return CLEAVE_OK;
}

static enum cleave_status reduce_uniq(struct cv_named_call *reduction,
                                      struct cleave_error *err)
{
    struct cv_text_span line, before = { NULL, 0 };
    bool ended;

    (void)err;
    for (; cv_reduction_line(reduction, &line, &ended); before = line)
        if (before.at == NULL || !cv_span_is_same(before, line))
            put_line(reduction->sink, line, true);
    return CLEAVE_OK;
}

static void put_lines(struct cv_named_call *reduction, uint64_t count)
{
    struct cv_text_span line;
    bool ended;

    while (count-- > 0 && cv_reduction_line(reduction, &line, &ended))
        put_line(reduction->sink, line, ended);
    /* A line without an end is the last of its output; another output follows. */
    if (reduction->sink->lacks_end && cv_reduction_line(reduction, &line, &ended))
        end_line(reduction->sink);
}

static enum cleave_status reduce_head(struct cv_named_call *reduction,
                                      struct cleave_error *err)
{
    (void)err;
    put_lines(reduction, reduction->how->lines);
    return CLEAVE_OK;
}

static enum cleave_status reduce_tail(struct cv_named_call *reduction,
                                      struct cleave_error *err)
{
    uint64_t left = reduction->how->lines;

    (void)err;
    reduction->part = reduction->count;
    while (left > 0 && reduction->part > 0) {
        const struct cv_named_part *part = &reduction->parts[--reduction->part];

        for (reduction->offset = part->length; left > 0 && reduction->offset > 0;
             left--) {
            /* the end of the line before */
            const char *end = memrchr(part->bytes, '\n', reduction->offset - 1);

            reduction->offset = end != NULL ? (size_t)(end + 1 - part->bytes) : 0;
        }
    }
    put_lines(reduction, UINT64_MAX);
    return CLEAVE_OK;
}

/* --- all of them -------------------------------------------------------------------------- */

enum cleave_status cv_named_reduce(const struct cv_named_reduction *how,
                                   const struct cv_named_part *parts, size_t count,
                                   bool last, int fd, const atomic_bool *stop,
                                   struct cleave_error *err)
{
    static enum cleave_status (*const reduce[])(struct cv_named_call *,
                                                struct cleave_error *) = {
        [CV_NAMED_SUM] = cv_reduce_sum,  [CV_NAMED_COUNT] = reduce_count,
        [CV_NAMED_MIN] = reduce_extreme, [CV_NAMED_MAX] = reduce_extreme,
        [CV_NAMED_UNIQ] = reduce_uniq,   [CV_NAMED_COUNTS] = cv_reduce_counts,
        [CV_NAMED_HEAD] = reduce_head,   [CV_NAMED_TAIL] = reduce_tail,
    };
    struct cv_reduction_sink *sink = malloc(sizeof *sink);
    struct cv_named_call reduction = { .how = how,
                                       .parts = parts,
                                       .count = count,
                                       .last = last,
                                       .sink = sink,
                                       .stop = stop };
    enum cleave_status status;
    int error;

    if (sink == NULL)
        return cv_fail_memory(err, "a reduction");
    sink->fd = fd;
    sink->error = 0;
    sink->used = 0;
    sink->lacks_end = false;
    status = reduce[how->kind](&reduction, err);
    if (status == CLEAVE_OK)
        cv_reduction_flush(sink);
    error = sink->error;
    free(sink);
    return status == CLEAVE_OK && error != 0
               ? cv_fail_errno(err, error, "cannot write a partial result")
               : status;
}
