/* exec_engine.c -- the engine that executes commands. SPDX-License-Identifier: MIT
 *
 * The driver submits orders as in a simulation. A chunk is a piece of the source, cut
 * near the ordered size; the source knows what is left. Chunks of a lost host are put
 * back and reported to the policy. If the policy does not get losses, other workers do
 * the orders of the host. */
#include "run/master/exec_run.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "run/master/worker_setup.h"
#include "run/master/run_policy.h"

struct engine;

/* A timer of the policy; reused after it has expired. */
struct wake {
    struct engine *engine;
    struct cv_timer timer;
    uint32_t worker;
    bool set;
    struct wake *next;
};

struct engine {
    struct cv_exec_run *run; /* borrowed                                               */
    struct wake *wakes;      /* owned                                                  */
    uint32_t sleeping;       /* timers that are set */
    struct cv_watch input;
    double shown_s; /* time of the last progress report */
    bool listening; /* the stream is being polled */
    struct cv_joining_workers joining;
    int input_fd;    /* descriptor that is polled; it changes when decoding begins */
    bool open_ended; /* a stream whose end was not reported yet */
};

/* --- the stream --------------------------------------------------------------------------- */

static void input_ready(void *context, unsigned events)
{
    struct cv_exec_run *run = context;
    struct cleave_error err;

    (void)events;
    if (cv_source_pump(run->queue.source, &err) != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* Poll the stream only while input is wanted, and report its end once. */
static enum cleave_status attend_stream(struct engine *engine, struct cleave_error *err)
{
    struct cv_exec_run *run = engine->run;
    const struct cv_source *source = run->queue.source;
    const int fd = cv_source_poll_fd(source);
    const bool wants = fd >= 0 && cv_source_wants(source);

    if (engine->listening && fd != engine->input_fd) {
        cv_poller_remove(run->poller, &engine->input);
        engine->listening = false;
    }
    engine->input_fd = fd;
    if (wants && !engine->listening)
        CV_TRY(cv_poller_add(run->poller, &engine->input, fd, CV_READABLE, input_ready,
                             run, err));
    else if (!wants && engine->listening)
        cv_poller_remove(run->poller, &engine->input);
    engine->listening = wants;
    if (engine->open_ended && isfinite(cv_source_total(source))) {
        engine->open_ended = false;
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_ENDED,
                                                   .units = cv_source_left(source) });
    }
    return CLEAVE_OK;
}

/* --- opening ------------------------------------------------------------------------------ */

static void exec_close(void *instance)
{
    struct engine *engine = instance;
    struct cv_exec_run *run;

    if (engine == NULL)
        return;
    run = engine->run;
    cv_joining_workers_close(&engine->joining);
    if (run->stay)
        cv_attempt_table_kill(&run->table);
    else
        cv_attempt_table_done(&run->table);
    cv_retry_queue_done(&run->agains);
    cv_bisect_groups_free(run->families);
    run->families = NULL;
    free(run->candidates.items);
    run->candidates.items = NULL;
    cv_order_queue_close(&run->queue);
    if (engine->listening)
        cv_poller_remove(run->poller, &engine->input);
    cv_poller_cancel(run->poller, &run->slow.timer);
    cv_poller_cancel(run->poller, &run->slow.looks);
    while (engine->wakes != NULL) {
        struct wake *wake = engine->wakes;

        engine->wakes = wake->next;
        cv_poller_cancel(run->poller, &wake->timer);
        free(wake);
    }
    cv_event_queue_done(&run->events);
    free(engine);
}

static enum cleave_status open_workers(struct cv_exec_run *run, struct cleave_error *err)
{
    CV_TRY(cv_order_queue_open(&run->queue, run->pool.nworkers, err));
    if (run->table.items == NULL) /* else they stayed from the last input */
        CV_TRY(cv_attempt_table_init(&run->table, run->pool.nworkers, err));
    run->limiter.workers = run->pool.nworkers;
    run->candidates.items = calloc(run->pool.nworkers, sizeof *run->candidates.items);
    if (run->candidates.items == NULL)
        return cv_fail_memory(err, "the workers");
    CV_TRY(cv_chunk_trust(run, err));
    CV_TRY(cv_start_rates_open(run, err));
    CV_TRY(cv_key_limits_open(run, err));
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        CV_TRY(cv_chunks_bind_slot(run, w, err));
    return CLEAVE_OK;
}

static enum cleave_status exec_open(const struct cleave_platform *platform,
                                    const void *source, void **out,
                                    struct cleave_error *err)
{
    struct engine *engine = calloc(1, sizeof *engine);
    enum cleave_status status;
    /* The driver passes it as const, but it belongs to this engine. */
    union {
        const void *in;
        struct cv_exec_run *out;
    } run = { source };

    (void)platform;
    if (engine == NULL)
        return cv_fail_memory(err, "the engine");
    engine->run = run.out;
    status = open_workers(engine->run, err);
    if (status != CLEAVE_OK) {
        exec_close(engine);
        return status;
    }
    *out = engine;
    return CLEAVE_OK;
}

static enum cleave_status exec_begin(void *instance, const struct cv_run *number,
                                     struct cleave_error *err)
{
    struct engine *engine = instance;

    (void)number;
    engine->run->events.began_s = cv_clock_s();
    engine->open_ended = isinf(cv_source_total(engine->run->queue.source));
    CV_TRY(cv_joining_workers_open(&engine->joining, engine->run, err));
    return attend_stream(engine, err);
}

/* --- orders ------------------------------------------------------------------------------- */

static void woken(void *context)
{
    struct wake *wake = context;

    cv_event_queue_push(&wake->engine->run->events,
                        (struct cleave_event){ .kind = CLEAVE_WAKE,
                                               .worker = wake->worker });
    wake->set = false;
    wake->engine->sleeping--;
}

static enum cleave_status wake_at(struct engine *engine, const struct cleave_order *order,
                                  struct cleave_error *err)
{
    struct wake *wake = engine->wakes;

    while (wake != NULL && wake->set)
        wake = wake->next;
    if (wake == NULL) {
        wake = calloc(1, sizeof *wake);
        if (wake == NULL)
            return cv_fail_memory(err, "the times to wake at");
        wake->engine = engine;
        wake->next = engine->wakes;
        engine->wakes = wake;
    }
    wake->worker = order->worker;
    wake->set = true;
    engine->sleeping++;
    cv_poller_set(engine->run->poller, &wake->timer,
                  engine->run->events.began_s + order->time_s, woken, wake);
    return CLEAVE_OK;
}

static enum cleave_status exec_submit(void *instance, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    struct engine *engine = instance;
    struct cv_exec_run *run = engine->run;

    switch (order->kind) {
    case CLEAVE_SEND:
        if (run->request->items.sizes != NULL)
            return cv_orders_add(run, order->worker, CV_ORDER_ITEM, 1, order->item, err);
        return cv_orders_add(run, order->worker, CV_ORDER_SEND, order->units, 0, err);
    case CLEAVE_RECALL:
        return cv_recall(run, order->worker, order->units, err);
    case CLEAVE_WAKE_AT:
        return wake_at(engine, order, err);
    case CLEAVE_OPEN:
        return cv_orders_add(run, order->worker, CV_ORDER_OPEN, order->units, 0, err);
    case CLEAVE_EXTEND:
        return cv_open_chunks_extend(run, order->worker, order->units, err);
    case CLEAVE_CLOSE:
        cv_open_chunks_close(run, order->worker);
        return CLEAVE_OK;
    case CLEAVE_QUERY:
        cv_open_chunks_look(run, order->worker);
        return CLEAVE_OK;
    case CLEAVE_COPY:
        return cv_orders_copy(run, order->worker, order->peer, err);
    default:
        return cv_fail(err, CLEAVE_EENGINE,
                       "this engine can send, open, recall and wake, nothing else");
    }
}

/* --- waiting ------------------------------------------------------------------------------ */

/* Whether nothing more will happen. A sleeping policy with no work left is not waited
 * for. */
static bool all_over(struct engine *engine)
{
    struct cv_exec_run *run = engine->run;
    const struct cv_order_queue *queue = &run->queue;

    return queue->running == 0 && queue->pending == 0 && run->rates.held == 0 &&
           !engine->open_ended &&
           ((engine->sleeping == 0 && !cv_hosts_may_come(&run->pool.hosts) &&
             !cv_worker_health_awaits(&run->pool.health)) ||
            !(cv_source_left(queue->source) > 0)) &&
           !cv_result_sink_busy(run->results) && cv_exec_run_left(run);
}

/* Share what is left of a plan that has ordered everything over all workers. */
static enum cleave_status hand_out_rest(struct cv_exec_run *run, struct cleave_error *err)
{
    const double left = cv_source_left(run->queue.source);
    const double grain = cv_source_grain(run->queue.source);
    uint32_t there = 0;

    if (run->halted || run->stopping || !cv_order_queue_has_remainder(&run->queue))
        return CLEAVE_OK;
    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        there += cv_worker_pool_serves(&run->pool, w);
    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        if (cv_worker_pool_serves(&run->pool, w))
            CV_TRY(cv_order_queue_add_remainder(&run->queue, w,
                                                grain * ceil(left / grain / there), err));
    return cv_orders_begin(run, err);
}

/* Fail if chunks are open and the policy has nothing to wait for. */
static enum cleave_status check_open(const struct engine *engine,
                                     struct cleave_error *err)
{
    const struct cv_exec_run *run = engine->run;

    if (engine->sleeping > 0 || engine->open_ended || run->queue.growing > 0 ||
        run->queue.pending > 0 || !cv_open_chunks_wait(run))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EPOLICY,
                   "policy '%s' neither closed its open chunks nor gave them more",
                   cv_run_policy_name(&run->request->policy));
}

static enum cleave_status exec_wait(void *instance, struct cleave_event *out,
                                    bool *out_any, struct cleave_error *err)
{
    struct engine *engine = instance;
    struct cv_exec_run *run = engine->run;

    *out_any = true;
    for (;;) {
        CV_TRY(cv_joining_workers_poll(run, err));
        if (run->halted || run->stopping)
            cv_open_chunks_end(run);
        CV_TRY(cv_orders_begin(run, err));
        CV_TRY(attend_stream(engine, err));
        CV_TRY(cv_exec_run_check(run, err));
        cv_start_rates_release(run);
        if (cv_event_queue_pop(&run->events, out)) {
            if (out->kind == CLEAVE_DONE)
                out->fold_s = cv_result_sink_fold_s(run->results);
            return CLEAVE_OK;
        }
        CV_TRY(hand_out_rest(run, err));
        CV_TRY(cv_orders_alone(run, err));
        if (all_over(engine)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(check_open(engine, err));
        if (!run->halted)
            CV_TRY(cv_result_sink_work(run->results, err));
        cv_progress_look(run, &engine->shown_s);
        CV_TRY(cv_poller_wait(run->poller,
                              run->request->listener.progress != NULL ? CV_LOOK_S : -1,
                              err));
    }
}

static double exec_left(const void *instance)
{
    const struct engine *engine = instance;

    return cv_order_queue_unordered_bytes(&engine->run->queue);
}

const struct cv_engine cv_engine_exec = {
    .name = "real",
    .summary = "runs commands on this machine and on others",
    .open = exec_open,
    .begin = exec_begin,
    .submit = exec_submit,
    .wait = exec_wait,
    .left = exec_left,
    .close = exec_close,
};
