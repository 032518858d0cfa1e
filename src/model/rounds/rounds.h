/* rounds.h -- several rounds of work whose results come back to the master.
 * SPDX-License-Identifier: MIT
 *
 * Costs as in model/returns/returns.h, but a worker may get any number of chunks. It
 * computes them in the order of arrival. On a single port all sends can precede all returns
 * without loss, and on any port returns may follow each other without a pause at the end. So
 * a schedule is an order of sends, an order of returns, and sizes.
 *
 * Both orders are words over the workers. The last letter of a worker in the send word and its
 * first in the return word are one chunk, its pivot. Earlier letters of the send word are
 * growing chunks: the computation of each ends exactly when the next chunk of its worker
 * arrives. Later letters of the return word are shrinking chunks: the computation of each
 * takes exactly from the start of its worker's previous return to that of its own. So two
 * words determine all sizes. docs/theory/rounds.md has the proofs. */
#ifndef CV_ROUNDS_H
#define CV_ROUNDS_H
#include <math.h>
#include "base/fail.h"
#include "model/returns/returns.h"

/* An instance. */
struct cv_rounds {
    struct cv_returns returns;
    double load;          /* units */
    const double *memory; /* per worker: units of the largest chunk; NULL: any */
};

struct cv_rounds_words {
    uint32_t *send, *back; /* both have the same workers */
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

/* Allocate a plan; false when memory is short. */
bool cv_rounds_plan_init(struct cv_rounds_plan *plan, uint32_t chunks,
                         struct cv_arena *arena);

/* The schedule of two words: chunks of the send word first, in its order, then the shrinking
 * chunks in the order of the return word. */
struct cv_closed_form {
    uint32_t nchunks;
    uint32_t *worker, *send_order, *back_order;
    double *units;
    double closed_s; /* T of the equations                */
    double port_s;   /* time of all messages              */
    double makespan_s;
    bool nonnegative; /* else orders and makespan mean nothing */
};

/* Evaluate two words; sizes may be negative. Without `tight`, if the port is full, the best
 * schedule in which one worker waits. */
enum cleave_status cv_rounds_evaluate(const struct cv_rounds *rounds,
                                      const struct cv_rounds_words *words, bool tight,
                                      struct cv_arena *arena, struct cv_closed_form *out,
                                      struct cleave_error *err);

/* The makespan of a plan with these sizes of its chunks, all sends before all returns on a
 * single port. `room` holds a number per chunk and per worker. */
double cv_rounds_replay(const struct cv_returns *returns,
                        const struct cv_rounds_plan *plan, const double *units,
                        double *room);

/* Improve the sizes of a plan for its orders by a linear program, all sends before all returns
 * on a single port. Plans of more than CV_ROUNDS_LP_MOST chunks are left unchanged. */
enum { CV_ROUNDS_LP_MOST = 160 };
enum cleave_status cv_rounds_lp(const struct cv_rounds *rounds,
                                struct cv_rounds_plan *plan, struct cv_arena *arena,
                                struct cleave_error *err);

/* Improve a plan by every order of up to CV_EVERY_CHUNKS chunks, if there are few workers, until
 * the budget is spent: the least time for *load or, with `lasts`, the most units in the time of
 * the plan; *load is set. */
enum { CV_EVERY_WORKERS = 4, CV_EVERY_CHUNKS = 6 };
enum cleave_status cv_rounds_every_order(const struct cv_rounds *rounds, bool lasts,
                                         struct cv_arena *arena,
                                         struct cv_rounds_plan *plan, double *load,
                                         struct cleave_error *err);

/* The multipliers of such a program, if it is small: the worth of a second of the port, in
 * units, during the send and the return of each chunk. The plan gets the sizes of the
 * program. */
enum cleave_status cv_rounds_lp_prices(const struct cv_rounds *rounds,
                                       struct cv_rounds_plan *plan, double *send,
                                       double *back, bool *out_known,
                                       struct cv_arena *arena, struct cleave_error *err);

enum cv_rounds_effort { CV_ROUNDS_FAST, CV_ROUNDS_THOROUGH };

/* The best plan found. Never worse than the best of fifo and lifo; thorough never worse than
 * best-orders either, up to the number of workers for which that searches. */
enum cleave_status cv_rounds_best(const struct cv_rounds *rounds,
                                  enum cv_rounds_effort effort, uint64_t seed,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err);
/* The plan with the most work in a lifespan; *out_load is its load. */
enum cleave_status cv_rounds_for_lifespan(const struct cv_returns *returns,
                                          const double *memory, double lifespan_s,
                                          enum cv_rounds_effort effort, uint64_t seed,
                                          struct cv_arena *arena,
                                          struct cv_rounds_plan *out, double *out_load,
                                          struct cleave_error *err);

/* Number of parts in which a chunk is sent. */
static inline double cv_parts_of(double units, double memory)
{
    return units <= memory ? 1 : ceil(units / memory * (1 - 1e-12));
}

/* Set the makespan of a plan from its sizes and orders. False when memory is short. */
bool cv_rounds_measure(const struct cv_rounds *rounds, struct cv_rounds_plan *plan,
                       struct cv_arena *arena);

/* Workers as fast as a full duplex port allows. */
struct cv_full_port {
    uint32_t n; /* 0: the port keeps all workers busy, or is single */
    struct cv_trip *trips;
    uint32_t *worker; /* worker of each trip */
};

/* False when memory is short. */
bool cv_full_port(const struct cv_returns *returns, struct cv_arena *arena,
                  struct cv_full_port *out);

/* Most kinds of workers for which it is computed. */
enum { CV_ROUNDS_BOUND_MOST = 100 };

/* A lower bound on the makespan for any number of chunks, usually one percent below the best
 * plan known. 0: too many kinds of workers; negative: memory is short. About 30 ms for 10
 * workers. */
double cv_rounds_bound(const struct cv_rounds *rounds, struct cv_arena *scratch);

/* An upper bound on the units by a lifespan; INFINITY: there is no bound; negative: memory is
 * short. */
double cv_rounds_bound_work(const struct cv_returns *returns, double lifespan_s,
                            struct cv_arena *scratch);

#endif
