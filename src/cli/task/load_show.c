/* load_show.c -- schedules and their costs as text and JSON. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/task/load_task.h"
#include "model/platform/platform_internal.h"
#include "report/terminal/terminal_charts.h"

/* --- plans for a deadline or a budget, and what plans cost ------------------------- */

int cv_price_open(const struct cv_task_options *options, const struct cv_load_job *load,
                  struct cv_price *out)
{
    struct cleave_error err;

    *out = (struct cv_price){ { fmax(0, options->deadline_s), fmax(0, options->budget) },
                              load->platform,
                              NULL };
    if (options->deadline_s == 0 || options->budget == 0)
        return cv_refuse("%s: expected more than 0",
                         options->budget == 0 ? "--budget" : "--deadline");
    if (options->deadline_s > 0 && options->budget > 0)
        return cv_refuse("expected --deadline or --budget, got both");
    if (cleave_rent(&load->job, &out->terms, &out->rental, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    if (err.status != CLEAVE_EINPUT)
        return cv_print_status(&err);
    return cv_refuse("%s: %s", options->deadline_s > 0 ? "--deadline" : "--budget",
                     err.text);
}

/* Workers that are not paid for: how many, their names, and why; `price` may be NULL. */
static size_t price_unpaid(const struct cv_price *price)
{
    return price == NULL ? 0
                         : cleave_platform_nworkers(price->whole) -
                               cleave_platform_nworkers(price->rental->platform);
}

static const char *price_unpaid_name(const struct cv_price *price, size_t index)
{
    const uint32_t npaid = cleave_platform_nworkers(price->rental->platform);
    uint32_t next = 0;

    for (uint32_t w = 0; w < cleave_platform_nworkers(price->whole); w++) {
        if (next < npaid && price->rental->workers[next] == w)
            next++;
        else if (index-- == 0)
            return cleave_platform_worker_name(price->whole, w);
    }
    return "";
}

static const char *price_unpaid_reason(const struct cv_price *price)
{
    return price->terms.deadline_s > 0
               ? "not paid for: no plan was found that is cheaper with it"
               : "not paid for: no plan was found that is faster with it, for this money";
}

/* The line with the cost of a schedule, if anything costs. */
static void price_text(const struct cleave_schedule *schedule,
                       const struct cv_price *price, struct cv_text *out)
{
    if (schedule->paid_s == NULL)
        return;
    cv_text_add(out, "cost      %s", CV_SHOW_NUMBER(schedule->cost));
    if (price != NULL && price->terms.budget > 0)
        cv_text_add(out, " of %s", CV_SHOW_NUMBER(price->terms.budget));
    if (price != NULL && price->terms.deadline_s > 0)
        cv_text_add(out, "; none that ends by %s s",
                    CV_SHOW_NUMBER(price->terms.deadline_s));
    if (price != NULL && price->terms.deadline_s > 0)
        cv_text_add(out, " costs less than %s",
                    CV_SHOW_NUMBER(price->rental->least_cost));
    cv_text_add(out, "\n");
}

/* Members of the object that is open, and of its list of workers left out. */
static void price_json(struct cv_json *json, const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_price *price)
{
    if (schedule->paid_s == NULL)
        return;
    cv_field_number(json, "cost", schedule->cost);
    if (price != NULL) {
        const bool deadline = price->terms.deadline_s > 0;

        cv_field_number(json, deadline ? "deadline" : "budget",
                        deadline ? price->terms.deadline_s : price->terms.budget);
        cv_field_line(json, "cost_bound");
        cv_field_text(json, "name", deadline ? "deadline" : "any deadline");
        cv_field_number(json, "value", price->rental->least_cost);
        cv_json_end(json);
    }
    cv_field_list(json, "costs");
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        if (!(schedule->paid_s[w] > 0))
            continue;
        cv_field_line(json, NULL);
        cv_field_text(json, "worker", cleave_platform_worker_name(platform, w));
        cv_field_number(json, "paid_s", schedule->paid_s[w]);
        cv_field_number(json, "cost",
                        schedule->paid_s[w] * cleave_platform_cost(platform, w));
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void price_json_left_out(struct cv_json *json, const struct cv_price *price)
{
    for (size_t i = 0; i < price_unpaid(price); i++)
        cv_field_reason(json, "worker", price_unpaid_name(price, i),
                        price_unpaid_reason(price));
}

/* --- a schedule as text for people ------------------------------------------------- */

/* How much is shown unless all is asked for. */
enum { WORKERS_SHOWN = 20, ROUNDS_SHOWN = 8, LEFT_OUT_SHOWN = 5, GANTT_ROWS = 16 };

/* What a worker, or a round, does in all. */
struct sum {
    uint64_t chunks;
    double units, busy_s, send_s, first_s, last_s;
};

/* How far a schedule is from its bound: 0.01 when it takes 1 % longer or, with a lifespan,
 * when 1 % more might be done. */
static double schedule_over(const struct cleave_schedule *schedule)
{
    return schedule->lifespan_s > 0
               ? cv_over(schedule->bound.value_s, schedule->load)
               : cv_over(schedule->makespan_s, schedule->bound.value_s);
}

void cv_load_words(double units, double lifespan_s, double result_ratio,
                   uint32_t nworkers, struct cv_text *out)
{
    if (lifespan_s > 0)
        cv_text_add(out, "as much as ends in %s s", CV_SHOW_NUMBER(lifespan_s));
    else
        cv_text_add(out, "%s unit%s", CV_SHOW_UNITS(units), units == 1 ? "" : "s");
    cv_text_add(out, " on %s", CV_COUNTED(nworkers, "worker"));
    if (result_ratio > 0)
        cv_text_add(out, ", %s of result per unit", CV_SHOW_NUMBER(result_ratio));
}

/* What the plan comes to, and what could not be beaten. */
static void add_outcome(const struct cleave_schedule *schedule, struct cv_text *out)
{
    const bool lives = schedule->lifespan_s > 0;
    const double over = schedule_over(schedule);

    if (lives)
        cv_text_add(out, "work      %s units", CV_SHOW_UNITS(schedule->load));
    else
        cv_text_add(out, "makespan  %s s", CV_SHOW_NUMBER(schedule->makespan_s));
    if (over == 0)
        cv_text_add(out, ", which no schedule%s can beat\n",
                    schedule->proved != NULL ? " of one round" : "");
    else if (lives)
        cv_text_add(out, ", %.2f%% below the bound\n", 100 * over / (1 + over));
    else
        cv_text_add(out, ", %.2f%% over the bound\n", 100 * over);
    cv_text_add(out, "bound     %s %s (%s)\n", CV_SHOW_NUMBER(schedule->bound.value_s),
                lives ? "units" : "s", schedule->bound.name);
    if (schedule->proved != NULL)
        cv_text_add(out, "proved    best of %s\n", schedule->proved);
}

static void add_headline(const struct cleave_schedule *schedule,
                         const struct cv_price *price, uint32_t nworkers, uint32_t nused,
                         const struct cv_screen *screen, struct cv_text *out)
{
    cv_text_add(out, "%s", CV_BOLD(screen));
    cv_load_words(schedule->load, schedule->lifespan_s, schedule->result_ratio, nworkers,
                  out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
    cv_policy_line(schedule->policy, schedule->picked, schedule->why, screen->width, out);
    add_outcome(schedule, out);
    price_text(schedule, price, out);
    cv_text_add(out, "used      %u of %s, utilisation %.1f%%", nused,
                CV_COUNTED(nworkers, "worker"), 100 * schedule->utilisation);
    cv_text_add(out, "\nchunks    %zu in ", schedule->nchunks);
    cv_text_add(out, "%s\n", CV_COUNTED(schedule->rounds, "round"));
}

/* Who stands for others has costs that are theirs in the long run. */
static void add_leaders(const struct cleave_platform *platform, struct cv_text *out)
{
    const double led = cv_platform_led(platform);

    if (led > 0)
        cv_text_add(out,
                    "leaders   stand for %s workers behind them; so does the bound, "
                    "which small chunks miss\n",
                    CV_SHOW_UNITS(led));
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
        CV_CELLS(&table, sums[w].units, sums[w].units / schedule->load,
                 (double)sums[w].chunks, sums[w].busy_s / schedule->makespan_s,
                 sums[w].first_s, sums[w].last_s);
        if (costs)
            cv_table_number(&table,
                            schedule->paid_s[w] * cleave_platform_cost(platform, w));
    }
    cv_add_table(&table, screen, out);
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
    struct cv_table table;

    for (size_t k = 0; k < schedule->nchunks; k++) {
        if (schedule->chunks[k].round < ROUNDS_SHOWN)
            add_to_sum(&rounds[schedule->chunks[k].round], &schedule->chunks[k]);
    }
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (unsigned r = 0; r < ROUNDS_SHOWN && r < schedule->rounds; r++) {
        CV_CELLS(&table, r + 1, (double)rounds[r].chunks, rounds[r].units,
                 rounds[r].units / schedule->load, rounds[r].send_s, rounds[r].last_s);
    }
    cv_add_table(&table, screen, out);
    if (schedule->rounds > ROUNDS_SHOWN)
        cv_text_add(out, "  and %s; --chunks lists every chunk\n",
                    CV_COUNTED(schedule->rounds - ROUNDS_SHOWN, "more round"));
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
        CV_CELLS(&table, chunk->round + 1, chunk->units, chunk->send_start_s,
                 chunk->send_end_s, chunk->compute_start_s, chunk->compute_end_s);
        if (returns) {
            CV_CELLS(&table, chunk->return_start_s, chunk->return_end_s);
        }
    }
    cv_add_table(&table, screen, out);
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
    const size_t nunpaid = price_unpaid(price),
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
        cv_table_text(&table, price_unpaid_name(price, i));
        cv_table_text(&table, price_unpaid_reason(price));
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(schedule->nleft_out + nunpaid - shown - unpaid_shown, "more worker",
                  out);
}

void cv_schedule_chart(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_task_options *options,
                       const struct cv_screen *screen, struct cv_text *out)
{
    const struct cv_gantt_style style = {
        .width = options->width > 0 ? (unsigned)options->width : screen->width,
        .rows = GANTT_ROWS,
        .utf8 = screen->utf8,
        .colour = screen->colour,
    };

    if (!options->gantt)
        return;
    cv_text_add(out, "\n");
    cv_terminal_gantt(schedule, platform, &style, out);
}

void cv_schedule_text(const struct cleave_schedule *schedule,
                      const struct cleave_platform *platform,
                      const struct cv_price *price, const struct cv_task_options *options,
                      const struct cv_screen *screen, struct cv_text *out)
{
    const uint32_t nworkers = cleave_platform_nworkers(platform);
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
    cv_schedule_chart(schedule, platform, options, screen, out);
    free(sums);
}

/* --- plans and simulations as JSON on stdout --------------------------------------- */

static void json_chunk(struct cv_json *json, const struct cleave_chunk *chunk,
                       const struct cleave_platform *platform)
{
    cv_field_line(json, NULL);
    cv_field_text(json, "worker", cleave_platform_worker_name(platform, chunk->worker));
    cv_field_count(json, "round", chunk->round);
    cv_field_number(json, "units", chunk->units);
    cv_field_number(json, "send_start", chunk->send_start_s);
    cv_field_number(json, "send_end", chunk->send_end_s);
    cv_field_number(json, "compute_start", chunk->compute_start_s);
    cv_field_number(json, "compute_end", chunk->compute_end_s);
    cv_field_number(json, "return_start", chunk->return_start_s);
    cv_field_number(json, "return_end", chunk->return_end_s);
    cv_json_end(json);
}

void cv_schedule_json(struct cv_json *json, const struct cleave_schedule *schedule,
                      const struct cleave_platform *platform,
                      const struct cv_price *price, uint64_t seed)
{
    cv_field_text(json, "policy", schedule->policy);
    cv_field_text(json, "picked", schedule->picked);
    cv_field_text(json, "why", schedule->why);
    cv_field_number(json, schedule->lifespan_s > 0 ? "work" : "load", schedule->load);
    if (schedule->lifespan_s > 0)
        cv_field_number(json, "lifespan", schedule->lifespan_s);
    if (schedule->result_ratio > 0)
        cv_field_number(json, "result_ratio", schedule->result_ratio);
    cv_field_count(json, "seed", seed);
    cv_field_number(json, "makespan", schedule->makespan_s);
    cv_field_number(json, "utilisation", schedule->utilisation);
    cv_field_count(json, "rounds", schedule->rounds);
    cv_field_bound(json, "bound", &schedule->bound);
    cv_field_number(json, "over_bound", schedule_over(schedule));
    cv_field_bool(json, "optimal", schedule->optimal);
    cv_field_text(json, "proved_among", schedule->proved);
    cv_field_list(json, "bounds");
    for (size_t i = 0; i < schedule->nbounds; i++)
        cv_field_bound(json, NULL, &schedule->bounds[i]);
    cv_json_end(json);
    if (schedule->nfacts > 0) {
        cv_field_line(json, "method");
        for (size_t i = 0; i < schedule->nfacts; i++)
            cv_field_number(json, schedule->facts[i].name, schedule->facts[i].value);
        cv_json_end(json);
    }
    price_json(json, schedule, platform, price);
    cv_field_list(json, "chunks");
    for (size_t k = 0; k < schedule->nchunks; k++)
        json_chunk(json, &schedule->chunks[k], platform);
    cv_json_end(json);
    cv_field_list(json, "left_out");
    for (size_t i = 0; i < schedule->nleft_out; i++)
        cv_field_reason(json, "worker",
                        cleave_platform_worker_name(platform,
                                                    schedule->left_out[i].worker),
                        schedule->left_out[i].reason);
    price_json_left_out(json, price);
    cv_json_end(json);
}
