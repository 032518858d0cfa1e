/* fail.c -- fill an error record and return its status. SPDX-License-Identifier: MIT */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cleave/version.h>

const char *cleave_status_text(enum cleave_status status)
{
    switch (status) {
    case CLEAVE_OK:
        return "success";
    case CLEAVE_ENOMEM:
        return "out of memory";
    case CLEAVE_EINPUT:
        return "bad input";
    case CLEAVE_EPOLICY:
        return "policy broke its contract";
    case CLEAVE_EENGINE:
        return "engine failed or was not built";
    case CLEAVE_ESTOPPED:
        return "stopped by a signal";
    case CLEAVE_ECLOSED:
        return "closed by the other side";
    case CLEAVE_ELOST:
        return "lost: the other side is gone";
    case CLEAVE_EREFUSED:
        return "refused by the other side";
    case CLEAVE_EACCOUNT:
        return "input that is not accounted for";
    case CLEAVE_ERESOURCES:
        return "no more processes or open files to be had";
    }
    return "unknown status";
}

int cleave_error_format(const struct cleave_error *err, char *buffer, size_t size)
{
    char place[sizeof err->file + 32] = "";

    if (err->file[0] != '\0' && err->line > 0 && err->column > 0)
        snprintf(place, sizeof place, "%s:%u:%u: ", err->file, err->line, err->column);
    else if (err->file[0] != '\0' && err->line > 0)
        snprintf(place, sizeof place, "%s:%u: ", err->file, err->line);
    else if (err->file[0] != '\0')
        snprintf(place, sizeof place, "%s: ", err->file);
    return snprintf(buffer, size, "%s%s%s%s", place, err->field,
                    err->field[0] != '\0' ? ": " : "", err->text);
}

/* Copy as much of `text` as fits; a cut text ends in "...". */
static void copy_text(char *target, size_t size, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);

    if (length < size) {
        memcpy(target, text == NULL ? "" : text, length + 1);
        return;
    }
    memcpy(target, text, size - 4);
    memcpy(target + size - 4, "...", 4);
}

enum cleave_status cleave_error_set(struct cleave_error *err, enum cleave_status status,
                                    const char *text)
{
    if (err != NULL) {
        memset(err, 0, sizeof *err);
        err->status = status;
        copy_text(err->text, sizeof err->text, text);
    }
    return status;
}

static void fill(struct cleave_error *err, enum cleave_status status,
                 const struct cv_place *place, const char *format, va_list arguments)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    err->status = status;
    if (place != NULL) {
        copy_text(err->file, sizeof err->file, place->file);
        copy_text(err->field, sizeof err->field, place->field);
        err->line = place->line;
        err->column = place->column;
    }
    vsnprintf(err->text, sizeof err->text, format, arguments);
}

enum cleave_status(cv_fail)(struct cleave_error *err, enum cleave_status status,
                            const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(err, status, NULL, format, arguments);
    va_end(arguments);
    return status;
}

enum cleave_status(cv_fail_at)(struct cleave_error *err, const struct cv_place *place,
                               const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(err, CLEAVE_EINPUT, place, format, arguments);
    va_end(arguments);
    return CLEAVE_EINPUT;
}

enum cleave_status(cv_fail_memory)(struct cleave_error *err, const char *what)
{
    return cv_fail(err, CLEAVE_ENOMEM, "out of memory for %s", what);
}

enum cleave_status(cv_fail_stopped)(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_ESTOPPED, "%s", cleave_status_text(CLEAVE_ESTOPPED));
}

const char *cleave_version(void)
{
    return CLEAVE_VERSION;
}

enum cleave_status(cv_fail_errno)(struct cleave_error *err, int error, const char *what)
{
    return cv_fail(err, CLEAVE_EENGINE, "%s: %s", what, strerror(error));
}

enum cleave_status cv_fail_again(struct cleave_error *err,
                                 const struct cleave_error *failure)
{
    if (err != NULL)
        *err = *failure;
    return failure->status;
}

enum cleave_status cv_fail_as(struct cleave_error *err, enum cleave_status status)
{
    if (err != NULL)
        err->status = status;
    return status;
}
