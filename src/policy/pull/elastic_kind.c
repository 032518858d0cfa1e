/* elastic_kind.c -- does the command work as it reads, or when it has read all?
 * SPDX-License-Identifier: MIT
 *
 * The first worker is fed a little, the others start on nothing. Who has read all that it
 * was given is given as much again: one that reads at a pace of its own is thought to work
 * meanwhile, one that swallows all of it is closed, as a test. The time between its reading
 * the end and its end tells. */
#include <math.h>

#include "policy/pull/elastic.h"

/* Parts of an equal share: the first piece, and all that is fed at the pace of the pipe;
 * so many windows are fed if they are no more than a larger part. */
static const double FIRST_PIECE = 1.0 / 256, TEST_PART = 1.0 / 256, TEST_MOST = 1.0 / 32;
static const double TEST_WINDOWS = 4;
/* ... and as many records, if they are no more than this part. */
static const double TEST_RECORDS = 1.0 / 8;
/* Each piece is so many times all before it. */
static const double PIECE_GROWTH = 3;
/* Commands that are started at once, and after how long as many again. */
enum { FEW = 16 };
static const double MOMENT_S = 2.5e-4;
/* The first pace is taken after this time; of what several pieces took, so much each may
 * have been the way to the worker and back. */
static const double FIRST_LOOK_S = 1.1e-3, ROUND_S = 2e-4;
/* What comes of a stream is not kept for a first one that has not read what it has for so long. */
static const double STILL_S = 5e-3;
/* Who reads slowly is tested if its share takes longer than so many starts. */
static const double TEST_STARTS = 2.5;
/* Ranges that take no longer than so many starts may stay as they are. */
static const double FAIR = 0.4;
/* One that has read its end should be done after such a part of its time and so long. */
static const double DOUBT = 0.1, DOUBT_S = 3e-3;
/* The others wait for the test for so many starts, and then take this part of a share; all of it
 * if that is no more than so many windows. */
static const double PATIENCE = 2, MEANWHILE = 1.0 / 32, CRUMBS = 8;

/* Of so many it is no loss that one has nothing. */
enum { MANY = 8 };

/* So many first chunks that show nothing, and it is not asked again what the command is like. */
enum { UNREAD = 3 };

/* Whoever would be done with a little first, by what was measured; else the first. */
static uint32_t first_tester(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);
    const double little = isfinite(share) ? share * FIRST_PIECE : 1;
    uint32_t best = CV_NOBODY;
    double best_s = INFINITY;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        const double end_s = hand->prior_start_s + little / fmax(hand->prior, 1e-12);

        if (!cv_hand_is_free(hand) || (best != CV_NOBODY && !(end_s < best_s)))
            continue;
        best = w;
        best_s = end_s;
    }
    return best;
}

void cv_read_model_begin(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);
    uint32_t tester;

    if (cv_elastic_busy(elastic) || (tester = first_tester(turn)) == CV_NOBODY)
        return;
    elastic->piece = isfinite(turn->view->units_total) ? share * FIRST_PIECE
                                                       : fmax(turn->view->ahead, 1);
    if (elastic->first > 0)
        elastic->piece = elastic->first;
    elastic->piece = fmax(elastic->piece, cv_elastic_min_units(turn->view));
    cv_decision_give(turn, tester, elastic->piece, false);
    elastic->warmed = turn->view->real ? FEW : elastic->n;
    elastic->warmed_s = turn->now_s;
}

/* Whether anything has come of a stream: one without bytes starts no command. */
static bool has_come(const struct cv_elastic *elastic)
{
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].given > 0 && !elastic->hands[w].sending)
            return true;
    return false;
}

/* Starting commands takes time of the master, and a small job would be done by then: so a
 * few at once, and as many again a moment later. */
void cv_read_model_warm(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double end_s = cv_elastic_foreseen(elastic, turn->view);
    uint32_t started = 0;

    if (isinf(turn->view->units_total) && !has_come(elastic))
        return;
    if (turn->now_s - elastic->warmed_s > 0.9 * MOMENT_S &&
        elastic->warmed < elastic->n) {
        elastic->warmed *= 2;
        elastic->warmed_s = turn->now_s;
    }
    for (uint32_t w = 0; w < elastic->n && started < elastic->warmed; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state == CV_PHASE_IDLE && cv_hand_is_free(hand) && !(hand->done > 0) &&
            !(hand->prior_start_s > end_s))
            cv_decision_prestart(turn, w);
        started += hand->state != CV_PHASE_IDLE;
    }
    if (elastic->warmed > 0 && elastic->warmed < elastic->n)
        cv_decision_wake(turn, elastic->warmed_s + MOMENT_S);
}

/* Units that the first one is fed before it is closed as a test. */
static double test_size(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);
    const double windows = TEST_WINDOWS * turn->view->ahead;

    if (elastic->first > 0)
        return elastic->first;
    if (isinf(turn->view->units_total))
        return fmax(windows, elastic->piece);
    return fmax(fmax(fmax(share * TEST_PART, elastic->piece),
                     fmin(share * TEST_MOST, windows)),
                fmin(share * TEST_RECORDS, TEST_WINDOWS * elastic->record));
}

static void now_streams(const struct cv_decision *turn)
{
    turn->elastic->kind = CV_COMMAND_STREAMS;
    turn->elastic->phi = 1;
    cv_elastic_pool(turn->elastic);
}

/* Whether a slow pace is more than chance: on a machine that is busy a command, or who looks at it, may have
 * had no processor for as long as commands stand still there. */
static bool is_certain(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const double until_s = hand->drained ? hand->drained_s : turn->now_s;

    return !(until_s - hand->started_s < turn->view->burst_s);
}

/* Its pace is known: of the pipe, or of its own? */
static void judge(const struct cv_decision *turn, uint32_t worker, double pace_ups,
                  bool own)
{
    struct cv_elastic *elastic = turn->elastic;
    const double share_s = cv_elastic_share(elastic, turn->view) / fmax(pace_ups, 1e-12);

    elastic->judged = true;
    elastic->hands[worker].pace_ups = pace_ups;
    elastic->hands[worker].own = own;
    if (elastic->emits ||
        (own && share_s < TEST_STARTS * cv_elastic_start(elastic, worker))) {
        now_streams(turn);
        cv_staged_start_keep(turn);
        cv_stream_further(turn, worker);
        cv_stream_first(turn);
        return;
    }
    elastic->tester = worker;
    own = own && is_certain(turn, worker);
    cv_decision_close(turn, worker);
    if (own) {
        now_streams(turn);
        cv_stream_first(turn);
    }
}

/* It has read so many units since it began: was that at its own pace? A busy master may hear of
 * the first piece late. So of one that reads in gulps a few bytes say nothing, unless they take
 * longer than a gulp may; and of several pieces, all but the first count. */
static bool was_slow(const struct cv_decision *turn, uint32_t worker, double read,
                     double until_s)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double since_s = until_s - elastic->hands[worker].started_s;
    const bool gulps = view->burst_s > 0, later = gulps && elastic->rounds > 0;
    const double units = later ? read - elastic->piece : read;
    const double time_s = later ? until_s - elastic->again_s : since_s;

    if (gulps && read < cv_elastic_pipe_capacity(view) && since_s < view->burst_s)
        return false;
    return cv_elastic_tells(elastic, since_s, 1 + elastic->rounds) &&
           units < CV_OWN_PACE * cv_elastic_pipe(view, worker) *
                       (time_s - ROUND_S * elastic->rounds);
}

/* More may come of it at any time, or not: nobody who has started is to wait for what another one shows. */
static bool comes_by_and_by(const struct cleave_view *view)
{
    return isinf(view->units_total) && view->burst_s > 0;
}

void cv_read_model_seen(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;
    struct cv_worker_estimate *hand = &elastic->hands[worker];
    /* One that has read all waits for us. */
    const double until_s = hand->drained ? hand->drained_s : turn->now_s;
    const double since_s = until_s - hand->started_s;

    if (hand->state != CV_PHASE_OPEN || hand->started_s < 0)
        return;
    if (hand->pace_ups > 0 && hand->own &&
        (!(turn->view->burst_s > 0) || was_slow(turn, worker, hand->read, until_s))) {
        judge(turn, worker, hand->pace_ups, true);
    } else if (hand->drained) {
        const double max = test_size(turn);

        if (hand->due > 0)
            return;
        if (hand->given < max && turn->view->units_left > 0) {
            if (elastic->rounds++ == 0)
                elastic->again_s = turn->now_s;
            cv_decision_extend(turn, worker,
                               fmin(PIECE_GROWTH * hand->given, max - hand->given));
            return;
        }
        /* Output may have come meanwhile. */
        if (!elastic->looked) {
            elastic->looked = true;
            cv_decision_query(turn, worker);
            return;
        }
        judge(turn, worker, hand->given / fmax(since_s, 1e-9),
              was_slow(turn, worker, hand->given, until_s));
    } else if (comes_by_and_by(turn->view) && turn->now_s - hand->fed_s > STILL_S) {
        judge(turn, worker, hand->read / since_s, false);
    } else {
        cv_decision_wake(turn,
                         turn->now_s + fmax(FIRST_LOOK_S,
                                            fmin(since_s, turn->now_s - hand->fed_s)));
    }
}

/* --- the test is over --------------------------------------------------------------------- */

/* Those that read are nearly as long at work with what they have, and that is not worth the
 * starts that it would take to share it anew. Who reads at a pace of its own has a range that
 * goes by its speed, whenever it works. */
static bool is_fair(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double start_s = elastic->mean_start_s;
    double sum_s = 0, longest_s = 0;
    uint32_t count = 0;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        const double rest_s = cv_elastic_rest(elastic, w, turn->now_s);

        if (hand->state != CV_PHASE_OPEN)
            continue;
        if (!hand->own && !hand->drained)
            return false;
        sum_s += rest_s;
        longest_s = fmax(longest_s, rest_s);
        count++;
    }
    return count > 0 && longest_s <= sum_s / count + start_s &&
           longest_s <= FAIR * start_s;
}

/* Those that are open are fed nothing more. */
static void now_slurps(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;

    elastic->kind = CV_COMMAND_SLURPS;
    cv_staged_start_unpair(elastic);
    for (uint32_t w = 0; w < elastic->n; w++)
        elastic->hands[w].spare = false;
    if (is_fair(turn))
        return;
    for (uint32_t w = 0; w < elastic->n; w++) {
        struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state != CV_PHASE_OPEN)
            continue;
        hand->held = true;
        if (!hand->recalling)
            cv_decision_recall(turn, w, hand->given);
    }
}

/* Who works as it reads ends soon after the end. One that does not has only read so far, as
 * all others have: they are closed with what they have read, which is in proportion to
 * their speeds, and what is left waits until somebody is done. */
bool cv_read_model_doubt(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double next_s = INFINITY;

    if (elastic->told || elastic->kind != CV_COMMAND_STREAMS)
        return elastic->doubt;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        double until_s;

        if (hand->state != CV_PHASE_CLOSED || !hand->drained || !(hand->pace_ups > 0))
            continue;
        until_s = hand->closed_s + DOUBT_S + DOUBT * (hand->closed_s - hand->started_s) +
                  2 * turn->view->ahead / hand->pace_ups;
        if (turn->now_s > until_s) {
            if (cv_decision_query_all(turn))
                return true;
            elastic->doubt = true;
            now_slurps(turn);
            return true;
        }
        next_s = fmin(next_s, until_s * (1 + 1e-9) + 1e-9);
    }
    if (isfinite(next_s))
        cv_decision_wake(turn, next_s);
    return false;
}

static void really_streams(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;

    elastic->kind = CV_COMMAND_STREAMS;
    for (uint32_t w = 0; w < elastic->n; w++)
        elastic->hands[w].held = false;
    cv_elastic_pool(elastic);
    cv_stream_first(turn);
}

void cv_read_model_done(const struct cv_decision *turn, uint32_t worker, double units,
                        double read_s, double after_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const double all_s = fmax(read_s + after_s, 1e-12);

    elastic->doubt = false;
    if (cv_reading_tells(turn, units, read_s, after_s))
        elastic->judged = true;
    if (worker == elastic->tester)
        elastic->tester = CV_NOBODY;
    if (elastic->phi >= 0.5) {
        elastic->hands[worker].pace_ups = units / all_s / elastic->phi;
        if (elastic->kind != CV_COMMAND_STREAMS || elastic->tested_s < 0)
            really_streams(turn);
    } else if (elastic->kind != CV_COMMAND_SLURPS) {
        now_slurps(turn);
    }
    if (elastic->tested_s < 0) {
        elastic->tested_s = turn->now_s;
        elastic->test_s = after_s;
    }
}

/* That shows nothing of it: another one is to begin. A command that never reads to its end can
 * be given anything. */
void cv_read_model_unread(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;

    elastic->doubt = false;
    if (worker == elastic->tester)
        elastic->tester = CV_NOBODY;
    if (elastic->kind != CV_COMMAND_UNKNOWN)
        return;
    elastic->judged = ++elastic->unread >= UNREAD;
    if (!elastic->judged)
        return;
    now_streams(turn);
    cv_stream_first(turn);
}

/* What one that waits is given while the test takes its time: far more than the test, so that the
 * two tell a start from work. */
static double meanwhile(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);
    const double units = fmin(share, turn->view->units_left / elastic->present);

    return fmax(units * MEANWHILE, 2 * elastic->hands[elastic->tester].given);
}

/* All is crumbs, and there are many for them: what takes so long can only be starts, and whoever
 * had a part of its share would need another one. */
static bool shares_below_start_cost(const struct cv_decision *turn, uint32_t waiting)
{
    return waiting >= MANY && isfinite(turn->view->units_left) &&
           cv_elastic_share(turn->elastic, turn->view) <=
               CRUMBS * cv_elastic_pipe_capacity(turn->view);
}

void cv_read_model_meanwhile(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double after_s = PATIENCE * elastic->mean_start_s + 1e-3, since_s;
    const struct cv_worker_estimate *tester;
    uint32_t waiting = 0;
    bool crumbs;

    if (elastic->tester == CV_NOBODY)
        return;
    tester = &elastic->hands[elastic->tester];
    since_s = tester->closed_s;
    /* If it works as it reads, the last window takes it no longer than those before. */
    if (cv_elastic_writes_small(turn->view) && tester->drained)
        after_s = fmax(after_s, tester->drained_s - tester->started_s);
    if (comes_by_and_by(turn->view))
        after_s = 0;
    if (turn->now_s < since_s + after_s) {
        cv_decision_wake(turn, since_s + after_s * 1.0001);
        return;
    }
    for (uint32_t w = 0; w < elastic->n; w++)
        waiting += elastic->hands[w].state == CV_PHASE_PRESTARTED;
    crumbs = shares_below_start_cost(turn, waiting);
    for (uint32_t w = 0; w < elastic->n && turn->view->units_left > 0; w++)
        if (elastic->hands[w].state == CV_PHASE_PRESTARTED)
            cv_decision_give(turn, w,
                             crumbs ? turn->view->units_left / waiting--
                                    : meanwhile(turn),
                             true);
}
