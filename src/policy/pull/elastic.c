/* elastic.c -- learn where chunks may stay open. SPDX-License-Identifier: MIT
 *
 * No start is paid twice if that can be helped. All commands are started at once, one of
 * them on a little of the input, the others on nothing: when the first one reads, a start
 * is known, and the others have started meanwhile. From its pace, or from a first small
 * chunk that is closed as a test, comes whether the command works as it reads. If so,
 * chunks stay open, are given what follows, and lose their tails to workers that are free;
 * if not, sizes are chosen with care.
 *
 * O(workers) for a decision. */
#include "policy/pull/elastic.h"

#include <math.h>
#include "model/platform/at_once.h"
#include "policy/common/reserved_workers.h"
#include "policy/pull/fold_charge.h"

/* --- chunks that were closed and take far longer than they should ------------------ */

/* Of a command that reads all before it works nothing can be taken back. Whether it does was
 * seen on one worker: on a fast one, as a GPU, that takes a batch at a time, a command may seem
 * to that on others works as it reads, and far slower. So when a closed chunk is long overdue and
 * somebody else is free, what was not fed is asked for. Who has read all says so, and is not
 * asked again. */

/* It takes so many times as long as it should: less than that may be a slow worker that reads all, and a start
 * for what it gives back costs more than it saves. */
static const double OVERDUE = 16;

static void given(const struct cv_decision *turn, const struct cleave_event *event);
static void lost(struct cv_elastic *elastic, uint32_t worker);
static void drained(const struct cv_decision *turn, const struct cleave_event *event);

/* From when on it is; INFINITY: nothing can be asked for. */
static double overdue_at(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double speed_ups = cv_elastic_speed(elastic, worker);

    if (hand->state != CV_PHASE_CLOSED || hand->firm || hand->recalling ||
        hand->started_s < 0 || hand->due > 0 || !(speed_ups > 0) ||
        !(hand->given > turn->view->ahead))
        return INFINITY;
    return hand->started_s + OVERDUE * (elastic->late_s + hand->given / speed_ups);
}

/* Ask those for what they have not been fed. False: nobody had to be. */
static bool overdue_ask(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    bool any = false, free = false;
    double next_s = INFINITY;

    for (uint32_t w = 0; w < elastic->n && !free; w++)
        free = cv_hand_is_free(&elastic->hands[w]);
    for (uint32_t w = 0; w < elastic->n && free; w++) {
        const double at_s = overdue_at(turn, w);

        if (turn->now_s > at_s) {
            any = true;
            cv_decision_recall(turn, w, elastic->hands[w].given);
        } else {
            next_s = fmin(next_s, at_s);
        }
    }
    /* Nothing else may happen until then. */
    if (!any && isfinite(next_s))
        cv_decision_wake(turn, next_s * 1.0001);
    return any;
}

/* --- learn where chunks may stay open ---------------------------------------------- */

enum cleave_status cv_elastic_begin(struct cv_elastic *elastic,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    bool measured = view->measured;

    elastic->n = cv_count_workers(view->workers, view->nworkers);
    elastic->hands = cv_array(setup->arena, view->nworkers, sizeof *elastic->hands);
    elastic->ready = cv_array(setup->arena, view->nworkers, sizeof *elastic->ready);
    elastic->tails = cv_array(setup->arena, view->nworkers, sizeof *elastic->tails);
    if (elastic->hands == NULL || elastic->ready == NULL || elastic->tails == NULL)
        return cv_fail_memory(err, "what is learnt");
    for (uint32_t w = 0; w < view->nworkers; w++)
        measured = measured && !cv_is_reserved(&view->workers[w]);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        elastic->hands[w].start_s = elastic->hands[w].pace_ups = -1;
        elastic->hands[w].moving_ups = -1;
        elastic->hands[w].mate = CV_NOBODY;
        elastic->hands[w].prior = measured ? view->workers[w].speed_ups : 1;
        elastic->hands[w].prior_start_s =
            measured ? view->workers[w].compute_latency_s : 0;
        elastic->hands[w].coming = cv_is_coming(&view->workers[w]);
        if (cv_is_reserved(&view->workers[w]) && !elastic->hands[w].coming)
            elastic->hands[w].lost = CV_HAND_LOSSES;
    }
    elastic->phi = 1;
    elastic->varies = view->varies;
    elastic->small_write =
        view->burst_s > 0 && cv_elastic_writes_small(view) ? view->ahead : 0;
    elastic->wake_s = elastic->tested_s = -1;
    elastic->tester = elastic->goes_on = elastic->thief = CV_NOBODY;
    return CLEAVE_OK;
}

/* Who lost all it had before it began is not given anything for so many times as long as it was
 * waited for. */
static const double LATE_AGAIN = 4;

/* --- events ------------------------------------------------------------------------------- */

static void answered(struct cv_elastic *elastic, bool *request)
{
    if (*request)
        elastic->waits--;
    *request = false;
}

/* Whatever the worker was asked needs no answer any more. */
static void over(struct cv_elastic *elastic, struct cv_worker_estimate *hand,
                 uint32_t worker)
{
    answered(elastic, &hand->looking);
    answered(elastic, &hand->recalling);
    hand->state = CV_PHASE_IDLE;
    hand->given = hand->due = 0;
    hand->drained = hand->held = hand->firm = hand->ends = hand->sending = false;
    hand->late = false;
    if (elastic->thief == worker)
        elastic->thief = CV_NOBODY;
}

static void started(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[event->worker];
    const double waited_s = hand->bound_s - hand->begun_s;
    const double at_once_s = cv_at_once_s(waited_s, turn->view->burst_s);

    hand->started_s = event->time_s;
    hand->late = false;
    /* Who had started before it was given anything shows nothing. */
    if (event->time_s - hand->bound_s > at_once_s || hand->bound_s <= hand->begun_s)
        hand->start_s = event->time_s - event->start_s;
    hand->from_s = -1;
    if (hand->state == CV_PHASE_OPEN && !hand->drained)
        cv_decision_query(turn, event->worker);
}

/* Since when the command of a chunk that is done has read. Over a link that may be heard of when
 * it has read all, and been done: what it read was read before. */
static double reads_from(const struct cv_elastic *elastic,
                         const struct cv_worker_estimate *hand,
                         const struct cleave_event *event)
{
    const double heard_s =
        hand->started_s >= 0
            ? hand->started_s
            : fmin(event->start_s + cv_elastic_start(elastic, event->worker),
                   (event->start_s + event->time_s) / 2);

    return event->read_s > 0 ? fmin(heard_s, fmax(event->read_s, event->start_s))
                             : heard_s;
}

/* How long it had read all it was given, and waited for its end: that is no work. */
static double waited(const struct cv_worker_estimate *hand)
{
    return hand->drained ? fmax(0, hand->closed_s - hand->drained_s) : 0;
}

static void done(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;
    struct cv_worker_estimate *hand = &elastic->hands[event->worker];
    const double from_s = reads_from(elastic, hand, event);
    const double end_s = fmin(fmax(event->read_s, from_s), event->time_s);
    const double read_s = fmax(0, end_s - from_s - waited(hand));
    const bool late = hand->late && hand->until_s > turn->now_s;

    over(elastic, hand, event->worker);
    hand->late = late && !(event->units > 0); /* its chunk was taken from it as a whole */
    hand->lost = 0;
    if (!(event->units > 0))
        return;
    elastic->recalls = 0;
    if (turn->view->real && !(event->read_s > 0)) {
        cv_read_model_unread(turn, event->worker);
        return;
    }
    cv_read_model_done(turn, event->worker, event->units, read_s, event->time_s - end_s);
    cv_elastic_learn(elastic, event->worker, event->units, read_s + event->time_s - end_s,
                     event->time_s - end_s);
}

static void recalled(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;
    struct cv_worker_estimate *hand = &elastic->hands[event->worker];
    const uint32_t thief = elastic->thief;

    answered(elastic, &hand->recalling);
    hand->given = fmax(0, hand->given - event->units);
    hand->firm = !(event->units > 0);
    if (hand->state == CV_PHASE_OPEN && hand->due == 0 &&
        !(hand->given > 1e-9 * event->units)) { /* all of it, but for rounding */
        hand->state = CV_PHASE_PRESTARTED;
        hand->late = hand->started_s < 0;
        hand->until_s = thief != CV_NOBODY
                            ? turn->now_s + LATE_AGAIN * (turn->now_s - hand->bound_s)
                            : 0;
    }
    elastic->thief = CV_NOBODY;
    if (thief != CV_NOBODY && event->units > 0 && cv_hand_is_free(&elastic->hands[thief]))
        cv_decision_give(turn, thief, event->units, false);
}

/* A first piece so many times as long as was asked for is a record. */
static const double RECORD = 1.25;

/* So much was given or added; maybe nothing. */
static void given(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;
    struct cv_worker_estimate *hand = &elastic->hands[event->worker];

    /* That a command was started on nothing answers nothing else. */
    if (event->kind == CLEAVE_SENT ? !hand->sending : !(hand->due > 0))
        return;
    hand->sending = false;
    if (elastic->rounds == 0 && elastic->piece == hand->due &&
        event->units > RECORD * hand->due)
        elastic->record = elastic->piece = event->units;
    hand->given = fmax(0, hand->given - hand->due + event->units);
    hand->due = 0;
    if (event->units > 0) {
        hand->drained = hand->firm = hand->ends = false;
        hand->fed_s = event->time_s;
    } else if (hand->state == CV_PHASE_OPEN) {
        if (!(hand->given > 0))
            hand->state = CV_PHASE_PRESTARTED;
        else
            hand->ends = true;
    }
}

static void drained(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[event->worker];

    if (hand->state == CV_PHASE_OPEN && hand->due == 0) {
        if (hand->from_s < 0) {
            hand->from_s = hand->started_s;
            hand->from = 0;
        }
        cv_decision_sample(turn, event->worker, hand->given);
    }
    /* If it is being given more, that is not true for long. */
    hand->drained = true;
    hand->drained_s = turn->now_s;
}

static void lost(struct cv_elastic *elastic, uint32_t worker)
{
    struct cv_worker_estimate *hand = &elastic->hands[worker];

    over(elastic, hand, worker);
    hand->lost++;
    if (elastic->tester == worker) {
        elastic->tester = CV_NOBODY;
        /* Nobody will tell what the command is like: another one is to begin. */
        elastic->judged = elastic->judged && elastic->kind != CV_COMMAND_UNKNOWN;
    }
    /* Nor will those that it is in doubt about be done. */
    elastic->doubt = elastic->doubt && cv_elastic_busy(elastic);
}

/* All that may wait of a stream does: to ask again before anything is done is of no use. Real
 * streams answer when there is more. */
static void note_supply(const struct cv_decision *turn, const struct cleave_event *event)
{
    if (turn->view->real || !isinf(turn->view->units_left))
        return;
    if (event->units > 0 || event->kind == CLEAVE_LOST || event->kind == CLEAVE_WAKE ||
        event->kind == CLEAVE_CAME)
        turn->elastic->dry = false;
    else if (event->kind == CLEAVE_EXTENDED || event->kind == CLEAVE_DONE)
        turn->elastic->dry = true;
}

static void note(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;
    struct cv_worker_estimate *hand = &elastic->hands[event->worker];

    note_supply(turn, event);
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
        if (hand->looking)
            elastic->round_s = fmax(elastic->round_s, event->time_s - hand->looked_s);
        answered(elastic, &hand->looking);
        hand->firm = false; /* that nothing came back may be otherwise by now */
        if (hand->state == CV_PHASE_OPEN && !hand->drained)
            cv_decision_sample(turn, event->worker, event->units);
        elastic->emits = elastic->emits || event->output > 0;
        break;
    case CLEAVE_RECALLED:
        recalled(turn, event);
        break;
    case CLEAVE_DONE:
        done(turn, event);
        break;
    case CLEAVE_LOST:
        lost(elastic, event->worker);
        break;
    case CLEAVE_WAKE:
        if (event->time_s >= elastic->wake_s)
            elastic->wake_s = -1;
        break;
    case CLEAVE_CAME:
        if (event->worker >= elastic->n)
            elastic->n = event->worker + 1;
        if (cv_hand_is_out(hand))
            hand->lost = 0;
        hand->coming = false;
        break;
    default:
        break;
    }
}

/* --- decisions ---------------------------------------------------------------------------- */

/* Who is there; when nobody is left who did not lose his chunks, all are tried again. */
static void count_present(struct cv_elastic *elastic)
{
    for (int again = 0; again < 2; again++) {
        elastic->present = 0;
        for (uint32_t w = 0; w < elastic->n; w++)
            elastic->present += !cv_hand_is_out(&elastic->hands[w]);
        if (elastic->present > 0)
            return;
        for (uint32_t w = 0; w < elastic->n; w++)
            elastic->hands[w].lost = 0;
    }
}

/* Those that were expected soon are not any more after so long. */
static const double COMING_S = 1;

static void give_up_coming(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = 0; turn->now_s > COMING_S && w < elastic->n; w++)
        if (elastic->hands[w].coming) {
            elastic->hands[w].coming = false;
            elastic->hands[w].lost = CV_HAND_LOSSES;
        }
}

/* Those that were late get another chance after a while, or when there is nobody else. */
static void clear_late_flags(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const bool needed = turn->view->units_left > 0 && !cv_elastic_busy(elastic);
    bool anybody = false;

    for (uint32_t w = 0; w < elastic->n; w++) {
        struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->until_s > 0 && turn->now_s >= hand->until_s)
            hand->late = false;
        anybody = anybody || cv_hand_is_free(hand);
    }
    for (uint32_t w = 0; needed && !anybody && w < elastic->n; w++)
        elastic->hands[w].late = false;
}

/* A stream that had nothing is asked again after this part of the time so far. */
static const double DRY = 1e-3;

/* There is nothing to give until somebody, who was given something, is done. */
static bool is_dry(const struct cv_elastic *elastic)
{
    for (uint32_t w = 0; elastic->dry && w < elastic->n; w++)
        if (elastic->hands[w].state == CV_PHASE_CLOSED && elastic->hands[w].given > 0)
            return true;
    return false;
}

/* Nobody has anything, and nothing is left: those that wait are not needed. */
static void close_idle_workers(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;

    if (turn->view->units_left > 0 || cv_elastic_busy(elastic))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].state == CV_PHASE_PRESTARTED)
            cv_decision_close(turn, w);
}

static bool somebody_is_free(const struct cv_elastic *elastic)
{
    for (uint32_t w = 0; w < elastic->n; w++)
        if (cv_hand_is_free(&elastic->hands[w]) || elastic->hands[w].held)
            return true;
    return false;
}

/* Only its pace says that the command works as it reads, and a test is under way: one that swallows what it
 * is given is not given all of it meanwhile. Of a stream that cannot be all, and those that are not given
 * more are closed, as tests. */
static bool is_believed(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;

    return !elastic->told && !elastic->emits && elastic->tester != CV_NOBODY &&
           isfinite(turn->view->units_left);
}

/* Those that have read all they were given are given more, or closed. */
static void go_on(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = 0; w < elastic->n; w++) {
        struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state != CV_PHASE_OPEN || !hand->drained || hand->due > 0)
            continue;
        if (hand->ends) {
            /* Nothing follows it that is nobody's. */
            elastic->tester = elastic->judged ? elastic->tester : w;
            elastic->judged = true;
            cv_decision_close(turn, w);
        } else if (elastic->judged && elastic->kind == CV_COMMAND_STREAMS) {
            if (!is_believed(turn))
                cv_stream_further(turn, w);
        } else if (elastic->judged) {
            hand->held = true;
        }
    }
}

/* The first one reads: how fast? */
static void first_look(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = 0; w < elastic->n && !elastic->judged; w++) {
        struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state != CV_PHASE_OPEN || hand->started_s < 0)
            continue;
        if ((event->kind == CLEAVE_WAKE || event->kind == CLEAVE_CAME) && !hand->drained)
            cv_decision_query(turn, w);
        else
            cv_read_model_seen(turn, w);
    }
}

static void serve(const struct cv_decision *turn, const struct cleave_event *event)
{
    struct cv_elastic *elastic = turn->elastic;

    if (!(turn->view->units_left > 0) && !cv_elastic_busy(elastic)) {
        close_idle_workers(turn);
        return;
    }
    if (turn->view->nworkers == 1 && isfinite(turn->view->units_left) &&
        cv_hand_is_free(&elastic->hands[0])) {
        /* Nobody else could take any of it. */
        cv_decision_give(turn, 0, turn->view->units_left, true);
        return;
    }
    cv_elastic_pool(elastic);
    go_on(turn);
    if (elastic->kind != CV_COMMAND_STREAMS && is_dry(elastic))
        return;
    if (elastic->kind == CV_COMMAND_STREAMS && elastic->dry) {
        cv_decision_wake(turn, turn->now_s + DRY * (1 + turn->now_s));
        return;
    }
    if (elastic->kind == CV_COMMAND_UNKNOWN) {
        if (!elastic->judged)
            cv_read_model_begin(turn);
        cv_read_model_warm(turn);
        first_look(turn, event);
    }
    if (elastic->waits > 0 || !elastic->judged)
        return;
    if (cv_read_model_doubt(turn)) {
        for (uint32_t w = 0; w < elastic->n && elastic->waits == 0; w++)
            if (elastic->hands[w].held)
                cv_decision_close(turn, w);
        return;
    }
    if (elastic->kind != CV_COMMAND_UNKNOWN && somebody_is_free(elastic) &&
        cv_decision_query_all(turn))
        return;
    if (elastic->kind != CV_COMMAND_UNKNOWN && overdue_ask(turn))
        return;
    if (elastic->kind == CV_COMMAND_STREAMS)
        cv_stream_serve(turn);
    else if (elastic->kind == CV_COMMAND_SLURPS)
        cv_slurp_serve(turn);
    else
        cv_read_model_meanwhile(turn);
    close_idle_workers(turn);
}

void cv_elastic_decide(struct cv_elastic *elastic, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct cv_decision turn = {
        .elastic = elastic, .view = view, .orders = orders, .now_s = event->time_s
    };

    give_up_coming(&turn);
    count_present(elastic);
    cv_fold_note(event, &elastic->fold_s);
    note(&turn, event);
    if (event->more || elastic->waits > 0)
        return;
    clear_late_flags(&turn);
    serve(&turn, event);
}
