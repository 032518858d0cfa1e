/* own_policy.c -- a scheduling policy that is not in the library.
 * SPDX-License-Identifier: MIT
 *
 *     cc own_policy.c $(pkg-config --cflags --libs cleave) -lm -o own_policy
 *     own_policy [PLATFORM [UNITS]]
 *
 * Trapezoid self-scheduling (Tzeng and Ni, IEEE Transactions on Parallel and Distributed
 * Systems 4(1), 1993): idle workers take chunks whose sizes fall by the same amount each
 * time, from `first` to `last`. With first = units / (2 workers) and last = 1 there are
 * C = ceil(2 units / (first + last)) of them, each (first - last) / (C - 1) smaller than
 * the one before.
 *
 * The policy is planned, simulated with uncertain costs and compared with factoring; every
 * number is checked, and what does not hold makes the program fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cleave/cleave.h>

/* --- the policy -------------------------------------------------------------------------- */

enum {
    WAITING = 2
}; /* chunks that a worker has at a time: one computed, one on its way */

/* The state block: parameters first, then what `plan` and `start` make. */
struct trapezoid {
    double first, last; /* parameters; 0: as published                        */
    double step;        /* every chunk is smaller than the one before by this factor */
    double next;        /* size of the next one                                */
    uint32_t *held;     /* per worker: chunks sent and not computed yet        */
};

static enum cleave_status trapezoid_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct trapezoid *t = state;
    double count;

    (void)setup;
    if (t->first == 0)
        t->first = fmax(t->last, view->units_total / (2.0 * view->nworkers));
    if (t->first < t->last)
        return cleave_error_set(err, CLEAVE_EINPUT,
                                "trapezoid: expected a first chunk not below the last");
    count = ceil(2 * view->units_total / (t->first + t->last));
    t->step = count > 1 ? (t->first - t->last) / (count - 1) : 0;
    t->next = t->first;
    return CLEAVE_OK;
}

static enum cleave_status trapezoid_start(void *state, const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    struct trapezoid *t = state;

    t->held = cleave_setup_alloc(setup, view->nworkers, sizeof *t->held);
    if (t->held == NULL)
        return cleave_error_set(err, CLEAVE_ENOMEM, "trapezoid: out of memory");
    return CLEAVE_OK;
}

static void give(struct trapezoid *t, const struct cleave_view *view, uint32_t worker,
                 struct cleave_orders *orders)
{
    if (!(view->units_left > 0))
        return;
    cleave_order_send(orders, worker, fmin(t->next, view->units_left));
    t->next = fmax(t->last, t->next - t->step);
    t->held[worker]++;
}

static void trapezoid_decide(void *state, const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    struct trapezoid *t = state;

    if (event->kind == CLEAVE_START) {
        for (int round = 0; round < WAITING; round++)
            for (uint32_t w = 0; w < view->nworkers; w++)
                give(t, view, w, orders);
    } else if (event->kind == CLEAVE_DONE) {
        t->held[event->worker]--;
        while (t->held[event->worker] < WAITING && view->units_left > 0)
            give(t, view, event->worker, orders);
    }
}

static const struct cleave_param trapezoid_params[] = {
    { "first", CLEAVE_PARAM_REAL, offsetof(struct trapezoid, first), 0, 0, INFINITY,
      "units of the first chunk; 0: half of an equal share" },
    { "last", CLEAVE_PARAM_REAL, offsetof(struct trapezoid, last), 1, 1e-9, INFINITY,
      "units of the last chunk" },
    { 0 },
};

static const struct cleave_policy trapezoid = {
    .name = "trapezoid",
    .summary = "chunks that fall by the same amount each time",
    .reference = "Tzeng and Ni 1993",
    .task = CLEAVE_TASK_LOAD,
    .state_size = sizeof(struct trapezoid),
    .params = trapezoid_params,
    .plan = trapezoid_plan,
    .start = trapezoid_start,
    .decide = trapezoid_decide,
};

/* --- its use ----------------------------------------------------------------------------- */

static int complain(const struct cleave_error *err)
{
    char text[1024];

    cleave_error_format(err, text, sizeof text);
    fprintf(stderr, "own_policy: %s\n", text);
    return 1;
}

static int check(int holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "own_policy: expected %s\n", what);
    return holds ? 0 : 1;
}

/* All units are handed out, in chunks that never grow, and no bound is beaten. */
static int check_plan(const struct cleave_schedule *schedule, double load)
{
    double units = 0;
    int failed = 0;

    for (size_t k = 0; k < schedule->nchunks; k++) {
        units += schedule->chunks[k].units;
        if (k > 0 && schedule->chunks[k].units > schedule->chunks[k - 1].units)
            failed |= check(0, "chunks that never grow");
    }
    failed |= check(fabs(units - load) <= 1e-9 * load, "all units to be handed out");
    failed |= check(schedule->makespan_s >= schedule->bound.value_s * (1 - 1e-9),
                    "a plan that is not below the bound");
    printf("trapezoid: %zu chunks from %.2f to %.2f units, %.3f s, no schedule is below "
           "%.3f s\n",
           schedule->nchunks, schedule->chunks[0].units,
           schedule->chunks[schedule->nchunks - 1].units, schedule->makespan_s,
           schedule->bound.value_s);
    return failed;
}

static int plan(const struct cleave_job *job)
{
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;
    int failed;

    if (cleave_plan_load(job, &schedule, &err) != CLEAVE_OK)
        return complain(&err);
    failed = check_plan(schedule, job->load);
    cleave_schedule_free(schedule);
    return failed;
}

/* Costs that are 20 % off on average, for both policies the same. */
static int compare(const struct cleave_job *job)
{
    const struct cleave_trial trial = {
        .runs = 200, .noise = { .kind = CLEAVE_NOISE_NORMAL, .spread = 0.2 }
    };
    struct cleave_job other = *job;
    struct cleave_stats mine, theirs;
    struct cleave_error err;

    other.own_policy = NULL;
    other.policy = "factoring";
    if (cleave_simulate_load(job, &trial, &mine, &err) != CLEAVE_OK ||
        cleave_simulate_load(&other, &trial, &theirs, &err) != CLEAVE_OK)
        return complain(&err);
    printf("mean of %llu runs: trapezoid %.3f s, factoring %.3f s\n",
           (unsigned long long)trial.runs, mine.mean_s, theirs.mean_s);
    return check(mine.runs == trial.runs && mine.mean_s > 0,
                 "as many runs as asked for") |
           check(mine.mean_s < 1.5 * theirs.mean_s,
                 "trapezoid to be about as good as factoring");
}

int main(int argc, char **argv)
{
    struct cleave_platform *platform = NULL;
    struct cleave_job job = { .load = argc > 2 ? strtod(argv[2], NULL) : 2000,
                              .own_policy = &trapezoid,
                              .seed = 1 };
    struct cleave_error err;
    int failed;

    if (cleave_platform_load(argc > 1 ? argv[1] : "examples/unequal.yaml", &platform,
                             &err) != CLEAVE_OK)
        return complain(&err);
    job.platform = platform;
    failed = plan(&job);
    if (failed == 0)
        failed = compare(&job);
    cleave_platform_free(platform);
    return failed;
}
