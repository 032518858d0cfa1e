/* books.c -- what is owed: orders that wait, chunks under way, and how many came to what.
 * SPDX-License-Identifier: MIT */
#include "run/master/books.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/kit/poller.h"

/* More bytes than any input has; sums are exact up to eight times as many. */
static const double MOST_WANTED = 1ULL << 50;

/* Sums of orders may miss the load by rounding: this much of it. */
static const double SLACK = 1e-9;

/* Chunks that are to fit into memory before larger ones are tried again, at first. */
enum { FIRST_PATIENCE = 64 };

enum cleave_status cv_books_open(struct cv_books *books, uint32_t nworkers,
                                 struct cleave_error *err)
{
    books->wants = calloc(nworkers, sizeof *books->wants);
    books->wanting = calloc(nworkers / 64 + 1, sizeof *books->wanting);
    if (books->wants == NULL || books->wanting == NULL)
        return cv_fail_memory(err, "the orders of a run");
    books->nworkers = nworkers;
    books->open = true;
    books->asked = 0;
    books->all_asked = false;
    books->owed = cv_source_left(books->source);
    return CLEAVE_OK;
}

void cv_books_close(struct cv_books *books)
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

double cv_books_left(const struct cv_books *books)
{
    const double left = cv_source_left(books->source);

    /* Wishes may be for more than there is, and without end for a stream: what is left when
     * nothing waits is certain, whatever they add up to. */
    return left - books->wanted >= 0.5 ? left - books->wanted : 0;
}

/* --- orders ------------------------------------------------------------------------------- */

/* Room for one more order of the worker, which is added then. */
static enum cleave_status make_room(struct cv_books *books, uint32_t worker,
                                    struct cleave_error *err)
{
    struct cv_wants *wants = &books->wants[worker];

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

static enum cleave_status add_want(struct cv_books *books, uint32_t worker,
                                   struct cv_want want, struct cleave_error *err)
{
    struct cv_wants *wants = &books->wants[worker];

    CV_TRY(make_room(books, worker, err));
    want.chunk = books->numbered++;
    wants->items[wants->count++] = want;
    books->pending++;
    books->wanted += want.units;
    return CLEAVE_OK;
}

/* So much was asked for. */
static void note_asked(struct cv_books *books, double units)
{
    books->asked += units;
    books->all_asked = books->all_asked || !(cv_books_left(books) > 0);
}

enum cleave_status cv_books_order(struct cv_books *books, uint32_t worker, double units,
                                  struct cleave_error *err)
{
    CV_TRY(add_want(books, worker, (struct cv_want){ .units = whole(units) }, err));
    note_asked(books, units);
    return CLEAVE_OK;
}

enum cleave_status cv_books_order_item(struct cv_books *books, uint32_t worker,
                                       uint64_t item, struct cleave_error *err)
{
    const struct cv_want want = { .units = 1, .exact = true, .item = item };

    CV_TRY(add_want(books, worker, want, err));
    note_asked(books, 1);
    return CLEAVE_OK;
}

enum cleave_status cv_books_order_open(struct cv_books *books, uint32_t worker,
                                       double units, struct cleave_error *err)
{
    const struct cv_want want = { .units = units > 0 ? whole(units) : 0, .open = true };

    CV_TRY(add_want(books, worker, want, err));
    note_asked(books, units);
    return CLEAVE_OK;
}

double cv_books_want_more(struct cv_books *books, double units)
{
    const double wanted = whole(units);

    books->growing++;
    books->wanted += wanted;
    note_asked(books, units);
    return wanted;
}

void cv_books_got_more(struct cv_books *books, double units)
{
    books->growing--;
    books->wanted -= units;
}

struct cv_want *cv_books_open_order(struct cv_books *books, uint32_t worker)
{
    struct cv_wants *wants = books->open ? &books->wants[worker] : NULL;

    for (size_t i = wants != NULL ? wants->first : 0; wants != NULL && i < wants->count;
         i++)
        if (wants->items[i].open)
            return &wants->items[i];
    return NULL;
}

bool cv_books_rest(const struct cv_books *books)
{
    const double all =
        isfinite(books->owed) ? books->owed : cv_source_total(books->source);

    return !books->hears_losses && books->running == 0 && books->pending == 0 &&
           cv_source_left(books->source) > 0 &&
           (books->all_asked || books->asked >= (1 - SLACK) * all);
}

enum cleave_status cv_books_order_rest(struct cv_books *books, uint32_t worker,
                                       double units, struct cleave_error *err)
{
    return add_want(books, worker,
                    (struct cv_want){ .units = whole(units), .quiet = true }, err);
}

/* Order a chunk again that was lost or could not be begun, before all others. */
static enum cleave_status order_again(struct cv_books *books, uint32_t worker,
                                      const struct cv_want *want,
                                      struct cleave_error *err)
{
    struct cv_wants *wants = &books->wants[worker];

    CV_TRY(make_room(books, worker, err));
    memmove(&wants->items[wants->first + 1], &wants->items[wants->first],
            (wants->count - wants->first) * sizeof *wants->items);
    wants->items[wants->first] = *want;
    wants->count++;
    books->pending++;
    books->wanted += want->units;
    return CLEAVE_OK;
}

enum cleave_status cv_books_put_off(struct cv_books *books, uint32_t worker,
                                    const struct cv_want *want,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err)
{
    const bool blank = piece->end == piece->begin;

    CV_TRY(blank ? CLEAVE_OK : cv_source_put_back(books->source, piece, err));
    return order_again(books, worker, want, err);
}

const struct cv_want *cv_books_next(const struct cv_books *books, uint32_t worker)
{
    const struct cv_wants *wants = books->open ? &books->wants[worker] : NULL;

    return wants != NULL && wants->first < wants->count ? &wants->items[wants->first]
                                                        : NULL;
}

struct cv_want cv_books_take(struct cv_books *books, uint32_t worker)
{
    struct cv_wants *wants = &books->wants[worker];
    const struct cv_want want = wants->items[wants->first++];

    if (wants->first == wants->count)
        books->wanting[worker / 64] &= ~(UINT64_C(1) << worker % 64);
    books->wanted -= want.units;
    books->pending--;
    return want;
}

uint32_t cv_books_wanting(const struct cv_books *books, uint32_t from)
{
    while (from < books->nworkers) {
        const uint64_t bits = books->wanting[from / 64] >> from % 64;

        if (bits != 0)
            return from + (uint32_t)__builtin_ctzll(bits);
        from = (from / 64 + 1) * 64;
    }
    return books->nworkers;
}

void cv_books_too_large(struct cv_books *books, double units)
{
    const double most = fmax(fmax(floor(units / 2), books->largest), 1);

    if (!(units > books->largest) || (books->most > 0 && !(most < books->most)))
        return;
    books->most = most;
    books->fits = 0;
    books->patience = books->patience > 0 ? 2 * books->patience : FIRST_PATIENCE;
}

void cv_books_fits(struct cv_books *books, double units, bool may_fail)
{
    books->largest = fmax(books->largest, units);
    if (!may_fail || !(books->most > 0) || 2 * units < books->most ||
        ++books->fits < books->patience)
        return;
    books->fits = 0;
    books->most *= 2;
}

double cv_books_size(const struct cv_books *books, const struct cv_want *want)
{
    return books->most > 0 ? fmin(want->units, books->most) : want->units;
}

double cv_books_room(const struct cv_books *books, uint64_t bytes, double units)
{
    return books->most > 0 ? fmin(units, fmax(0, books->most - (double)bytes)) : units;
}

void cv_books_empty(struct cv_books *books, uint32_t worker, const struct cv_want *want)
{
    const double now_s = cv_clock_s() - books->news->began_s;

    if (want->quiet)
        return;
    if (!want->told)
        cv_news_tell(books->news, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                         .worker = worker,
                                                         .chunk = want->chunk });
    cv_news_tell(books->news, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                     .worker = worker,
                                                     .chunk = want->chunk,
                                                     .start_s = now_s });
}

/* --- losses ------------------------------------------------------------------------------- */

static void tell_lost(struct cv_books *books, uint32_t worker, const struct cv_want *want)
{
    cv_news_tell(books->news, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                     .worker = worker,
                                                     .chunk = want->chunk,
                                                     .units = want->units });
}

void cv_books_lose_orders(struct cv_books *books, uint32_t worker)
{
    while (cv_books_next(books, worker) != NULL) {
        const struct cv_want want = cv_books_take(books, worker);

        if (want.more > 0)
            cv_books_got_more(books, want.more);
        tell_lost(books, worker, &want);
    }
}

enum cleave_status cv_books_lose(struct cv_books *books, uint32_t worker,
                                 const struct cv_want *want, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    books->lost++;
    CV_TRY(cv_source_put_back(books->source, piece, err));
    if (!books->hears_losses)
        return order_again(books, worker, want, err);
    tell_lost(books, worker, want);
    return CLEAVE_OK;
}

enum cleave_status cv_books_balance(const struct cv_books *books,
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

void cv_books_over(struct cv_books *books, double units)
{
    books->chunks++;
    books->done += units;
    books->running--;
}
