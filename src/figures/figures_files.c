/* figures_files.c -- figures as files: NAME.csv and NAME.svg.
 * SPDX-License-Identifier: MIT */
#include "figures/figures_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/output.h"
#include "figures/common/figure_gnuplot.h"
#include "figures/common/figure_plot.h"

enum { PATH_ROOM = 4096 };

static bool path_of(const struct cv_figure_files *files, const struct cv_figure *figure,
                    const char *ending, char path[PATH_ROOM])
{
    return snprintf(path, PATH_ROOM, "%s/%s.%s", files->folder, cv_figure_name(figure),
                    ending) < PATH_ROOM;
}

static int see_free(const struct cv_figure_files *files, const struct cv_figure *figure,
                    const char *ending)
{
    char path[PATH_ROOM], shown[CV_ECHO_ROOM];
    struct stat info;

    if (!path_of(files, figure, ending, path))
        return cv_print_error(CV_EXIT_USAGE, "--out: the path is too long");
    if (!files->force && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return cv_print_error(CV_EXIT_USAGE,
                              "--out: '%s' exists; use --force to replace it",
                              cv_echo(path, shown));
    return CV_EXIT_DONE;
}

int cv_figure_files_begin(const struct cv_figure_files *files,
                          const struct cv_figure *const *figures, size_t count)
{
    char shown[CV_ECHO_ROOM];
    struct cleave_error err;
    struct stat info;
    int status = CV_EXIT_DONE;

    if (files->svg && cv_gnuplot_check(&err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_ENGINE,
                              "--out: %s; install gnuplot, or use --csv-only for files "
                              "without pictures",
                              err.text);
    if (mkdir(files->folder, 0777) != 0 && errno != EEXIST)
        return cv_print_error(CV_EXIT_FAILED, "--out: cannot make the folder '%s': %s",
                              cv_echo(files->folder, shown), strerror(errno));
    if (stat(files->folder, &info) == 0 && !S_ISDIR(info.st_mode))
        return cv_print_error(CV_EXIT_USAGE, "--out: '%s' is not a folder",
                              cv_echo(files->folder, shown));
    if (access(files->folder, W_OK | X_OK) != 0)
        return cv_print_error(CV_EXIT_FAILED, "--out: cannot write into '%s': %s",
                              cv_echo(files->folder, shown), strerror(errno));
    for (size_t i = 0; i < count && status == CV_EXIT_DONE; i++) {
        status = see_free(files, figures[i], "csv");
        if (status == CV_EXIT_DONE && files->svg)
            status = see_free(files, figures[i], "svg");
    }
    return status;
}

/* Labels and columns are our own texts and hold no quotes. */
static void add_table(FILE *file, const struct cv_figure_result *result)
{
    fprintf(file, "\"%s\"", result->label);
    for (size_t i = 0; i < result->ncolumns; i++)
        fprintf(file, ",\"%s\"", result->columns[i]);
    for (const struct cv_figure_row *row = result->rows; row != NULL; row = row->next) {
        fprintf(file, "\n\"%s\"", row->label);
        for (size_t i = 0; i < result->ncolumns; i++)
            if (isnan(row->values[i]))
                fputs(",", file);
            else
                fprintf(file, ",%.17g", row->values[i]);
    }
    fputs("\n", file);
}

static int write_csv(const struct cv_figure_files *files, const struct cv_figure *figure,
                     const struct cv_figure_result *result)
{
    char path[PATH_ROOM];
    struct cv_output_file out;
    int status;

    if (!path_of(files, figure, "csv", path))
        return CV_EXIT_USAGE;
    status = cv_output_open(&out, "--out", path, files->force ? 0 : CV_NEW_FILE_ONLY);
    if (status != CV_EXIT_DONE)
        return status;
    add_table(out.file, result);
    return cv_output_close(&out, false);
}

static int write_svg(const struct cv_figure_files *files, const struct cv_figure *figure,
                     const struct cv_figure_result *result)
{
    struct cv_text script = { NULL, 0, 0, false };
    struct cleave_error err;
    enum cleave_status drawn;
    char path[PATH_ROOM];
    struct cv_output_file out;
    int status, closed;

    if (!path_of(files, figure, "svg", path))
        return CV_EXIT_USAGE;
    status = cv_output_open(&out, "--out", path, files->force ? 0 : CV_NEW_FILE_ONLY);
    if (status != CV_EXIT_DONE)
        return status;
    cv_plot_script(cv_figure_name(figure), result, &script);
    if (script.failed)
        drawn = cv_fail_memory(&err, "a figure");
    else
        drawn = cv_gnuplot_run(script.bytes, script.length, fileno(out.file), &err);
    cv_text_done(&script);
    status = drawn == CLEAVE_OK ? CV_EXIT_DONE : cv_print_status(&err);
    closed = cv_output_close(&out, drawn != CLEAVE_OK);
    return status != CV_EXIT_DONE ? status : closed;
}

int cv_figure_files_write(const struct cv_figure_files *files,
                          const struct cv_figure *figure,
                          const struct cv_figure_result *result)
{
    const int status = write_csv(files, figure, result);

    return status == CV_EXIT_DONE && files->svg && result->plots != NULL
               ? write_svg(files, figure, result)
               : status;
}
