/* verb_figures.c -- cleave figures. SPDX-License-Identifier: MIT
 *
 * The figures are a separate program, cleave-figures, so that users who only run loads
 * need not install it. The options are checked and explained here; then this process
 * becomes that program. */
#include "cli/figures/verb_figures.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/helper_program.h"

#define CV_VALUES struct cv_figures_options

static const struct cv_option making[] = {
    CV_FLAG(0, "--quick", 1, quick,
            "A rough version in seconds: a part of the settings."),
    CV_OPTION(
        0, "--threads", COUNT, "N", threads,
        "Threads to use; the result is the same on any number. Default 0: one per core.",
        .min = 0, .max = 256),
};

static const struct cv_option output[] = {
    CV_FLAG(0, "--list", 1, list,
            "List the figures with their sources and claims, and make none."),
    CV_OPTION(0, "--out", TEXT, "DIR", out,
              "Also write each figure as DIR/NAME.csv and, drawn by gnuplot, as "
              "DIR/NAME.svg. The folder is made if missing."),
    CV_FLAG(0, "--csv-only", 1, csv_only,
            "With --out: only CSV files, which need no gnuplot."),
    CV_FLAG(0, "--force", 1, force, "Replace files that exist."),
    CV_FLAG(0, "--json", 1, json,
            "Write JSON: columns, rows and judged claims of each figure."),
};

static const struct cv_helper_program program = {
    .program = "cleave-figures",
    .what = "'cleave figures'",
    .remedy = "which is in the Debian package cleave-figures",
};

static int run(const struct cv_call *call)
{
    const size_t nwords = (size_t)call->nwords;
    char **words = cv_need(call->arena, nwords + 2, sizeof *words, "the arguments"),
         path[PATH_MAX];

    CV_CALL(cv_helper_program_find(&program, path, sizeof path, &err));
    words[0] = path;
    memcpy(words + 1, call->words, nwords * sizeof *words); /* NULL ends them */
    execv(path, words);
    return cv_print_error(CV_EXIT_ENGINE, "cannot start %s: %s", path, strerror(errno));
}

const struct cv_verb cv_verb_figures = {
    .name = "figures",
    .summary = "make figures of the papers again, and judge their claims",
    .description = "Makes the named figures, or all of them: a table each, what the "
                   "paper claims of it, and whether that holds here, with the numbers. "
                   "All of them take some minutes, with --quick some seconds.",
    .operands = "[NAME]...",
    .max_operands = CV_MOST_FIGURES,
    .groups = CV_GROUPS(CV_GROUP("Making", making), CV_GROUP("Output", output)),
    .examples = "cleave figures --list\ncleave figures umr-table3 --quick",
    .values_size = sizeof(struct cv_figures_options),
    .run = run,
};
