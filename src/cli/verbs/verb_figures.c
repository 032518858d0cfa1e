/* verb_figures.c -- cleave figures. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/figures/figures_files.h"
#include "cli/figures/figures_text.h"
#include "cli/kit/json_fields.h"
#include "cli/kit/output.h"
#include "cli/kit/progress.h"
#include "cli/kit/verb.h"
#include "figures/figure_list.h"

enum { MOST_NAMES = 64 };

struct figures_options {
    const char *out;
    uint64_t threads;
    int list, quick, json, force, csv_only;
};

#define FIELD(name) offsetof(struct figures_options, name)

static const struct cv_option making[] = {
    { .name = "--quick",
      .value = 1,
      .offset = FIELD(quick),
      .help = "A rough version in seconds: a part of the settings." },
    { .name = "--threads",
      .kind = CV_OPTION_COUNT,
      .argument = "N",
      .offset = FIELD(threads),
      .least = 0,
      .most = 256,
      .help = "Threads to use; the result is the same on any number. Default 0: one per "
              "core." },
    { .name = NULL },
};

static const struct cv_option output[] = {
    { .name = "--list",
      .value = 1,
      .offset = FIELD(list),
      .help = "Only list the figures there are, where they are in print and what is "
              "claimed of them." },
    { .name = "--out",
      .kind = CV_OPTION_TEXT,
      .argument = "DIR",
      .offset = FIELD(out),
      .help = "Also write each figure as DIR/NAME.csv and, drawn by gnuplot, as "
              "DIR/NAME.svg. The folder is made if missing." },
    { .name = "--csv-only",
      .value = 1,
      .offset = FIELD(csv_only),
      .help = "With --out: only CSV files, which need no gnuplot." },
    { .name = "--force",
      .value = 1,
      .offset = FIELD(force),
      .help = "Replace files that exist." },
    { .name = "--json",
      .value = 1,
      .offset = FIELD(json),
      .help = "Write JSON: columns, rows and judged claims of each figure." },
    { .name = NULL },
};

static const struct cv_option_group groups[] = {
    { "Making", making },
    { "Output", output },
    { NULL, NULL },
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct cv_progress *progress = context;

    progress->total = total;
    cv_progress_show(progress, done);
}

struct making {
    const struct figures_options *values;
    struct cv_figure_files files;
    struct cv_json json;
    size_t count;
};

static int make_figure(const struct cv_figure *figure, size_t place, struct making *all)
{
    const struct figures_options *values = all->values;
    struct cv_progress progress;
    struct cv_figure_job job = { .threads = (unsigned)values->threads,
                                 .quick = values->quick != 0,
                                 .progress = show_progress,
                                 .context = &progress };
    struct cv_figure_result result;
    struct cleave_error err;
    enum cleave_status made;
    int status = CV_EXIT_DONE;
    char what[80];

    if (all->count > 1)
        snprintf(what, sizeof what, "%zu/%zu %s", place + 1, all->count,
                 cv_figure_name(figure));
    else
        snprintf(what, sizeof what, "%s", cv_figure_name(figure));
    cv_progress_init(&progress, what, 1);
    cv_progress_show(&progress, 0);
    made = cv_figure_make(figure, &job, &result, &err);
    cv_progress_done(&progress);
    if (made != CLEAVE_OK)
        return cv_complain_error(&err);
    if (values->json)
        cv_figure_json(&all->json, figure, &result);
    else {
        if (place > 0)
            fputs("\n", stdout);
        status = cv_figure_text(figure, &result);
        fflush(stdout); /* the next one may take minutes */
    }
    if (status == CV_EXIT_DONE && all->files.folder != NULL)
        status = cv_figure_files_write(&all->files, figure, &result);
    cv_figure_done(&result);
    return status;
}

/* All names are judged before the first figure is made; a repeated name counts once. */
static int choose(const struct cv_call *call, const struct cv_figure **out,
                  size_t *out_count)
{
    const size_t wanted = call->noperands > 0 ? call->noperands : cv_figure_count();
    struct cleave_error err;
    size_t count = 0;

    for (size_t i = 0; i < wanted && count < MOST_NAMES; i++) {
        size_t k = 0;

        if (call->noperands == 0)
            out[count] = cv_figure_at(i);
        else if (cv_figure_find(call->operands[i], &out[count], &err) != CLEAVE_OK)
            return cv_complain_error(&err);
        while (k < count && out[k] != out[count])
            k++;
        if (k == count)
            count++;
    }
    *out_count = count;
    return CV_EXIT_DONE;
}

static int check_options(const struct figures_options *values)
{
    if (values->out == NULL && values->csv_only)
        return cv_complain(CV_EXIT_USAGE, "--csv-only: needs --out");
    if (values->out == NULL && values->force)
        return cv_complain(CV_EXIT_USAGE, "--force: needs --out");
    return CV_EXIT_DONE;
}

static int run(const struct cv_call *call)
{
    const struct figures_options *values = call->values;
    const struct cv_figure *chosen[MOST_NAMES] = { NULL };
    struct making all = { .values = values,
                          .files = { .folder = values->out,
                                     .force = values->force != 0,
                                     .svg = !values->csv_only } };
    int status;

    if (values->list)
        return values->json ? cv_figures_list_json() : cv_figures_list();
    status = check_options(values);
    if (status == CV_EXIT_DONE)
        status = choose(call, chosen, &all.count);
    if (status == CV_EXIT_DONE && values->out != NULL)
        status = cv_figure_files_begin(&all.files, chosen, all.count);
    if (status != CV_EXIT_DONE)
        return status;
    if (values->json) {
        cv_result_open(&all.json);
        cv_field_list(&all.json, "figures");
    }
    for (size_t i = 0; i < all.count && status == CV_EXIT_DONE; i++)
        status = make_figure(chosen[i], i, &all);
    if (values->json) {
        int closed;

        cv_json_end(&all.json);
        closed = cv_result_close(&all.json);
        status = status == CV_EXIT_DONE ? closed : status;
    }
    return status;
}

const struct cv_verb cv_verb_figures = {
    .name = "figures",
    .summary = "make figures and tables of the papers again, and judge their claims",
    .description =
        "Makes the named figures, or all of them: a table each, what the paper "
        "claims of it, and whether that holds here, with the numbers. All of them take "
        "some minutes, with --quick some seconds.",
    .operands = "[NAME]...",
    .max_operands = MOST_NAMES,
    .groups = groups,
    .examples = "cleave figures --list\ncleave figures umr-table3 --quick",
    .values_size = sizeof(struct figures_options),
    .run = run,
};
