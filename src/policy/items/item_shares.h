/* item_shares.h -- which worker is to do which of the items that are left.
 * SPDX-License-Identifier: MIT
 *
 * Longest first, each to the worker that would end it soonest, on workers of different
 * speeds and starts; then items move or change places as long as the worker that would be
 * last ends earlier. Longest first alone takes at most 5/3 of the optimum on workers that
 * differ in speed only (Friesen 1987; Dobson 1984 has 19/12).
 *
 * Where starts differ, a worker on which a start is worth few units has the smaller items at
 * an advantage, and longest first would give him the larger ones. So it is tried once more
 * with prices of the workers' time (docs/theory/items.md): an item goes only where it is not
 * much dearer than elsewhere.
 *
 * O(items x workers) for the first part; the second is limited to so many looks. */
#ifndef CV_ITEM_SHARES_H
#define CV_ITEM_SHARES_H
#include "policy/common/setup.h"

/* What a worker costs, and when it is free. */
struct cv_item_worker {
    bool out;                   /* gets nothing                                     */
    double ready_s;             /* from then on it can compute something else        */
    double start_s, pace_s;     /* computing: per item, and per unit                 */
    double link_s, link_pace_s; /* sending, likewise                                 */
    double price;  /* of its time, where items of some sizes belong to some workers */
    double end_s;  /* with its share                                    */
    double port_s; /* its link is busy until then, where it has its own */
};

struct cv_item_shares {
    const double *sizes;   /* borrowed: by item                                 */
    const uint32_t *order; /* borrowed: rank -> item, the longest first         */
    uint32_t nitems;
    uint32_t *left, nleft;    /* ranks that nobody has been given, in order        */
    uint32_t *owner, *trial;  /* rank -> worker; another such list to try in        */
    uint32_t *member, *begin; /* scratch: ranks by worker, and where each one begins   */
    uint32_t *by_start, npresent; /* scratch: workers that are not out                */
    struct cv_item_worker *workers;
    uint32_t nworkers;
    bool shares_port; /* links cannot be used at the same time             */
    bool linked;      /* sending takes time that matters                   */
};

/* Ranks of items by size, the longest first, equal ones as they are listed; NULL when memory
 * is short. */
uint32_t *cv_item_order(const double *sizes, uint32_t nitems, struct cv_arena *arena);

/* Room for all of it, from the arena; nothing is given yet. */
bool cv_item_shares_init(struct cv_item_shares *shares, struct cv_arena *arena);

/* Share out what is left anew, at time `now_s`, if that ends earlier than as it was shared
 * out before or `fresh` says that it was not. `looks`: how many exchanges may be tried.
 * Returns when it would end. */
double cv_item_shares_make(struct cv_item_shares *shares, double now_s, bool fresh,
                           uint64_t looks);

static inline double cv_item_cost(const struct cv_item_worker *worker, double units)
{
    return worker->start_s + units * worker->pace_s;
}

#endif
