/* run_sink.c -- where the outputs of cleave run go. SPDX-License-Identifier: MIT
 *
 * A result that lacks the output of a chunk looks like one that does not: so a file has the
 * name that was asked for only if nothing is missing, as with a target of make. What a run
 * got done before it failed or was stopped is not thrown away either. */
#include "cli/run/run_sink.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/common/output.h"

static int cannot_write(const struct cv_run_sink *sink, int status,
                        const struct cleave_error *err)
{
    char shown[CV_ECHO_ROOM];

    return cv_print_error(status, "%s: cannot write '%s': %s", sink->option,
                          cv_echo(sink->path, shown), err->text);
}

static bool names_file(const char *path)
{
    return path != NULL && strcmp(path, "-") != 0;
}

bool cv_run_output_is_file(const struct cv_run_options *values)
{
    return names_file(values->output);
}

int cv_run_sink_open(struct cv_run_sink *sink, const char *option, const char *path,
                     int *out_descriptor)
{
    struct cleave_error err;

    *sink = (struct cv_run_sink){ .option = option, .file.fd = -1, .on_stdout = true };
    *out_descriptor = STDOUT_FILENO;
    if (!names_file(path))
        return CV_EXIT_DONE;
    sink->path = path;
    if (cv_new_file_open(path, 0, &sink->file, &err) != CLEAVE_OK)
        return cannot_write(sink, CV_EXIT_USAGE, &err);
    *out_descriptor = sink->file.fd;
    sink->on_stdout = sink->file.copy_of == STDOUT_FILENO;
    return CV_EXIT_DONE;
}

/* Say where what there is of a result can be found. */
static void tell_part(const struct cv_run_sink *sink)
{
    char shown[CV_ECHO_ROOM];

    if (sink->file.replaces)
        cv_print_error(CV_EXIT_FAILED, "'%s' is as it was; the new one is not whole: %s",
                       cv_echo(sink->path, shown), sink->file.beside);
    else
        cv_print_error(CV_EXIT_FAILED, "'%s' was not made; what there is of it: %s",
                       cv_echo(sink->path, shown), sink->file.beside);
}

int cv_run_sink_close(struct cv_run_sink *sink, bool whole, int status)
{
    struct cleave_error err;
    bool placed = false;

    if (sink->file.fd < 0)
        return status;
    if (whole && sink->file.beside != NULL) {
        placed = cv_new_file_place(&sink->file, &err) == CLEAVE_OK;
        if (!placed)
            status = cannot_write(sink, CV_EXIT_FAILED, &err);
    }
    if (!placed && sink->file.beside != NULL &&
        (sink->kept || cv_new_file_size(&sink->file) == 0)) {
        cv_new_file_drop(&sink->file);
        return status;
    }
    if (!placed && sink->file.beside != NULL)
        tell_part(sink);
    if (cv_new_file_close(&sink->file, &err) != CLEAVE_OK && status == CV_EXIT_DONE)
        status = cannot_write(sink, CV_EXIT_FAILED, &err);
    return status;
}

/* What has to do with outputs as a whole, if it was asked for; NULL: nothing. */
static const char *wants_whole(const struct cv_run_options *values)
{
    return values->retries > 1 || values->isolate ? "--retries and --isolate"
           : values->journal != NULL              ? "--journal"
           : values->reduce != NULL               ? "--reduce"
           : values->header_out != NULL           ? "--header-out"
           : values->persistent                   ? "--persistent"
                                                  : NULL;
}

int cv_run_lines_check(const struct cv_run_options *values)
{
    const char *other = wants_whole(values);

    if (!values->line_buffer || other == NULL)
        return CV_EXIT_DONE;
    return cv_print_error(
        CV_EXIT_USAGE,
        "with --line-buffer lines of a chunk are gone before it is done: "
        "expected no %s",
        other);
}

int cv_run_group_check(const struct cv_run_options *values)
{
    if (!values->group || !(values->line_buffer || values->ungroup))
        return CV_EXIT_DONE;
    return cv_print_error(CV_EXIT_USAGE,
                          "expected --group, for outputs as a whole, or %s, got both",
                          values->ungroup ? "--ungroup" : "--line-buffer");
}

bool cv_run_shows_early(const struct cv_run_options *values)
{
    struct stat out;

    if (values->group || values->line_buffer || values->unordered ||
        cv_run_output_is_file(values) || wants_whole(values) != NULL)
        return false;
    /* Nobody waits for what is in a file. */
    return fstat(STDOUT_FILENO, &out) == 0 && !S_ISREG(out.st_mode);
}
