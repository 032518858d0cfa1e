/* learn2.c -- one rule for chunks that may stay open. SPDX-License-Identifier: MIT
 *
 * The estimate: every worker has a speed in units per second, with a standard deviation of
 * its logarithm. Its own measurements are weighted against the mean of all workers by
 * their variances; before the first measurement the spread is what the view expects.
 *
 * The rule: T is the time at which all workers could end together, the sum over workers of
 * speed (T - ready) = units left. What can be taken back is given by the estimated speed;
 * what cannot, only as far as the worker, at the low end of its interval, ends within one
 * start of the T that the others have at the high end of theirs. A worker without work
 * gets free units, else the tail of the chunk that ends last.
 *
 * Workers share nothing but the units left: no decision waits for the answer of another
 * worker. Workers that are alike start at once on equal ranges; only where workers may
 * differ much, a first small chunk shows how the command reads.
 *
 * O(workers) for a decision. */
#include "policy/pull/learn2.h"

#include <math.h>
#include "policy/common/reserved_workers.h"
#include "policy/pull/fold_charge.h"
#include "policy/pull/pull.h"

/* --- constants -------------------------------------------------------------------------- */

/* Standard deviations below (own) and above (others) the estimate. */
static const double LOW = 1.28, HIGH = 0.64;
/* Seconds by which a clock may be off, if the view does not say it. */
static const double QUANTUM_S = 1e-3;
/* No speed is known better than this part. */
static const double NOISE = 0.1;
/* No worker is slower than this, so that times are finite: units per second. */
static const double LEAST_UPS = 1e-200;
/* Weight of older measurements at each new one. */
static const double KEEP = 0.7;
/* Weight of the guess of what a chunk takes besides; least part of its time that is work. */
static const double LINE = 0.1, LEAST_WORK = 0.02;
/* Up to this ratio of speeds workers are alike; if it is not known, it is UNEQUAL. */
static const double ALIKE = 4, UNEQUAL = 30;
/* A first test is this part of a share. */
static const double TEST = 1.0 / 256;
/* A command that reads slower than this part of the speed of a pipe works as it reads. */
static const double OWN_PACE = 0.3;
/* Bytes per second that any pipe carries. */
static const double PIPE_UPS = 1e9;
/* A verdict needs so many times what a pipe holds. */
static const double WINDOWS = 4;
/* A command that does less than this part of its work while it reads reads all first. */
static const double STREAMING = 0.2, LEAST_PHI = 0.1;
/* A steal pays if it saves this part of a start. */
static const double GAIN = 0.1;
/* A command that was started on nothing is ready after this part of a start. */
static const double READY = 0.9;
/* An idle worker looks again after this part of the time of the others, at least LOOK_S. */
static const double AGAIN = 1.0 / 8, LOOK_S = 2e-3;
/* A chunk that cannot be taken back is at least so many times the largest before. */
static const double GROW = 4;
/* A chunk that is not late yet is copied if it takes so many times what a copy takes. */
static const double COPY = 2;
/* Closed chunks of a stream last so many starts. */
static const double STREAM_STARTS = 3;
/* Seconds in which a worker that is expected must come. */
static const double COMING_S = 1;
/* A worker that loses so many chunks in a row gets no more. */
enum { LOSSES = 3 };

enum { NOBODY = UINT32_MAX };

enum phase {
    IDLE,
    EMPTY,  /* a command was started, without input */
    OPEN,   /* the chunk may be extended */
    CLOSED, /* the command was given the end of its input */
};

/* What the command does with its input. */
enum kind {
    UNKNOWN,
    STREAMS, /* works as it reads */
    SLURPS,  /* works when it has read the end */
};

struct cv_range_worker {
    enum phase phase;
    double opened_s, bound_s;      /* command started; first input given */
    double began_s;                /* reads since then; below 0: not yet */
    double given, due;             /* units of its chunk; asked for, and not answered */
    double read, read_s;           /* last report */
    double moved_s;                /* when `read` last grew */
    double from, from_s;           /* begin of the current sample */
    double closed_s, drained_s;    /* input closed; all read */
    double asked_s;                /* last query */
    double units, seconds, chunks; /* measured, with decay */
    double count, sum_n, sum_t, sum_nn, sum_nt; /* chunks that were read first: a line */
    double prior;                /* relative speed known from an earlier run; 1: none */
    double usual_ups;            /* the estimate, before what it does now is seen */
    double speed_ups, low, high; /* ... and after */
    uint32_t lost;               /* chunks in a row */
    uint32_t thief;              /* gets what is recalled, or NOBODY */
    uint32_t twin;               /* runs the same chunk, or NOBODY */
    bool copy;                   /* this is the copy of the two */
    bool no_copy;                /* a copy was refused */
    bool opening;                /* what is due was asked for by CLEAVE_OPEN */
    bool coming, drained, ends, querying, recalling, test, guessed;
    bool firm; /* nothing could be taken back, and it was given nothing since */
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

/* What a decision works on. */
struct turn {
    struct cv_ranges *ranges;
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
    return unequal(turn) <= ALIKE;
}

/* What is given can be taken back as long as it is not fed. */
static bool is_soft(const struct turn *turn)
{
    return turn->ranges->kind == STREAMS ||
           (turn->ranges->kind == UNKNOWN && are_alike(turn));
}

/* Seconds by which a clock or a scheduler may be off: what took less shows nothing. */
static double quantum(const struct turn *turn)
{
    return fmax(turn->view->burst_s, QUANTUM_S);
}

/* Units that a pipe holds: less shows nothing of a command. */
static double window(const struct turn *turn)
{
    return fmax(turn->view->ahead, turn->ranges->record);
}

/* --- the estimate ------------------------------------------------------------------- */

/* Seconds of work in what was measured, without what each chunk takes besides. */
static double work_of(const struct cv_range_worker *worker, double fixed_s)
{
    return fmax(worker->seconds - fixed_s * worker->chunks, worker->seconds * LEAST_WORK);
}

static double variance_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    return square(quantum(turn) / work_of(worker, turn->ranges->fixed_s)) + square(NOISE);
}

static double own_log(const struct cv_ranges *ranges,
                      const struct cv_range_worker *worker)
{
    return log(worker->units / work_of(worker, ranges->fixed_s) / worker->prior);
}

/* What is measured of a chunk that cannot be seen: it is not faster than that. */
static double limit_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double since_s = turn->now_s - fmax(worker->moved_s, worker->began_s);

    if (!is_busy(worker) || worker->began_s < 0)
        return INFINITY;
    if (!is_soft(turn))
        return worker->given /
               fmax(turn->now_s - worker->began_s - turn->ranges->fixed_s, quantum(turn));
    if (worker->drained || since_s < quantum(turn))
        return INFINITY;
    return fmax(window(turn), worker->read - worker->from) *
           fmax(turn->ranges->phi, LEAST_PHI) /
           fmax(turn->now_s - fmax(worker->from_s, worker->began_s), quantum(turn));
}

static void estimate(const struct turn *turn)
{
    struct cv_ranges *ranges = turn->ranges;
    const double tau0 = square(log(unequal(turn)) / 2);
    double weights = 0, mean = 0, apart = 0, tau;
    uint32_t known = 0;

    for (uint32_t w = 0; w < ranges->n; w++) {
        const struct cv_range_worker *worker = &ranges->workers[w];
        const double weight =
            worker->seconds > 0 ? 1 / (variance_of(turn, worker) + tau0) : 0;

        if (weight > 0) {
            weights += weight;
            mean += weight * own_log(ranges, worker);
            known++;
        }
    }
    ranges->known = known;
    if (known == 0)
        return;
    mean /= weights;
    for (uint32_t w = 0; w < ranges->n; w++)
        if (ranges->workers[w].seconds > 0)
            apart += square(own_log(ranges, &ranges->workers[w]) - mean);
    tau = (tau0 + apart) / known;
    for (uint32_t w = 0; w < ranges->n; w++) {
        struct cv_range_worker *worker = &ranges->workers[w];
        const double own = worker->seconds > 0 ? 1 / variance_of(turn, worker) : 0;
        const double log_speed =
            own > 0 ? (own * own_log(ranges, worker) + mean / tau) / (own + 1 / tau)
                    : mean;
        const double sd = sqrt(1 / (own + 1 / tau) + square(NOISE));
        const double most = limit_of(turn, worker);

        worker->usual_ups = exp(log_speed) * worker->prior;
        worker->speed_ups = fmax(fmin(worker->usual_ups, most), LEAST_UPS);
        worker->low = worker->speed_ups * exp(-LOW * sd);
        worker->high = worker->speed_ups * exp(HIGH * sd);
        if (worker->seconds > 0) { /* as little, or as much, of it may have been work */
            const double work_s = work_of(worker, ranges->fixed_s);

            worker->low *= work_s / work_of(worker, ranges->fixed_s - ranges->unsure_s);
            worker->high *= work_s / work_of(worker, ranges->fixed_s + ranges->unsure_s);
        }
        worker->high = fmin(worker->high, most);
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

/* The command has read so many units by now. */
static void sample(const struct turn *turn, struct cv_range_worker *worker, double read)
{
    if (read > worker->read)
        worker->moved_s = turn->now_s;
    worker->read = fmax(worker->read, read);
    worker->read_s = turn->now_s;
    if (worker->began_s < 0 || worker->from_s < 0)
        return;
    if (is_soft(turn) && worker->read > worker->from && turn->now_s > worker->from_s &&
        (!(worker->seconds > 0) || (turn->now_s - worker->from_s >= quantum(turn) &&
                                    worker->read - worker->from >= window(turn)))) {
        observe(worker, worker->read - worker->from,
                (turn->now_s - worker->from_s) / fmax(turn->ranges->phi, LEAST_PHI), 0);
        worker->from = worker->read;
        worker->from_s = turn->now_s;
    }
}

/* What a chunk takes besides its work, after its end was read: the intercept of lines
 * through the chunks of one worker, which is no more than the shortest took. Before sizes
 * differ it is half of that. */
static void fit_fixed(struct cv_ranges *ranges, struct cv_range_worker *worker,
                      double units, double time_s)
{
    double weights = LINE, sum;

    ranges->least_s = ranges->least_s > 0 ? fmin(ranges->least_s, time_s) : time_s;
    sum = LINE * ranges->least_s / 2;
    worker->count++;
    worker->sum_n += units;
    worker->sum_t += time_s;
    worker->sum_nn += units * units;
    worker->sum_nt += units * time_s;
    for (uint32_t w = 0; w < ranges->n; w++) {
        const struct cv_range_worker *other = &ranges->workers[w];
        const double mean_n = other->sum_n / other->count;
        const double mean_t = other->sum_t / other->count;
        const double weight =
            other->count > 1 ? other->sum_nn / square(mean_n) - other->count : 0;

        if (weight > 1e-3) {
            const double slope =
                fmax(0, (other->sum_nt / mean_n - mean_t * other->count) / weight);

            weights += weight;
            sum += weight * fmax(0, mean_t - slope);
        }
    }
    ranges->fixed_s = fmin(ranges->least_s, sum / weights);
    ranges->unsure_s = ranges->least_s / 2 * LINE / weights;
}

static double start_of(const struct cv_ranges *ranges)
{
    return ranges->starts > 0 ? ranges->start_s : 0;
}

static void note_start(struct cv_ranges *ranges, double start_s)
{
    ranges->starts += ranges->starts < 8;
    ranges->start_s += (start_s - ranges->start_s) / ranges->starts;
}

/* What a chunk more costs its worker. */
static double overhead(const struct turn *turn)
{
    const struct cv_ranges *ranges = turn->ranges;

    return start_of(ranges) + ranges->fixed_s + ranges->round_s +
           cv_fold_charge(turn->view, ranges->fold_s, ranges->present);
}

static bool takes_back(const struct turn *turn, const struct cv_range_worker *worker)
{
    return is_soft(turn) && is_busy(worker) && !worker->drained && worker->twin == NOBODY;
}

/* Units that were not read, as far as is known. */
static double unread(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double since_s = turn->now_s - fmax(worker->read_s, worker->began_s);
    const double more =
        worker->began_s >= 0 && since_s > 0 ? worker->speed_ups * since_s : 0;

    return fmax(0, worker->given + worker->due - worker->read -
                       more / fmax(turn->ranges->phi, LEAST_PHI));
}

/* Seconds until a worker has done what it has. What is late is expected to take as long
 * again as it is late. */
static double rest_of(const struct turn *turn, const struct cv_range_worker *worker)
{
    const double begins_s =
        worker->began_s >= 0
            ? worker->began_s
            : fmax(worker->opened_s + start_of(turn->ranges), worker->bound_s);
    double rest_s;

    if (!is_busy(worker))
        return 0;
    if (!is_soft(turn)) {
        const double takes_s = turn->ranges->fixed_s + worker->given / worker->usual_ups;

        return fabs(begins_s + takes_s - turn->now_s);
    }
    /* What was read is not done as a whole. */
    rest_s =
        (unread(turn, worker) +
         (1 - turn->ranges->phi) * (worker->given + worker->due - unread(turn, worker))) /
        worker->speed_ups;
    if (worker->began_s < 0)
        rest_s += fabs(begins_s - turn->now_s);
    return rest_s;
}

/* Whether a chunk that was read should have ended. */
static bool is_late(const struct turn *turn, const struct cv_range_worker *worker)
{
    return worker->began_s >= 0 && turn->now_s > worker->began_s + turn->ranges->fixed_s +
                                                     worker->given / worker->usual_ups;
}

/* Seconds until a worker could begin something more. */
static double ready_in(const struct turn *turn, const struct cv_range_worker *worker)
{
    const struct cv_ranges *ranges = turn->ranges;

    if (is_out(worker) || worker->coming)
        return INFINITY;
    if (worker->phase == EMPTY)
        return fmax(0, worker->opened_s + start_of(ranges) - turn->now_s) +
               ranges->fixed_s;
    if (takes_back(turn, worker)) /* what it has counts as left */
        return worker->began_s < 0
                   ? fmax(0, worker->opened_s + start_of(ranges) - turn->now_s)
                   : 0;
    return rest_of(turn, worker) + overhead(turn);
}

/* In how many seconds all could end together; `own`: the others at their high speeds. */
static double end_together(const struct turn *turn, uint32_t own)
{
    const struct cv_ranges *ranges = turn->ranges;
    double units = turn->view->units_left;

    for (uint32_t w = 0; w < ranges->n; w++) {
        const struct cv_range_worker *worker = &ranges->workers[w];

        if (takes_back(turn, worker))
            units += unread(turn, worker);
        ranges->ready[w].in_s = ready_in(turn, worker);
        ranges->ready[w].speed_ups =
            own == NOBODY || own == w ? worker->speed_ups : worker->high;
    }
    return cv_end_together(ranges->ready, ranges->n, units);
}

/* --- orders ------------------------------------------------------------------------- */

static void wake(const struct turn *turn, double time_s)
{
    struct cv_ranges *ranges = turn->ranges;

    time_s = fmax(time_s, turn->now_s + 1e-4);
    if (ranges->wake_s >= 0 && ranges->wake_s <= time_s)
        return;
    ranges->wake_s = time_s;
    cleave_order_wake(turn->orders, 0, time_s);
}

static void open_empty(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->ranges->workers[w];

    worker->phase = EMPTY;
    worker->opened_s = turn->now_s;
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

/* The first units of a chunk. */
static void give(const struct turn *turn, uint32_t w, double units)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w];

    units = fmax(units, ranges->min);
    if (ranges->max > 0)
        units = fmin(units, ranges->max);
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
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w];
    double room = ranges->max > 0 ? ranges->max - worker->given : INFINITY;

    if (turn->view->memory != NULL)
        room = fmin(room, turn->view->memory[w] - worker->given);
    units = fmin(fmin(units, room), turn->view->units_left);
    if (units > 0) {
        worker->due = units;
        worker->opening = false;
        cleave_order_extend(turn->orders, w, units);
    } else {
        worker->ends = true;
    }
}

static void close(const struct turn *turn, uint32_t w)
{
    struct cv_range_worker *worker = &turn->ranges->workers[w];

    worker->phase = worker->phase == EMPTY ? IDLE : CLOSED;
    worker->closed_s = turn->now_s;
    cleave_order_close(turn->orders, w);
}

/* --- events ------------------------------------------------------------------------- */

static void over(struct cv_range_worker *worker)
{
    worker->phase = IDLE;
    worker->given = worker->due = worker->read = 0;
    worker->drained = worker->ends = worker->querying = worker->recalling = false;
    worker->test = worker->no_copy = false;
    worker->thief = NOBODY;
}

/* Its chunk is over: its twin, if it has one, is alone. */
static void part(struct cv_ranges *ranges, struct cv_range_worker *worker)
{
    if (worker->twin != NOBODY)
        ranges->workers[worker->twin].twin = NOBODY;
    worker->twin = NOBODY;
    worker->copy = false;
}

static void started(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_range_worker *worker = &turn->ranges->workers[event->worker];

    /* A command that had started before it was given anything shows no start. */
    if (worker->bound_s <= worker->opened_s ||
        event->time_s - worker->bound_s > quantum(turn))
        note_start(turn->ranges, event->time_s - worker->opened_s);
    worker->began_s = worker->from_s = worker->moved_s = worker->read_s = turn->now_s;
    worker->from = worker->read;
}

static void swallows(struct cv_ranges *ranges)
{
    if (ranges->emits || ranges->kind == SLURPS)
        return;
    ranges->kind = SLURPS;
    ranges->phi = 0;
    /* Speeds of reading say nothing of the work. */
    for (uint32_t w = 0; w < ranges->n; w++)
        ranges->workers[w].units = ranges->workers[w].seconds =
            ranges->workers[w].chunks = 0;
}

static void drained(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[event->worker];
    const double since_s = turn->now_s - worker->began_s;
    const double pipe =
        turn->view->real
            ? fmin(PIPE_UPS, turn->view->workers[event->worker].bandwidth_ups)
            : turn->view->workers[event->worker].bandwidth_ups;

    if (worker->phase != OPEN || worker->due > 0 || worker->began_s < 0)
        return;
    ranges->emits = ranges->emits || event->output > 0;
    if (worker->given >= WINDOWS * window(turn) &&
        worker->given > OWN_PACE * pipe * since_s)
        swallows(ranges);
    else if (ranges->kind == UNKNOWN && ranges->emits)
        ranges->kind = STREAMS;
    sample(turn, worker, worker->given);
    worker->drained = true;
    worker->drained_s = turn->now_s;
}

static void given(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[event->worker];

    /* A command that was started on nothing answers nothing. */
    if (!(worker->due > 0) || worker->opening != (event->kind == CLEAVE_SENT))
        return;
    if (worker->given == 0 && event->units > 1.25 * worker->due)
        ranges->record = fmax(ranges->record, event->units);
    worker->given += event->units;
    worker->due = 0;
    if (event->units > 0)
        worker->drained = worker->ends = worker->firm = false;
    else if (worker->given > 0)
        worker->ends = true;
    else if (worker->phase == OPEN)
        worker->phase = EMPTY;
}

static void recalled(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[event->worker];
    const uint32_t thief = worker->thief;

    worker->recalling = false;
    worker->thief = NOBODY;
    worker->given = fmax(0, worker->given - event->units);
    worker->firm = !(event->units > 0);
    if (thief != NOBODY && event->units > 0 && is_free(&ranges->workers[thief]))
        give(turn, thief, event->units);
}

/* Which part of the time a chunk was read in, and the speed that shows. */
static void done(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[event->worker];
    const double began_s = worker->began_s >= 0
                               ? worker->began_s
                               : fmin(event->start_s + start_of(ranges), event->time_s);
    const double waited_s =
        worker->drained ? fmax(0, worker->closed_s - worker->drained_s) : 0;
    const double read_at_s = fmin(fmax(event->read_s, began_s), event->time_s);
    const double read_s = fmax(0, read_at_s - began_s - waited_s);
    const double after_s = event->time_s - read_at_s;

    if (event->units > 0 && (event->read_s > 0 || !turn->view->real)) {
        const double windows = event->units / fmax(window(turn), 1e-300);

        if (read_s + after_s > quantum(turn) && windows >= 0.99 * WINDOWS &&
            !ranges->emits) {
            /* The last window may have been worked on after the end was read. */
            ranges->reading_s += fmin(read_s * windows / (windows - 1), read_s + after_s);
            ranges->all_s += read_s + after_s;
            if (ranges->reading_s < STREAMING * ranges->all_s)
                swallows(ranges);
            else if (ranges->kind != SLURPS || ranges->reading_s > ranges->all_s / 2)
                ranges->kind = STREAMS;
            if (ranges->kind == STREAMS)
                ranges->phi = ranges->reading_s / ranges->all_s;
        }
        ranges->largest = fmax(ranges->largest, event->units);
        fit_fixed(ranges, worker, event->units, after_s);
        if (ranges->kind == SLURPS || !(worker->seconds > 0))
            observe(worker, event->units, read_s + after_s, 1);
    }
    if (worker->twin != NOBODY) /* it is being ended */
        ranges->workers[worker->twin].given = 0;
    part(ranges, worker);
    over(worker);
    worker->lost = 0;
}

static void note(const struct turn *turn, const struct cleave_event *event)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[event->worker];

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
            ranges->round_s = fmax(ranges->round_s, turn->now_s - worker->asked_s);
        worker->querying = false;
        if (is_busy(worker)) {
            sample(turn, worker, event->units);
            ranges->emits = ranges->emits || event->output > 0;
        }
        break;
    case CLEAVE_RECALLED:
        recalled(turn, event);
        break;
    case CLEAVE_DONE:
        done(turn, event);
        break;
    case CLEAVE_LOST:
        part(ranges, worker);
        over(worker);
        worker->lost++;
        break;
    case CLEAVE_DROPPED:
        if (worker->copy && worker->twin != NOBODY)
            ranges->workers[worker->twin].no_copy = true;
        part(ranges, worker);
        over(worker);
        break;
    case CLEAVE_WAKE:
        if (turn->now_s >= ranges->wake_s)
            ranges->wake_s = -1;
        break;
    case CLEAVE_CAME:
        if (event->worker >= ranges->n)
            ranges->n = event->worker + 1;
        worker->lost = 0;
        worker->coming = false;
        break;
    default:
        break;
    }
}

/* --- decisions ---------------------------------------------------------------------- */

/* Units of an equal share of everything, or of what a stream may hold. */
static double share(const struct turn *turn)
{
    const double n = turn->ranges->present;

    if (!is_stream(turn))
        return turn->view->units_total / n;
    return turn->view->hold > 0 ? turn->view->hold / (1 + 1.25 * n) : INFINITY;
}

/* The least that shows how a command reads. */
static double test_size(const struct turn *turn)
{
    return fmax(share(turn) * TEST, WINDOWS * window(turn));
}

/* Units that cannot be taken back. 0: none; another worker is better. */
static double bite(const struct turn *turn, uint32_t w)
{
    const struct cv_ranges *ranges = turn->ranges;
    const struct cv_range_worker *worker = &ranges->workers[w];
    const double ready_s = ready_in(turn, worker), start_s = overhead(turn);
    double part, safe, end_s;

    if (ranges->known == 0)
        return test_size(turn);
    if (is_stream(turn))
        return fmin(share(turn), fmax(worker->speed_ups * STREAM_STARTS * start_s,
                                      share(turn) * TEST));
    end_s = end_together(turn, NOBODY);
    part = worker->speed_ups * (end_s - ready_s);
    if (!(part > 0))
        return 0;
    safe = worker->low * (end_together(turn, w) - ready_s + start_s);
    safe = fmax(safe, fmin(GROW * ranges->largest, part / 2));
    safe = fmin(safe, part);
    /* The rest would not be worth a start. */
    if (turn->view->units_left - safe < worker->speed_ups * start_s / 2 &&
        safe > turn->view->units_left / 2)
        safe = turn->view->units_left;
    return safe;
}

/* Something could be taken back, as far as is known. */
static bool has_tail(const struct turn *turn, const struct cv_range_worker *worker)
{
    return takes_back(turn, worker) && !worker->recalling && !worker->firm &&
           !(worker->due > 0) && unread(turn, worker) > turn->view->ahead;
}

/* The one that ends last of those that have a tail, or NOBODY. */
static uint32_t find_victim(const struct turn *turn, uint32_t thief)
{
    const struct cv_ranges *ranges = turn->ranges;
    uint32_t victim = NOBODY;
    double longest_s = 0;

    for (uint32_t w = 0; w < ranges->n; w++) {
        const struct cv_range_worker *other = &ranges->workers[w];
        const double rest_s =
            w != thief && has_tail(turn, other) ? rest_of(turn, other) : 0;

        if (rest_s > longest_s) {
            longest_s = rest_s;
            victim = w;
        }
    }
    return victim;
}

/* Ask a worker how far it is, unless that is known, or it does not answer. */
static bool asks(const struct turn *turn, uint32_t w)
{
    const struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w];
    const double patience_s = 2 * ranges->round_s + LOOK_S;

    if (turn->now_s - worker->read_s <= LOOK_S ||
        (worker->querying && turn->now_s - worker->asked_s > patience_s))
        return false;
    if (!worker->querying) {
        worker->querying = true;
        worker->asked_s = turn->now_s;
        cleave_order_look(turn->orders, w);
    }
    wake(turn, worker->asked_s + patience_s + LOOK_S);
    return true;
}

/* The tail of the chunk that ends last, for a worker without work: so much that both end
 * together. False: there is none, or it does not pay. */
static bool steal(const struct turn *turn, uint32_t w)
{
    const struct cv_ranges *ranges = turn->ranges;
    const struct cv_range_worker *worker = &ranges->workers[w];
    const double ready_s = worker->opened_s + READY * start_of(ranges);
    const double cost_s =
        worker->phase == EMPTY ? ready_in(turn, worker) : overhead(turn);
    const uint32_t victim = ranges->known > 0 ? find_victim(turn, w) : NOBODY;
    struct cv_range_worker *other;
    double rest_s, units;

    if (victim == NOBODY)
        return false;
    if (worker->phase == EMPTY && turn->now_s < ready_s) {
        wake(turn, ready_s);
        return true;
    }
    if (asks(turn, victim))
        return true;
    other = &ranges->workers[victim];
    rest_s = rest_of(turn, other);
    units = (rest_s - cost_s) / (1 / other->speed_ups + 1 / worker->speed_ups);
    units = fmin(units, unread(turn, other) - turn->view->ahead);
    if (!(units > ranges->min) ||
        !(fmin(rest_s - cost_s - units / worker->speed_ups, units / other->speed_ups) >
          GAIN * cost_s + LOOK_S))
        return false;
    if (worker->phase == IDLE && start_of(ranges) > quantum(turn)) {
        open_empty(turn, w);
        wake(turn, turn->now_s + READY * start_of(ranges));
        return true;
    }
    other->recalling = true;
    other->thief = w;
    cleave_order_recall(turn->orders, victim, units);
    return true;
}

/* The chunk that ends last is copied once it is late by the time that a copy takes. */
static void copy(const struct turn *turn, uint32_t w)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w], *last = NULL;
    double longest_s = 0, units, takes_s;

    if (!turn->view->copies || ranges->known == 0 || worker->phase != IDLE)
        return;
    for (uint32_t y = 0; y < ranges->n; y++) {
        struct cv_range_worker *other = &ranges->workers[y];

        if (y != w && is_busy(other) && other->twin == NOBODY && !other->no_copy &&
            other->given > 0 && !(other->due > 0) && rest_of(turn, other) > longest_s) {
            longest_s = rest_of(turn, other);
            last = other;
        }
    }
    if (last == NULL)
        return;
    units = takes_back(turn, last) ? fmin(last->given, last->read + window(turn))
                                   : last->given;
    takes_s = overhead(turn) + units / worker->speed_ups;
    if (!(longest_s > (is_late(turn, last) ? 1 : COPY) * takes_s)) {
        wake(turn, turn->now_s + fmax(takes_s / 2, LOOK_S));
        return;
    }
    worker->opened_s = turn->now_s;
    begin_chunk(turn, worker, CLOSED);
    worker->given = last->given;
    worker->twin = (uint32_t)(last - ranges->workers);
    worker->copy = true;
    last->twin = w;
    last->phase = CLOSED;
    cleave_order_copy(turn->orders, w, worker->twin);
}

/* An open chunk whose input was read: more, or the end. */
static void go_on(const struct turn *turn, uint32_t w)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w];

    if (worker->phase != OPEN || !worker->drained || worker->due > 0)
        return;
    if (worker->ends || !(turn->view->units_left > 0) ||
        (worker->test && ranges->kind == UNKNOWN && !ranges->emits)) {
        close(turn, w);
        return;
    }
    if (!is_soft(turn)) {
        const double units = is_stream(turn) ? bite(turn, w) - worker->given : 0;

        if (units > window(turn))
            extend(turn, w, units);
        else
            close(turn, w);
        return;
    }
    extend(turn, w,
           is_stream(turn) ? share(turn)
                           : worker->speed_ups * end_together(turn, NOBODY));
    if (worker->ends)
        close(turn, w);
}

/* The test takes long: the others are given something by what it shows so far. */
static void hurry(const struct turn *turn, struct cv_range_worker *tester)
{
    struct cv_ranges *ranges = turn->ranges;
    const double limit_s = fmax(start_of(ranges), 2 * quantum(turn));

    if (tester->began_s < 0)
        return;
    if (turn->now_s < tester->began_s + limit_s) {
        wake(turn, tester->began_s + limit_s);
        return;
    }
    tester->test = false;
    if (!tester->drained && tester->phase == OPEN) {
        ranges->kind = STREAMS;
        if (tester->seconds > 0)
            return;
    }
    tester->units = tester->given;
    tester->seconds = 2 * (turn->now_s - tester->began_s);
    tester->guessed = true;
}

/* All workers that are free and not alike: one shows what the command is. */
static void test(const struct turn *turn)
{
    struct cv_ranges *ranges = turn->ranges;
    bool tested = false;

    for (uint32_t w = 0; w < ranges->n; w++)
        if (is_free(&ranges->workers[w]) && ranges->workers[w].phase == IDLE)
            open_empty(turn, w);
    for (uint32_t w = 0; w < ranges->n; w++)
        if (ranges->workers[w].test) {
            tested = true;
            hurry(turn, &ranges->workers[w]);
        }
    for (uint32_t w = 0; w < ranges->n && !tested; w++)
        if (is_free(&ranges->workers[w])) {
            give(turn, w, test_size(turn));
            ranges->workers[w].test = tested = true;
        }
}

static void serve_one(const struct turn *turn, uint32_t w, uint32_t waiting)
{
    struct cv_ranges *ranges = turn->ranges;
    struct cv_range_worker *worker = &ranges->workers[w];

    if (!(turn->view->units_left > 0)) {
        if (!steal(turn, w))
            copy(turn, w);
        return;
    }
    if (!is_soft(turn)) {
        const double units = bite(turn, w);

        if (units > 0) {
            give(turn, w, units);
            if (!is_stream(turn) && ranges->kind == SLURPS)
                close(turn, w);
        }
        return;
    }
    if (is_stream(turn)) {
        give(turn, w, share(turn));
        return;
    }
    if (ranges->known == 0) {
        give(turn, w, turn->view->units_left / waiting);
    } else {
        const double end_s = end_together(turn, NOBODY);
        const double units = worker->speed_ups * (end_s - ready_in(turn, worker));

        if (units > 0)
            give(turn, w, waiting == 1 ? turn->view->units_left : units);
    }
}

static void count_present(struct cv_ranges *ranges, double now_s)
{
    for (int again = 0; again < 2; again++) {
        ranges->present = 0;
        for (uint32_t w = 0; w < ranges->n; w++) {
            struct cv_range_worker *worker = &ranges->workers[w];

            if (worker->coming && now_s > COMING_S) {
                worker->coming = false;
                worker->lost = LOSSES;
            }
            ranges->present += !is_out(worker);
        }
        if (ranges->present > 0)
            return;
        for (uint32_t w = 0; w < ranges->n; w++)
            ranges->workers[w].lost = 0;
    }
}

static void serve(const struct turn *turn)
{
    struct cv_ranges *ranges = turn->ranges;
    uint32_t waiting = 0, busy = 0;
    double longest_s = 0;

    for (uint32_t w = 0; w < ranges->n; w++)
        go_on(turn, w);
    for (uint32_t w = 0; w < ranges->n; w++)
        waiting += is_free(&ranges->workers[w]) || ranges->workers[w].coming;
    if (turn->view->units_left > 0 && ranges->kind == UNKNOWN && ranges->known == 0 &&
        !are_alike(turn) && turn->view->nworkers > 1 && !is_stream(turn)) {
        test(turn);
        estimate(turn);
        if (ranges->kind == UNKNOWN && ranges->known == 0)
            return;
    }
    for (uint32_t w = 0; w < ranges->n; w++)
        if (is_free(&ranges->workers[w])) {
            serve_one(turn, w, waiting);
            waiting--;
        }
    waiting = 0;
    for (uint32_t w = 0; w < ranges->n; w++) {
        const struct cv_range_worker *worker = &ranges->workers[w];

        busy += is_busy(worker);
        waiting += is_free(worker);
        if (has_tail(turn, worker))
            longest_s = fmax(longest_s, rest_of(turn, worker));
    }
    if (busy == 0 && turn->view->units_left > 0)
        for (uint32_t w = 0; w < ranges->n; w++)
            if (is_free(&ranges->workers[w])) {
                give(turn, w, turn->view->units_left / ranges->present);
                break;
            }
    if (waiting > 0 && longest_s > 0 && ranges->known > 0)
        wake(turn, turn->now_s + fmax(AGAIN * longest_s, LOOK_S));
    if (busy == 0 && !(turn->view->units_left > 0))
        for (uint32_t w = 0; w < ranges->n; w++)
            if (ranges->workers[w].phase == EMPTY)
                close(turn, w);
}

enum cleave_status cv_ranges_begin(struct cv_ranges *ranges,
                                   const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    bool measured = view->measured;

    ranges->n = cv_count_workers(view->workers, view->nworkers);
    ranges->workers = cv_array(setup->arena, view->nworkers, sizeof *ranges->workers);
    ranges->ready = cv_array(setup->arena, view->nworkers, sizeof *ranges->ready);
    if (ranges->workers == NULL || ranges->ready == NULL)
        return cv_fail_memory(err, "what is learnt");
    for (uint32_t w = 0; w < view->nworkers; w++)
        measured = measured && !cv_is_reserved(&view->workers[w]);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        struct cv_range_worker *worker = &ranges->workers[w];

        worker->prior = measured ? view->workers[w].speed_ups : 1;
        worker->thief = worker->twin = NOBODY;
        worker->coming = cv_is_coming(&view->workers[w]);
        if (cv_is_reserved(&view->workers[w]) && !worker->coming)
            worker->lost = LOSSES;
    }
    ranges->wake_s = -1;
    ranges->phi = 1;
    return CLEAVE_OK;
}

void cv_ranges_decide(struct cv_ranges *ranges, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct turn turn = {
        .ranges = ranges, .view = view, .orders = orders, .now_s = event->time_s
    };

    cv_fold_note(event, &ranges->fold_s);
    note(&turn, event);
    if (event->more)
        return;
    count_present(ranges, event->time_s);
    estimate(&turn);
    serve(&turn);
}
