/* order_queue.c -- what is owed: orders that wait, chunks under way, and how many came to what.
 * SPDX-License-Identifier: MIT */
#include "run/master/order_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/common/poller.h"

/* More bytes than any input has; sums are exact up to eight times as many. */
static const double MOST_WANTED = 1ULL << 50;

/* Sums of orders may miss the load by rounding: this much of it. */
static const double SLACK = 1e-9;

/* Chunks that are to fit into memory before larger ones are tried again, at first. */
enum { FIRST_PATIENCE = 64 };

enum cleave_status cv_order_queue_open(struct cv_order_queue *books, uint32_t nworkers,
                                       struct cleave_error *err)
{
    books->wants = calloc(nworkers, sizeof *books->wants);
    books->wanting = calloc(nworkers / 64 + 1, sizeof *books->wanting);
    if (books->wants == NULL || books->wanting == NULL)
        return cv_fail_memory(err, "the orders of a run");
    books->nworkers = nworkers;
    books->open = true;
    books->request = 0;
    books->all_asked = false;
    books->owed = cv_source_left(books->source);
    return CLEAVE_OK;
}

void cv_order_queue_close(struct cv_order_queue *books)
{
    for (uint32_t w = 0; w < books->nworkers; w++)
        free(books->wants[w].items);
    free(books->wants);
    free(books->wanting);
    books->wants = NULL;
    books->wanting = NULL;
    books->nworkers = 0;
    books->open = false;
}

double cv_order_queue_unordered_bytes(const struct cv_order_queue *books)
{
    const double left = cv_source_left(books->source);

    /* Wishes may be for more than there is, and without end for a stream: what is left when
     * nothing waits is certain, whatever they add up to. */
    return left - books->wanted >= 0.5 ? left - books->wanted : 0;
}

/* --- orders ------------------------------------------------------------------------------- */

/* Room for one more order of the worker, which is added then. */
static enum cleave_status grow_array(struct cv_order_queue *books, uint32_t worker,
                                     struct cleave_error *err)
{
    struct cv_pending_orders *wants = &books->wants[worker];

    if (wants->first == wants->count)
        wants->first = wants->count = 0;
    if (!CV_ROOM(wants->items, &wants->room, wants->count + 1))
        return cv_fail_memory(err, "the orders of a run");
    books->wanting[worker / 64] |= UINT64_C(1) << worker % 64;
    return CLEAVE_OK;
}

/* Whole bytes, so that the sum of the wishes is exact. */
static double whole(double units)
{
    return units < MOST_WANTED ? fmax(1, round(units)) : MOST_WANTED;
}

static enum cleave_status add_want(struct cv_order_queue *books, uint32_t worker,
                                   struct cv_pending_order want, struct cleave_error *err)
{
    struct cv_pending_orders *wants = &books->wants[worker];

    CV_TRY(grow_array(books, worker, err));
    want.chunk = books->numbered++;
    wants->items[wants->count++] = want;
    books->pending++;
    books->wanted += want.units;
    return CLEAVE_OK;
}

/* So much was asked for. */
static void note_asked(struct cv_order_queue *books, double units)
{
    books->request += units;
    books->all_asked = books->all_asked || !(cv_order_queue_unordered_bytes(books) > 0);
}

enum cleave_status cv_order_queue_order(struct cv_order_queue *books, uint32_t worker,
                                        double units, struct cleave_error *err)
{
    CV_TRY(
        add_want(books, worker, (struct cv_pending_order){ .units = whole(units) }, err));
    note_asked(books, units);
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_order_item(struct cv_order_queue *books,
                                             uint32_t worker, uint64_t item,
                                             struct cleave_error *err)
{
    const struct cv_pending_order want = { .units = 1, .exact = true, .item = item };

    CV_TRY(add_want(books, worker, want, err));
    note_asked(books, 1);
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_order_open(struct cv_order_queue *books,
                                             uint32_t worker, double units,
                                             struct cleave_error *err)
{
    const struct cv_pending_order want = { .units = units > 0 ? whole(units) : 0,
                                           .open = true };

    CV_TRY(add_want(books, worker, want, err));
    note_asked(books, units);
    return CLEAVE_OK;
}

double cv_order_queue_reserve(struct cv_order_queue *books, double units)
{
    const double wanted = whole(units);

    books->growing++;
    books->wanted += wanted;
    note_asked(books, units);
    return wanted;
}

void cv_order_queue_release(struct cv_order_queue *books, double units)
{
    books->growing--;
    books->wanted -= units;
}

struct cv_pending_order *cv_order_queue_open_order(struct cv_order_queue *books,
                                                   uint32_t worker)
{
    struct cv_pending_orders *wants = books->open ? &books->wants[worker] : NULL;

    for (size_t i = wants != NULL ? wants->first : 0; wants != NULL && i < wants->count;
         i++)
        if (wants->items[i].open)
            return &wants->items[i];
    return NULL;
}

bool cv_order_queue_has_remainder(const struct cv_order_queue *books)
{
    const double all =
        isfinite(books->owed) ? books->owed : cv_source_total(books->source);

    return !books->gets_losses && books->running == 0 && books->pending == 0 &&
           cv_source_left(books->source) > 0 &&
           (books->all_asked || books->request >= (1 - SLACK) * all);
}

enum cleave_status cv_order_queue_add_remainder(struct cv_order_queue *books,
                                                uint32_t worker, double units,
                                                struct cleave_error *err)
{
    return add_want(books, worker,
                    (struct cv_pending_order){ .units = whole(units), .quiet = true },
                    err);
}

/* Order a chunk again that was lost or could not be begun, before all others. */
static enum cleave_status order_again(struct cv_order_queue *books, uint32_t worker,
                                      const struct cv_pending_order *want,
                                      struct cleave_error *err)
{
    struct cv_pending_orders *wants = &books->wants[worker];

    CV_TRY(grow_array(books, worker, err));
    memmove(&wants->items[wants->first + 1], &wants->items[wants->first],
            (wants->count - wants->first) * sizeof *wants->items);
    wants->items[wants->first] = *want;
    wants->count++;
    books->pending++;
    books->wanted += want->units;
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_defer(struct cv_order_queue *books, uint32_t worker,
                                        const struct cv_pending_order *want,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    const bool blank = piece->end == piece->begin;

    CV_TRY(blank ? CLEAVE_OK : cv_source_put_back(books->source, piece, err));
    return order_again(books, worker, want, err);
}

const struct cv_pending_order *cv_order_queue_next(const struct cv_order_queue *books,
                                                   uint32_t worker)
{
    const struct cv_pending_orders *wants = books->open ? &books->wants[worker] : NULL;

    return wants != NULL && wants->first < wants->count ? &wants->items[wants->first]
                                                        : NULL;
}

struct cv_pending_order cv_order_queue_take(struct cv_order_queue *books, uint32_t worker)
{
    struct cv_pending_orders *wants = &books->wants[worker];
    const struct cv_pending_order want = wants->items[wants->first++];

    if (wants->first == wants->count)
        books->wanting[worker / 64] &= ~(UINT64_C(1) << worker % 64);
    books->wanted -= want.units;
    books->pending--;
    return want;
}

uint32_t cv_order_queue_next_worker(const struct cv_order_queue *books, uint32_t from)
{
    while (from < books->nworkers) {
        const uint64_t bits = books->wanting[from / 64] >> from % 64;

        if (bits != 0)
            return from + (uint32_t)__builtin_ctzll(bits);
        from = (from / 64 + 1) * 64;
    }
    return books->nworkers;
}

void cv_order_queue_lower_size_limit(struct cv_order_queue *books, double units)
{
    const double max = fmax(fmax(floor(units / 2), books->largest), 1);

    if (!(units > books->largest) || (books->max > 0 && !(max < books->max)))
        return;
    books->max = max;
    books->fits = 0;
    books->patience = books->patience > 0 ? 2 * books->patience : FIRST_PATIENCE;
}

void cv_order_queue_raise_size_limit(struct cv_order_queue *books, double units,
                                     bool may_fail)
{
    books->largest = fmax(books->largest, units);
    if (!may_fail || !(books->max > 0) || 2 * units < books->max ||
        ++books->fits < books->patience)
        return;
    books->fits = 0;
    books->max *= 2;
}

double cv_order_queue_size(const struct cv_order_queue *books,
                           const struct cv_pending_order *want)
{
    return books->max > 0 ? fmin(want->units, books->max) : want->units;
}

double cv_order_queue_fit_size(const struct cv_order_queue *books, uint64_t bytes,
                               double units)
{
    return books->max > 0 ? fmin(units, fmax(0, books->max - (double)bytes)) : units;
}

void cv_order_queue_complete_empty(struct cv_order_queue *books, uint32_t worker,
                                   const struct cv_pending_order *want)
{
    const double now_s = cv_clock_s() - books->news->began_s;

    if (want->quiet)
        return;
    if (!want->told)
        cv_event_queue_push(books->news, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                                .worker = worker,
                                                                .chunk = want->chunk });
    cv_event_queue_push(books->news, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                            .worker = worker,
                                                            .chunk = want->chunk,
                                                            .start_s = now_s });
}

/* --- losses ------------------------------------------------------------------------------- */

static void tell_lost(struct cv_order_queue *books, uint32_t worker,
                      const struct cv_pending_order *want)
{
    cv_event_queue_push(books->news, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                            .worker = worker,
                                                            .chunk = want->chunk,
                                                            .units = want->units });
}

void cv_order_queue_cancel_worker(struct cv_order_queue *books, uint32_t worker)
{
    while (cv_order_queue_next(books, worker) != NULL) {
        const struct cv_pending_order want = cv_order_queue_take(books, worker);

        if (want.more > 0)
            cv_order_queue_release(books, want.more);
        tell_lost(books, worker, &want);
    }
}

enum cleave_status cv_order_queue_requeue(struct cv_order_queue *books, uint32_t worker,
                                          const struct cv_pending_order *want,
                                          const struct cv_piece *piece,
                                          struct cleave_error *err)
{
    books->lost++;
    CV_TRY(cv_source_put_back(books->source, piece, err));
    if (!books->gets_losses)
        return order_again(books, worker, want, err);
    tell_lost(books, worker, want);
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_check(const struct cv_order_queue *books,
                                        struct cleave_error *err)
{
    if (books->pending == 0 && books->growing == 0 && books->running == 0 &&
        !(fabs(books->wanted) > 0))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EACCOUNT,
        "%zu orders for %.0f bytes were not begun and %u chunks did not end: a "
        "defect of cleave",
        books->pending, books->wanted, books->running);
}

void cv_order_queue_complete(struct cv_order_queue *books, double units)
{
    books->chunks++;
    books->done += units;
    books->running--;
}
