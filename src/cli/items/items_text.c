/* items_text.c -- a schedule of items as text and as JSON. SPDX-License-Identifier: MIT */
#include "cli/items/items_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/counted.h"
#include "cli/common/output.h"
#include "cli/load/load_json.h"
#include "io/json_out.h"
#include "report/terminal/table.h"
#include "report/terminal/terminal_charts.h"

enum { WORKERS_SHOWN = 20, GANTT_ROWS = 16 };

/* What a worker does in all. */
struct sum {
    uint64_t items;
    double units, largest, busy_s, last_s;
};

/* NULL when memory is short. */
static struct sum *sum_up(const struct cv_items_plan *plan)
{
    const struct cleave_schedule *schedule = plan->schedule;
    struct sum *sums =
        calloc(cleave_platform_nworkers(plan->items->load.platform), sizeof *sums);

    for (size_t k = 0; sums != NULL && k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];
        struct sum *sum = &sums[chunk->worker];

        sum->items++;
        sum->units += chunk->units;
        sum->largest = fmax(sum->largest, chunk->units);
        sum->busy_s += chunk->compute_end_s - chunk->compute_start_s;
        sum->last_s = fmax(sum->last_s, chunk->compute_end_s);
    }
    return sums;
}

/* --- text ------------------------------------------------------------------------------- */

static void add_outcome(const struct cv_items_plan *plan, uint32_t nused,
                        const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_schedule *schedule = plan->schedule;
    const double over = cv_over(schedule->makespan_s, schedule->bound.value_s);
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    cv_text_add(out, "%s", screen->colour ? "\033[1m" : "");
    cv_items_words(plan->items, out);
    cv_text_add(out, "%s\npolicy    %s\n", screen->colour ? "\033[0m" : "",
                schedule->policy);
    cv_text_add(out, "makespan  %s s", cv_show_number(schedule->makespan_s, number));
    if (over == 0)
        cv_text_add(out, ", which no schedule can beat\n");
    else
        cv_text_add(out, ", %.2f%% over the bound\n", 100 * over);
    cv_text_add(out, "bound     %s s (%s)\n",
                cv_show_number(schedule->bound.value_s, number), schedule->bound.name);
    if (!isnan(plan->listed_s))
        cv_text_add(out, "in order  %s s, %.2f%% over the bound, as the list has them\n",
                    cv_show_number(plan->listed_s, number),
                    100 * cv_over(plan->listed_s, schedule->bound.value_s));
    cv_text_add(out, "used      %u of %s, utilisation %.1f%%\n", nused,
                cv_counted(cleave_platform_nworkers(plan->items->load.platform), "worker",
                           counted),
                100 * schedule->utilisation);
}

static void add_workers(const struct cv_items_plan *plan, const struct sum *sums,
                        bool all, const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },   { "items", CV_COLUMN_COUNT },
        { "units", CV_COLUMN_UNITS },   { "share", CV_COLUMN_PERCENT },
        { "largest", CV_COLUMN_UNITS }, { "busy", CV_COLUMN_PERCENT },
        { "ends s", CV_COLUMN_NUMBER },
    };
    const struct cleave_schedule *schedule = plan->schedule;
    const struct cleave_platform *platform = plan->items->load.platform;
    uint32_t shown = 0, hidden = 0;
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        if (!all && shown >= WORKERS_SHOWN) {
            hidden++;
            continue;
        }
        shown++;
        cv_table_text(&table, cleave_platform_worker_name(platform, w));
        cv_table_number(&table, (double)sums[w].items);
        cv_table_number(&table, sums[w].units);
        cv_table_number(&table, schedule->load > 0 ? sums[w].units / schedule->load : 0);
        cv_table_number(&table, sums[w].largest);
        cv_table_number(&table, schedule->makespan_s > 0
                                    ? sums[w].busy_s / schedule->makespan_s
                                    : 0);
        cv_table_number(&table, sums[w].last_s);
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    cv_add_hidden(hidden, "more worker", out);
}

static void add_items(const struct cv_items_plan *plan, const struct cv_screen *screen,
                      struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "item", CV_COLUMN_COUNT },    { "units", CV_COLUMN_UNITS },
        { "worker", CV_COLUMN_TEXT },   { "starts s", CV_COLUMN_NUMBER },
        { "ends s", CV_COLUMN_NUMBER }, { "name", CV_COLUMN_TEXT },
    };
    const struct cleave_schedule *schedule = plan->schedule;
    const char **names = plan->items->items.names;
    struct cv_table table;

    cv_table_init(&table, columns, names != NULL ? 6 : 5);
    for (size_t k = 0; k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];

        cv_table_number(&table, (double)chunk->item + 1);
        cv_table_number(&table, chunk->units);
        cv_table_text(&table, cleave_platform_worker_name(plan->items->load.platform,
                                                          chunk->worker));
        cv_table_number(&table, chunk->compute_start_s);
        cv_table_number(&table, chunk->compute_end_s);
        if (names != NULL)
            cv_table_text(&table, names[chunk->item] != NULL ? names[chunk->item] : "");
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

/* What each bound says. */
static void add_bounds(const struct cleave_schedule *schedule,
                       const struct cv_screen *screen, struct cv_text *out)
{
    static const struct {
        const char *name, *says;
    } reasons[] = {
        { "preemptive", "if items could be interrupted and moved: the k largest on the k "
                        "fastest workers, all on all, with a start each" },
        { "longest", "the largest item has to be done by somebody" },
        { "port", "all items pass the master's port, one after the other" },
        { "assignment", "if items could be divided between those workers that could do "
                        "the whole of them in time" },
    };
    static const struct cv_column columns[] = { { "bound", CV_COLUMN_TEXT },
                                                { "s", CV_COLUMN_NUMBER },
                                                { "what it says", CV_COLUMN_TEXT } };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t b = 0; b < schedule->nbounds; b++) {
        const char *says = "";

        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
            if (strcmp(reasons[i].name, schedule->bounds[b].name) == 0)
                says = reasons[i].says;
        cv_table_text(&table, schedule->bounds[b].name);
        cv_table_number(&table, schedule->bounds[b].value_s);
        cv_table_text(&table, says);
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

/* Who is last, and with what. */
static void add_last(const struct cv_items_plan *plan, struct cv_text *out)
{
    const struct cleave_schedule *schedule = plan->schedule;
    const struct cleave_chunk *last = &schedule->chunks[0];
    char number[CV_NUMBER_ROOM];

    for (size_t k = 1; k < schedule->nchunks; k++)
        if (schedule->chunks[k].compute_end_s > last->compute_end_s)
            last = &schedule->chunks[k];
    cv_text_add(out, "\nThe last to end is %s, with item %llu of %s units",
                cleave_platform_worker_name(plan->items->load.platform, last->worker),
                (unsigned long long)last->item + 1, cv_show_units(last->units, number));
    cv_text_add(out, ", which it began after %s s.\n",
                cv_show_number(last->compute_start_s, number));
}

void cv_items_text(const struct cv_items_plan *plan,
                   const struct cv_items_options *options, const struct cv_screen *screen,
                   struct cv_text *out)
{
    const struct cv_gantt_style style = {
        .width = options->load.width > 0 ? (unsigned)options->load.width : screen->width,
        .rows = GANTT_ROWS,
        .utf8 = screen->utf8,
        .colour = screen->colour,
    };
    const struct cleave_platform *platform = plan->items->load.platform;
    struct sum *sums = sum_up(plan);
    uint32_t nused = 0;

    if (sums == NULL) {
        out->failed = true;
        return;
    }
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        nused += sums[w].items > 0;
    add_outcome(plan, nused, screen, out);
    add_workers(plan, sums, options->load.all_workers, screen, out);
    free(sums);
    if (options->explain) {
        add_bounds(plan->schedule, screen, out);
        add_last(plan, out);
    }
    if (options->all_items)
        add_items(plan, screen, out);
    if (options->load.gantt) {
        cv_text_add(out, "\n");
        cv_terminal_gantt(plan->schedule, platform, &style, out);
    }
}

/* --- JSON ------------------------------------------------------------------------------- */

static void json_chunk(struct cv_json *json, const struct cleave_chunk *chunk,
                       const struct cv_items_job *items)
{
    const char *name =
        items->items.names != NULL ? items->items.names[chunk->item] : NULL;

    cv_field_line(json, NULL);
    cv_field_count(json, "item", chunk->item);
    if (items->items.names != NULL)
        cv_field_text(json, "name", name);
    cv_field_text(json, "worker",
                  cleave_platform_worker_name(items->load.platform, chunk->worker));
    cv_field_number(json, "units", chunk->units);
    cv_field_number(json, "send_start", chunk->send_start_s);
    cv_field_number(json, "send_end", chunk->send_end_s);
    cv_field_number(json, "compute_start", chunk->compute_start_s);
    cv_field_number(json, "compute_end", chunk->compute_end_s);
    cv_json_end(json);
}

static void json_workers(struct cv_json *json, const struct cv_items_plan *plan,
                         const struct sum *sums)
{
    const struct cleave_platform *platform = plan->items->load.platform;

    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        cv_field_line(json, NULL);
        cv_field_text(json, "worker", cleave_platform_worker_name(platform, w));
        cv_field_count(json, "items", sums[w].items);
        cv_field_number(json, "units", sums[w].units);
        cv_field_number(json, "busy", sums[w].busy_s);
        cv_field_number(json, "end", sums[w].last_s);
        cv_json_end(json);
    }
    cv_json_end(json);
}

int cv_items_json(const struct cv_items_plan *plan, uint64_t seed)
{
    const struct cleave_schedule *schedule = plan->schedule;
    struct sum *sums = sum_up(plan);
    struct cv_json json;

    if (sums == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the plan");
    cv_result_open(&json);
    cv_field_text(&json, "policy", schedule->policy);
    cv_field_count(&json, "items", plan->items->items.count);
    cv_field_number(&json, "load", schedule->load);
    cv_field_count(&json, "seed", seed);
    cv_field_number(&json, "makespan", schedule->makespan_s);
    cv_field_number(&json, "utilisation", schedule->utilisation);
    cv_field_bound(&json, "bound", &schedule->bound);
    cv_field_number(&json, "over_bound",
                    cv_over(schedule->makespan_s, schedule->bound.value_s));
    cv_field_bool(&json, "optimal", schedule->optimal);
    cv_field_list(&json, "bounds");
    for (size_t i = 0; i < schedule->nbounds; i++)
        cv_field_bound(&json, NULL, &schedule->bounds[i]);
    cv_json_end(&json);
    cv_field_number(&json, "list_order",
                    isnan(plan->listed_s) ? schedule->makespan_s : plan->listed_s);
    json_workers(&json, plan, sums);
    free(sums);
    cv_field_list(&json, "chunks");
    for (size_t k = 0; k < schedule->nchunks; k++)
        json_chunk(&json, &schedule->chunks[k], plan->items);
    cv_json_end(&json);
    return cv_result_close(&json);
}
