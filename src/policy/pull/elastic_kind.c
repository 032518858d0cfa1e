/* elastic_kind.c -- does the command work as it reads, or when it has read all?
 * SPDX-License-Identifier: MIT
 *
 * The first worker is fed a little, the others start on nothing. Who has read all that it
 * was given is given as much again: one that reads at a pace of its own is thought to work
 * meanwhile, one that swallows all of it is closed, as a test. The time between its reading
 * the end and its end tells. */
#include <math.h>
#include "policy/pull/elastic.h"
#include "policy/pull/fold_charge.h"

/* --- ranges for a command that works as it reads ----------------------------------- */

/* A range is what its worker can do until all could end together, or what makes its start
 * cheap. At its end it goes on with what follows, if that is nobody's. */

/* A start may be this part of a range; a range is at least this part of a share, and so many
 * windows. */
static const double SHARE = 0.02, LEAST_PART = 1.0 / 64, WINDOWS = 8;
/* What a command reads in this time is fed at once. */
static const double SIP_S = 0.01;
/* Workers so unequal are tried first, on this part of a share, if a start is that part of it. */
static const double TRIED = 8, TRIAL = 1.0 / 256, TRIAL_START = 0.01;
/* One message may keep a shared port for this part of a worker's part of the time. */
static const double LINK_PART = 0.25;
/* Of what cannot be told apart from nothing, this part is nothing. */
static const double ROUNDED = 1e-3;

/* What a worker is given at once keeps a port that is shared from the others: it should not
 * do so for longer than its part of the time that is left. Real ranges go by windows. */
static double carried(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    const struct cleave_view *view = turn->view;

    if (view->real || view->port == CLEAVE_PORT_MULTI || !isfinite(end_s))
        return INFINITY;
    return view->workers[worker].bandwidth_ups * end_s * LINK_PART /
           turn->elastic->present;
}

/* What is in its pipe cannot be taken back from a worker, and a slow one would be late with that
 * alone. Where a start is nothing beside a share, its first piece only shows how fast it is. */
static bool is_tried_first(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);

    return !turn->view->measured && turn->view->unequal > TRIED &&
           !(cv_elastic_own_speed(elastic, worker) > 0) &&
           elastic->hands[worker].pace_ups < 0 &&
           cv_elastic_start(elastic, worker) * elastic->mean_ups < TRIAL_START * share;
}

/* As many equal ranges as have at least so much each: what would be left over takes a start
 * like the others. */
static double parted(double range, double min)
{
    return range > min ? range / floor(range / min) : range;
}

/* What its pipe holds: sips become larger for one that is fast, and nobody knows how fast one is that
 * was not seen. */
static double window_of(const struct cv_decision *turn, double speed_ups)
{
    const double fast = speed_ups > 0 ? speed_ups * SIP_S : INFINITY;

    return fmax(turn->view->ahead, fmin(cv_elastic_pipe_capacity(turn->view), fast));
}

/* What a worker can do until then. */
static double part_of(const struct cv_elastic *elastic, uint32_t worker, double end_s)
{
    return worker == CV_NOBODY ? 0
                               : cv_elastic_speed(elastic, worker) *
                                     fmax(0, end_s - elastic->ready[worker].in_s);
}

static double range_of(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double share = cv_elastic_share(elastic, view);
    const double windows = WINDOWS * window_of(turn, speed_ups);
    const double worth = (cv_elastic_start(elastic, worker) + elastic->late_s +
                          cv_fold_charge(view, elastic->fold_s, elastic->present)) *
                         speed_ups / SHARE;
    double range;

    if (isinf(view->units_left))
        return speed_ups > 0 && isfinite(share) ? fmin(share, fmax(worth, share / 4))
               : isfinite(share)                ? share
                                                : fmax(fmax(worth, windows), 1);
    range = isfinite(end_s) && speed_ups > 0
                ? part_of(elastic, worker, end_s) +
                      part_of(elastic, elastic->hands[worker].mate, end_s)
                : view->units_left / elastic->present;
    range = fmin(range, carried(turn, worker, end_s));
    if (is_tried_first(turn, worker))
        range = fmin(range, share * TRIAL);
    return fmax(0, parted(range, fmax(worth, fmax(share * LEAST_PART, windows))));
}

/* What would be left is not worth a start. */
static double soft(const struct cv_decision *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_min_units(turn->view)) ? left
                                                                            : units;
}

/* What a start of a worker is worth. */
static double start_units(const struct cv_decision *turn, uint32_t worker)
{
    return cv_elastic_start(turn->elastic, worker) *
           cv_elastic_speed(turn->elastic, worker);
}

void cv_stream_first(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s;

    if (isinf(turn->view->units_left))
        return;
    cv_staged_start_keep(turn);
    end_s = cv_elastic_end(elastic, turn->view->units_left, turn->now_s);
    if (!isfinite(end_s))
        return;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double units = range_of(turn, w, end_s), left = turn->view->units_left;

        if (elastic->hands[w].state == CV_PHASE_PRESTARTED && !elastic->hands[w].spare &&
            turn->view->units_left > 0 && units > cv_elastic_min_units(turn->view))
            cv_decision_give(turn, w,
                             cv_staged_start_is_last(turn, w) ||
                                     left - units <= fmin(units / 8, start_units(turn, w))
                                 ? left
                                 : units,
                             false);
    }
}

void cv_stream_further(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double share = cv_elastic_share(elastic, turn->view);
    double end_s, units;

    if (hand->due > 0)
        return;
    elastic->goes_on = worker;
    end_s = isfinite(turn->view->units_left)
                ? cv_elastic_end(elastic, turn->view->units_left, turn->now_s)
                : INFINITY;
    units = range_of(turn, worker, end_s);
    elastic->goes_on = CV_NOBODY;
    if (isinf(turn->view->units_left))
        units = fmin(units, share - hand->given);
    if (units > 0)
        cv_decision_extend(turn, worker, soft(turn, units));
    else if (hand->drained)
        cv_decision_close(turn, worker);
}

/* More than what was rounded away when something was recalled. */
static bool is_left(const struct cv_decision *turn)
{
    const double left = turn->view->units_left;

    return left > ROUNDED * cv_elastic_min_units(turn->view) ||
           (left > 0 && !cv_elastic_busy(turn->elastic));
}

/* What is left, for those that are free; the first one that had no choice. Until somebody was
 * given something, all could end together at the same time. */
static uint32_t hand_out(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s = INFINITY, range;
    bool known = false;
    uint32_t w;

    for (w = 0; w < elastic->n && is_left(turn); w++) {
        if (!cv_hand_is_free(&elastic->hands[w]) || elastic->hands[w].spare)
            continue;
        if (!known && isfinite(turn->view->units_left))
            end_s = cv_elastic_end(elastic, turn->view->units_left, turn->now_s);
        known = true;
        range = range_of(turn, w, end_s);
        /* Those that are at work would have done it before. */
        if (!(range > 0) && cv_elastic_busy(elastic))
            continue;
        cv_decision_give(turn, w,
                         soft(turn, fmax(range, cv_elastic_min_units(turn->view))),
                         false);
        known = false;
    }
    return w;
}

void cv_stream_serve(const struct cv_decision *turn)
{
    uint32_t first;

    cv_staged_start_release(turn);
    first = hand_out(turn);
    if (first < turn->elastic->n)
        cv_steal_serve(turn, first);
}

/* --- does the command work as it reads, or when it has read all? ------------------- */

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

/* --- sizes for a command that works when it has read all --------------------------- */

/* What such a command was given cannot be taken back once it is closed, so a size has to be
 * right: at most half of what its worker can do until all could end together, unless that
 * is not worth a start, and less where starts cost next to nothing: who has an eighth of its share
 * and drops to a quarter of its speed still ends before half of the time is over, and the rest can
 * go to others. Little for a worker whose speed is not known. */

/* A chunk should be worth so many starts; if a start is this part of it, it need not be larger,
 * but for at most so many times as many chunks. */
static const double START_WORTH = 3, MORE_PARTS = 4;
/* ... and of so many, as long as it is not known how fast the others are. */
static const double CERTAIN_WORTH = 2;
/* Such a part of a share is as good as all of it: the rest is not worth a start. */
static const double NEARLY = 0.8;
/* Where a start is less than this part of an equal share, no chunk is more than such a part of it: who drops to a
 * quarter of its speed in the very moment at which it was given that still needs no more than a share's time. */
static const double CHEAP = 0.03, LARGEST = 0.2;
/* What a chunk leaves of a share should be worth so many starts: else it is all of it. */
static const double LEFT_WORTH = 2;
/* Nobody is started for less than this part of a start: that would save next to nothing, and the more are
 * started, the later is the last of them. */
static const double LEAST_WORTH = 0.05;
/* The last one that has started takes what is left over, if it is this part of what it has. */
static const double CRUMB = 0.01;
/* Of so many one whose speed is not sure is no loss. */
enum { ALL_MANY = 8 };
/* Workers are that unequal, if nobody has said; who may be so many times as fast is as fast, since it is heard late on a
 * busy machine that somebody has begun. */
static const double UNEQUAL = 30, ALIKE = 1.5;

/* The next sizes wait for others than the test for this part of what it took. */
static const double LINE_WAIT = 0.25, SLOW_WAIT = 0.2;

/* Since when it reads; INFINITY: not yet, or not known. Who had started when it was given something did so at once, even
 * if that was not heard yet. */
static double reads_from(const struct cv_elastic *elastic, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];

    if (hand->started_s >= 0)
        return hand->started_s;
    return hand->bound_s - hand->begun_s >= cv_elastic_start(elastic, worker)
               ? hand->bound_s
               : INFINITY;
}

/* How many times as fast as it is thought to be a worker may be of which nothing is sure. One that is at work is no
 * faster than what it has by the time that it has taken so far: if it was given as much as one that is done, and at the
 * same time, it is no faster than that one. */
static double may_be_faster(const struct cv_decision *turn, uint32_t worker,
                            double unequal)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double thought_ups = fmax(cv_elastic_speed(elastic, worker), 1e-12);
    const double worked_s = turn->now_s - reads_from(elastic, worker) - elastic->late_s;
    double faster;

    if (hand->state != CV_PHASE_CLOSED || !(worked_s > 0))
        return unequal;
    faster = hand->given / worked_s / thought_ups;
    return faster <= ALIKE ? 1 : fmin(unequal, faster);
}

/* What is left of a share then; all of it if that is no more than a little less. */
static double certain_part(const struct cv_decision *turn, double unequal)
{
    const struct cv_elastic *elastic = turn->elastic;
    double all = 0;

    for (uint32_t w = 0; w < elastic->n; w++)
        if (!cv_hand_is_out(&elastic->hands[w]))
            all += elastic->hands[w].sure ? 1 : may_be_faster(turn, w, unequal);
    return elastic->present >= NEARLY * all ? 1 : elastic->present / all;
}

/* For a worker whose speed is not known: if it is as fast as the others, that costs it a
 * second start; if it is as slow as may be, all wait for it. Both cost the same factor. What
 * would be left should be worth a start, the more so if workers are not so unequal. */
static double unknown_size(double size, double share, double start_units, double h)
{
    const double max = fmax(share / (2 * h), 2 / (h - 1) * start_units);

    return share < fmax(1.1 * max, 16 / (h * h) * start_units) ? share : fmin(size, max);
}

static double end_of(const struct cv_decision *turn)
{
    return isfinite(turn->view->units_left)
               ? cv_elastic_end_apart(turn->elastic, turn->view, turn->now_s)
               : INFINITY;
}

/* The most that a chunk may be, if starts cost little. */
static double largest(const struct cv_decision *turn, double speed_ups, double start_s)
{
    const double share_s = cv_elastic_share_s(turn->elastic, turn->view);

    return start_s < CHEAP * share_s ? LARGEST * share_s * speed_ups : INFINITY;
}

/* If all could end together then; that is as of the last call of end_of. */
static double size_of(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double unequal = view->unequal > 0 ? view->unequal : UNEQUAL;
    const double thought = view->measured ? fmin(unequal, CV_AS_MEASURED) : unequal;
    const double h =
        fmax(elastic->spread > 0 ? fmin(thought, elastic->spread) : thought, 1.5);
    const double start_s = cv_elastic_start(elastic, worker) +
                           (elastic->lined ? elastic->late_s : 0) +
                           cv_fold_charge(view, elastic->fold_s, elastic->present);
    double share, size;

    if (isinf(view->units_left)) {
        size = cv_elastic_own_speed(elastic, worker) > 0
                   ? start_s * speed_ups / SHARE
                   : 2 / (h - 1) * start_s * speed_ups;
        return fmin(cv_elastic_share(elastic, view), fmax(size, 16 * elastic->piece));
    }
    share = speed_ups * (end_s - elastic->ready[worker].in_s);
    if (!(share > 0))
        return 0;
    size = fmin(share / elastic->parts,
                fmax(share / (MORE_PARTS * elastic->parts), start_s * speed_ups / SHARE));
    size = fmin(size, largest(turn, speed_ups, start_s));
    size = fmax(size, fmin(share, START_WORTH * start_s * speed_ups));
    if (share - size < LEFT_WORTH * start_s * speed_ups)
        size = share;
    if (!(cv_elastic_own_speed(elastic, worker) > 0) ||
        (elastic->apart && elastic->present >= ALL_MANY && !elastic->hands[worker].sure))
        size = unknown_size(size, share, start_s * speed_ups, h);
    return fmin(size, fmax(fmax(share * certain_part(turn, h),
                                elastic->growth * elastic->hands[worker].done),
                           CERTAIN_WORTH * start_s * speed_ups));
}

static double all_soft(const struct cv_decision *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_min_units(turn->view)) ? left
                                                                            : units;
}

/* A chunk for which a command has to be started. */
static double worth_starting(const struct cv_decision *turn, uint32_t worker,
                             double units)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double start_s = cv_elastic_start(elastic, worker) + elastic->late_s;

    return isfinite(turn->view->units_left)
               ? fmax(units, LEAST_WORTH * start_s * cv_elastic_speed(elastic, worker))
               : units;
}

static void serve_held(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    double units = size_of(turn, worker, end_of(turn));

    hand->held = false;
    /* What records that are not divided have left over is not worth a start. */
    if (turn->view->units_left <= hand->given * CRUMB)
        units = turn->view->units_left;
    if (units > 0 && turn->view->units_left > 0 && !(hand->due > 0))
        cv_decision_extend(turn, worker, all_soft(turn, units));
    if (hand->state == CV_PHASE_OPEN)
        cv_decision_close(turn, worker);
}

/* Was most of what the test took a start, or work? Others who were given more meanwhile
 * will tell, soon if it was a start. */
static bool waits_for_a_line(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double until_s = elastic->tested_s + LINE_WAIT * elastic->test_s;

    if (elastic->lined || elastic->test_s < 2 * elastic->mean_start_s ||
        turn->now_s >= until_s || !cv_elastic_busy(elastic))
        return false;
    cv_decision_wake(turn, until_s);
    return true;
}

/* Most of it was a start, and some are not done with their first chunk: how slow are they? If
 * that is not waited for, they are left with a share that takes a start more. */
static bool waits_for_the_slow(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double until_s = elastic->tested_s + SLOW_WAIT * elastic->test_s;
    bool any = false;

    if (!elastic->lined || elastic->late_s < elastic->test_s / 2 ||
        turn->now_s >= until_s || isinf(turn->view->units_left))
        return false;
    for (uint32_t w = 0; w < elastic->n; w++)
        any = any || (elastic->hands[w].state == CV_PHASE_CLOSED &&
                      !(elastic->hands[w].done > 0));
    if (any)
        cv_decision_wake(turn, until_s);
    return any;
}

enum { PASSES = 3 };

static int pass_of(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;

    if (elastic->hands[worker].state != CV_PHASE_PRESTARTED)
        return PASSES - 1;
    return cv_elastic_ready_in(elastic, worker, turn->now_s) > elastic->late_s;
}

void cv_slurp_serve(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s = 0;
    bool known = false; /* until somebody is given something, it is the same */

    if (waits_for_a_line(turn) || waits_for_the_slow(turn) || cv_sample_waits(turn))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].held && elastic->hands[w].state == CV_PHASE_OPEN)
            serve_held(turn, w);
    /* Those that wait, those that will soon, then those to be started. */
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t w = 0; w < elastic->n; w++) {
            const struct cv_worker_estimate *hand = &elastic->hands[w];
            double units;

            if (!(turn->view->units_left > 0))
                return;
            if (!cv_hand_is_free(hand) || pass_of(turn, w) != pass)
                continue;
            if (!known)
                end_s = end_of(turn);
            known = true;
            units = size_of(turn, w, end_s);
            if (!(units > 0) && cv_elastic_busy(elastic))
                continue; /* others are ready sooner */
            if (pass == PASSES - 1)
                units = worth_starting(turn, w, units);
            units = all_soft(turn, fmax(units, cv_elastic_min_units(turn->view)));
            cv_decision_give(turn, w, units,
                             units < turn->view->units_left || pass == PASSES - 1);
            known = false;
        }
}
