/* test_open_random.c -- random orders about open chunks, against a second model.
 * SPDX-License-Identifier: MIT
 *
 * A policy opens, extends, recalls, closes and looks at random moments. The trace of the
 * native engine is checked entry by entry, with separate books: the range of each worker,
 * the units read by each command, and so the result of each order and the time of each
 * event. Nothing may come early, late, twice or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "open_chance.h"
#include "trace_check.h"

enum { MOST_CHUNKS = 4000, SCRIPTS = 200 };

static const double LOAD = 1000;
static const double NEAR = 1e-6;
static const double SPEED[WORKERS] = { 10, 40, 13 }, START[WORKERS] = { 1, 0.2, 3 };

#define same(a, b) assert_true(fabs((a) - (b)) < NEAR)

/* --- the second model ------------------------------------------------------------------ */

struct book {
    bool there, opened, closed, started, drained;
    uint64_t chunk;
    double begin, end; /* its range; equal: none */
    double here, read; /* units of it that have arrived, and that were read      */
    double at_s;       /* `read` is of then                                   */
    double spawn_s, ready_s, first_s, closed_s,
        reached_s; /* reached: all arrived units */
};

/* Expected results of unanswered orders. */
struct answers {
    double units[16];
    unsigned first, last;
};

static void expect_answer(struct answers *answers, double units)
{
    answers->units[answers->last++ % 16] = units;
    assert_true(answers->last - answers->first <= 16);
}

static void check_answer(struct answers *answers, double units)
{
    assert_true(answers->first < answers->last);
    same(units, answers->units[answers->first % 16]);
    answers->first++;
}

static struct model {
    const struct scene *scene;
    double phi;
    struct book queue[WORKERS];
    struct {
        double begin, end;
        bool there;
    } ranges[MOST_CHUNKS];    /* by chunk */
    double sent[MOST_CHUNKS]; /* expected results of orders, by chunk */
    double extended[WORKERS]; /* ... by worker */
    struct answers recalled[WORKERS], seen[WORKERS]; /* expected results in order */
    uint64_t chunks;
    double done;
    bool begun; /* a command has started */
} model;

/* Position of the lowest free unit at or after `from`, and the number of units that
 * follow. */
static double free_from(double from, double *out_length)
{
    bool moved = true;
    double next = LOAD;

    while (moved) {
        moved = false;
        for (uint64_t i = 0; i < model.chunks; i++)
            if (model.ranges[i].there && model.ranges[i].begin <= from + NEAR &&
                model.ranges[i].end > from + NEAR) {
                from = model.ranges[i].end;
                moved = true;
            }
    }
    for (uint64_t i = 0; i < model.chunks; i++)
        if (model.ranges[i].there && model.ranges[i].begin > from + NEAR)
            next = fmin(next, model.ranges[i].begin);
    *out_length = fmax(0, next - from);
    return from;
}

static double unit_s(uint32_t w)
{
    const double pipe = model.scene->pipe_ups;

    return (pipe > 0 ? 1 / pipe : 0) + model.phi / SPEED[w];
}

/* Let all workers read until that time. */
static void pass(double now_s)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct book *book = &model.queue[w];
        const double from_s = fmax(book->at_s, fmax(book->ready_s, book->first_s));
        double units;

        if (!book->there || book->here <= book->read || now_s < from_s)
            continue;
        units = unit_s(w) > 0 ? (now_s - from_s) / unit_s(w) : INFINITY;
        if (units >= book->here - book->read - NEAR / 100) { /* but for rounding */
            book->reached_s = from_s + (book->here - book->read) * unit_s(w);
            book->read = book->here;
        } else {
            book->read += units;
        }
        book->at_s = now_s;
    }
}

/* No worker has an unreported event. */
static void nobody_is_silent(double now_s)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct book *book = &model.queue[w];
        const double start_s = fmax(book->ready_s, book->first_s);

        if (!book->there || !book->opened || !(book->here > 0))
            continue;
        assert_true(book->started || now_s < start_s + NEAR);
        if (!book->closed && book->read >= book->here &&
            book->here >= book->end - book->begin - NEAR)
            assert_true(book->drained || now_s < book->reached_s + NEAR);
    }
}

static void open_book(uint32_t w, uint64_t chunk, double now_s, bool opened)
{
    const bool late = strcmp(model.scene->reads, "late") == 0;

    model.queue[w] = (struct book){ .there = true,
                                    .opened = opened,
                                    .closed = !opened,
                                    .chunk = chunk,
                                    .at_s = now_s,
                                    .spawn_s = now_s,
                                    .closed_s = now_s,
                                    .ready_s = now_s + (late ? 0.001 : START[w]) };
}

/* The largest free range. */
static double largest(double *out_length)
{
    double best = 0, at = 0;

    *out_length = 0;
    while (at < LOAD - NEAR) {
        double length;
        const double from = free_from(at, &length);

        if (length > *out_length + NEAR) {
            best = from;
            *out_length = length;
        }
        at = from + length;
    }
    return best;
}

/* Where a new chunk of so many units begins: in the largest free range. Input that could extend an
 * open chunk is used from its end, with room for an equal share until a command has started. */
static double place(double units)
{
    const double room = fmax(units, model.begun ? 0 : LOAD / WORKERS);
    double length;
    const double from = largest(&length);

    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct book *book = &model.queue[w];

        if (book->there && book->opened && !book->closed && book->end > book->begin &&
            fabs(book->end - from) < NEAR)
            return from + fmax(0, length - (room < length ? room : units));
    }
    return from;
}

/* Units for the open chunk of a worker. */
static double lengthen(uint32_t w, double units)
{
    struct book *book = &model.queue[w];
    double length, from;

    if (!(book->end > book->begin) && !book->started) {
        book->begin = book->end = place(units);
        (void)free_from(book->end, &length);
    } else {
        from = free_from(book->end, &length);
        if (from > book->end + NEAR)
            length = 0;
    }
    length = fmin(units, length);
    book->end += length;
    model.ranges[book->chunk].begin = book->begin;
    model.ranges[book->chunk].end = book->end;
    model.ranges[book->chunk].there = book->end > book->begin;
    return length;
}

static void shorten(uint32_t w, double units)
{
    struct book *book = &model.queue[w];
    double taken = 0;

    if (book->there && book->here >= book->end - book->begin - NEAR)
        taken = fmin(units, fmax(0, book->here - book->read - model.scene->ahead));
    expect_answer(&model.recalled[w], taken);
    if (!(taken > 0))
        return;
    book->here -= taken;
    book->end -= taken;
    if (book->here < NEAR) { /* by rounding */
        book->here = 0;
        book->end = book->begin;
    }
    model.ranges[book->chunk].end = book->end;
    model.ranges[book->chunk].there = book->end > book->begin;
    if (book->here <= book->read)
        book->reached_s = fmax(book->at_s, book->ready_s);
}

static void check_order(const struct cleave_order *order, double now_s)
{
    const uint32_t w = order->worker;
    double length;

    switch (order->kind) {
    case CLEAVE_SEND: {
        const double from = free_from(0, &length);

        model.sent[model.chunks] = fmin(order->units, length);
        model.ranges[model.chunks].begin = from;
        model.ranges[model.chunks].end = from + model.sent[model.chunks];
        model.ranges[model.chunks].there = true;
        model.chunks++;
        break;
    }
    case CLEAVE_OPEN:
        open_book(w, model.chunks++, now_s, true);
        model.sent[model.chunks - 1] = lengthen(w, order->units);
        break;
    case CLEAVE_EXTEND:
        model.extended[w] = lengthen(w, order->units);
        break;
    case CLEAVE_CLOSE:
        model.queue[w].closed = true;
        model.queue[w].closed_s = now_s;
        break;
    case CLEAVE_RECALL:
        shorten(w, order->units);
        break;
    case CLEAVE_QUERY:
        expect_answer(&model.seen[w], model.queue[w].there ? model.queue[w].read : 0);
        break;
    default:
        break;
    }
}

/* When a command ends that has read the end of its input. */
static void check_done(const struct cleave_event *event)
{
    struct book *book = &model.queue[event->worker];
    const double n = book->end - book->begin, start_s = START[event->worker];
    const bool late = strcmp(model.scene->reads, "late") == 0;
    double end_s = fmax(book->closed_s, fmax(book->ready_s, book->reached_s));

    assert_true(book->there && book->closed && book->chunk == event->chunk);
    same(event->units, n);
    model.done += n;
    book->there = false;
    if (book->opened && !(n > 0) && !book->started) {
        assert_true(event->time_s >= book->closed_s); /* killed */
        return;
    }
    same(book->read, n);
    assert_true(book->started || !book->opened);
    if (book->opened && n > 0)
        same(event->read_s, end_s);
    end_s += (late ? start_s - 0.001 : 0) + n * (1 - model.phi) / SPEED[event->worker];
    same(event->time_s, end_s);
    same(event->start_s, book->spawn_s);
}

/* A sent chunk has arrived, and is the only one: its command starts when the last has
 * ended. */
static void start_sent(uint32_t w, uint64_t chunk, double now_s)
{
    struct book *book = &model.queue[w];

    open_book(w, chunk, now_s, false);
    book->begin = model.ranges[chunk].begin;
    book->end = model.ranges[chunk].end;
    book->here = book->end - book->begin;
}

static void check_units(const struct cleave_event *event)
{
    struct book *book = &model.queue[event->worker];

    same(event->units, event->kind == CLEAVE_SENT ? model.sent[event->chunk]
                                                  : model.extended[event->worker]);
    if (!book->there || book->chunk != event->chunk) {
        start_sent(event->worker, event->chunk, event->time_s);
        return;
    }
    if (!(event->units > 0))
        return;
    if (!(book->here > 0))
        book->first_s = event->time_s;
    book->here += event->units;
    book->at_s = event->time_s;
    book->drained = false;
}

static void check_event(const struct cleave_event *event)
{
    struct book *book = &model.queue[event->worker];

    switch (event->kind) {
    case CLEAVE_SENT:
    case CLEAVE_EXTENDED:
        check_units(event);
        break;
    case CLEAVE_STARTED:
        assert_true(book->opened && !book->started && book->here > 0);
        same(event->time_s, fmax(book->ready_s, book->first_s));
        same(event->start_s, book->spawn_s);
        book->started = model.begun = true;
        break;
    case CLEAVE_DRAINED:
        assert_true(book->started && !book->closed && !book->drained);
        same(book->read, book->end - book->begin);
        same(event->time_s, book->reached_s);
        same(event->units, book->end - book->begin);
        book->drained = true;
        break;
    case CLEAVE_RECALLED:
        check_answer(&model.recalled[event->worker], event->units);
        break;
    case CLEAVE_PROGRESS:
        check_answer(&model.seen[event->worker], event->units);
        same(event->output, strcmp(model.scene->reads, "stream") == 0 ? event->units : 0);
        break;
    case CLEAVE_DONE:
        check_done(event);
        break;
    default:
        break;
    }
}

static void check_trace(const struct scene *scene, const struct cleave_trace *trace)
{
    struct cv_command_model command;
    double now_s = 0, length;

    memset(&model, 0, sizeof model);
    model.scene = scene;
    assert_int_equal(cv_command_find(scene->reads, &command, NULL), CLEAVE_OK);
    model.phi = command.phi;
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        assert_true(model.chunks < MOST_CHUNKS);
        if (entry->is_order) {
            pass(now_s);
            check_order(&entry->as.order, now_s);
            continue;
        }
        assert_true(entry->as.event.time_s >= now_s);
        now_s = entry->as.event.time_s;
        pass(now_s);
        nobody_is_silent(now_s);
        check_event(&entry->as.event);
    }
    /* Every unit had exactly one owner in the end. */
    same(free_from(0, &length), LOAD);
    same(model.done, LOAD);
}

/* --- the scripts ----------------------------------------------------------------------- */

static const char QUICK_LINKS[] =
    "port: multi\n"
    "workers:\n"
    "  - { name: a, speed: 10, compute_latency: 1, bandwidth: 1e300, latency: 0 }\n"
    "  - { name: b, speed: 40, compute_latency: 0.2, bandwidth: 1e300, latency: 0 }\n"
    "  - { name: c, speed: 13, compute_latency: 3, bandwidth: 1e300, latency: 0 }\n";
static const char SLOW_LINKS[] =
    "port: one\n"
    "workers:\n"
    "  - { name: a, speed: 10, compute_latency: 1, bandwidth: 100, latency: 0.1 }\n"
    "  - { name: b, speed: 40, compute_latency: 0.2, bandwidth: 50, latency: 0 }\n"
    "  - { name: c, speed: 13, compute_latency: 3, bandwidth: 300, latency: 0.5 }\n";

static void random_orders_come_to_what_they_should(void **unused)
{
    static const char *const kinds[] = { "stream", "count", "slurp", "late", "mix" };

    (void)unused;
    for (script_seed = 1; script_seed <= SCRIPTS; script_seed++) {
        const struct scene scene = { .platform =
                                         script_seed % 3 == 0 ? SLOW_LINKS : QUICK_LINKS,
                                     .reads = kinds[script_seed % 5],
                                     .load = LOAD,
                                     .pipe_ups = script_seed % 2 == 0 ? 200 : 0,
                                     .ahead = script_seed % 4 == 0 ? 20 : 0,
                                     .decide = at_random };
        struct cleave_trace *trace = NULL;
        struct cleave_replayed again;
        struct cv_outcome outcome;
        struct cleave_error err;

        assert_int_equal(cleave_trace_new(&trace, &err), CLEAVE_OK);
        if (play(&scene, trace, &outcome, &err) != CLEAVE_OK)
            fail_msg("script %llu: %s", (unsigned long long)script_seed, err.text);
        check_trace(&scene, trace);
        if (cleave_replay(trace, &scripted, &again, &err) != CLEAVE_OK)
            fail_msg("script %llu: %s", (unsigned long long)script_seed, err.text);
        assert_true(again.same);
        cleave_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_orders_come_to_what_they_should),
    };

    return cmocka_run_group_tests_name("open_random", tests, NULL, NULL);
}
