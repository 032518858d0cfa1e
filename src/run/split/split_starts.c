/* split_starts.c -- records that start with a line of some look: fasta, paragraph.
 * SPDX-License-Identifier: MIT */
#include "run/split/split_kind.h"

#include <string.h>

bool cv_next_line(const struct cv_splitter *splitter, const struct cv_view *view,
                  size_t from, size_t *out, cv_judge *judge)
{
    size_t line = from;

    if (from > view->length) {
        *out = from;
        return false;
    }
    for (;; line++) {
        enum cv_start_verdict verdict;

        if (line > 0) { /* the next line that begins here or later */
            const char *end =
                memchr(view->bytes + line - 1, '\n', view->length - line + 1);

            if (end == NULL) {
                *out = view->length + 1;
                return false;
            }
            line = (size_t)(end - view->bytes) + 1;
        }
        verdict = judge(splitter, view, line);
        if (verdict != CV_IS_NOT || line == view->length) {
            *out = verdict == CV_IS_NOT ? line + 1 : line;
            return verdict == CV_IS_START;
        }
    }
}

bool cv_last_line(const struct cv_splitter *splitter, const struct cv_view *view,
                  size_t from, size_t to, size_t *out, cv_judge *judge)
{
    size_t line = to + 1, unknown = to + 1;
    const char *end;

    while (line > from &&
           (end = memrchr(view->bytes + from - 1, '\n', line - from)) != NULL) {
        enum cv_start_verdict verdict;

        line = (size_t)(end - view->bytes) + 1;
        verdict = judge(splitter, view, line);
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

/* Hardly any '>' is not at the start of a line: search for that, not for lines. */
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
    /* Of the byte at `length` nothing is known. */
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

static enum cv_start_verdict judge_paragraph(const struct cv_splitter *splitter,
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

static bool next_paragraph(const struct cv_splitter *splitter, const struct cv_view *view,
                           size_t from, size_t *out)
{
    return cv_next_line(splitter, view, from, out, judge_paragraph);
}

static bool last_paragraph(const struct cv_splitter *splitter, const struct cv_view *view,
                           size_t from, size_t to, size_t *out)
{
    return cv_last_line(splitter, view, from, to, out, judge_paragraph);
}

const struct cv_split_kind cv_split_paragraph = {
    .name = "paragraph",
    .parted = true,
    .behind = 3,
    .next = next_paragraph,
    .last = last_paragraph,
};
