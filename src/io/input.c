/* input.c -- a whole input file in memory. SPDX-License-Identifier: MIT */
#include "io/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

enum { FIRST_READ = 16384 };

const char *cv_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

enum cleave_status cv_input_open(const char *path, FILE **out, struct cleave_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");

    if (file == NULL && errno == ENOMEM)
        return cv_fail_memory(err, "an input file");
    if (file == NULL)
        return cv_fail_at(err, &(struct cv_place){ .file = path }, "cannot open: %s",
                          strerror(errno));
    *out = file;
    return CLEAVE_OK;
}

void cv_input_close(FILE *file)
{
    if (file != NULL && file != stdin)
        fclose(file);
}

/* Read to the end, or one byte more than `limit`. */
static enum cleave_status read_all(FILE *file, const char *name, size_t limit,
                                   char **bytes, size_t *out_length,
                                   struct cleave_error *err)
{
    const struct cv_place place = { .file = name };
    size_t length = 0, capacity = 0;

    for (;;) {
        size_t got;

        if (!CV_ROOM(*bytes, &capacity, length + FIRST_READ + 1))
            return cv_fail_memory(err, "an input file");
        got = fread(*bytes + length, 1, capacity - length - 1, file);
        length += got;
        if (ferror(file))
            return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
        if (length > limit)
            return cv_fail_at(err, &place, "expected a file of at most %zu MiB",
                              limit >> 20);
        if (got == 0)
            break;
    }
    (*bytes)[length] = '\0';
    *out_length = length;
    return CLEAVE_OK;
}

enum cleave_status cv_input_read(const char *path, size_t limit, char **out,
                                 size_t *out_length, struct cleave_error *err)
{
    enum cleave_status status;
    char *bytes = NULL;
    FILE *file;

    CV_TRY(cv_input_open(path, &file, err));
    status = read_all(file, cv_input_name(path), limit, &bytes, out_length, err);
    cv_input_close(file);
    if (status == CLEAVE_OK)
        *out = bytes;
    else
        free(bytes);
    return status;
}
