/* rounds.h -- several rounds of work whose results come back to the master.
 * SPDX-License-Identifier: MIT
 *
 * Costs are those of model/returns/returns.h, but a worker may get any number of chunks. It
 * computes them whole, in the order of arrival. On a single port all sends can go before
 * all returns without loss, and on either kind returns may follow each other without a pause
 * at the end. So a schedule is an order of sends, an order of returns, and sizes.
 *
 * Both orders are written as words over the workers. The last letter of a worker in the send
 * word and its first in the return word are one chunk, its pivot. Earlier letters of the
 * send word are growing chunks: each is computed exactly until the next one of its worker
 * arrives. Later letters of the return word are shrinking ones: each is computed exactly
 * from when the return before it of its worker starts until its own does. So two words tell
 * all sizes. docs/theory/rounds.md has the proofs. */
#ifndef CV_ROUNDS_H
#define CV_ROUNDS_H
#include <math.h>
#include "base/fail.h"
#include "model/returns/returns.h"

/* An instance: what to compute, by whom. */
struct cv_rounds {
    struct cv_returns returns;
    double load;          /* units */
    const double *memory; /* per worker: units of the largest chunk; NULL: any */
};

struct cv_rounds_words {
    uint32_t *send, *back; /* workers; the same ones in both */
    uint32_t nsend, nback;
};

/* Chunks in the order sent. */
struct cv_rounds_plan {
    uint32_t nchunks;
    uint32_t *worker;
    double *units;
    uint32_t *back;    /* chunks in the order of returning */
    double makespan_s; /* INFINITY: there is none          */
};

/* What two words say, before anything is sorted: chunks of the send word come first, in its
 * order, then the shrinking ones in that of the return word. */
struct cv_closed_form {
    uint32_t nchunks;
    uint32_t *worker, *send_order, *back_order;
    double *units;
    double closed_s; /* when all ends if every row of the closed form holds */
    double port_s;   /* all messages together                               */
    double makespan_s;
    bool nonnegative; /* else the orders and the makespan say nothing */
};

/* Evaluate two words as they are, negative sizes and a full port included; without `tight`
 * also with a worker that waits where the port is full, the best of which is told. */
enum cleave_status cv_rounds_evaluate(const struct cv_rounds *rounds,
                                      const struct cv_rounds_words *words, bool tight,
                                      struct cv_arena *arena, struct cv_closed_form *out,
                                      struct cleave_error *err);

/* When the last result is back if chunks of these sizes are sent and returned in these
 * orders, all sends before all returns where the port is single. `ends_s` is room for a
 * number per chunk, `ready_s` for one per worker. */
double cv_rounds_replay(const struct cv_returns *returns, const uint32_t *worker,
                        const double *units, const uint32_t *send_order,
                        const uint32_t *back_order, uint32_t nchunks, double *ends_s,
                        double *ready_s);

/* The best sizes for given orders of chunks, all sends before all returns on a single port:
 * a linear program, for as many chunks as CV_ROUNDS_LP_MOST. The makespan is INFINITY when
 * it is too large or does not converge. */
enum { CV_ROUNDS_LP_MOST = 160 };
enum cleave_status cv_rounds_lp(const struct cv_rounds *rounds,
                                struct cv_rounds_plan *plan, struct cv_arena *arena,
                                struct cleave_error *err);

/* The multipliers of such a program, if it is small: what a second of the port is worth, in
 * units, during the send and the return of each chunk. The plan gets the program's sizes. */
enum cleave_status cv_rounds_lp_prices(const struct cv_rounds *rounds,
                                       struct cv_rounds_plan *plan, double *send,
                                       double *back, bool *out_known,
                                       struct cv_arena *arena, struct cleave_error *err);

enum cv_rounds_effort { CV_ROUNDS_FAST, CV_ROUNDS_THOROUGH };

/* The best plan found. Never worse than the best of fifo and lifo; thorough never worse than
 * best-orders either, where that searches at all. */
enum cleave_status cv_rounds_best(const struct cv_rounds *rounds,
                                  enum cv_rounds_effort effort, uint64_t seed,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err);
/* The plan with the most work in a lifespan; *out_load is how much. `memory` as above. */
enum cleave_status cv_rounds_for_lifespan(const struct cv_returns *returns,
                                          const double *memory, double lifespan_s,
                                          enum cv_rounds_effort effort, uint64_t seed,
                                          struct cv_arena *arena,
                                          struct cv_rounds_plan *out, double *out_load,
                                          struct cleave_error *err);

/* Parts of a chunk: 1 where all of it fits. */
static inline double cv_parts_of(double units, double memory)
{
    return units <= memory ? 1 : ceil(units / memory * (1 - 1e-12));
}

/* Set the makespan of a plan, whose chunks are in the order sent, by what it comes to. False when
 * memory is short. */
bool cv_rounds_measure(const struct cv_rounds *rounds, struct cv_rounds_plan *plan,
                       struct cv_arena *arena);

struct cv_full_port {
    uint32_t n; /* 0: the port keeps everybody busy, or is a single one */
    struct cv_trip *trips;
    uint32_t *worker; /* whose trips they are */
};

/* False when memory is short. */
bool cv_full_port(const struct cv_returns *returns, struct cv_arena *arena,
                  struct cv_full_port *out);

#endif
