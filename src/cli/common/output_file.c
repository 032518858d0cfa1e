/* output_file.c -- files that the user names, to write results to.
 * SPDX-License-Identifier: MIT */
#include "cli/common/output_file.h"

#include <errno.h>
#include <string.h>
#include "cli/common/output.h"

static int cannot_write(const struct cv_output_file *out, int status, const char *why)
{
    char shown[CV_ECHO_ROOM];

    return cv_print_error(status, "%s: cannot write '%s': %s", out->option,
                          cv_echo(out->path, shown), why);
}

int cv_output_open(struct cv_output_file *out, const char *option, const char *path,
                   unsigned how)
{
    char shown[CV_ECHO_ROOM];
    struct cleave_error err;

    *out = (struct cv_output_file){ .option = option, .path = path, .made.fd = -1 };
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        return CV_EXIT_DONE;
    }
    switch (cv_new_file_open(path, how, &out->made, &err)) {
    case CLEAVE_OK:
        break;
    case CLEAVE_EREFUSED:
        return cv_print_error(CV_EXIT_USAGE, "%s: '%s' exists; use --force to replace it",
                              option, cv_echo(path, shown));
    default:
        return cannot_write(out, CV_EXIT_USAGE, err.text);
    }
    out->file = fdopen(out->made.fd, "w");
    if (out->file != NULL)
        return CV_EXIT_DONE;
    cv_new_file_drop(&out->made);
    return cannot_write(out, CV_EXIT_USAGE, strerror(errno));
}

int cv_output_place(struct cv_output_file *out)
{
    struct cleave_error err;

    if (fflush(out->file) != 0)
        return cannot_write(out, CV_EXIT_FAILED, strerror(errno));
    if (ferror(out->file)) /* and what was not taken is gone by now, with the reason */
        return cannot_write(out, CV_EXIT_FAILED, "not all of it was taken");
    if (cv_new_file_place(&out->made, &err) != CLEAVE_OK)
        return cannot_write(out, CV_EXIT_FAILED, err.text);
    return CV_EXIT_DONE;
}

int cv_output_close(struct cv_output_file *out, bool failed)
{
    int status = failed ? CV_EXIT_FAILED : CV_EXIT_DONE;

    if (out->file == stdout) /* closed at the very end, when a failure is told */
        return status;
    if (!failed)
        status = cv_output_place(out);
    out->made.fd = -1; /* the stream closes it */
    if (fclose(out->file) != 0 && status == CV_EXIT_DONE)
        status = cannot_write(out, CV_EXIT_FAILED, strerror(errno));
    cv_new_file_drop(&out->made);
    return status;
}

void cv_output_drop(struct cv_output_file *out)
{
    (void)cv_output_close(out, true);
}
