/* open_run_check.h -- helpers of the tests of open chunks. SPDX-License-Identifier: MIT
 *
 * A policy that gives all orders there are about open chunks, as its dice fall, and a run of
 * it whose trace is replayed. To be included after cmocka.h. */
#ifndef OPEN_RUN_CHECK_H
#define OPEN_RUN_CHECK_H
#include "run_check.h"

#include <cleave/execute.h>
#include <cleave/trace.h>

enum { SEATS = 3 };

/* --- a policy that tries everything ------------------------------------------------------- */

struct dance_seat {
    bool there, open, due, gone;
};

struct dance {
    uint64_t dice;
    struct dance_seat seats[SEATS];
};

static uint64_t dance_seed = 1, dance_grain = 3000;

static uint64_t roll(struct dance *dance, uint64_t sides)
{
    dance->dice = dance->dice * 6364136223846793005U + 1442695040888963407U;
    return (dance->dice >> 33) % sides;
}

/* More for the chunk of a worker, or less, or none. */
static void dance_step(struct dance *dance, const struct cleave_event *event,
                       struct cleave_orders *orders)
{
    const uint32_t w = event->worker;
    struct dance_seat *seat = &dance->seats[w];

    if (!seat->open || seat->due)
        return;
    if (roll(dance, 4) == 0)
        cleave_order_look(orders, (uint32_t)roll(dance, SEATS));
    if (event->kind == CLEAVE_EXTENDED && event->units > 0) {
        if (roll(dance, 2) == 0)
            cleave_order_recall(orders, w, (double)roll(dance, 2 * dance_grain));
        return; /* it will be drained */
    }
    if ((event->kind == CLEAVE_EXTENDED && event->units <= 0) ||
        (event->kind == CLEAVE_DRAINED && roll(dance, 6) == 0)) {
        seat->open = false;
        cleave_order_close(orders, w);
    } else if (event->kind == CLEAVE_DRAINED || event->kind == CLEAVE_SENT) {
        if (event->kind == CLEAVE_SENT && event->units > 0)
            return;
        seat->due = true;
        cleave_order_extend(orders, w, 1 + (double)roll(dance, 2 * dance_grain));
    }
}

static void dance_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct dance *dance = state;

    assert_true(view->opens && view->nworkers == SEATS);
    if (event->kind == CLEAVE_START)
        dance->dice = dance_seed;
    if (event->kind == CLEAVE_DONE || event->kind == CLEAVE_LOST)
        dance->seats[event->worker] =
            (struct dance_seat){ .gone = event->kind == CLEAVE_LOST };
    if (event->kind == CLEAVE_CAME)
        dance->seats[event->worker].gone = false;
    if (event->kind == CLEAVE_EXTENDED)
        dance->seats[event->worker].due = false;
    dance_step(dance, event, orders);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        if (dance->seats[w].there || dance->seats[w].gone || !(view->units_left > 0))
            continue;
        dance->seats[w] = (struct dance_seat){ .there = true, .open = true };
        cleave_order_open(orders, w,
                          roll(dance, 2) == 0 ? 0 : (double)roll(dance, dance_grain));
    }
}

static const struct cleave_policy dance_policy = { .name = "dance",
                                                   .state_size = sizeof(struct dance),
                                                   .decide = dance_decide,
                                                   .takes_streams = true,
                                                   .gets_losses = true,
                                                   .opens_chunks = true };

/* --- a policy that follows a script ------------------------------------------------------- */

/* When an event of kind `on` comes, or at once after the previous step: give an order. */
enum { AT_ONCE = -1 };
struct script_step {
    int on;
    enum cleave_order_kind order;
    uint32_t worker;
    double units; /* wake-up: seconds */
};

static const struct script_step *script;
static size_t script_steps;
static const char *script_flag; /* a file that is made after the last step; NULL: none */

static void script_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    size_t *next = state;
    bool fits = true;

    (void)view;
    for (; *next < script_steps; (*next)++) {
        const struct script_step *step = &script[*next];

        if (step->on != AT_ONCE && (!fits || step->on != (int)event->kind))
            return;
        fits = false;
        switch (step->order) {
        case CLEAVE_OPEN:
            cleave_order_open(orders, step->worker, step->units);
            break;
        case CLEAVE_EXTEND:
            cleave_order_extend(orders, step->worker, step->units);
            break;
        case CLEAVE_CLOSE:
            cleave_order_close(orders, step->worker);
            break;
        case CLEAVE_QUERY:
            cleave_order_look(orders, step->worker);
            break;
        case CLEAVE_RECALL:
            cleave_order_recall(orders, step->worker, step->units);
            break;
        case CLEAVE_SEND:
            cleave_order_send(orders, step->worker, step->units);
            break;
        default:
            cleave_order_wake(orders, step->worker, step->units);
            break;
        }
    }
    if (script_flag != NULL)
        write_file(script_flag, "", 0);
}

static const struct cleave_policy script_policy = { .name = "script",
                                                    .state_size = sizeof(size_t),
                                                    .decide = script_decide,
                                                    .takes_streams = true,
                                                    .gets_losses = true,
                                                    .opens_chunks = true };

/* --- a run -------------------------------------------------------------------------------- */

/* Result of a run. */
struct ran {
    enum cleave_status status;
    struct cleave_error err;
    struct cleave_execution_result *result; /* owned */
    struct cleave_trace *trace;             /* owned */
    struct text out;                        /* owned */
};

static inline void read_all(int fd, struct text *out)
{
    ssize_t got;

    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    do {
        if (out->room - out->n < 65536)
            assert_non_null(out->bytes = realloc(out->bytes, out->room += 1 << 20));
        got = read(fd, out->bytes + out->n, out->room - out->n);
        assert_true(got >= 0);
        out->n += (size_t)got;
    } while (got > 0);
}

static inline void note(void *context, const char *text)
{
    (void)context;
    print_message("note: %s\n", text);
}

static inline struct ran execute_open(struct cleave_execution execution)
{
    struct ran ran = { .status = CLEAVE_OK };
    FILE *out = tmpfile();

    assert_non_null(out);
    execution.output.descriptor = fileno(out);
    execution.output.name = "out";
    if (execution.workers.count == 0)
        execution.workers.count = SEATS;
    if (execution.policy.own == NULL)
        execution.policy.own = &dance_policy;
    assert_ok(cleave_trace_new(&ran.trace, &err));
    execution.listener.trace = ran.trace;
    execution.listener.note = note;
    ran.status = cleave_execute(&execution, &ran.result, &ran.err);
    if (ran.result == NULL)
        fail_msg("%s: %s", ran.err.file, ran.err.text);
    read_all(fileno(out), &ran.out);
    fclose(out);
    return ran;
}

/* Run it, and replay its trace. */
static inline struct ran run_open(struct cleave_execution execution)
{
    struct ran ran = execute_open(execution);
    struct cleave_replayed found;

    if (cleave_trace_count(ran.trace) == 0)
        fail_msg("%s: %s", ran.err.file, ran.err.text);
    assert_ok(
        cleave_replay(ran.trace,
                      execution.policy.own != NULL ? execution.policy.own : &dance_policy,
                      &found, &err));
    assert_true(found.same || ran.status != CLEAVE_OK);
    return ran;
}

static inline void forget(struct ran *ran)
{
    cleave_execution_free(ran->result);
    cleave_trace_free(ran->trace);
    free(ran->out.bytes);
}

/* How many events of a kind the trace has, and the units of all of them. */
static inline size_t count_events(const struct cleave_trace *trace,
                                  enum cleave_event_kind kind, double *units)
{
    size_t count = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order || entry->as.event.kind != kind)
            continue;
        count++;
        if (units != NULL)
            *units += entry->as.event.units;
    }
    return count;
}

/* The only event of a kind. */
static inline struct cleave_event event_of(const struct cleave_trace *trace,
                                           enum cleave_event_kind kind, uint32_t worker)
{
    struct cleave_event found = { .kind = CLEAVE_START };

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order || entry->as.event.kind != kind ||
            entry->as.event.worker != worker)
            continue;
        assert_int_equal(found.kind, CLEAVE_START);
        found = entry->as.event;
    }
    assert_int_equal(found.kind, kind);
    return found;
}

/* --- what tests share -------------------------------------------------------------------- */

static char dir[] = "/tmp/cleave-open-XXXXXX";
static char path_a[64], path_b[64];

static const char *const cat[] = { "cat", NULL };
static const char *const file_a[] = { path_a }, *const both[] = { path_a, path_b };

static inline void expect_bytes(const struct ran *ran, const char *bytes, size_t n)
{
    if (ran->status != CLEAVE_OK)
        fail_msg("%s: %s", ran->err.file, ran->err.text);
    assert_int_equal(ran->out.n, n);
    assert_memory_equal(ran->out.bytes, bytes, n);
}

static inline struct text file_text(const char *path)
{
    struct text text = { .bytes = NULL };
    const int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    read_all(fd, &text);
    close(fd);
    return text;
}

#define RUN_SCRIPT(...)                                         \
    run_script((struct cleave_execution){ __VA_ARGS__ }, steps, \
               sizeof steps / sizeof *steps)

static inline struct ran run_script(struct cleave_execution execution,
                                    const struct script_step *steps, size_t nsteps)
{
    script = steps;
    script_steps = nsteps;
    execution.policy.own = &script_policy;
    return run_open(execution);
}

#define SH(text)               \
    (const char *const[])      \
    {                          \
        "sh", "-c", text, NULL \
    }

/* In a separate directory. */
static inline int run_all(int (*tests)(void))
{
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(path_a, sizeof path_a, "%s/a", dir);
    snprintf(path_b, sizeof path_b, "%s/b", dir);
    failed = tests();
    unlink(path_a);
    unlink(path_b);
    rmdir(dir);
    return failed;
}

#endif
