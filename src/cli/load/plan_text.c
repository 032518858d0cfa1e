/* plan_text.c -- a schedule as text for people. SPDX-License-Identifier: MIT */
#include "cli/load/plan_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/platform/platform_internal.h"
#include "report/terminal/table.h"
#include "report/terminal/terminal_charts.h"

/* How much is shown unless all is asked for. */
enum { WORKERS_SHOWN = 20, ROUNDS_SHOWN = 8, LEFT_OUT_SHOWN = 5, GANTT_ROWS = 16 };

/* What a worker, or a round, does in all. */
struct sum {
    uint64_t chunks;
    double units, busy_s, send_s, first_s, last_s;
};

double cv_schedule_over(const struct cleave_schedule *schedule)
{
    return schedule->lifespan_s > 0
               ? cv_over(schedule->bound.value_s, schedule->load)
               : cv_over(schedule->makespan_s, schedule->bound.value_s);
}

void cv_load_words(double units, double lifespan_s, double result_ratio,
                   uint32_t nworkers, struct cv_text *out)
{
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    if (lifespan_s > 0)
        cv_text_add(out, "as much as ends in %s s", cv_show_number(lifespan_s, number));
    else
        cv_text_add(out, "%s unit%s", cv_show_units(units, number),
                    units == 1 ? "" : "s");
    cv_text_add(out, " on %s", cv_counted(nworkers, "worker", counted));
    if (result_ratio > 0)
        cv_text_add(out, ", %s of result per unit", cv_show_number(result_ratio, number));
}

/* What the plan comes to, and what could not be beaten. */
static void add_outcome(const struct cleave_schedule *schedule, struct cv_text *out)
{
    const bool lives = schedule->lifespan_s > 0;
    const double over = cv_schedule_over(schedule);
    char number[CV_NUMBER_ROOM];

    if (lives)
        cv_text_add(out, "work      %s units", cv_show_units(schedule->load, number));
    else
        cv_text_add(out, "makespan  %s s", cv_show_number(schedule->makespan_s, number));
    if (over == 0)
        cv_text_add(out, ", which no schedule%s can beat\n",
                    schedule->proved != NULL ? " of one round" : "");
    else if (lives)
        cv_text_add(out, ", %.2f%% below the bound\n", 100 * over / (1 + over));
    else
        cv_text_add(out, ", %.2f%% over the bound\n", 100 * over);
    cv_text_add(out, "bound     %s %s (%s)\n",
                cv_show_number(schedule->bound.value_s, number), lives ? "units" : "s",
                schedule->bound.name);
    if (schedule->proved != NULL)
        cv_text_add(out, "proved    best of %s\n", schedule->proved);
}

static void add_headline(const struct cleave_schedule *schedule,
                         const struct cv_price *price, uint32_t nworkers, uint32_t nused,
                         const struct cv_screen *screen, struct cv_text *out)
{
    char counted[CV_COUNTED_ROOM];

    cv_text_add(out, "%s", screen->colour ? "\033[1m" : "");
    cv_load_words(schedule->load, schedule->lifespan_s, schedule->result_ratio, nworkers,
                  out);
    cv_text_add(out, "%s\n", screen->colour ? "\033[0m" : "");
    cv_policy_line(schedule->policy, schedule->picked, schedule->why, screen->width, out);
    add_outcome(schedule, out);
    cv_price_text(schedule, price, out);
    cv_text_add(out, "used      %u of %s, utilisation %.1f%%", nused,
                cv_counted(nworkers, "worker", counted), 100 * schedule->utilisation);
    cv_text_add(out, "\nchunks    %zu in ", schedule->nchunks);
    cv_text_add(out, "%s\n", cv_counted(schedule->rounds, "round", counted));
}

/* Who stands for others has costs that are theirs in the long run. */
static void add_leaders(const struct cleave_platform *platform, struct cv_text *out)
{
    const double led = cv_platform_led(platform);
    char number[CV_NUMBER_ROOM];

    if (led > 0)
        cv_text_add(
            out,
            "leaders   stand for %s workers behind them; so does the bound, which "
            "small chunks miss\n",
            cv_show_units(led, number));
}

static void add_to_sum(struct sum *sum, const struct cleave_chunk *chunk)
{
    if (sum->chunks == 0 || chunk->compute_start_s < sum->first_s)
        sum->first_s = chunk->compute_start_s;
    if (sum->chunks == 0 || chunk->send_start_s < sum->send_s)
        sum->send_s = chunk->send_start_s;
    sum->last_s = fmax(sum->last_s, isnan(chunk->return_end_s) ? chunk->compute_end_s
                                                               : chunk->return_end_s);
    sum->busy_s += chunk->compute_end_s - chunk->compute_start_s;
    sum->units += chunk->units;
    sum->chunks++;
}

static void add_workers(const struct cleave_schedule *schedule,
                        const struct cleave_platform *platform, const struct sum *sums,
                        bool all, const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },   { "units", CV_COLUMN_UNITS },
        { "share", CV_COLUMN_PERCENT }, { "chunks", CV_COLUMN_COUNT },
        { "busy", CV_COLUMN_PERCENT },  { "starts s", CV_COLUMN_NUMBER },
        { "ends s", CV_COLUMN_NUMBER }, { "cost", CV_COLUMN_NUMBER },
    };
    const bool costs = schedule->paid_s != NULL;
    const uint32_t nworkers = cleave_platform_nworkers(platform);
    uint32_t shown = 0, hidden = 0;
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns - (costs ? 0 : 1));
    for (uint32_t w = 0; w < nworkers; w++) {
        if (sums[w].chunks == 0)
            continue;
        if (!all && shown >= WORKERS_SHOWN) {
            hidden++;
            continue;
        }
        shown++;
        cv_table_text(&table, cleave_platform_worker_name(platform, w));
        cv_table_number(&table, sums[w].units);
        cv_table_number(&table, sums[w].units / schedule->load);
        cv_table_number(&table, (double)sums[w].chunks);
        cv_table_number(&table, sums[w].busy_s / schedule->makespan_s);
        cv_table_number(&table, sums[w].first_s);
        cv_table_number(&table, sums[w].last_s);
        if (costs)
            cv_table_number(&table,
                            schedule->paid_s[w] * cleave_platform_cost(platform, w));
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    cv_add_hidden(hidden, "more worker", out);
}

static void add_rounds(const struct cleave_schedule *schedule,
                       const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "round", CV_COLUMN_COUNT },         { "chunks", CV_COLUMN_COUNT },
        { "units", CV_COLUMN_UNITS },         { "share", CV_COLUMN_PERCENT },
        { "first sent s", CV_COLUMN_NUMBER }, { "last ends s", CV_COLUMN_NUMBER },
    };
    struct sum rounds[ROUNDS_SHOWN] = { { 0, 0, 0, 0, 0, 0 } };
    char counted[CV_COUNTED_ROOM];
    struct cv_table table;

    for (size_t k = 0; k < schedule->nchunks; k++) {
        if (schedule->chunks[k].round < ROUNDS_SHOWN)
            add_to_sum(&rounds[schedule->chunks[k].round], &schedule->chunks[k]);
    }
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (unsigned r = 0; r < ROUNDS_SHOWN && r < schedule->rounds; r++) {
        cv_table_number(&table, r + 1);
        cv_table_number(&table, (double)rounds[r].chunks);
        cv_table_number(&table, rounds[r].units);
        cv_table_number(&table, rounds[r].units / schedule->load);
        cv_table_number(&table, rounds[r].send_s);
        cv_table_number(&table, rounds[r].last_s);
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    if (schedule->rounds > ROUNDS_SHOWN)
        cv_text_add(out, "  and %s; --chunks lists every chunk\n",
                    cv_counted(schedule->rounds - ROUNDS_SHOWN, "more round", counted));
}

static void add_chunks(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },       { "round", CV_COLUMN_COUNT },
        { "units", CV_COLUMN_UNITS },       { "send s", CV_COLUMN_NUMBER },
        { "sent s", CV_COLUMN_NUMBER },     { "compute s", CV_COLUMN_NUMBER },
        { "computed s", CV_COLUMN_NUMBER }, { "return s", CV_COLUMN_NUMBER },
        { "returned s", CV_COLUMN_NUMBER },
    };
    const bool returns = schedule->result_ratio > 0;
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns - (returns ? 0 : 2));
    for (size_t k = 0; k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];

        cv_table_text(&table, cleave_platform_worker_name(platform, chunk->worker));
        cv_table_number(&table, chunk->round + 1);
        cv_table_number(&table, chunk->units);
        cv_table_number(&table, chunk->send_start_s);
        cv_table_number(&table, chunk->send_end_s);
        cv_table_number(&table, chunk->compute_start_s);
        cv_table_number(&table, chunk->compute_end_s);
        if (returns) {
            cv_table_number(&table, chunk->return_start_s);
            cv_table_number(&table, chunk->return_end_s);
        }
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

static void add_left_out(const struct cleave_schedule *schedule,
                         const struct cleave_platform *platform,
                         const struct cv_price *price, bool all,
                         const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "left out", CV_COLUMN_TEXT },
        { "why", CV_COLUMN_TEXT },
    };
    const size_t shown = all || schedule->nleft_out < LEFT_OUT_SHOWN ? schedule->nleft_out
                                                                     : LEFT_OUT_SHOWN;
    const size_t nunpaid = cv_price_unpaid(price),
                 unpaid_shown =
                     all || nunpaid < LEFT_OUT_SHOWN ? nunpaid : LEFT_OUT_SHOWN;
    struct cv_table table;

    if (schedule->nleft_out + nunpaid == 0)
        return;
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        cv_table_text(&table, cleave_platform_worker_name(platform,
                                                          schedule->left_out[i].worker));
        cv_table_text(&table, schedule->left_out[i].reason);
    }
    for (size_t i = 0; i < unpaid_shown; i++) {
        cv_table_text(&table, cv_price_unpaid_name(price, i));
        cv_table_text(&table, cv_price_unpaid_reason(price));
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    cv_add_hidden(schedule->nleft_out + nunpaid - shown - unpaid_shown, "more worker",
                  out);
}

void cv_plan_text(const struct cleave_schedule *schedule,
                  const struct cleave_platform *platform, const struct cv_price *price,
                  const struct cv_load_options *options, const struct cv_screen *screen,
                  struct cv_text *out)
{
    const uint32_t nworkers = cleave_platform_nworkers(platform);
    const struct cv_gantt_style style = {
        .width = options->width > 0 ? (unsigned)options->width : screen->width,
        .rows = GANTT_ROWS,
        .utf8 = screen->utf8,
        .colour = screen->colour,
    };
    struct sum *sums = calloc(nworkers, sizeof *sums);
    uint32_t nused = 0;

    if (sums == NULL) {
        out->failed = true;
        return;
    }
    for (size_t k = 0; k < schedule->nchunks; k++)
        add_to_sum(&sums[schedule->chunks[k].worker], &schedule->chunks[k]);
    for (uint32_t w = 0; w < nworkers; w++)
        nused += sums[w].chunks > 0;
    add_headline(schedule, price, nworkers, nused, screen, out);
    add_leaders(platform, out);
    add_workers(schedule, platform, sums, options->all_workers, screen, out);
    if (options->all_chunks)
        add_chunks(schedule, platform, screen, out);
    else if (schedule->rounds > 1)
        add_rounds(schedule, screen, out);
    add_left_out(schedule, platform, price, options->all_workers, screen, out);
    if (options->gantt) {
        cv_text_add(out, "\n");
        cv_terminal_gantt(schedule, platform, &style, out);
    }
    free(sums);
}
