/* elastic.h -- learn where chunks may stay open. SPDX-License-Identifier: MIT
 *
 * What decides in one turn, the orders it gives with the books kept, and the parts of the
 * policy: what kind of command it is, ranges of one that works as it reads, sizes for one
 * that reads all first. */
#ifndef CV_ELASTIC_H
#define CV_ELASTIC_H
#include "policy/pull/elastic_costs.h"

struct cv_decision {
    struct cv_elastic *elastic;
    const struct cleave_view *view;
    struct cleave_orders *orders;
    double now_s;
};

enum cleave_status cv_elastic_begin(struct cv_elastic *elastic,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err);
void cv_elastic_decide(struct cv_elastic *elastic, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders);

/* --- orders ------------------------------------------------------------------------------- */

/* Start the command of an idle worker, on nothing. */
void cv_decision_prestart(const struct cv_decision *turn, uint32_t worker);
/* The first units of a free worker's chunk, which is closed at once or stays open. */
void cv_decision_give(const struct cv_decision *turn, uint32_t worker, double units,
                      bool close);
void cv_decision_extend(const struct cv_decision *turn, uint32_t worker, double units);
void cv_decision_close(const struct cv_decision *turn, uint32_t worker);
void cv_decision_recall(const struct cv_decision *turn, uint32_t worker, double units);
void cv_decision_query(const struct cv_decision *turn, uint32_t worker);
/* To be woken; of several times the first counts. */
void cv_decision_wake(const struct cv_decision *turn, double time_s);
/* So many units read: the pace, if it is long enough since the last time. */
void cv_decision_sample(const struct cv_decision *turn, uint32_t worker, double read);
/* Look at all who read and were not looked at lately. False: nobody had to be. */
bool cv_decision_query_all(const struct cv_decision *turn);

/* --- what the command is: elastic_kind.c --------------------------------------------------- */

/* Nobody has read yet: somebody is to begin, and the others start meanwhile. */
void cv_read_model_begin(const struct cv_decision *turn);
void cv_read_model_warm(const struct cv_decision *turn);
/* The first one has read so far. */
void cv_read_model_seen(const struct cv_decision *turn, uint32_t worker);
/* A chunk is done, which read for read_s and went on for after_s. */
void cv_read_model_done(const struct cv_decision *turn, uint32_t worker, double units,
                        double read_s, double after_s);
/* A chunk is over that failed, was tried again as a whole, or did not read to its end. */
void cv_read_model_unread(const struct cv_decision *turn, uint32_t worker);
/* It was thought to work as it reads: is it certain that it does not? */
bool cv_read_model_doubt(const struct cv_decision *turn);
/* The test is under way: those that wait need not wait for ever. */
void cv_read_model_meanwhile(const struct cv_decision *turn);

/* So much of a chunk that is done was read: is that more than was known of the command, and learnt now? */
bool cv_reading_tells(const struct cv_decision *turn, double units, double read_s,
                      double after_s);

/* --- closed, and late: elastic_overdue.c --------------------------------------------------- */

/* Ask those for what they have not been fed. False: nobody had to be. */
bool cv_overdue_ask(const struct cv_decision *turn);

/* --- it works as it reads: elastic_stream.c ------------------------------------------------ */

/* Some of those that wait are kept for what the first ones turn out to be too slow for. */
void cv_staged_start_keep(const struct cv_decision *turn);
/* The last of those that are given something first: all that is left is its own. */
bool cv_staged_start_is_last(const struct cv_decision *turn, uint32_t worker);
/* Some more of those are to be given something. */
void cv_staged_start_release(const struct cv_decision *turn);
/* Nobody is given the part of another one any more. */
void cv_staged_start_unpair(struct cv_elastic *elastic);
/* Of `units` for a free worker: what it should have, since it may be slow. */
double cv_staged_start_hedged(const struct cv_decision *turn, uint32_t worker,
                              double units, double rest_s, double gain_s);

/* The first ranges of those that wait, so that all would end together. */
void cv_stream_first(const struct cv_decision *turn);
/* More for one that has read all it was given, or its end. */
void cv_stream_further(const struct cv_decision *turn, uint32_t worker);
void cv_stream_serve(const struct cv_decision *turn);

/* Nothing is left: of those that are free, from that one on, some take tails of others, or start for that. */
void cv_steal_serve(const struct cv_decision *turn, uint32_t first);

/* --- it reads all first: elastic_read_all.c ---------------------------------------------------- */

/* Some are tried first, and the others wait for them. */
bool cv_sample_waits(const struct cv_decision *turn);
void cv_slurp_serve(const struct cv_decision *turn);

#endif
