/* verb_compare_items.c -- cleave compare items. SPDX-License-Identifier: MIT */
#include "cli/compare/comparison.h"
#include "cli/items/items_options.h"
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/load/plan_show.h"
#include "cli/load/load_rows.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_items_options, load.name)

/* clang-format off */
static const struct cv_option policy_options[] = {
    { .name = "--policies", .kind = CV_OPTION_TEXT, .argument = "A,B,...",
      .offset = FIELD(policies),
      .help = "The policies to compare, separated by commas. Default: all for items." },
    CV_ROW_PARAM_OF_ALL(FIELD),
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: items, load, bound, rows and not_applicable." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Job", cv_items_job_options },
    { "Policies", policy_options },
    { "Runs", cv_items_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

static int show_json(const struct cv_comparison *found, const struct cv_items_job *items,
                     const struct cv_items_options *values, const char *noise)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_count(&json, "items", items->items.count);
    cv_field_number(&json, "load", cv_items_units(items));
    cv_field_count(&json, "runs", found->runs);
    cv_field_count(&json, "seed", values->load.seed);
    cv_field_text(&json, "noise", noise);
    cv_field_bound(&json, "bound", &found->bounds[0]);
    cv_field_list(&json, "rows");
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cv_compare_cell *cell = &found->cells[p];

        if (cell->reason != NULL)
            continue;
        cv_field_object(&json, NULL);
        cv_field_text(&json, "policy", cell->policy->name);
        if (found->noisy)
            cv_field_times(&json, "makespan", &cell->stats);
        else
            cv_field_number(&json, "makespan", cell->stats.mean_s);
        cv_field_number(&json, "over_bound", cv_compare_over_bound(found, 0, cell));
        cv_field_number(&json, "over_best", cv_compare_over_best(found, 0, cell));
        cv_field_number(&json, "utilisation", cell->stats.utilisation);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    cv_compare_json_reasons(&json, found, 0);
    return cv_result_close(&json);
}

static void add_rows(const struct cv_comparison *found, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const struct cv_column columns[] = {
        { "policy", CV_COLUMN_TEXT },
        { found->noisy ? "mean s" : "time s", CV_COLUMN_NUMBER },
        { "over bound", CV_COLUMN_OVER },
        { "over best", CV_COLUMN_OVER },
        { "utilisation", CV_COLUMN_PERCENT },
        { "std error", CV_COLUMN_NUMBER },
        { "90% below", CV_COLUMN_NUMBER },
    };
    struct cv_table table;

    cv_table_init(&table, columns, found->noisy ? 7 : 5);
    for (size_t p = 0; p < found->npolicies; p++) {
        const struct cv_compare_cell *cell = &found->cells[p];

        if (cell->reason != NULL)
            continue;
        cv_table_text(&table, cell->policy->name);
        cv_table_number(&table, cell->stats.mean_s);
        cv_table_number(&table, cv_compare_over_bound(found, 0, cell));
        cv_table_number(&table, cv_compare_over_best(found, 0, cell));
        cv_table_number(&table, cell->stats.utilisation);
        if (found->noisy) {
            cv_table_number(&table, cell->stats.stderr_s);
            cv_table_number(&table, cell->stats.q90_s);
        }
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

static int show_text(const struct cv_comparison *found, const struct cv_items_job *items,
                     const char *noise)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    cv_text_add(&text, "%s", screen.colour ? "\033[1m" : "");
    cv_items_words(items, &text);
    if (found->noisy)
        cv_text_add(&text, ", %s of each policy, noise %s",
                    cv_counted(found->runs, "run", counted), noise);
    cv_text_add(&text, "%s\nbound     %s s (%s)\n\n", screen.colour ? "\033[0m" : "",
                cv_show_number(found->bounds[0].value_s, number), found->bounds[0].name);
    add_rows(found, &screen, &text);
    cv_compare_reasons(found, &screen, &text);
    return cv_print_take(&text);
}

static int run(const struct cv_call *call)
{
    const struct cv_items_options *values = call->values;
    struct cv_comparison found = { .cells = NULL };
    struct cv_items_job items;
    char noise[CV_NOISE_ROOM];
    int status = cv_items_job_open(values, call->arena, &items);

    if (status == CV_EXIT_DONE)
        status = cv_sweep_read(NULL, CLEAVE_TASK_LOAD, call->arena, &found.sweep);
    if (status == CV_EXIT_DONE)
        status =
            cv_load_measure(&values->load, &items.load, NULL, call->arena, &found, noise);
    if (status == CV_EXIT_DONE)
        status = values->load.json ? show_json(&found, &items, values, noise)
                                   : show_text(&found, &items, noise);
    cv_items_job_close(&items);
    return status;
}

const struct cv_verb cv_verb_compare_items = {
    .name = "compare items",
    .summary = "longest first and the order of the list, in one table",
    .description =
        "Gives the same items to several policies and lists the best first, with how far "
        "each is from the bound that no schedule can beat and from the best of them. "
        "With --error or --noise each policy makes many runs, and items turn out the "
        "same for all; without, one exact run each.",
    .groups = groups,
    .examples = "cleave compare items --sizes examples/files.txt --platform "
                "examples/two-kinds.yaml\n"
                "cleave compare items --sizes examples/files.txt -p "
                "examples/two-kinds.yaml --noise gamma:0.5 --runs 200",
    .presets = &cv_items_presets,
    .values_size = sizeof(struct cv_items_options),
    .run = run,
};
