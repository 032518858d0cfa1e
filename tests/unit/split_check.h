/* split_check.h -- every way to cut an input, against its boundaries.
 * SPDX-License-Identifier: MIT
 *
 * For unit tests and for fuzzing: a broken promise aborts, with its name. */
#ifndef SPLIT_CHECK_H
#define SPLIT_CHECK_H
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/input/cut_file.h"
#include "run/input/cut_window.h"
#include "split_reference.h"

struct split_input {
    const struct cv_splitter *splitter; /* borrowed */
    const char *bytes;                  /* borrowed */
    size_t n;
    bool *is; /* owned: which offsets are boundaries */
    int fd;   /* owned: the bytes as a file */
};

#define SPLIT_REQUIRE(truth) split_require(truth, #truth, __LINE__)

static inline void split_require(bool truth, const char *text, int line)
{
    if (truth)
        return;
    fprintf(stderr, "split_check.h:%d: %s\n", line, text);
    abort();
}

static inline void split_input_open(struct split_input *input,
                                    const struct cv_splitter *splitter, const char *bytes,
                                    size_t n)
{
    *input = (struct split_input){ splitter, bytes, n, calloc(n + 1, sizeof(bool)),
                                   memfd_create("input", 0) };
    SPLIT_REQUIRE(input->is != NULL && input->fd >= 0);
    SPLIT_REQUIRE(write(input->fd, bytes, n) == (ssize_t)n);
}

static inline void split_input_close(struct split_input *input)
{
    free(input->is);
    close(input->fd);
}

/* The first boundary at or after `offset`. */
static inline size_t split_at(const struct split_input *input, size_t offset)
{
    if (offset > input->n)
        return input->n;
    while (!input->is[offset])
        offset++;
    return offset;
}

static inline uint64_t split_records(const struct split_input *input, size_t from,
                                     size_t to)
{
    uint64_t records = 0;

    for (; from < to; from++)
        records += input->is[from];
    return records;
}

/* A file, cut at every `stride`-th offset, or if that is 0 in an order with leaps. */
static inline void check_file(const struct split_input *input, size_t near, size_t stride)
{
    struct cv_cut_file file;
    uint64_t cut, header;

    cv_cut_file_init(&file, input->splitter, "input", input->fd, input->n);
    file.near = near;
    if (near < 64)
        file.grain = 16; /* a small input shall have several slots */
    for (size_t i = 0; i <= input->n + 2; i += stride > 0 ? stride : 1) {
        const size_t offset = stride > 0 ? i : i * 7919 % (input->n + 3);

        SPLIT_REQUIRE(cv_cut_file_at(&file, offset, &cut, NULL) == CLEAVE_OK);
        SPLIT_REQUIRE(cut == split_at(input, offset));
    }
    SPLIT_REQUIRE(cv_cut_file_header(&file, &header, NULL) == CLEAVE_OK);
    SPLIT_REQUIRE(header == split_at(input, 1) || cv_splitter_frames(input->splitter) ||
                  input->splitter->group != NULL);
    for (size_t i = 0; i <= input->n && input->splitter->group == NULL;
         i += input->n / 5 + 1) {
        const size_t from = split_at(input, i), to = split_at(input, from + i / 2 + 1);
        uint64_t records, same;

        SPLIT_REQUIRE(cv_cut_file_count(&file, from, to, &records, NULL) == CLEAVE_OK);
        SPLIT_REQUIRE(cv_splitter_count_from(input->splitter, file.form, from,
                                             input->bytes + from, to - from, &same,
                                             NULL) == CLEAVE_OK);
        SPLIT_REQUIRE(records == same);
        /* Empty lines alone are not a FASTQ record. */
        SPLIT_REQUIRE(records == split_records(input, from, to) ||
                      (records == 0 && from == 0 && to == input->n));
    }
    cv_cut_file_done(&file);
}

/* Required answer of a window that has seen bytes [start, end). */
static inline void check_answer(const struct split_input *input, size_t start, size_t end,
                                size_t wanted, size_t cut)
{
    const bool ended = end == input->n;
    const size_t first = split_at(input, start + 1);
    size_t limit = wanted < end - start ? start + wanted : end;

    if ((input->splitter->many_lines || input->splitter->group != NULL ||
         cv_splitter_has_tail(input->splitter)) &&
        !ended) {
        SPLIT_REQUIRE(cut == 0 || input->is[start + cut]);
        return; /* how far expressions, groups and names look is their own business */
    }
    if (cut == 0) {
        /* Only the still unknown: the next byte may decide whether `end` is a boundary,
         * or a line that began before (its \r, or the needs of an expression). */
        size_t line = end;

        while (line > start && input->bytes[line - 1] != '\n')
            line--;
        SPLIT_REQUIRE(!ended && first >= (line > start ? line : end));
        return;
    }
    SPLIT_REQUIRE(start + cut <= end && input->is[start + cut]);
    if (start + cut > limit) {
        SPLIT_REQUIRE(first == start + cut); /* the first after all */
    } else {
        /* The last at or before, as far as can be known. */
        size_t last = limit, line = end;

        while (last > start + cut && !input->is[last])
            last--;
        while (line > start && input->bytes[line - 1] != '\n')
            line--;
        SPLIT_REQUIRE(last == start + cut || (!ended && last >= line));
    }
}

/* A stream that comes in pieces, cut into chunks. */
static inline void check_stream(const struct split_input *input, size_t piece,
                                size_t wanted)
{
    struct cv_cut_window window;
    size_t start = 0, end = 0;

    cv_cut_window_init(&window, input->splitter);
    while (start < input->n) {
        /* A block of the exact size lets a sanitizer see reads past the end. */
        char *bytes;
        size_t cut = 77;

        end = input->n - end < piece ? input->n : end + piece;
        bytes = malloc(end - start + 1);
        SPLIT_REQUIRE(bytes != NULL);
        do {
            char *exact = bytes + 1; /* odd addresses too */

            memcpy(exact, input->bytes + start, end - start);
            SPLIT_REQUIRE(cv_cut_window_find(&window, exact, end - start, end == input->n,
                                             wanted, &cut, NULL) == CLEAVE_OK);
            check_answer(input, start, end, wanted, cut);
            /* Less may be asked for after more. */
            SPLIT_REQUIRE(cv_cut_window_find(&window, exact, end - start, end == input->n,
                                             wanted / 3, &cut, NULL) == CLEAVE_OK);
            check_answer(input, start, end, wanted / 3, cut);
            cv_cut_window_take(&window, cut);
            start += cut;
        } while (cut > 0 && start < end);
        free(bytes);
    }
    SPLIT_REQUIRE(start == input->n);
}

#endif
