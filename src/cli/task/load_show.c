/* load_show.c -- schedules and their costs as text and JSON. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/task/load_task.h"
#include "model/platform/platform_internal.h"
#include "report/terminal/terminal_charts.h"

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
    if (cleave_rent(&load->job, &out->terms, &out->rental, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    if (err.status != CLEAVE_EINPUT)
        return cv_print_status(&err);
    return cv_refuse("%s: %s", options->deadline_s > 0 ? "--deadline" : "--budget",
                     err.text);
}

/* NULL: all workers are used, as there are no options about money. */
static const struct cv_price *price_of(const struct cv_load_job *load)
{
    return load->price.rental != NULL ? &load->price : NULL;
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
        cv_text_add(out, "; none that ends by %s s costs less than %s",
                    CV_SHOW_NUMBER(price->terms.deadline_s),
                    CV_SHOW_NUMBER(price->rental->least_cost));
    cv_text_add(out, "\n");
}

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
        cv_fields(json, "cost_bound {name %s, value %g}",
                  deadline ? "deadline" : "any deadline", price->rental->least_cost);
    }
    cv_field_list(json, "costs");
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (schedule->paid_s[w] > 0)
            cv_fields(json, "{worker %s, paid_s %g, cost %g}",
                      cleave_platform_worker_name(platform, w), schedule->paid_s[w],
                      schedule->paid_s[w] * cleave_platform_cost(platform, w));
    cv_json_end(json);
}

/* How much is shown unless all is asked for. */
enum { WORKERS_SHOWN = 20, ROUNDS_SHOWN = 8, LEFT_OUT_SHOWN = 5, GANTT_ROWS = 16 };

/* How far a schedule is from its bound: 0.01 when it takes 1 % longer or, with a lifespan,
 * when 1 % more might be done. */
static double schedule_over(const struct cleave_schedule *schedule)
{
    return schedule->lifespan_s > 0
               ? cv_over(schedule->bound.value_s, schedule->load)
               : cv_over(schedule->makespan_s, schedule->bound.value_s);
}

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

void cv_schedule_headline(const struct cv_load_job *load, const struct cv_screen *screen,
                          struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const uint32_t nworkers = cleave_platform_nworkers(load->job.platform);
    uint32_t nused = 0;

    for (uint32_t w = 0; w < nworkers; w++)
        nused += load->sums[w].chunks > 0;
    cv_text_add(out, "%s", CV_BOLD(screen));
    cv_load_words(load, schedule->load, out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
    cv_policy_line(schedule->policy, schedule->picked, schedule->why, screen->width, out);
    add_outcome(schedule, out);
    price_text(schedule, price_of(load), out);
    if (load->items.count > 0 && !isnan(load->list_order_s))
        cv_text_add(out, "in order  %s s, %.2f%% over the bound, as the list has them\n",
                    CV_SHOW_NUMBER(load->list_order_s),
                    100 * cv_over(load->list_order_s, schedule->bound.value_s));
    cv_text_add(out, "used      %u of %s, utilisation %.1f%%\n", nused,
                CV_COUNTED(nworkers, "worker"), 100 * schedule->utilisation);
}

/* How many workers are led, and the first groups of these that get nothing. */
static void add_leaders(const struct cv_load_job *load, struct cv_text *out)
{
    enum { NAMED = 5 };
    const struct cleave_schedule *schedule = load->schedule;
    const double led = cv_platform_led(load->job.platform);
    size_t idle = 0;

    if (!(led > 0))
        return;
    cv_text_add(out, "leaders   lead %s", CV_COUNTED((uint64_t)led, "worker"));
    for (size_t i = 0; i < schedule->nled; i++) {
        if (schedule->led[i].leader == NULL || schedule->led[i].units > 0)
            continue;
        if (idle++ < NAMED)
            cv_text_add(out, "%s%s", idle == 1 ? "; they leave out " : ", ",
                        schedule->led[i].name);
    }
    cv_text_add(out, "%s\n", idle > NAMED ? ", ..." : "");
}

void cv_sum_add(struct cv_worker_sum *sum, const struct cleave_chunk *chunk)
{
    if (sum->chunks == 0 || chunk->compute_start_s < sum->first_s)
        sum->first_s = chunk->compute_start_s;
    if (sum->chunks == 0 || chunk->send_start_s < sum->send_s)
        sum->send_s = chunk->send_start_s;
    sum->last_s = fmax(sum->last_s, isnan(chunk->return_end_s) ? chunk->compute_end_s
                                                               : chunk->return_end_s);
    sum->busy_s += chunk->compute_end_s - chunk->compute_start_s;
    sum->units += chunk->units;
    sum->largest = fmax(sum->largest, chunk->units);
    sum->chunks++;
}

void cv_bounds_explain(const struct cleave_schedule *schedule, const char *heads,
                       const struct cv_bound_meaning *meanings,
                       const struct cv_screen *screen, struct cv_text *out)
{
    struct cv_table table;

    cv_table_init(&table, heads);
    for (size_t b = 0; b < schedule->nbounds; b++) {
        const struct cleave_bound *bound = &schedule->bounds[b];
        const struct cv_bound_meaning *meaning = meanings;

        while (meaning->bound != NULL && strcmp(meaning->bound, bound->name) != 0)
            meaning++;
        cv_table_add(&table, "%s %g %s", bound->name, bound->value_s, meaning->says);
    }
    cv_add_table(&table, screen, out);
}

void cv_schedule_workers(const struct cv_load_job *load, bool all,
                         const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const struct cleave_platform *platform = load->job.platform;
    const struct cv_worker_sum *sums = load->sums;
    const bool costs = schedule->paid_s != NULL;
    const uint32_t nworkers = cleave_platform_nworkers(platform);
    uint32_t shown = 0, hidden = 0;
    struct cv_table table;

    cv_table_init(&table, "worker|~units|%share|+chunks|%busy|#starts s|#ends s|#cost");
    table.ncolumns -= costs ? 0 : 1;
    for (uint32_t w = 0; w < nworkers; w++) {
        if (sums[w].chunks == 0)
            continue;
        if (!all && shown >= WORKERS_SHOWN) {
            hidden++;
            continue;
        }
        shown++;
        cv_table_add(&table, "%s %g %g %g %g %g %g",
                     cleave_platform_worker_name(platform, w), sums[w].units,
                     sums[w].units / schedule->load, (double)sums[w].chunks,
                     sums[w].busy_s / schedule->makespan_s, sums[w].first_s,
                     sums[w].last_s);
        if (costs)
            cv_table_add(&table, "%g",
                         schedule->paid_s[w] * cleave_platform_cost(platform, w));
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(hidden, "more worker", out);
}

static void add_rounds(const struct cleave_schedule *schedule,
                       const struct cv_screen *screen, struct cv_text *out)
{
    struct cv_worker_sum rounds[ROUNDS_SHOWN] = { { .chunks = 0 } };
    struct cv_table table;

    for (size_t k = 0; k < schedule->nchunks; k++) {
        if (schedule->chunks[k].round < ROUNDS_SHOWN)
            cv_sum_add(&rounds[schedule->chunks[k].round], &schedule->chunks[k]);
    }
    cv_table_init(&table, "+round|+chunks|~units|%share|#first sent s|#last ends s");
    for (unsigned r = 0; r < ROUNDS_SHOWN && r < schedule->rounds; r++)
        cv_table_add(&table, "%u %g %g %g %g %g", r + 1, (double)rounds[r].chunks,
                     rounds[r].units, rounds[r].units / schedule->load, rounds[r].send_s,
                     rounds[r].last_s);
    cv_add_table(&table, screen, out);
    if (schedule->rounds > ROUNDS_SHOWN)
        cv_text_add(out, "  and %s; --chunks lists every chunk\n",
                    CV_COUNTED(schedule->rounds - ROUNDS_SHOWN, "more round"));
}

static void add_chunks(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform,
                       const struct cv_screen *screen, struct cv_text *out)
{
    const bool returns = schedule->result_ratio > 0;
    struct cv_table table;

    cv_table_init(&table, "worker|+round|~units|#send s|#sent s|#compute s|#computed "
                          "s|#return s|#returned s");
    table.ncolumns -= returns ? 0 : 2;
    for (size_t k = 0; k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];

        cv_table_add(&table, "%s %u %g %g %g %g %g",
                     cleave_platform_worker_name(platform, chunk->worker),
                     chunk->round + 1, chunk->units, chunk->send_start_s,
                     chunk->send_end_s, chunk->compute_start_s, chunk->compute_end_s);
        if (returns)
            cv_table_add(&table, "%g %g", chunk->return_start_s, chunk->return_end_s);
    }
    cv_add_table(&table, screen, out);
}

static void add_left_out(const struct cv_load_job *load, bool all,
                         const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_schedule *schedule = load->schedule;
    const struct cv_price *price = price_of(load);
    const size_t shown = all || schedule->nleft_out < LEFT_OUT_SHOWN ? schedule->nleft_out
                                                                     : LEFT_OUT_SHOWN;
    const size_t nunpaid = price_unpaid(price),
                 unpaid_shown =
                     all || nunpaid < LEFT_OUT_SHOWN ? nunpaid : LEFT_OUT_SHOWN;
    struct cv_table table;

    if (schedule->nleft_out + nunpaid == 0)
        return;
    cv_table_init(&table, "left out|why");
    for (size_t i = 0; i < shown; i++)
        cv_table_add(&table, "%s %s",
                     cleave_platform_worker_name(load->job.platform,
                                                 schedule->left_out[i].worker),
                     schedule->left_out[i].reason);
    for (size_t i = 0; i < unpaid_shown; i++)
        cv_table_add(&table, "%s %s", price_unpaid_name(price, i),
                     price_unpaid_reason(price));
    cv_add_table(&table, screen, out);
    cv_add_hidden(schedule->nleft_out + nunpaid - shown - unpaid_shown, "more worker",
                  out);
}

void cv_schedule_chart(struct cv_task_call *task, const struct cv_screen *screen,
                       struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;
    const struct cv_gantt_style style = {
        .width = options->width > 0 ? (unsigned)options->width : screen->width,
        .rows = GANTT_ROWS,
        .utf8 = screen->utf8,
        .colour = screen->colour,
        .loads = load->several.items,
        .nloads = load->several.count,
    };

    if (!options->gantt)
        return;
    cv_text_add(out, "\n");
    cv_terminal_gantt(load->schedule, load->job.platform, &style, out);
}

void cv_schedule_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;
    const struct cleave_schedule *schedule = load->schedule;

    cv_schedule_headline(load, screen, out);
    cv_text_add(out, "chunks    %zu in %s\n", schedule->nchunks,
                CV_COUNTED(schedule->rounds, "round"));
    add_leaders(load, out);
    cv_schedule_workers(load, options->all_workers, screen, out);
    if (options->all_chunks)
        add_chunks(schedule, load->job.platform, screen, out);
    else if (schedule->rounds > 1)
        add_rounds(schedule, screen, out);
    add_left_out(load, options->all_workers, screen, out);
    cv_schedule_chart(task, screen, out);
}

void cv_field_chunk(struct cv_json *json, const struct cleave_chunk *chunk,
                    const struct cv_load_job *load)
{
    const bool items = load->items.count > 0;

    cv_field_line(json, NULL);
    if (items)
        cv_field_count(json, "item", chunk->item);
    if (load->items.names != NULL)
        cv_field_text(json, "name", load->items.names[chunk->item]);
    if (load->several.count > 0)
        cv_field_text(json, "load", load->several.items[chunk->item].name);
    cv_field_text(json, "worker",
                  cleave_platform_worker_name(load->job.platform, chunk->worker));
    if (!items)
        cv_field_count(json, "round", chunk->round);
    cv_fields(json,
              "units %g, send_start %g, send_end %g, compute_start %g, compute_end %g",
              chunk->units, chunk->send_start_s, chunk->send_end_s,
              chunk->compute_start_s, chunk->compute_end_s);
    if (!items)
        cv_fields(json, "return_start %g, return_end %g", chunk->return_start_s,
                  chunk->return_end_s);
    cv_json_end(json);
}

/* Items: what their own order takes, and what each worker does. */
static void json_items(struct cv_json *json, const struct cv_load_job *load)
{
    cv_field_number(json, "list_order",
                    isnan(load->list_order_s) ? load->schedule->makespan_s
                                              : load->list_order_s);
    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < cleave_platform_nworkers(load->platform); w++) {
        const struct cv_worker_sum *sum = &load->sums[w];

        cv_fields(json, "{worker %s, items %llu, units %g, busy %g, end %g}",
                  cleave_platform_worker_name(load->platform, w),
                  (unsigned long long)sum->chunks, sum->units, sum->busy_s, sum->last_s);
    }
    cv_json_end(json);
}

/* Loads: facts of the method, and costs. */
static void json_method(struct cv_json *json, const struct cv_load_job *load)
{
    const struct cleave_schedule *schedule = load->schedule;

    if (schedule->nfacts > 0) {
        cv_field_line(json, "method");
        for (size_t i = 0; i < schedule->nfacts; i++)
            cv_field_number(json, schedule->facts[i].name, schedule->facts[i].value);
        cv_json_end(json);
    }
    price_json(json, schedule, load->job.platform, price_of(load));
}

static void json_led(struct cv_json *json, const struct cleave_schedule *schedule)
{
    if (schedule->nled == 0)
        return;
    cv_field_list(json, "led");
    for (size_t i = 0; i < schedule->nled; i++) {
        const struct cleave_led *led = &schedule->led[i];

        cv_json_object(json);
        cv_fields(json, "worker %s, leader %s, count %llu, units %g", led->name,
                  led->leader, (unsigned long long)led->count, led->units);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void json_left_out(struct cv_json *json, const struct cv_load_job *load)
{
    const struct cleave_schedule *schedule = load->schedule;
    const struct cv_price *price = price_of(load);

    cv_field_list(json, "left_out");
    for (size_t i = 0; i < schedule->nleft_out; i++)
        cv_field_reason(json, "worker",
                        cleave_platform_worker_name(load->job.platform,
                                                    schedule->left_out[i].worker),
                        schedule->left_out[i].reason);
    for (size_t i = 0; i < price_unpaid(price); i++)
        cv_field_reason(json, "worker", price_unpaid_name(price, i),
                        price_unpaid_reason(price));
    cv_json_end(json);
}

void cv_schedule_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_load_job *load = task->job;
    const struct cleave_schedule *schedule = load->schedule;
    const bool items = load->items.count > 0;

    cv_field_text(json, "policy", schedule->policy);
    if (items)
        cv_field_count(json, "items", load->items.count);
    else
        cv_fields(json, "picked %s, why %s", schedule->picked, schedule->why);
    cv_field_number(json, schedule->lifespan_s > 0 ? "work" : "load", schedule->load);
    cv_fields(json,
              "lifespan ?%g, result_ratio ?%g, seed %llu, makespan %g, utilisation %g",
              schedule->lifespan_s, schedule->result_ratio,
              (unsigned long long)task->options->seed, schedule->makespan_s,
              schedule->utilisation);
    if (!items)
        cv_field_count(json, "rounds", schedule->rounds);
    cv_field_bound(json, "bound", &schedule->bound);
    cv_fields(json, "over_bound %g, optimal %d", schedule_over(schedule),
              schedule->optimal);
    if (!items)
        cv_field_text(json, "proved_among", schedule->proved);
    cv_field_list(json, "bounds");
    for (size_t i = 0; i < schedule->nbounds; i++)
        cv_field_bound(json, NULL, &schedule->bounds[i]);
    cv_json_end(json);
    (items ? json_items : json_method)(json, load);
    cv_field_list(json, "chunks");
    for (size_t k = 0; k < schedule->nchunks; k++)
        cv_field_chunk(json, &schedule->chunks[k], load);
    cv_json_end(json);
    if (!items)
        json_left_out(json, load);
    json_led(json, load->schedule);
}
