/* again.h -- pieces that are to be done again, before all that is new.
 * SPDX-License-Identifier: MIT
 *
 * They are taken from the source and under way, as far as others know, but nobody does
 * them at the moment. */
#ifndef CV_AGAIN_H
#define CV_AGAIN_H
#include "run/fails/history.h"
#include "run/input/source.h"

struct cv_again {
    struct cv_piece piece;
    struct cv_history past;
    uint64_t chunk;
    uint32_t owner;
    uint32_t attempt; /* the next one, from 1                                          */
    double began_s;   /* its first attempt                                             */
    bool told, quiet;
    bool hurried; /* by whoever is free, be it the one that it failed with           */
    bool alone;   /* only when nobody does anything else                             */
};

/* All zero: none. */
struct cv_agains {
    struct cv_again *items; /* owned: the first is the next                            */
    size_t count, room;
};

void cv_agains_done(struct cv_agains *agains);
/* Before all others, or behind them. */
enum cleave_status cv_agains_push(struct cv_agains *agains, const struct cv_again *again,
                                  bool first, struct cleave_error *err);
struct cv_again cv_agains_take(struct cv_agains *agains, size_t index);
/* Whether one of them failed with this party. */
bool cv_agains_accuse(const struct cv_agains *agains, uint32_t party);

/* What is known of a party that could do it. */
enum cv_can {
    CV_CAN_NOT,   /* it is not there                                                */
    CV_CAN_LATER, /* it is there, but busy                                          */
    CV_CAN_NOW,
};
struct cv_candidate {
    uint32_t party;
    enum cv_can can;
    bool proven;  /* it has succeeded before                                           */
    bool suspect; /* it waits for others to try what it failed with itself             */
};

/* Who is to do it: the index of a candidate, or SIZE_MAX for nobody as yet. First one that
 * it has not failed with and that is no suspect, then any that it has not failed with, then
 * any but the last one, then that. Whoever is better and only busy is waited for, unless it
 * is hurried. */
size_t cv_again_choose(const struct cv_again *again, const struct cv_candidate *among,
                       size_t count);

#endif
