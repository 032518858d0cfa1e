/* as4dr_plan.c -- what is fixed before the first post. SPDX-License-Identifier: MIT
 *
 * Who takes part, the part sent first, first loads and first posts, from declared costs.
 * A worker takes part if a round leaves it time to compute: tau > 2 f. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/stream/stream_costs.h"
#include "policy/stream/as4dr.h"

static const double PLL_GAIN = 0.6;

/* --- words -------------------------------------------------------------------------- */

static const char *const rule_words[] = { "eq1", "deadbeat", "pll", "periodic", NULL };
static const char *const post_words[] = { "event", "spaced", NULL };
static const char *const service_words[] = { "fifo", "rr", "edf", NULL };
static const char *const end_words[] = { "taper", "spread", "none", NULL };
static const char *const start_words[] = { "close", "spread", "zero", NULL };

/* The place of a word in a list, the first if none was given. */
static enum cleave_status read_word(const char *param, const char *word,
                                    const char *const *words, int *out,
                                    struct cleave_error *err)
{
    char list[80] = "";

    *out = 0;
    if (word == NULL)
        return CLEAVE_OK;
    for (int i = 0; words[i] != NULL; i++) {
        const size_t used = strlen(list);

        if (strcmp(words[i], word) == 0) {
            *out = i;
            return CLEAVE_OK;
        }
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0                 ? ""
                 : words[i + 1] == NULL ? " or "
                                        : ", ",
                 words[i]);
    }
    return cv_fail(err, CLEAVE_EINPUT,
                   "policy 'as4dr': parameter '%s': expected %s, got '%s'", param, list,
                   word);
}

static enum cleave_status read_words(struct cv_as4dr *as4dr, struct cleave_error *err)
{
    int rule, post, service, end, start;

    CV_TRY(read_word("rule", as4dr->rule_word, rule_words, &rule, err));
    CV_TRY(read_word("post", as4dr->post_word, post_words, &post, err));
    CV_TRY(read_word("service", as4dr->service_word, service_words, &service, err));
    CV_TRY(read_word("end", as4dr->end_word, end_words, &end, err));
    CV_TRY(read_word("start", as4dr->start_word, start_words, &start, err));
    as4dr->rule = (enum cv_as4dr_rule)rule;
    as4dr->post = (enum cv_as4dr_post)post;
    as4dr->service = (enum cv_as4dr_service)service;
    as4dr->end = (enum cv_as4dr_end)end;
    as4dr->start = (enum cv_as4dr_start)start;
    if (as4dr->gain == 0)
        as4dr->gain = as4dr->rule == CV_RULE_PLL ? PLL_GAIN : 1;
    return CLEAVE_OK;
}

/* --- places -------------------------------------------------------------------------- */

/* Of the members, one after the other. */
struct ring_arrays {
    struct cleave_worker *workers;
    double *theta, *margin, *starts, *first_loads;
};

static bool take_arrays(struct ring_arrays *out, uint32_t n, struct cv_arena *arena)
{
    out->workers = cv_array(arena, n, sizeof *out->workers);
    out->theta = cv_array(arena, n, sizeof(double));
    out->margin = cv_array(arena, n, sizeof(double));
    out->starts = cv_array(arena, n, sizeof(double));
    out->first_loads = cv_array(arena, n, sizeof(double));
    return out->workers != NULL && out->theta != NULL && out->margin != NULL &&
           out->starts != NULL && out->first_loads != NULL;
}

/* When each worker is posted to first. A port both ways is left when the results are
 * through as well; links of their own need no delays, nor do delays help that do not fit
 * into a round or keep a load of known size waiting. */
static void place_starts(const struct cv_as4dr *as4dr, enum cleave_port port,
                         const struct cv_stream_ring *ring,
                         const struct cv_stream_times *times, double *starts)
{
    double end_s = 0;

    if (as4dr->start == CV_START_SPREAD) {
        for (uint32_t i = 0; i < ring->n; i++)
            starts[i] = as4dr->tau_s * i / ring->n;
        return;
    }
    if (as4dr->start == CV_START_CLOSE && port != CLEAVE_PORT_MULTI && !as4dr->finite) {
        cv_ring_delays(ring, times, CV_DELAY_DERIVED, starts);
        if (port == CLEAVE_PORT_ONE)
            for (uint32_t i = 0; i < ring->n; i++)
                starts[i] += (1 + as4dr->margin) *
                             cv_return_time(&times[i > 0 ? i - 1 : ring->n - 1]);
        end_s = cv_stream_sum(starts, ring->n);
        if (end_s <= as4dr->tau_s) {
            double at_s = 0;

            for (uint32_t i = 0; i < ring->n; i++)
                starts[i] = i == 0 ? 0 : (at_s += fmax(0, starts[i]));
            return;
        }
    }
    memset(starts, 0, ring->n * sizeof *starts);
}

static double tau_at_first(const struct cv_as4dr *as4dr, uint32_t worker)
{
    return cv_as4dr_tau(as4dr, worker, 0);
}

static enum cleave_status place_members(struct cv_as4dr *as4dr,
                                        const struct cleave_view *view,
                                        const struct cleave_worker *workers,
                                        struct cv_as4dr_place *places,
                                        struct cv_arena *arena, struct cleave_error *err)
{
    const uint32_t n = as4dr->nmembers;
    struct cv_stream_times *times;
    struct ring_arrays arrays;
    struct cv_stream_ring ring;

    if (!take_arrays(&arrays, n, arena))
        return cv_fail_memory(err, "the places of the workers");
    ring = (struct cv_stream_ring){ arrays.workers, n,
                                    as4dr->tau_s,   view->result_ratio,
                                    arrays.theta,   arrays.margin };
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = as4dr->members[i];

        arrays.workers[i] = workers[w];
        arrays.margin[i] = as4dr->margin;
        arrays.theta[i] =
            cv_theta_moved(&workers[w], view->result_ratio,
                           cv_stream_load(&workers[w], tau_at_first(as4dr, w)),
                           as4dr->wanted_theta);
    }
    times = cv_ring_times(&ring, arena);
    if (times == NULL)
        return cv_fail_memory(err, "the places of the workers");
    place_starts(as4dr, view->port, &ring, times, arrays.starts);
    as4dr->phase_s =
        times[0].send_first_s + times[0].compute_first_s + times[0].return_first_s;
    if (as4dr->trim && as4dr->start == CV_START_CLOSE && as4dr->first == 1 &&
        !as4dr->finite && !as4dr->automatic)
        cv_ring_first_loads(&ring, times, arrays.first_loads);
    else
        for (uint32_t i = 0; i < n; i++)
            arrays.first_loads[i] =
                as4dr->first * cv_stream_load(&arrays.workers[i],
                                              tau_at_first(as4dr, as4dr->members[i]));
    for (uint32_t i = 0; i < n; i++) {
        struct cv_as4dr_place *place = &places[as4dr->members[i]];

        place->theta = arrays.theta[i];
        place->start_s = arrays.starts[i];
        /* Of a command nothing is known before it has done something. */
        place->first_load = view->real && as4dr->first == 1 ? 0 : arrays.first_loads[i];
    }
    return CLEAVE_OK;
}

/* Those that a round leaves time to compute. */
static enum cleave_status choose_members(struct cv_as4dr *as4dr,
                                         const struct cleave_view *view,
                                         struct cv_as4dr_place *places, uint32_t *members,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    double least_s = INFINITY;

    for (uint32_t w = 0; w < view->nworkers; w++) {
        const double latencies_s = 2 * view->workers[w].compute_latency_s;

        least_s = fmin(least_s, latencies_s);
        places[w].latency_s = view->workers[w].compute_latency_s;
        places[w].speed_ups = view->workers[w].speed_ups;
        places[w].member = as4dr->automatic || as4dr->tau_s > latencies_s;
        if (places[w].member)
            members[as4dr->nmembers++] = w;
        else
            cv_note_left_out(setup, w,
                             "its two latencies of computing take %.6g s of a round of "
                             "%.6g s",
                             latencies_s, as4dr->tau_s);
    }
    if (as4dr->nmembers == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'as4dr': parameter 'period': expected more than %g s, "
                       "which latencies alone take, got %g s",
                       least_s, as4dr->tau_s);
    return CLEAVE_OK;
}

enum cleave_status cv_as4dr_plan(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err)
{
    const uint32_t n = view->nworkers;
    struct cv_as4dr_place *places = cv_array(setup->arena, n, sizeof *places);
    struct cleave_worker *workers = cv_array(setup->arena, n, sizeof *workers);
    uint32_t *members = cv_array(setup->arena, n, sizeof *members);

    CV_TRY(read_words(as4dr, err));
    if (places == NULL || workers == NULL || members == NULL)
        return cv_fail_memory(err, "the places of the workers");
    memcpy(workers, view->workers, n * sizeof *workers);
    /* What does not come back has no latency either. */
    for (uint32_t w = 0; w < n && !(view->result_ratio > 0); w++)
        workers[w].return_latency_s = 0;
    as4dr->finite = !isinf(view->units_total);
    as4dr->real = view->real;
    as4dr->places = places;
    as4dr->members = members;
    cv_as4dr_choose_tau(as4dr, view, workers);
    CV_TRY(choose_members(as4dr, view, places, members, setup, err));
    return place_members(as4dr, view, workers, places, setup->arena, err);
}

enum cleave_status cv_as4dr_give(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 const struct cv_as4dr_given *given,
                                 struct cv_arena *arena, struct cleave_error *err)
{
    struct cv_as4dr_place *places = cv_array(arena, view->nworkers, sizeof *places);

    if (places == NULL)
        return cv_fail_memory(err, "the places of the workers");
    memcpy(places, as4dr->places, view->nworkers * sizeof *places);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        places[w].theta = given->theta[w];
        places[w].first_load = given->first_load[w];
        places[w].start_s = given->start_s[w];
    }
    as4dr->places = places;
    as4dr->automatic = false;
    as4dr->tau_s = given->tau_s;
    if (given->floor_s > 0)
        as4dr->floor_s = given->floor_s;
    return CLEAVE_OK;
}
