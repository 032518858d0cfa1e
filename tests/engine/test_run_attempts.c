/* test_run_attempts.c -- runs whose commands end in every way take every transition of an attempt.
 * SPDX-License-Identifier: MIT
 *
 * The driver, the master, the source and the outputs are real; slots are simulated. A simulated
 * command copies its piece, cannot be started, reads nothing, fails, or is lost with its machine,
 * at random. The policy opens, extends, closes, sends and recalls at random, and the input is a
 * stream with pauses. Checked are the output of every run that succeeds, and at the end that each
 * entry of the table in run/master/attempts.c was used. Only pieces on hosts are taken back as a
 * whole: test_run_scripted has those.
 *
 * The linker replaces cv_slot_init, cv_attempt_step and cv_worker_pool_there by the functions
 * below (--wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "open_run_check.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

#include "run/master/attempts.h"
#include "run/slot/slot_kind.h"

/* --- chance --------------------------------------------------------------------------- */

static struct dance world; /* random numbers of the world */

static bool one_in(uint64_t sides)
{
    return roll(&world, sides) == 0;
}

/* --- transitions ---------------------------------------------------------------------- */

static unsigned taken[CV_ATTEMPT_STATES][CV_ATTEMPT_EVENTS];

enum cv_attempt_action __real_cv_attempt_step(struct cv_attempt *attempt,
                                              enum cv_attempt_event event);
enum cv_attempt_action __wrap_cv_attempt_step(struct cv_attempt *attempt,
                                              enum cv_attempt_event event);

enum cv_attempt_action __wrap_cv_attempt_step(struct cv_attempt *attempt,
                                              enum cv_attempt_event event)
{
    if (!cv_attempt_can(attempt->state, event))
        fail_msg("event %d in state %d", (int)event, (int)attempt->state);
    taken[attempt->state][event]++;
    return __real_cv_attempt_step(attempt, event);
}

static size_t count_untaken(bool shows)
{
    size_t count = 0;

    for (int s = 0; s < CV_ATTEMPT_STATES; s++)
        for (int e = 0; e < CV_ATTEMPT_EVENTS; e++) {
            if (!cv_attempt_can((enum cv_attempt_state)s, (enum cv_attempt_event)e) ||
                e == CV_EVENT_TAKE_BACK || taken[s][e] > 0)
                continue;
            count++;
            if (shows)
                print_message("never: event %d in state %d\n", e, s);
        }
    return count;
}

/* --- simulated slots ------------------------------------------------------------------ */

static struct {
    bool absent; /* workers are found absent now and then */
    bool lies;   /* a lost output differs from its repetition */
    bool breaks; /* an output cannot be kept, which ends the run */
} ways;

static char stream[3000];
static bool broken, lied;

static void tick(void *context);

static void plan_tick(struct cv_slot *slot, double seconds)
{
    cv_poller_set(slot->poller, &slot->rest, cv_clock_s() + seconds, tick, slot);
}

static double soon_s(void)
{
    return 1e-6 * (double)roll(&world, 400);
}

static void drop_output(struct cv_slot *slot)
{
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

enum { LATER = 75 };

static bool asks_later; /* the next command that fails asks to be run later */

static void end(struct cv_slot *slot, enum cv_slot_end how)
{
    if (how == CV_SLOT_LOST && cv_slot_passed(slot) == 0) /* as remote slots do */
        drop_output(slot);
    else if (how == CV_SLOT_LOST)
        cv_chunk_output_keep_lines(slot->store);
    cv_poller_cancel(slot->poller, &slot->rest);
    slot->busy = slot->stopping = false;
    slot->process.exit_code = how == CV_SLOT_DONE ? 0 : asks_later ? LATER : 1;
    snprintf(slot->error_lines.tail, sizeof slot->error_lines.tail, "%s",
             asks_later ? "Retry-After: 0.001\n" : "");
    asks_later = false;
    slot->events->ended(slot->context, slot, how);
}

static void write_output(struct cv_slot *slot, const char *bytes, size_t length)
{
    assert_ok(cv_chunk_output_write(slot->store, bytes, length, &err));
    cv_ordered_output_offer(slot->store, slot->piece.begin, NULL, NULL);
    cv_ordered_output_pass_on(slot->store);
}

/* Bytes that the next command will not write are written, and the machine is lost. */
static void lie(struct cv_slot *slot)
{
    lied = slot->persistent.given = true;
    write_output(slot, "another line\n", 13);
    plan_tick(slot, 1.2 * CV_EARLY_MOMENT_S);
}

static void begin_to_read(struct cv_slot *slot)
{
    slot->open.spawn_s = cv_clock_s();
    slot->events->began(slot->context, slot);
}

/* An end that the state of the attempt has not seen yet, or any. */
static enum cv_slot_end choose_end(struct cv_slot *slot, bool has_bytes)
{
    const unsigned *seen = taken[cv_attempt_of(slot)->state];
    const bool unstarted =
        seen[has_bytes ? CV_EVENT_UNSTARTED : CV_EVENT_EMPTY_UNSTARTED] == 0;

    if (unstarted || one_in(16)) {
        slot->process.start_error = EAGAIN;
        return CV_SLOT_FAILED;
    }
    if (seen[has_bytes ? CV_EVENT_LOST : CV_EVENT_EMPTY_LOST] == 0 || one_in(8))
        return CV_SLOT_LOST;
    if (has_bytes && !slot->stopping && (seen[CV_EVENT_LATER] == 0 || one_in(16))) {
        asks_later = true;
        return CV_SLOT_FAILED;
    }
    if (seen[CV_EVENT_FAILURE] == 0 || one_in(8))
        return CV_SLOT_FAILED;
    return CV_SLOT_DONE;
}

static bool breaks_now(struct cv_slot *slot)
{
    struct cleave_error reason;

    if (!ways.breaks || broken || taken[cv_attempt_of(slot)->state][CV_EVENT_DISCARD] > 0)
        return false;
    broken = true;
    cv_fail(&reason, CLEAVE_EENGINE, "no room for the output");
    slot->events->broke(slot->context, &reason);
    return true;
}

static void tick(void *context)
{
    struct cv_slot *slot = context;
    const bool waits = slot->open.on && slot->open.more;
    const bool has_bytes = slot->piece.end > slot->piece.begin;
    const struct cv_range body = slot->piece.body;
    enum cv_slot_end how;

    if (slot->stopping) {
        how = choose_end(slot, has_bytes);
        end(slot, how == CV_SLOT_LOST ? CV_SLOT_LOST : CV_SLOT_STOPPED);
        return;
    }
    if (slot->persistent.given) { /* see lie() */
        end(slot, CV_SLOT_LOST);
        return;
    }
    if (ways.lies && !lied && has_bytes) {
        lie(slot);
        return;
    }
    if (slot->open.bound && !(slot->open.spawn_s > 0))
        begin_to_read(slot);
    else if (waits && slot->open.bound && !(slot->open.dry_s > 0)) {
        slot->open.dry_s = cv_clock_s();
        slot->events->drained(slot->context, slot);
    }
    if (waits && !one_in(6)) {
        plan_tick(slot, soon_s());
        return;
    }
    how = breaks_now(slot) ? CV_SLOT_DONE : choose_end(slot, has_bytes);
    if (slot->process.start_error == 0 && has_bytes)
        write_output(slot, stream + body.begin, body.end - body.begin);
    end(slot, how);
}

static enum cleave_status start(struct cv_slot *slot, struct cleave_error *out)
{
    if (one_in(8))
        return cv_fail(out, CLEAVE_ERESOURCES, "there is no process");
    slot->busy = true;
    slot->start_s = cv_clock_s();
    slot->stopping = slot->timed_out = false;
    slot->kills = 0;
    slot->fault = NULL;
    slot->persistent.given = false;
    slot->process = (struct cv_process){ .pidfd = -1 };
    slot->in.writer.nparts = 1;
    slot->in.writer.parts[0].begin = UINT64_MAX; /* the command was given everything */
    plan_tick(slot, soon_s());
    return cv_chunk_output_open(slot->outputs, &slot->store, out);
}

static uint64_t fed(const struct cv_slot *slot)
{
    return slot->piece.body.begin;
}

static bool cut(struct cv_slot *slot, const struct cv_piece *head)
{
    slot->piece = *head;
    return true;
}

static void stop(struct cv_slot *slot)
{
    slot->stopping = true;
}

static bool leave(struct cv_slot *slot)
{
    (void)slot;
    return true;
}

static void done(struct cv_slot *slot)
{
    cv_poller_cancel(slot->poller, &slot->rest);
    slot->busy = slot->stopping = false;
    drop_output(slot);
}

static bool is_open(const struct cv_slot *slot)
{
    (void)slot;
    return true;
}

static enum cleave_status extend(struct cv_slot *slot, const struct cv_piece *longer,
                                 struct cleave_error *out)
{
    (void)out;
    slot->piece = *longer;
    slot->open.bound = true;
    return CLEAVE_OK;
}

/* A command without input is stopped. */
static void shut(struct cv_slot *slot)
{
    slot->stopping = !slot->open.bound;
}

static const struct cv_slot_kind simulated = {
    .start = start,
    .fed = fed,
    .cut = cut,
    .stop = stop,
    .leave = leave,
    .done = done,
    .is_open = is_open,
    .extend = extend,
    .shut = shut,
    .starts_each = true,
};

void __real_cv_slot_init(struct cv_slot *slot);
void __wrap_cv_slot_init(struct cv_slot *slot);

void __wrap_cv_slot_init(struct cv_slot *slot)
{
    __real_cv_slot_init(slot);
    slot->kind = &simulated;
}

bool __real_cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker);
bool __wrap_cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker);

bool __wrap_cv_worker_pool_there(const struct cv_worker_pool *pool, uint32_t worker)
{
    return __real_cv_worker_pool_there(pool, worker) && !(ways.absent && one_in(5));
}

/* --- the policy ----------------------------------------------------------------------- */

static void begin_chunk(struct dance *dance, uint32_t w, const struct cleave_view *view,
                        struct cleave_orders *orders)
{
    struct dance_seat *seat = &dance->seats[w];
    const double units = fmin(1 + (double)roll(dance, 400), view->units_left);

    if (!(view->units_left > 0))
        return;
    *seat = (struct dance_seat){ .there = true, .open = roll(dance, 4) > 0 };
    if (!seat->open)
        cleave_order_send(orders, w, units);
    else
        cleave_order_open(orders, w, roll(dance, 2) == 0 ? 0 : units);
}

static void act(struct dance *dance, uint32_t w, const struct cleave_view *view,
                struct cleave_orders *orders)
{
    struct dance_seat *seat = &dance->seats[w];

    if (!seat->there)
        begin_chunk(dance, w, view, orders);
    else if (!seat->open)
        return;
    else if (roll(dance, 6) == 0) {
        seat->open = false;
        cleave_order_close(orders, w);
    } else if (!seat->due && roll(dance, 2) == 0) {
        seat->due = true;
        cleave_order_extend(orders, w, 1 + (double)roll(dance, 800));
        seat->open = roll(dance, 2) > 0;
        if (!seat->open) /* before the extension arrived */
            cleave_order_close(orders, w);
    } else if (roll(dance, 3) == 0)
        cleave_order_recall(orders, w, (double)roll(dance, 600));
}

static void decide(void *state, const struct cleave_view *view,
                   const struct cleave_event *event, struct cleave_orders *orders)
{
    struct dance *dance = state;

    if (event->kind == CLEAVE_START)
        dance->dice = dance_seed;
    if (event->kind == CLEAVE_DONE || event->kind == CLEAVE_LOST)
        dance->seats[event->worker] = (struct dance_seat){ .there = false };
    if (event->kind == CLEAVE_EXTENDED)
        dance->seats[event->worker].due = false;
    if (event->kind != CLEAVE_START && event->kind != CLEAVE_WAKE)
        return;
    cleave_order_wake(orders, 0, event->time_s + 1e-6 * (double)roll(dance, 400));
    for (uint32_t w = 0; w < view->nworkers; w++)
        act(dance, w, view, orders);
}

static const struct cleave_policy any_order = { .name = "any-order",
                                                .state_size = sizeof(struct dance),
                                                .decide = decide,
                                                .takes_streams = true,
                                                .gets_losses = true,
                                                .opens_chunks = true };

/* --- runs ----------------------------------------------------------------------------- */

static void *feed(void *context)
{
    const int fd = open(path_b, O_WRONLY);
    size_t at = 0;

    (void)context;
    while (fd >= 0 && at < sizeof stream) {
        const size_t part = sizeof stream - at < 200 ? sizeof stream - at : 200;
        const ssize_t wrote = write(fd, stream + at, part);

        if (wrote <= 0) /* the run has failed */
            break;
        at += (size_t)wrote;
        usleep(at % 600 == 0 ? 10000 : 500); /* extensions have to wait */
    }
    usleep(10000); /* the last extensions wait for the end */
    close(fd);
    return NULL;
}

static void run_once(uint64_t seed)
{
    const char *const files[] = { path_b };
    const bool halts = seed % 4 == 1;
    struct cleave_execution execution = {
        .command = cat,
        .input = { .files = files, .count = 1 },
        .output = { .early = seed % 3 == 0 },
        .failures = { .retries = halts || seed % 3 == 0 ? 0 : 1000,
                      .halt = halts ? CLEAVE_HALT_SOON : CLEAVE_HALT_NEVER,
                      .halt_fails = 3,
                      .strict = halts },
        .policy = { .own = &any_order },
    };
    pthread_t feeder;
    struct ran ran;

    execution.failures.later.bits[LATER / 64] = UINT64_C(1) << LATER % 64;
    dance_seed = world.dice = seed;
    ways.absent = seed % 2 == 0;
    ways.lies = execution.output.early && seed % 2 == 0;
    ways.breaks = seed % 5 == 0;
    broken = lied = false;
    assert_int_equal(pthread_create(&feeder, NULL, feed, NULL), 0);
    ran = execute_open(execution);
    assert_int_equal(pthread_join(feeder, NULL), 0);
    if (!broken && !halts &&
        (!execution.output.early || (ran.status == CLEAVE_OK && ran.result->failed == 0)))
        expect_bytes(&ran, stream, sizeof stream);
    forget(&ran);
}

static void every_transition_is_taken(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof stream; i++)
        stream[i] = i % 10 == 9 ? '\n' : (char)('a' + (i / 10 + i) % 26);
    assert_int_equal(mkfifo(path_b, 0600), 0);
    while (count_untaken(false) > 0 && seed < 2000)
        run_once(seed++);
    print_message("%llu runs\n", (unsigned long long)seed - 1);
    assert_int_equal(count_untaken(true), 0);
}

static int tests(void)
{
    const struct CMUnitTest all[] = { cmocka_unit_test(every_transition_is_taken) };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
    return run_all(tests);
}
