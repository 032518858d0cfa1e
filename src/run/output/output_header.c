/* output_header.c -- the header of outputs: written once, or repeated by mistake.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/output/ordered_output_internal.h"
#include "run/split/split.h"

enum {
    LOOK = 4096, /* bytes examined first */
    SHOWN = 100, /* characters of a line in a message */
    BEFORE = 30, /* characters before the difference, if the line is long */
};

/* Lines that a program writes differently each time, and the remedy. */
static const struct {
    const char *begin, *has, *what;
} fickle[] = {
    { "##bcftools_", "Date=",
      "; bcftools writes the time into it: type 'bcftools COMMAND --no-version'" },
    { "@PG\t", "PN:samtools",
      "; samtools writes its command into it: type 'samtools COMMAND --no-PG'" },
};

/* Without the newline. */
static size_t line_length(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);

    return newline != NULL ? (size_t)(newline - bytes) : length;
}

static const char *advice(const char *line, size_t length)
{
    for (size_t i = 0; i < sizeof fickle / sizeof *fickle; i++) {
        const size_t begin = strlen(fickle[i].begin);

        if (length > begin && memcmp(line, fickle[i].begin, begin) == 0 &&
            memmem(line, length, fickle[i].has, strlen(fickle[i].has)) != NULL)
            return fickle[i].what;
    }
    return "";
}

/* Show the first line that differs, around the difference if it is long. */
static enum cleave_status refuse(const struct cv_ordered_output *outputs,
                                 const char *bytes, size_t length,
                                 struct cleave_error *err)
{
    const char *const both[] = { outputs->head, bytes };
    const size_t ends[] = { outputs->head_length, length };
    char shown[2][SHOWN];
    size_t line = 0, at = 0, from;

    for (; at < length && at < outputs->head_length && bytes[at] == outputs->head[at];
         at++)
        line = bytes[at] == '\n' ? at + 1 : line;
    from = at > line + SHOWN / 2 ? at - BEFORE : line;
    for (size_t i = 0; i < 2; i++)
        cv_shown(both[i] + from, line_length(both[i] + from, ends[i] - from), shown[i],
                 sizeof shown[i]);
    return cv_fail(err, CLEAVE_EENGINE,
                   "output.header: expected the header '%s%s', as in the first output, "
                   "got '%s%s'%s",
                   from > line ? "..." : "", shown[0], from > line ? "..." : "", shown[1],
                   advice(bytes + line, line_length(bytes + line, length - line)));
}

/* Compare with the header of the first output, or store it. */
static enum cleave_status judge(struct cv_ordered_output *outputs,
                                struct cv_chunk_output *store, const char *bytes,
                                size_t length, struct cleave_error *err)
{
    if (outputs->head == NULL) {
        outputs->head = malloc(length > 0 ? length : 1);
        if (outputs->head == NULL)
            return cv_fail_memory(err, "the header of outputs");
        memcpy(outputs->head, bytes, length);
        outputs->head_length = length;
        return CLEAVE_OK;
    }
    if (length == outputs->head_length && memcmp(bytes, outputs->head, length) == 0) {
        cv_chunk_output_drop_front(store, length);
        return CLEAVE_OK;
    }
    return refuse(outputs, bytes, length, err);
}

enum cleave_status cv_ordered_output_head(struct cv_ordered_output *outputs,
                                          struct cv_chunk_output *store,
                                          struct cleave_error *err)
{
    const uint64_t size = cv_chunk_output_size(store);
    enum cleave_status status = CLEAVE_OK;
    char *bytes = NULL;
    bool found = false;

    if (outputs->options.head == NULL || size == 0)
        return CLEAVE_OK;
    for (size_t look = LOOK; !found && status == CLEAVE_OK; look *= 4) {
        const size_t length = look < size ? look : (size_t)size;
        size_t end = 0;

        free(bytes);
        bytes = calloc(1, length);
        if (bytes == NULL) {
            status = cv_fail_memory(err, "the header of an output");
            break;
        }
        status = !cv_chunk_output_peek(store, 0, bytes, length)
                     ? cv_fail(err, CLEAVE_EENGINE, "cannot read an output again")
                     : cv_splitter_head(outputs->options.head, bytes, length,
                                        length == size, &found, &end, err);
        if (found && end < length && bytes[end] == bytes[0] &&
            (bytes[0] == '@' || bytes[0] == '#'))
            outputs->head_goes_on = bytes[0];
        if (status == CLEAVE_OK && found)
            status = judge(outputs, store, bytes, end, err);
    }
    free(bytes);
    return status;
}

/* --- a repeated header --------------------------------------------------------------- */

/* Commands that write a header write it once per chunk, and a user may not know. The first lines
 * of all outputs are compared. */

void cv_repeated_header_look(struct cv_ordered_output *outputs,
                             const struct cv_chunk_output *store)
{
    struct cv_repeated_header *alike = &outputs->alike;
    const uint64_t size = cv_chunk_output_size(store);
    char line[CV_ALIKE] = "";
    size_t length = size < CV_ALIKE ? (size_t)size : CV_ALIKE - 1;

    if (alike->differ || size == 0 || outputs->options.head != NULL)
        return;
    if (store->passed > 0 || !cv_chunk_output_peek(store, 0, line, length)) {
        alike->differ = true; /* unknown */
        return;
    }
    length = strcspn(line, "\n");
    line[length] = '\0';
    if (alike->outputs == 0)
        memcpy(alike->line, line, length + 1);
    alike->differ = strcmp(alike->line, line) != 0;
    alike->outputs++;
}

const char *cv_ordered_output_same_line(const struct cv_ordered_output *outputs)
{
    return outputs->alike.outputs > 1 && !outputs->alike.differ ? outputs->alike.line
                                                                : "";
}
