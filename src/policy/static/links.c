/* links.c -- the optimal plan for a multi-port master: every link on its own.
 * SPDX-License-Identifier: MIT
 *
 * Links that share no port are independent. For one worker, K chunks that leave no gap
 * and end at T are optimal for their number: a chunk arrives when the one before is
 * computed,
 *
 *     L + u[k+1] / B = C + u[k] / S,    and    T = sum(L + u[k] / B) + C + u[K] / S
 *
 * with the latencies L and C. All sizes, and so the units U_K(T), are affine in any one
 * of them. Steps towards smaller chunks reduce errors and steps towards larger ones
 * amplify them: so the recursion starts with the first chunk if the link is the
 * bottleneck (B < S) and else with the last one. Worker i does U_i(T) = max_K U_K(T)
 * units by T, and the makespan is the least T for which all of them do the load.
 * Bisection on T: about 60 passes over the workers, each over the useful numbers of
 * chunks.
 *
 * If speeds change with time (profiles), the plan is that of varied_plan.c. */
#include <math.h>
#include <string.h>

#include "policy/common/setup.h"
#include "policy/static/varied_plan.h"

struct links {
    struct cv_static fixed;
    uint32_t max_chunks;
};

/* The best plan of a worker for a given end. */
struct best {
    uint32_t chunks;
    double units, anchor; /* anchor: units of the first or last chunk */
};

/* offset + slope * anchor */
struct affine {
    double offset, slope;
};

struct search {
    const struct cleave_worker *workers;
    uint32_t nworkers, max_chunks;
};

static double value(struct affine line, double anchor)
{
    return line.offset + line.slope * anchor;
}

/* Whether the anchor is the first chunk. */
static bool from_first(const struct cleave_worker *worker)
{
    return worker->bandwidth_ups < worker->speed_ups;
}

/* The chunk that is one further from the anchor. */
static struct affine step(const struct cleave_worker *worker, struct affine chunk)
{
    const double ratio = worker->bandwidth_ups / worker->speed_ups;
    const double gain =
        worker->bandwidth_ups * (worker->compute_latency_s - worker->latency_s);

    if (from_first(worker))
        return (struct affine){ ratio * chunk.offset + gain, ratio * chunk.slope };
    return (struct affine){ (chunk.offset - gain) / ratio, chunk.slope / ratio };
}

static struct best best_by(const struct search *search,
                           const struct cleave_worker *worker, double time_s)
{
    struct affine chunk = { 0, 1 }, sum = { 0, 0 };
    struct best best = { 0, 0, 0 };

    for (uint32_t k = 1; k <= search->max_chunks; k++) {
        const struct affine anchor = { 0, 1 }, last = from_first(worker) ? chunk : anchor;
        double anchored, units;

        sum.offset += chunk.offset;
        sum.slope += chunk.slope;
        anchored =
            (time_s - k * worker->latency_s - worker->compute_latency_s -
             sum.offset / worker->bandwidth_ups - last.offset / worker->speed_ups) /
            (sum.slope / worker->bandwidth_ups + last.slope / worker->speed_ups);
        /* With more chunks there is no time left. */
        if (!(anchored >= 0) || value(chunk, anchored) < 0)
            break;
        units = value(sum, anchored);
        /* Past the best number, latencies only add up. */
        if (units <= best.units)
            break;
        best = (struct best){ k, units, anchored };
        chunk = step(worker, chunk);
    }
    return best;
}

static double units_by(const struct search *search, double time_s)
{
    double units = 0;

    for (uint32_t w = 0; w < search->nworkers; w++)
        units += best_by(search, &search->workers[w], time_s).units;
    return units;
}

/* The least time by which the load is done, from above. */
static double least_time(const struct search *search, double load)
{
    double low = 0, high = INFINITY;

    /* The fastest single worker with a single chunk does it. */
    for (uint32_t w = 0; w < search->nworkers; w++) {
        const struct cleave_worker *worker = &search->workers[w];

        high = fmin(high, worker->latency_s + worker->compute_latency_s +
                              load / worker->bandwidth_ups + load / worker->speed_ups);
    }
    high *= 1 + 1e-12;
    for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
        double middle = 0.5 * (low + high);

        if (units_by(search, middle) >= load)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void fill_worker(const struct search *search, uint32_t w, const struct best *best,
                        double scale, struct cv_plan *plan)
{
    const struct cleave_worker *worker = &search->workers[w];
    struct affine chunk = { 0, 1 };

    for (uint32_t k = 0; k < best->chunks; k++) {
        const uint32_t place = from_first(worker) ? k : best->chunks - 1 - k;

        plan->worker[plan->nchunks + k] = w;
        plan->units[plan->nchunks + place] = fmax(0, value(chunk, best->anchor)) * scale;
        chunk = step(worker, chunk);
    }
    plan->nchunks += best->chunks;
}

static enum cleave_status make_plan(const struct search *search, double load,
                                    struct cleave_setup *setup, struct cv_plan *out,
                                    struct cleave_error *err)
{
    struct best *best = cv_array(setup->arena, search->nworkers, sizeof *best);
    double time_s = least_time(search, load), units = 0;
    size_t chunks = 0;

    if (best == NULL)
        return cv_fail_memory(err, "a plan");
    for (uint32_t w = 0; w < search->nworkers; w++) {
        best[w] = best_by(search, &search->workers[w], time_s);
        chunks += best[w].chunks;
        units += best[w].units;
        if (best[w].chunks == 0)
            cv_note_left_out(setup, w, "its latencies alone take until the end at %.5g s",
                             time_s);
    }
    out->worker = cv_array(setup->arena, chunks, sizeof *out->worker);
    out->units = cv_array(setup->arena, chunks, sizeof *out->units);
    if (out->worker == NULL || out->units == NULL)
        return cv_fail_memory(err, "a plan");
    out->nchunks = 0;
    for (uint32_t w = 0; w < search->nworkers; w++)
        fill_worker(search, w, &best[w], load / units, out);
    return CLEAVE_OK;
}

static enum cleave_status links_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct links *links = state;
    struct search search = { .workers = view->workers,
                             .nworkers = view->nworkers,
                             .max_chunks = links->max_chunks };

    CV_TRY(make_plan(&search, view->units_total, setup, &links->fixed.plan, err));
    if (view->profiles != NULL)
        CV_TRY(cv_varied_plan(view, false, &links->fixed.plan, setup, &links->fixed.plan,
                              &(double){ 0 }, err));
    return cv_static_index(&links->fixed, view, setup, err);
}

static const struct cleave_param links_params[] = {
    { "max_chunks", CLEAVE_PARAM_COUNT, offsetof(struct links, max_chunks), 200, 1,
      100000, "most chunks per worker" },
    { 0 },
};

const struct cleave_policy cleave_policy_links = {
    .name = "links",
    .summary = "every link on its own, ending together: the best for a multi-port master",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_MULTI_PORT,
    .uses_profiles = true,
    .state_size = sizeof(struct links),
    .params = links_params,
    .plan = links_plan,
    .decide = cv_static_decide,
};
