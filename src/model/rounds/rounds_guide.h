/* rounds_guide.h -- prices that a good plan suggests. SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_GUIDE_H
#define CV_ROUNDS_GUIDE_H
#include "model/rounds/rounds_search.h"

/* A message: when it is under way, as parts of the makespan, and what a second of the port
 * is worth then, in units. */
struct cv_priced {
    double from, to, price;
};

struct cv_rounds_guide {
    double end_s;                  /* makespan of the plan                        */
    struct cv_priced *send, *back; /* of the send and of the return word, in time */
    uint32_t nsend, nback;
};

/* From a chain. The price of a message is how much later all ends if it takes a second
 * longer, over the same for a unit more. */
enum cleave_status cv_rounds_guide(struct cv_rounds_workspace *room,
                                   const struct cv_rounds_candidate *chain,
                                   struct cv_arena *arena, struct cv_rounds_guide *out,
                                   struct cleave_error *err);

/* From the linear program of a plan's orders, whose multipliers these are, if it is small:
 * *out_known. The port counts as duplex: what a full one is worth is a floor below both. */
enum cleave_status cv_rounds_guide_lp(const struct cv_rounds *rounds,
                                      struct cv_rounds_plan *plan, struct cv_arena *arena,
                                      struct cv_rounds_guide *out, bool *out_known,
                                      struct cleave_error *err);

#endif
