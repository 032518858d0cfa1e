/* compare_page.c -- a comparison as a page. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include "cli/compare/comparison.h"
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "report/page/html_compare.h"

/* Whether a policy applies to any value. */
static bool applies(const struct cv_comparison *found, size_t policy)
{
    for (size_t i = 0; i < found->sweep.count; i++)
        if (cv_compare_cells(found, i)[policy].reason == NULL)
            return true;
    return false;
}

/* One policy over all values; false when memory is short. */
static bool make_curve(const struct cv_comparison *found, size_t policy,
                       struct cv_arena *arena, struct cv_compare_curve *out)
{
    const size_t n = found->sweep.count;
    double *value = cv_array(arena, n, sizeof *value);
    double *low = cv_array(arena, n, sizeof *low);
    double *high = cv_array(arena, n, sizeof *high);
    double *over = cv_array(arena, n, sizeof *over);

    if (value == NULL || low == NULL || high == NULL || over == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct cv_compare_cell *cell = &cv_compare_cells(found, i)[policy];

        value[i] = cv_compare_value(found, cell);
        over[i] = isnan(value[i]) ? NAN : 100 * cv_compare_over_bound(found, i, cell);
        /* Without noise at this value there is one run and no spread. */
        low[i] = cell->stats.runs > 1 ? cell->stats.q10_s : value[i];
        high[i] = cell->stats.runs > 1 ? cell->stats.q90_s : value[i];
        out->name = cell->policy->name;
        if (cell->reason != NULL)
            out->reason = cell->reason;
    }
    out->value = value;
    out->over = over;
    out->low = found->runs > 1 && !found->lives ? low : NULL;
    out->high = out->low != NULL ? high : NULL;
    return true;
}

static bool make_curves(const struct cv_comparison *found, struct cv_arena *arena,
                        struct cv_compare_sheet *data)
{
    struct cv_compare_curve *curves = cv_array(arena, found->npolicies, sizeof *curves);
    double *bound = cv_array(arena, found->sweep.count, sizeof *bound);

    if (curves == NULL || bound == NULL)
        return false;
    for (size_t i = 0; i < found->sweep.count; i++)
        bound[i] = found->bounds[i].name != NULL ? found->bounds[i].value_s : NAN;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t p = 0; p < found->npolicies; p++) {
            if (applies(found, p) != (turn == 0))
                continue;
            if (!make_curve(found, p, arena, &curves[data->ncurves++]))
                return false;
            data->napplicable += turn == 0;
        }
    }
    data->curves = curves;
    data->bound = bound;
    return true;
}

static int write_page(const struct cv_compare_sheet *data,
                      const struct cv_compare_output *output)
{
    struct cv_output_file out;
    const int status = cv_output_open(&out, "--output", output->page,
                                      output->force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    cv_compare_write(data, out.file);
    return cv_output_close(&out, false);
}

int cv_compare_page(const struct cv_comparison *found,
                    const struct cv_compare_output *output,
                    const struct cv_compare_words *words, const struct cv_call *call)
{
    const bool sweep = cv_compare_is_sweep(found);
    struct cv_compare_sheet data = { .title = words->title,
                                     .measure = words->measure,
                                     .facts = words->facts,
                                     .what = sweep ? found->sweep.name : NULL,
                                     .unit = cv_sweep_unit(&found->sweep),
                                     .at = found->sweep.values,
                                     .nvalues = found->sweep.count,
                                     .by_factors = found->sweep.by_factors,
                                     .more_is_better = found->lives,
                                     .bound_name = found->bounds[0].name != NULL
                                                       ? found->bounds[0].name
                                                       : "not known" };
    struct cv_text command = { NULL, 0, 0, false };
    int status = CV_EXIT_DONE;

    cv_command_line(call, &command);
    data.command = command.bytes;
    if (command.failed || !make_curves(found, call->arena, &data))
        status = cv_print_error(CV_EXIT_FAILED, "out of memory for the page");
    else
        status = write_page(&data, output);
    cv_text_done(&command);
    return status;
}
