/* figures_main.c -- the program cleave-figures. SPDX-License-Identifier: MIT
 *
 * It is `cleave figures`, which passes on what was typed. */
#include <stdio.h>
#include <string.h>

#include "cli/figures/verb_figures.h"
#include "cli/common/output.h"
#include "figures/figure_list.h"
#include "figures/figures_files.h"
#include "figures/figures_text.h"
#include "io/json_out.h"

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct cv_progress *progress = context;

    progress->total = total;
    cv_progress_show(progress, done);
}

struct making {
    const struct cv_figures_options *values;
    struct cv_figure_files files;
    struct cv_json json;
    size_t count;
};

static int make_figure(const struct cv_figure *figure, size_t place, struct making *all)
{
    const struct cv_figures_options *values = all->values;
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
        return cv_print_status(&err);
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

    for (size_t i = 0; i < wanted && count < CV_MOST_FIGURES; i++) {
        size_t k = 0;

        if (call->noperands == 0)
            out[count] = cv_figure_at(i);
        else if (cv_figure_find(call->operands[i], &out[count], &err) != CLEAVE_OK)
            return cv_print_status(&err);
        while (k < count && out[k] != out[count])
            k++;
        if (k == count)
            count++;
    }
    *out_count = count;
    return CV_EXIT_DONE;
}

static int check_options(const struct cv_figures_options *values)
{
    if (values->out == NULL && values->csv_only)
        return cv_print_error(CV_EXIT_USAGE, "--csv-only: needs --out");
    if (values->out == NULL && values->force)
        return cv_print_error(CV_EXIT_USAGE, "--force: needs --out");
    return CV_EXIT_DONE;
}

static int make_figures(const struct cv_call *call)
{
    const struct cv_figures_options *values = call->values;
    const struct cv_figure *chosen[CV_MOST_FIGURES] = { NULL };
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

int main(int argc, char **argv)
{
    const int skipped = argc > 0 ? 1 : 0;
    struct cv_verb figures = cv_verb_figures;

    figures.run = make_figures;
    cv_guard_streams();
    return cv_finish_output(cv_verb_call(&figures, argc - skipped, argv + skipped));
}
