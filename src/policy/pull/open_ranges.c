/* open_ranges.c -- one rule for chunks that may stay open. SPDX-License-Identifier: MIT
 *
 * The estimate: every worker has a speed in units per second, with a standard deviation of
 * its logarithm. Its own measurements are weighted against the mean of all workers by
 * their variances; before the first measurement the spread is what the view expects.
 *
 * The rule: T is the time at which all workers could end together, the sum over workers of
 * speed (T - ready) = units left. Recallable units follow the estimated speed; other
 * units are given only as far as the worker, at the low end of its interval, ends within
 * one start of T. A worker without work gets free units, else the tail of the chunk that
 * ends last. Before that, all others are asked how far they are.
 *
 * Workers share nothing but the units left: no decision waits for an answer that does not
 * come at once. Equal workers start at once on equal ranges; only if workers may differ
 * much, a first small chunk shows how the command reads.
 *
 * O(workers) for a decision. */
#include "policy/pull/open_ranges.h"

#include <math.h>
#include "policy/common/fit.h"
#include "policy/common/reserved_workers.h"
#include "policy/pull/fold_charge.h"
#include "policy/pull/learn.h"
#include "policy/pull/pull.h"

/* --- constants -------------------------------------------------------------------------- */

/* Standard deviations below the estimate of the low end of a speed. */
static const double LOW = 1.28;
/* Seconds by which a clock may be off, if the view does not say it. */
static const double QUANTUM_S = 1e-3;
/* No speed is known better than this part. */
static const double NOISE = 0.2;
/* No worker is slower than this, so that times are finite: units per second. */
static const double LEAST_UPS = 1e-200;
/* A smaller part of the load is rounding. */
static const double LEAST_PART = 1e-12;
/* Weight of older measurements at each new one. */
static const double KEEP = 0.7;
/* Least part of the time of a chunk that is work. */
static const double LEAST_WORK = 0.02;
/* Up to this ratio of speeds workers count as equal; an unknown ratio is UNEQUAL. */
static const double ALIKE = 4, UNEQUAL = 30;
/* A first test is this part of a share. */
static const double TEST = 1.0 / 256;
/* A command that reads slower than this part of the speed of a pipe works as it reads. */
static const double OWN_PACE = 0.3;
/* Bytes per second that any pipe carries. */
static const double PIPE_UPS = 1e9;
/* Capacities of a pipe that a verdict needs. */
static const double WINDOWS = 4;
/* A command that does less than this part of its work while it reads reads all first. */
static const double STREAMING = 0.5, LEAST_PHI = 0.1;
/* A command that was started on nothing is ready after this part of a start. */
static const double READY = 0.9;
/* An idle worker looks again after this part of the time of the other workers, at least
 * LOOK_S. */
static const double AGAIN = 1.0 / 8, LOOK_S = 2e-3;
/* Least factor between a chunk that cannot be taken back and the largest of its
 * worker. */
static const double GROW = 4;
/* A punctual chunk is copied if it takes this many times the time of a copy, a late one
 * if its delay is this part of that time. */
static const double COPY = 2, LATE = 0.25;
/* A chunk that cannot be taken back lasts at most this many starts, or this part of a share. */
static const double LONG_STARTS = 10, LARGEST = 0.2;
/* Seconds in which a worker that is expected must come. */
static const double COMING_S = 1;
/* Losses in a row after which a worker gets no more. */
enum { LOSSES = 3 };

enum { NOBODY = UINT32_MAX };

enum phase {
    IDLE,
    EMPTY,  /* a command was started, without input */
    OPEN,   /* the chunk may be extended */
    CLOSED, /* the command was given the end of its input */
};

/* How the command uses its input. */
enum kind {
    UNKNOWN,
    WORKS_AS_IT_READS, /* works as it reads */
    READS_FIRST,       /* works when it has read the end */
};

struct cv_range_worker {
    enum phase phase;
    uint32_t group;
    double opened_s, bound_s;      /* command started; first input given */
    double began_s;                /* reads since then; below 0: not yet */
    double given, due;             /* units of its chunk; asked for, and not answered */
    double read, read_s;           /* last report */
    double moved_s;                /* when `read` last grew */
    double from, from_s;           /* begin of the current sample */
    double closed_s, drained_s;    /* input closed; all read */
    double asked_s, round_s;       /* last query; the longest answer */
    double units, seconds, chunks; /* measured, with decay */
    double largest;                /* units of its largest chunk that is done */
    struct cv_fit compute;         /* fit over chunks that were read first */
    double prior;                  /* relative speed known from an earlier run; 1: none */
    double usual_ups;              /* the estimate, without the current chunk */
    double speed_ups, low;         /* ... and after */
    uint32_t lost;                 /* chunks in a row */
    uint32_t thief;                /* worker that gets the recalled units, or NOBODY */
    uint32_t twin;                 /* worker that runs the same chunk, or NOBODY */
    bool copy;                     /* this is the copy of the two */
    bool no_copy;                  /* a copy was refused */
    bool opening;                  /* due units were requested by CLEAVE_OPEN */
    bool coming, drained, ends, querying, recalling, test, guessed;
    bool firm; /* nothing could be taken back, and it was given nothing since */
};

/* Workers with equal expected speeds. */
struct cv_range_group {
    uint32_t workers;    /* present at the start of the run */
    uint32_t known;      /* workers with a measured speed */
    double weight, mean; /* weight and mean of the logarithms */
    double spread;       /* variance between its workers */
    double unsure;       /* variance of the mean */
    bool tested;         /* a worker of it has a test, or is known */
};

static double square(double x)
{
    return x * x;
}

static bool is_out(const struct cv_range_worker *worker)
{
    return worker->lost >= LOSSES;
}

static bool is_free(const struct cv_range_worker *worker)
{
    return !is_out(worker) && !worker->coming &&
           (worker->phase == IDLE || worker->phase == EMPTY) && !(worker->due > 0);
}

static bool is_busy(const struct cv_range_worker *worker)
{
    return worker->phase == OPEN || worker->phase == CLOSED;
}

/* State of one decision. */
struct turn {
    struct cv_open_ranges *learn;
    const struct cleave_view *view;
    struct cleave_orders *orders;
    double now_s;
};

static bool is_stream(const struct turn *turn)
{
    return isinf(turn->view->units_left);
}

/* How many times faster one worker may be than another. */
static double unequal(const struct turn *turn)
{
    return turn->view->unequal > 0 ? turn->view->unequal : UNEQUAL;
}

static bool are_alike(const struct turn *turn)
{
    return unequal(turn) <= ALIKE || turn->learn->present < 2 ||
           (turn->view->groups != NULL && turn->learn->ngroups < 2);
}

/* The pace of reading is the pace of work, as far as is known. */
static bool reading_shows_work(const struct turn *turn)
{
    return turn->learn->kind == WORKS_AS_IT_READS ||
           (turn->learn->kind == UNKNOWN && are_alike(turn));
}

/* Whether it is known how much work follows the end of the input. */
static bool knows_rest(const struct cv_open_ranges *learn)
{
    return learn->emits || learn->all_s > 0;
}

/* Seconds by which a clock or a scheduler may be off: what took less shows nothing. */
static double quantum(const struct turn *turn)
{
    return fmax(turn->view->burst_s, QUANTUM_S);
}

/* Units that a pipe holds: less shows nothing of a command. */
static double window(const struct turn *turn)
{
    return fmax(turn->view->ahead, turn->learn->record);
}

/* --- the estimate ------------------------------------------------------------------- */

/* Seconds of work measured, without the fixed time of each chunk. */
static double work_of(const struct cv_range_worker *worker, double fixed_s)
{
    return fmax(worker->seconds - fixed_s * worker->chunks, worker->seconds * LEAST_WORK);
}

static double noise(const struct turn *turn)
{
    return fmax(turn->view->varies, NOISE);
}

/* Seconds by which the work may be longer. The fixed time of a chunk varies as other times do. */
static double off_by(const struct turn *turn, const struct cv_range_worker *worker)
{
    return quantum(turn) + turn->learn->unsure_s +
           noise(turn) * turn->learn->fixed_s * sqrt(worker->chunks);
}

/* What was read may not be worked on yet: reading shows how fast a worker is at least. */
static double longest_work(const struct turn *turn, const struct cv_range_worker *worker)
{
    return work_of(worker, turn->learn->fixed_s) +
           (worker->chunks > 0 ? 0 : quantum(turn));
}

static double variance_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    return square(off_by(turn, worker) / longest_work(turn, worker)) +
           square(noise(turn));
}

static double own_log(const struct turn *turn, const struct cv_range_worker *worker)
{
    return log(worker->units / longest_work(turn, worker) / worker->prior);
}

/* Measurement of a chunk without progress reports: an upper limit of its speed. */
static double limit_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double since_s = worker->read_s - fmax(worker->moved_s, worker->began_s);

    if (!is_busy(worker) || worker->began_s < 0)
        return INFINITY;
    if (!reading_shows_work(turn))
        return worker->given /
               fmax(turn->now_s - worker->began_s - turn->learn->fixed_s, quantum(turn));
    if (worker->drained || since_s < quantum(turn))
        return INFINITY;
    return fmax(window(turn), worker->read - worker->from) *
           fmax(turn->learn->phi, LEAST_PHI) /
           fmax(worker->read_s - fmax(worker->from_s, worker->began_s), quantum(turn));
}

/* Mean of each group: weights are inverse variances. */
static void average_groups(const struct turn *turn, double within)
{
    struct cv_open_ranges *learn = turn->learn;

    for (uint32_t g = 0; g < learn->ngroups; g++)
        learn->groups[g] = (struct cv_range_group){ .workers = learn->groups[g].workers,
                                                    .spread = within };
    learn->known = 0;
    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];
        struct cv_range_group *group = &learn->groups[worker->group];
        const double weight = 1 / (variance_of(turn, worker) + within);

        if (!(worker->seconds > 0))
            continue;
        learn->known++;
        group->known++;
        group->weight += weight;
        group->mean += (own_log(turn, worker) - group->mean) * weight / group->weight;
    }
    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];
        struct cv_range_group *group = &learn->groups[worker->group];

        if (worker->seconds > 0)
            group->spread += square(own_log(turn, worker) - group->mean);
    }
    for (uint32_t g = 0; g < learn->ngroups; g++)
        learn->groups[g].spread /= fmax(learn->groups[g].known, 1);
}

/* Expectation for a worker before its measurements: its group's mean, which is itself
 * weighted against the means of other groups. */
static void expect_groups(const struct turn *turn, double within, double between)
{
    struct cv_open_ranges *learn = turn->learn;
    double weights = 0, mean = 0, apart = between;
    uint32_t known = 0;

    for (uint32_t g = 0; g < learn->ngroups; g++) {
        const struct cv_range_group *group = &learn->groups[g];
        const double weight = group->known > 0 ? 1 / (1 / group->weight + between) : 0;

        weights += weight;
        if (weight > 0)
            mean += (group->mean - mean) * weight / weights;
        known += weight > 0;
    }
    for (uint32_t g = 0; g < learn->ngroups; g++)
        if (learn->groups[g].known > 0)
            apart += square(learn->groups[g].mean - mean);
    apart /= known;
    for (uint32_t g = 0; g < learn->ngroups; g++) {
        struct cv_range_group *group = &learn->groups[g];
        const double own = group->known > 0 ? group->weight : 0;

        if (learn->ngroups == 1) {
            group->unsure = 1 / own;
            continue;
        }
        group->mean = (own * group->mean + mean / apart) / (own + 1 / apart);
        /* A mean of few workers is as uncertain as the spread between them. */
        group->unsure =
            own > 0 ? 1 / (own + 1 / apart) : within + apart * (1 + 1.0 / known);
    }
}

static void estimate(const struct turn *turn)
{
    struct cv_open_ranges *learn = turn->learn;
    const double between = square(log(unequal(turn)) / 2);
    const double within = turn->view->groups != NULL ? square(log(ALIKE) / 2) : between;

    average_groups(turn, within);
    if (learn->known == 0)
        return;
    expect_groups(turn, within, between);
    for (uint32_t w = 0; w < learn->n; w++) {
        struct cv_range_worker *worker = &learn->workers[w];
        const struct cv_range_group *group = &learn->groups[worker->group];
        const double own = worker->seconds > 0 ? 1 / variance_of(turn, worker) : 0;
        const double prior = 1 / group->spread;
        const double log_speed =
            own > 0 ? (own * own_log(turn, worker) + group->mean * prior) / (own + prior)
                    : group->mean;
        const double sd =
            sqrt((own > 0 ? 1 / (own + prior) : group->spread + group->unsure) +
                 square(noise(turn)));
        const double most = limit_of(turn, worker);

        worker->usual_ups = exp(log_speed) * worker->prior;
        worker->speed_ups = fmax(fmin(worker->usual_ups, most), LEAST_UPS);
        /* No worker is slower than workers may differ: an error of the mean is in T as well. */
        worker->low = worker->speed_ups * fmax(exp(-LOW * sd), 1 / unequal(turn));
    }
}

static void observe(struct cv_range_worker *worker, double units, double seconds,
                    double chunks)
{
    if (!(units > 0))
        return;
    if (worker->guessed)
        worker->units = worker->seconds = worker->chunks = 0;
    worker->guessed = false;
    worker->units = worker->units * KEEP + units;
    worker->seconds = worker->seconds * KEEP + fmax(seconds, 1e-9);
    worker->chunks = worker->chunks * KEEP + chunks;
}

/* The command has read this many units. */
static void sample(const struct turn *turn, struct cv_range_worker *worker, double read)
{
    if (read > worker->read)
        worker->moved_s = turn->now_s;
    worker->read = fmax(worker->read, read);
    worker->read_s = turn->now_s;
    if (worker->began_s < 0 || worker->from_s < 0)
        return;
    if (reading_shows_work(turn) && worker->read > worker->from &&
        turn->now_s - worker->from_s >= quantum(turn) &&
        worker->read - worker->from >= window(turn)) {
        observe(worker, worker->read - worker->from,
                (turn->now_s - worker->from_s) / fmax(turn->learn->phi, LEAST_PHI), 0);
        worker->from = worker->read;
        worker->from_s = turn->now_s;
    }
}

/* Fixed time of a chunk besides its work: the mean of workers whose chunks differed in
 * size, and at most the shortest time; before that, half of the shortest. */
static void fit_fixed(const struct turn *turn, struct cv_range_worker *worker,
                      double units, double time_s)
{
    struct cv_open_ranges *learn = turn->learn;
    double sum_s = 0;
    uint32_t sure = 0;

    learn->least_s = learn->least_s > 0 ? fmin(learn->least_s, time_s) : time_s;
    cv_fit_add(&worker->compute, units, time_s, -1);
    for (uint32_t w = 0; w < learn->n; w++)
        if (learn->workers[w].compute.sure) {
            sure++;
            sum_s += learn->workers[w].compute.latency_s;
        }
    learn->unsure_s = sure > 0 ? 0 : learn->least_s / 2;
    learn->fixed_s = sure > 0 ? sum_s / sure : learn->unsure_s;
    if (turn->view->real) /* simulated noise makes even a start shorter */
        learn->fixed_s = fmin(learn->fixed_s, learn->least_s);
}

static double compute_time(const struct turn *turn, const struct cv_range_worker *worker,
                           double units)
{
    return worker->usual_ups > 0 ? turn->learn->fixed_s + units / worker->usual_ups : 0;
}

static double start_of(const struct cv_open_ranges *learn)
{
    return learn->starts > 0 ? learn->start_s : 0;
}

static void note_start(struct cv_open_ranges *learn, double start_s)
{
    learn->starts += learn->starts < 8;
    learn->start_s += (start_s - learn->start_s) / learn->starts;
}

/* Cost of one more chunk for its worker. */
static double overhead(const struct turn *turn, const struct cv_range_worker *worker)
{
    const struct cv_open_ranges *learn = turn->learn;

    return fmax(start_of(learn) + learn->fixed_s + worker->round_s +
                    cv_fold_charge(turn->view, learn->fold_s, learn->present),
                LOOK_S);
}

static bool takes_back(const struct turn *turn, const struct cv_range_worker *worker)
{
    return reading_shows_work(turn) && is_busy(worker) && !worker->drained &&
           worker->twin == NOBODY;
}

/* Units that were not read, as far as is known. A worker that should have read all, and has
 * not, is expected to need as long again as it is late. */
static double unread(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double since_s = turn->now_s - fmax(worker->read_s, worker->began_s);
    const double rest = fmax(0, worker->given + worker->due - worker->read);
    const double more =
        worker->began_s >= 0 && since_s > 0 ? worker->speed_ups * since_s : 0;

    return worker->drained
               ? 0
               : fmin(rest, fabs(rest - more / fmax(turn->learn->phi, LEAST_PHI)));
}

/* Seconds of work on units read, which follows the end of the input. */
static double debt(const struct turn *turn, const struct cv_range_worker *worker)
{
    return (1 - turn->learn->phi) * (worker->given + worker->due - unread(turn, worker)) /
               worker->speed_ups +
           turn->learn->fixed_s;
}

/* Seconds until a worker has finished its chunk. A late chunk is expected to take its
 * delay once more. */
static double rest_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double begins_s =
        worker->began_s >= 0
            ? worker->began_s
            : fmax(worker->opened_s + start_of(turn->learn), worker->bound_s);
    double rest_s;

    if (!is_busy(worker))
        return 0;
    if (!reading_shows_work(turn)) {
        const double takes_s = turn->learn->fixed_s + worker->given / worker->usual_ups;

        return fabs(begins_s + takes_s - turn->now_s);
    }
    /* A stalled chunk is expected to stall as long again. */
    rest_s = fmax(unread(turn, worker) / worker->speed_ups + debt(turn, worker),
                  worker->read_s - fmax(worker->moved_s, worker->began_s));
    if (worker->began_s < 0)
        rest_s += fabs(begins_s - turn->now_s);
    return rest_s;
}

/* When a chunk is expected to end; INFINITY: it has not begun. */
static double ends_at(const struct turn *turn, const struct cv_range_worker *worker)
{
    return worker->began_s < 0
               ? INFINITY
               : worker->began_s + compute_time(turn, worker, worker->given);
}

/* Seconds until a worker could begin something more. */
static double ready_in(const struct turn *turn, const struct cv_range_worker *worker)
{
    const struct cv_open_ranges *learn = turn->learn;

    if (is_out(worker) || worker->coming)
        return INFINITY;
    if (worker->phase == EMPTY)
        return fmax(0, worker->opened_s + start_of(learn) - turn->now_s) +
               learn->fixed_s + cv_fold_charge(turn->view, learn->fold_s, learn->present);
    if (reading_shows_work(turn) && worker->phase == OPEN && worker->twin == NOBODY)
        /* unread units count as left */
        return debt(turn, worker) +
               (worker->began_s < 0
                    ? fmax(0, worker->opened_s + start_of(learn) - turn->now_s)
                    : 0);
    return rest_of(turn, worker) + overhead(turn, worker);
}

/* Cost of one more chunk for a worker without work; its command may have been started. */
static double begin_cost(const struct turn *turn, const struct cv_range_worker *worker)
{
    return worker->phase == EMPTY ? ready_in(turn, worker) : overhead(turn, worker);
}

/* In how many seconds all could end together. */
static double end_together(const struct turn *turn)
{
    const struct cv_open_ranges *learn = turn->learn;
    double units = turn->view->units_left;

    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];

        if (takes_back(turn, worker))
            units += unread(turn, worker);
        learn->ready[w].in_s = ready_in(turn, worker);
        learn->ready[w].speed_ups = worker->speed_ups;
    }
    return cv_end_together(learn->ready, learn->n, units);
}

/* --- orders ------------------------------------------------------------------------- */

static void wake(const struct turn *turn, double time_s)
{
    struct cv_open_ranges *learn = turn->learn;

    time_s = fmax(time_s, turn->now_s + 1e-4);
    if (learn->wake_s >= 0 && learn->wake_s <= time_s)
        return;
    learn->wake_s = time_s;
    cleave_order_wake(turn->orders, 0, time_s);
}

static void open_empty(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->learn->workers[w];

    worker->phase = EMPTY;
    worker->opened_s = turn->now_s;
    worker->began_s = -1;
    cleave_order_open(turn->orders, w, 0);
}

static void begin_chunk(const struct turn *turn, struct cv_range_worker *worker,
                        enum phase phase)
{
    worker->phase = phase;
    worker->bound_s = worker->moved_s = turn->now_s;
    worker->began_s = worker->from_s = -1;
    worker->given = worker->read = worker->from = worker->read_s = 0;
    worker->drained = worker->ends = worker->test = worker->firm = false;
}

/* Units that the link carries in the worker's part of the time left, on a shared port. */
static double port_part(const struct turn *turn, uint32_t w)
{
    const struct cv_open_ranges *learn = turn->learn;

    return cv_shares_port(turn->view) && !is_stream(turn) && learn->known > 0
               ? turn->view->workers[w].bandwidth_ups * end_together(turn) /
                     learn->present
               : INFINITY;
}

/* The first units of a chunk. */
static void give(const struct turn *turn, uint32_t w, double units)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[w];

    units = fmax(units, learn->min);
    units = fmin(fmin(units, learn->max), port_part(turn, w));
    if (turn->view->memory != NULL)
        units = fmin(units, turn->view->memory[w]);
    units = fmin(units, turn->view->units_left);
    if (!(units > 0))
        return;
    worker->opening = worker->phase == IDLE;
    if (worker->opening) {
        worker->opened_s = turn->now_s;
        cleave_order_open(turn->orders, w, units);
    } else {
        cleave_order_extend(turn->orders, w, units);
    }
    begin_chunk(turn, worker, OPEN);
    worker->due = units;
}

static void extend(const struct turn *turn, uint32_t w, double units)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[w];
    double room = learn->max - worker->given;

    if (turn->view->memory != NULL)
        room = fmin(room, turn->view->memory[w] - worker->given);
    units = fmin(fmin(units, room), fmin(turn->view->units_left, port_part(turn, w)));
    if (units > 0) {
        worker->due = units;
        worker->opening = worker->drained = false;
        cleave_order_extend(turn->orders, w, units);
    } else {
        worker->ends = true;
    }
}

static void close(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->learn->workers[w];

    if (worker->phase == EMPTY)
        begin_chunk(turn, worker, CLOSED);
    worker->phase = CLOSED;
    worker->closed_s = turn->now_s;
    cleave_order_close(turn->orders, w);
}

/* --- events ------------------------------------------------------------------------- */

static void end_chunk(struct cv_range_worker *worker)
{
    worker->phase = IDLE;
    worker->given = worker->due = worker->read = 0;
    worker->drained = worker->ends = worker->querying = worker->recalling = false;
    worker->test = worker->no_copy = false;
    worker->thief = NOBODY;
}

/* Its chunk has ended: its twin, if it has one, is alone. */
static void separate_twin(struct cv_open_ranges *learn, struct cv_range_worker *worker)
{
    if (worker->twin != NOBODY)
        learn->workers[worker->twin].twin = NOBODY;
    worker->twin = NOBODY;
    worker->copy = false;
}

static void started(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_range_worker *worker = &turn->learn->workers[event->worker];

    /* A command that had started before it was given anything shows no start. */
    if (worker->bound_s <= worker->opened_s ||
        event->time_s - worker->bound_s > quantum(turn))
        note_start(turn->learn, event->time_s - worker->opened_s);
    worker->began_s = worker->from_s = worker->moved_s = worker->read_s = turn->now_s;
    worker->from = worker->read;
}

static void note_reads_first(struct cv_open_ranges *learn)
{
    if (learn->emits || learn->kind == READS_FIRST)
        return;
    learn->kind = READS_FIRST;
    learn->turned = true;
    learn->phi = 0;
    /* Speeds of reading say nothing of the work. */
    for (uint32_t w = 0; w < learn->n; w++)
        learn->workers[w].units = learn->workers[w].seconds = learn->workers[w].chunks =
            0;
}

/* The command reads about as fast as any pipe carries. */
static bool is_fast(const struct turn *turn, uint32_t w, double read)
{
    const struct cv_range_worker *worker = &turn->learn->workers[w];
    const double declared = turn->view->workers[w].bandwidth_ups;
    const double pipe = turn->view->real ? fmin(PIPE_UPS, declared) : declared;

    return read > OWN_PACE * pipe * (turn->now_s - worker->began_s);
}

static void drained(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[event->worker];

    if (worker->phase != OPEN || worker->due > 0 || worker->began_s < 0)
        return;
    learn->emits = learn->emits || event->output > 0;
    if (worker->given >= WINDOWS * window(turn) &&
        is_fast(turn, event->worker, worker->given))
        note_reads_first(learn);
    else if (learn->kind == UNKNOWN && learn->emits)
        learn->kind = WORKS_AS_IT_READS;
    sample(turn, worker, worker->given);
    worker->drained = true;
    worker->drained_s = turn->now_s;
}

/* The chunk has no units: the command waits as if it had just been started. */
static void has_nothing(struct cv_range_worker *worker)
{
    worker->phase = EMPTY;
    worker->test = false;
}

static void given(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[event->worker];

    /* A command that was started on nothing answers nothing. */
    if (!(worker->due > 0) || worker->opening != (event->kind == CLEAVE_SENT))
        return;
    if (worker->given == 0 && event->units > 1.25 * worker->due)
        learn->record = fmax(learn->record, event->units);
    worker->given += event->units;
    worker->due = 0;
    if (event->units > 0)
        worker->drained = worker->ends = worker->firm = false;
    else if (worker->given > 0)
        worker->drained = worker->ends = true;
    else if (worker->phase == OPEN)
        has_nothing(worker);
}

static void recalled(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[event->worker];
    const uint32_t thief = worker->thief;

    worker->recalling = false;
    worker->thief = NOBODY;
    worker->given = fmax(0, worker->given - event->units);
    worker->firm = !(event->units > 0);
    if (worker->phase == OPEN && !(worker->given > turn->view->units_total * LEAST_PART))
        has_nothing(worker);
    if (thief != NOBODY && event->units > 0 && is_free(&learn->workers[thief]))
        give(turn, thief, event->units);
}

/* Which part of the time a chunk was read in, and the speed that shows. */
static void done(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[event->worker];
    const double began_s = worker->began_s >= 0
                               ? worker->began_s
                               : fmin(event->start_s + start_of(learn), event->time_s);
    const double waited_s =
        worker->drained ? fmax(0, worker->closed_s - worker->drained_s) : 0;
    const double read_at_s = fmin(fmax(event->read_s, began_s), event->time_s);
    const double read_s = fmax(0, read_at_s - began_s - waited_s);
    const double after_s = event->time_s - read_at_s;

    if (event->units > 0 && (event->read_s > 0 || !turn->view->real)) {
        const double windows = event->units / fmax(window(turn), event->units * 1e-9);

        if (read_s + after_s > quantum(turn) && windows >= 0.99 * WINDOWS &&
            !learn->emits) {
            /* The last window may have been worked on after the end was read. */
            learn->reading_s += fmin(read_s * windows / (windows - 1), read_s + after_s);
            learn->all_s += read_s + after_s;
            if (learn->reading_s < STREAMING * learn->all_s)
                note_reads_first(learn);
            else
                learn->kind = WORKS_AS_IT_READS;
            if (learn->kind == WORKS_AS_IT_READS)
                learn->phi = learn->reading_s / learn->all_s;
        }
        worker->largest = fmax(worker->largest, event->units);
        fit_fixed(turn, worker, event->units, after_s);
        if (learn->kind != WORKS_AS_IT_READS || !(worker->seconds > 0))
            observe(worker, event->units, read_s + after_s, 1);
    }
    if (worker->twin != NOBODY) /* its command is being ended */
        learn->workers[worker->twin].given = 0;
    separate_twin(learn, worker);
    end_chunk(worker);
    worker->lost = 0;
}

static void note(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[event->worker];

    switch (event->kind) {
    case CLEAVE_SENT:
    case CLEAVE_EXTENDED:
        given(turn, event);
        break;
    case CLEAVE_STARTED:
        started(turn, event);
        break;
    case CLEAVE_DRAINED:
        drained(turn, event);
        break;
    case CLEAVE_PROGRESS:
        if (worker->querying)
            worker->round_s = fmax(worker->round_s, turn->now_s - worker->asked_s);
        worker->querying = false;
        if (is_busy(worker)) {
            sample(turn, worker, event->units);
            learn->emits = learn->emits || event->output > 0;
        }
        break;
    case CLEAVE_RECALLED:
        recalled(turn, event);
        break;
    case CLEAVE_DONE:
        done(turn, event);
        break;
    case CLEAVE_LOST:
        separate_twin(learn, worker);
        end_chunk(worker);
        worker->lost++;
        break;
    case CLEAVE_DROPPED:
        if (worker->copy && worker->twin != NOBODY)
            learn->workers[worker->twin].no_copy = true;
        separate_twin(learn, worker);
        end_chunk(worker);
        break;
    case CLEAVE_WAKE:
        if (turn->now_s >= learn->wake_s)
            learn->wake_s = -1;
        break;
    case CLEAVE_CAME:
        if (event->worker >= learn->n)
            learn->n = event->worker + 1;
        worker->lost = 0;
        worker->coming = false;
        break;
    default:
        break;
    }
}

/* --- decisions ---------------------------------------------------------------------- */

/* Units of an equal share of everything, or of the window of a stream. */
static double share(const struct turn *turn)
{
    const double n = turn->learn->present;

    if (!is_stream(turn))
        return turn->view->units_total / n;
    return turn->view->hold > 0 ? turn->view->hold / (1 + 1.25 * n) : INFINITY;
}

/* The least that shows how a command reads. */
static double test_size(const struct turn *turn)
{
    const double units = turn->learn->first_units;

    return units > 0
               ? units
               : fmax(share(turn) * TEST, fmin(WINDOWS * window(turn), share(turn)));
}

/* Units that cannot be taken back. 0: none; another worker is better. */
static double size_to_commit(const struct turn *turn, uint32_t w)
{
    const struct cv_open_ranges *learn = turn->learn;
    const struct cv_range_worker *worker = &learn->workers[w];
    const double ready_s = ready_in(turn, worker), start_s = overhead(turn, worker);
    double part, safe, end_s;

    if (learn->known == 0 && is_stream(turn) && are_alike(turn))
        return share(turn);
    if (learn->groups[worker->group].known == 0)
        return test_size(turn);
    if (is_stream(turn))
        return fmin(share(turn),
                    fmax(worker->speed_ups * LONG_STARTS * start_s, share(turn) * TEST));
    end_s = end_together(turn);
    part = worker->speed_ups * (end_s - ready_s);
    if (!(part > 0))
        return 0;
    safe = worker->low * (end_s - ready_s + start_s);
    safe = fmax(safe, fmin(GROW * worker->largest, part / 2));
    safe = fmin(safe,
                fmax(worker->speed_ups * LONG_STARTS * start_s, share(turn) * LARGEST));
    safe = fmin(safe, part);
    /* The rest would not be worth a start. */
    if (turn->view->units_left - safe < worker->speed_ups * start_s / 2 &&
        safe > turn->view->units_left / 2)
        safe = turn->view->units_left;
    return safe;
}

/* Units that were not fed can be taken back, however the command reads. */
static bool has_tail(const struct turn *turn, const struct cv_range_worker *worker)
{
    return is_busy(worker) && !worker->drained && worker->twin == NOBODY &&
           !worker->recalling && !worker->firm && !(worker->due > 0) &&
           unread(turn, worker) > turn->view->ahead;
}

/* The worker that ends last among workers with a tail, or NOBODY. Without a known speed
 * that is the one with the longest tail. */
static uint32_t find_victim(const struct turn *turn, uint32_t thief)
{
    const struct cv_open_ranges *learn = turn->learn;
    uint32_t victim = NOBODY;
    double longest = 0;

    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *other = &learn->workers[w];
        const double rest = learn->known > 0 ? rest_of(turn, other) : unread(turn, other);

        if (w != thief && has_tail(turn, other) && rest > longest) {
            longest = rest;
            victim = w;
        }
    }
    return victim;
}

/* Ask a worker how far it is, unless it said so just now: a part of its time ago, until now or
 * from now. True: the answer is there at once, and worth a moment. Answers of others correct the
 * estimate when they come. */
static bool asks(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->learn->workers[w];
    const double time_s = fmin(rest_of(turn, worker), turn->now_s - worker->began_s);

    if (isfinite(worker->read_s) &&
        turn->now_s - worker->read_s <= fmax(LOOK_S, AGAIN * time_s))
        return false;
    if (!worker->querying) {
        worker->querying = true;
        worker->asked_s = turn->now_s;
        cleave_order_look(turn->orders, w);
    }
    if (worker->round_s > LOOK_S || turn->now_s - worker->asked_s > LOOK_S)
        return false;
    wake(turn, worker->asked_s + 2 * LOOK_S);
    return true;
}

/* Ask all busy workers for their progress before an idle worker is served. True: the
 * answers are there at once. */
static bool looks_around(const struct turn *turn)
{
    struct cv_open_ranges *learn = turn->learn;
    bool soon = false;

    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];

        if (is_busy(worker) && worker->began_s >= 0 && unread(turn, worker) > 0 &&
            asks(turn, w))
            soon = true;
    }
    return soon;
}

/* Take back units for `thief`; NOBODY: for all. */
static void recall(const struct turn *turn, uint32_t w, uint32_t thief, double units)
{
    turn->learn->workers[w].recalling = true;
    turn->learn->workers[w].thief = thief;
    cleave_order_recall(turn->orders, w, units);
}

/* The tail of the chunk that ends last, for a worker without work: so much that both end
 * together. False: there is none, or it does not pay. */
static bool steal(const struct turn *turn, uint32_t w)
{
    const struct cv_open_ranges *learn = turn->learn;
    const struct cv_range_worker *worker = &learn->workers[w];
    const double ready_s = worker->opened_s + READY * start_of(learn);
    const double cost_s = begin_cost(turn, worker);
    const uint32_t victim = find_victim(turn, w);
    const struct cv_range_worker *other;
    double rest_s, units;

    if (victim == NOBODY)
        return false;
    other = &learn->workers[victim];
    if (learn->known == 0) { /* a worker that joined: half of it */
        recall(turn, victim, w, unread(turn, other) / 2);
        return true;
    }
    if (worker->phase == EMPTY && turn->now_s < ready_s) {
        wake(turn, ready_s);
        return true;
    }
    rest_s = rest_of(turn, other);
    units = (rest_s - cost_s) / (1 / other->speed_ups + 1 / worker->speed_ups);
    units = fmin(units, unread(turn, other) - turn->view->ahead);
    if (!(units > learn->min) || !(fmin(rest_s - cost_s - units / worker->speed_ups,
                                        units / other->speed_ups) > LOOK_S))
        return false;
    if (worker->phase == IDLE && start_of(learn) > quantum(turn)) {
        open_empty(turn, w);
        wake(turn, turn->now_s + READY * start_of(learn));
        return true;
    }
    recall(turn, victim, w, units);
    return true;
}

/* The chunk that ends last is copied once it is late, or if a copy takes far less. */
static void copy(const struct turn *turn, uint32_t w)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[w], *last = NULL;
    double longest_s = 0, units, takes_s, late_s;

    if (!turn->view->copies || learn->known == 0 || worker->due > 0)
        return;
    for (uint32_t y = 0; y < learn->n; y++) {
        struct cv_range_worker *other = &learn->workers[y];

        if (y != w && is_busy(other) && other->twin == NOBODY && !other->no_copy &&
            other->given > 0 && !(other->due > 0) && !other->recalling &&
            rest_of(turn, other) > longest_s) {
            longest_s = rest_of(turn, other);
            last = other;
        }
    }
    if (last == NULL)
        return;
    units = takes_back(turn, last) ? fmin(last->given, last->read + window(turn))
                                   : last->given;
    takes_s = overhead(turn, worker) + units / worker->speed_ups;
    late_s = turn->now_s - ends_at(turn, last);
    if (late_s > 0 ? late_s < takes_s * LATE : longest_s < takes_s * COPY) {
        wake(turn, fmin(turn->now_s - late_s + takes_s * LATE,
                        turn->now_s + fmax(takes_s / 2, LOOK_S)));
        return;
    }
    if (worker->phase == EMPTY) { /* a copy is another command */
        close(turn, w);
        return;
    }
    worker->opened_s = turn->now_s;
    begin_chunk(turn, worker, CLOSED);
    worker->given = last->given;
    worker->twin = (uint32_t)(last - learn->workers);
    worker->copy = true;
    last->twin = w;
    last->phase = CLOSED;
    cleave_order_copy(turn->orders, w, worker->twin);
}

/* Units for a chunk that works as it reads, whose input was read. While the work that follows
 * the end of the input is unknown, the chunk ends when its work has taken as long as a start. */
static double units_after(const struct turn *turn, const struct cv_range_worker *worker)
{
    double time_s;

    if (is_stream(turn))
        return share(turn);
    time_s = end_together(turn) - debt(turn, worker);
    if (!knows_rest(turn->learn))
        time_s = fmin(time_s, overhead(turn, worker) - (turn->now_s - worker->began_s));
    return worker->speed_ups * time_s;
}

/* A test ends to show whether work follows the end of its input. One is enough: the other tests wait
 * for it for a part of a start, which they would pay again. */
static bool awaits_test(const struct turn *turn)
{
    const struct cv_open_ranges *learn = turn->learn;

    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];
        const double until_s = worker->closed_s + AGAIN * start_of(learn);

        if (worker->test && worker->phase == CLOSED && turn->now_s < until_s) {
            wake(turn, until_s);
            return true;
        }
    }
    return false;
}

/* Whether a decision about a chunk that could be extended is due. */
static bool any_drained(const struct turn *turn)
{
    for (uint32_t w = 0; w < turn->learn->n; w++) {
        const struct cv_range_worker *worker = &turn->learn->workers[w];

        if (worker->phase == OPEN && worker->drained && !(worker->due > 0) &&
            !worker->ends)
            return turn->learn->known > 0 && turn->view->units_left > 0;
    }
    return false;
}

/* An open chunk whose input was read: more, or the end. */
static void continue_chunk(const struct turn *turn, uint32_t w)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[w];

    if (worker->phase != OPEN || !worker->drained || worker->due > 0)
        return;
    if (worker->ends || !(turn->view->units_left > 0)) {
        close(turn, w);
        return;
    }
    if (!is_stream(turn) && learn->known == 0 && are_alike(turn)) {
        /* Equal ranges end with whole records: some are left. */
        extend(turn, w, turn->view->units_left / learn->present);
        if (worker->ends)
            close(turn, w);
        return;
    }
    if (worker->test && learn->kind == UNKNOWN && !learn->emits) {
        if (!awaits_test(turn))
            close(turn, w);
        return;
    }
    if (!reading_shows_work(turn)) {
        const double units =
            is_stream(turn) ? size_to_commit(turn, w) - worker->given : 0;

        if (units > window(turn))
            extend(turn, w, units);
        else
            close(turn, w);
        return;
    }
    extend(turn, w, units_after(turn, worker));
    if (worker->ends)
        close(turn, w);
}

/* The test takes long: the others get units by its first results. */
static void shorten_test(const struct turn *turn, uint32_t w)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *tester = &learn->workers[w];
    const double limit_s = fmax(start_of(learn), 2 * quantum(turn));

    if (tester->began_s < 0 || !is_busy(tester))
        return;
    if (turn->now_s < tester->began_s + limit_s) {
        wake(turn, tester->began_s + limit_s);
        return;
    }
    if (!tester->drained && tester->phase == OPEN) {
        if (tester->read_s <= tester->began_s)
            tester->read_s = -INFINITY; /* not asked yet */
        if (asks(turn, w))
            return;
        if (is_fast(turn, w, tester->read)) {
            wake(turn, turn->now_s + limit_s);
            return;
        }
        learn->kind = WORKS_AS_IT_READS;
        tester->test = false;
        sample(turn, tester, tester->read);
        if (tester->seconds > 0)
            return;
    }
    tester->test = false;
    tester->units = tester->given;
    tester->seconds = 2 * (turn->now_s - tester->began_s);
    tester->guessed = true;
}

/* A free worker of the smallest group, whose share is the largest if it is a fast one. */
static uint32_t find_rarest(const struct cv_open_ranges *learn)
{
    uint32_t rarest = NOBODY, least = UINT32_MAX;

    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];
        const struct cv_range_group *group = &learn->groups[worker->group];

        if (is_free(worker) && !group->tested && group->workers < least) {
            least = group->workers;
            rarest = w;
        }
    }
    return rarest;
}

static void begin_test(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->learn->workers[w];

    give(turn, w, test_size(turn));
    worker->test = turn->learn->groups[worker->group].tested = worker->due > 0;
}

/* Groups differ: one worker of each tests its group and the command. */
static void test(const struct turn *turn)
{
    struct cv_open_ranges *learn = turn->learn;
    uint32_t rarest;

    for (uint32_t g = 0; g < learn->ngroups; g++)
        learn->groups[g].tested = learn->groups[g].known > 0;
    for (uint32_t w = 0; w < learn->n; w++)
        if (learn->workers[w].test) {
            learn->groups[learn->workers[w].group].tested = true;
            shorten_test(turn, w);
        }
    for (uint32_t w = 0; w < learn->n; w++)
        if (is_free(&learn->workers[w]) && learn->workers[w].phase == IDLE)
            open_empty(turn, w);
    rarest = find_rarest(learn);
    if (rarest != NOBODY)
        begin_test(turn, rarest);
    for (uint32_t w = 0; w < learn->n; w++)
        if (is_free(&learn->workers[w]) && !learn->groups[learn->workers[w].group].tested)
            begin_test(turn, w);
}

/* The rest of a stream may come soon: within the time in which nothing shows how a command
 * reads, and before the first one has started. */
static bool is_beginning(const struct turn *turn, uint32_t first)
{
    const struct cv_range_worker *worker = &turn->learn->workers[first];

    if (!is_stream(turn))
        return false;
    if (worker->began_s < 0)
        return true;
    if (turn->learn->kind == WORKS_AS_IT_READS ||
        turn->now_s >= worker->bound_s + quantum(turn))
        return false;
    wake(turn, worker->bound_s + quantum(turn));
    return true;
}

/* Where a command reads is decided with its first unit. At the beginning of a stream one
 * worker has the first units, and the other workers wait until more is known. */
static bool begins_stream(const struct turn *turn)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker;

    for (uint32_t w = 0; w < learn->n && !learn->begun && is_stream(turn); w++)
        if (is_free(&learn->workers[w])) {
            give(turn, w, test_size(turn));
            learn->begun = true;
            learn->first = w;
        }
    if (learn->first == NOBODY)
        return false;
    worker = &learn->workers[learn->first];
    if (is_busy(worker) && is_beginning(turn, learn->first)) {
        for (uint32_t w = 0; w < learn->n; w++)
            if (is_free(&learn->workers[w]) && learn->workers[w].phase == IDLE)
                open_empty(turn, w);
        return true;
    }
    /* Arrived units of a continuing stream are for all. */
    if (!is_stream(turn) && worker->phase == OPEN && !(worker->due > 0))
        extend(turn, learn->first, share(turn) - worker->given);
    learn->first = NOBODY;
    return false;
}

/* Whether a worker gets its whole share of input that can be taken back. If its speed is known no
 * better than speeds within any group, each tail that is taken back costs another start, one after
 * the other if one worker is much faster than all others; too little costs its own worker one start. */
static bool is_share_safe(const struct turn *turn, const struct cv_range_worker *worker,
                          double time_s)
{
    return knows_rest(turn->learn) && turn->learn->groups[worker->group].known > 0 &&
           (worker->low * ALIKE >= worker->speed_ups || time_s < overhead(turn, worker));
}

static void serve_one(const struct turn *turn, uint32_t w, uint32_t waiting)
{
    struct cv_open_ranges *learn = turn->learn;
    struct cv_range_worker *worker = &learn->workers[w];

    if (!(turn->view->units_left > 0)) {
        if (!steal(turn, w))
            copy(turn, w);
        return;
    }
    if (!is_stream(turn) && learn->known == 0 && are_alike(turn)) {
        give(turn, w, turn->view->units_left / waiting);
    } else if (!reading_shows_work(turn)) {
        const double units = size_to_commit(turn, w);

        if (units > 0) {
            give(turn, w, units);
            if (!is_stream(turn) && learn->kind == READS_FIRST)
                close(turn, w);
        }
    } else if (is_stream(turn)) {
        give(turn, w, share(turn));
    } else {
        const double time_s = end_together(turn) - ready_in(turn, worker);
        const double units = are_alike(turn) || is_share_safe(turn, worker, time_s)
                                 ? worker->speed_ups * time_s
                                 : size_to_commit(turn, w);

        /* Less is not worth a start. */
        const double least =
            worker->speed_ups *
            (begin_cost(turn, worker) * LATE +
             cv_fold_charge(turn->view, turn->learn->fold_s, turn->learn->present));

        if (units > 0)
            give(turn, w,
                 turn->view->units_left - units < least ? turn->view->units_left
                                                        : fmax(units, least));
    }
}

static void count_present(struct cv_open_ranges *learn, double now_s)
{
    for (int again = 0; again < 2; again++) {
        learn->present = 0;
        for (uint32_t w = 0; w < learn->n; w++) {
            struct cv_range_worker *worker = &learn->workers[w];

            if (worker->coming && now_s > COMING_S) {
                worker->coming = false;
                worker->lost = LOSSES;
            }
            learn->present += !is_out(worker);
        }
        if (learn->present > 0)
            return;
        for (uint32_t w = 0; w < learn->n; w++)
            learn->workers[w].lost = 0;
    }
}

/* Commands that read all first were given ranges: unread units are shared again. */
static void recall_unread(const struct turn *turn)
{
    for (uint32_t w = 0; w < turn->learn->n; w++) {
        const struct cv_range_worker *worker = &turn->learn->workers[w];

        if (worker->phase == OPEN && !worker->drained && !worker->recalling &&
            !worker->firm && !(worker->due > 0) && worker->given > window(turn))
            recall(turn, w, NOBODY, worker->given);
    }
}

static void serve(const struct turn *turn)
{
    struct cv_open_ranges *learn = turn->learn;
    uint32_t waiting = 0, busy = 0;
    double longest_s = 0;

    if (learn->turned && !are_alike(turn) && !is_stream(turn))
        recall_unread(turn);
    learn->turned = false;

    if (begins_stream(turn))
        return;
    if (!is_stream(turn) && any_drained(turn) && looks_around(turn))
        return;
    for (uint32_t w = 0; w < learn->n; w++)
        continue_chunk(turn, w);
    for (uint32_t w = 0; w < learn->n; w++)
        waiting += is_free(&learn->workers[w]) || learn->workers[w].coming;
    if (turn->view->units_left > 0 && learn->kind != WORKS_AS_IT_READS &&
        learn->known == 0 && !are_alike(turn) && !is_stream(turn)) {
        test(turn);
        estimate(turn);
        if (learn->kind != WORKS_AS_IT_READS && learn->known == 0)
            return;
    }
    if (waiting > 0 && learn->known > 0 && looks_around(turn))
        return;
    for (uint32_t w = 0; w < learn->n; w++)
        if (is_free(&learn->workers[w])) {
            serve_one(turn, w, waiting);
            waiting--;
        }
    waiting = 0;
    for (uint32_t w = 0; w < learn->n; w++) {
        const struct cv_range_worker *worker = &learn->workers[w];

        busy += is_busy(worker);
        waiting += is_free(worker);
        if (has_tail(turn, worker))
            longest_s = fmax(longest_s, rest_of(turn, worker));
    }
    if (busy == 0 && turn->view->units_left > 0)
        for (uint32_t w = 0; w < learn->n; w++)
            if (is_free(&learn->workers[w])) {
                give(turn, w, turn->view->units_left / learn->present);
                break;
            }
    if (waiting > 0 && longest_s > 0 && learn->known > 0)
        wake(turn, turn->now_s + fmax(AGAIN * longest_s, LOOK_S));
    if (busy == 0 && !(turn->view->units_left > 0))
        for (uint32_t w = 0; w < learn->n; w++)
            if (learn->workers[w].phase == EMPTY)
                close(turn, w);
}

/* --- the policy --------------------------------------------------------------------- */

enum cleave_status cv_open_ranges_begin(struct cv_open_ranges *learn,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    bool measured = view->measured;

    learn->n = cv_count_workers(view->workers, view->nworkers);
    learn->workers = cv_array(setup->arena, view->nworkers, sizeof *learn->workers);
    learn->ready = cv_array(setup->arena, view->nworkers, sizeof *learn->ready);
    learn->groups = cv_array(setup->arena, view->nworkers, sizeof *learn->groups);
    if (learn->workers == NULL || learn->ready == NULL || learn->groups == NULL)
        return cv_fail_memory(err, "what is learnt");
    for (uint32_t w = 0; w < view->nworkers; w++) {
        measured = measured && !cv_is_reserved(&view->workers[w]);
        /* Open chunks are cut for all workers alike. */
        if (view->memory != NULL)
            learn->max = fmin(learn->max, view->memory[w]);
    }
    for (uint32_t w = 0; w < view->nworkers; w++) {
        struct cv_range_worker *worker = &learn->workers[w];

        worker->group = view->groups != NULL ? view->groups[w] : 0;
        if (worker->group >= learn->ngroups)
            learn->ngroups = worker->group + 1;
        learn->groups[worker->group].workers += !cv_is_reserved(&view->workers[w]);
        worker->prior = measured ? view->workers[w].speed_ups : 1;
        worker->thief = worker->twin = NOBODY;
        worker->coming = cv_is_coming(&view->workers[w]);
        if (cv_is_reserved(&view->workers[w]) && !worker->coming)
            worker->lost = LOSSES;
    }
    learn->wake_s = -1;
    learn->first = NOBODY;
    learn->phi = 1;
    return CLEAVE_OK;
}

void cv_open_ranges_decide(struct cv_open_ranges *learn, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct turn turn = {
        .learn = learn, .view = view, .orders = orders, .now_s = event->time_s
    };

    cv_fold_note(event, &learn->fold_s);
    note(&turn, event);
    if (event->more)
        return;
    count_present(learn, event->time_s);
    estimate(&turn);
    serve(&turn);
}
