/* elastic.h -- learn where chunks may stay open. SPDX-License-Identifier: MIT
 *
 * What decides in one turn, the orders it gives with the books kept, and the parts of the
 * policy: what kind of command it is, ranges of one that works as it reads, sizes for one
 * that reads all first. */
#ifndef CV_ELASTIC_H
#define CV_ELASTIC_H
#include "policy/common/setup.h"
#include "policy/pull/pull.h"

enum { CV_NOBODY = UINT32_MAX };

enum cv_worker_phase {
    CV_PHASE_IDLE,
    CV_PHASE_PRESTARTED, /* its command starts, or has started, on nothing               */
    CV_PHASE_OPEN,   /* it reads, or will, and may be given more                     */
    CV_PHASE_CLOSED, /* it has been given all that it gets                           */
};

/* What the command is. */
enum cv_command_kind {
    CV_COMMAND_UNKNOWN,
    CV_COMMAND_STREAMS, /* it works as it reads                                      */
    CV_COMMAND_SLURPS,  /* it works when it has read the end                         */
};

/* A chunk that is done: how long it took after it had read the end. */
struct cv_end_sample {
    double units, time_s;
};

struct cv_worker_estimate {
    enum cv_worker_phase state;
    double begun_s;     /* its command was started                                  */
    double bound_s;     /* ... and given its first unit                             */
    double started_s;   /* it has read since then; below 0: not yet                 */
    double fed_s;       /* it was last given something                              */
    double closed_s;    /* when it was closed                                       */
    double looked_s;    /* when it was last asked how far it is                     */
    double drained_s;   /* when it was last heard to have read all it was given     */
    double given, read; /* units of its chunk; those read at sampled_s              */
    double sampled_s;   /* the last look                                            */
    double from_s;      /* beginning of the sample under way; below 0: none         */
    double from;        /* units read at from_s                                     */
    double prior; /* speed that was measured once, in whatever unit; 1: none            */
    double prior_start_s; /* what a start took once; 0: not known                    */
    double start_s;       /* what its last start took; below 0: not known             */
    double pace_ups;      /* of reading; below 0: not known                           */
    double
        moving_ups; /* ... while it reads, of one that reads in gulps; below 0: not known */
    double moved_s;      /* when it was first seen to have read so far               */
    double done, took_s; /* units of the last chunk that ended, time since it read   */
    double after_s;      /* ... of that after it had read the end                    */
    struct cv_end_sample small,
        large;      /* two sizes; equal if only one is known             */
    double doubt_s; /* it may be slow, and is given less by what it does in this time */
    double due;     /* asked to be extended by so much                          */
    double until_s; /* not free before that, if it is late; 0: until it has begun  */
    uint32_t lost;  /* chunks lost, one after the other                         */
    uint32_t mate;  /* one of two is spare, the other has both parts; or CV_NOBODY */
    bool coming;    /* it is not there yet, and expected soon                    */
    bool own;       /* the pace is that of the command, not of the pipe         */
    bool drained;   /* it has read all it was given                             */
    bool sending;   /* what it is due is the first of its chunk                 */
    bool ends;      /* nothing follows its chunk that it could be given          */
    bool held;      /* open, and fed nothing until a size is found              */
    bool late;      /* has lost all it had before it began                      */
    bool sampled;   /* has, or had, a piece that shows how fast it is            */
    bool sure;      /* its speed is more than a guess                            */
    bool spare;     /* started, and kept for what the first ones cannot do       */
    bool firm;      /* what it has could not be recalled, and it was not seen since */
    bool looking;   /* asked how far it is, and not answered yet                */
    bool recalling; /* ... and to give back                                     */
};

/* What could be taken of a chunk, and how long it takes, if those that start help as they are thought to. */
struct cv_tail {
    double unfed, rest_s;
};

struct cv_elastic {
    double first, min, max, growth, parts; /* the parameters of learn             */
    double varies; /* of the view                                                       */
    struct cv_worker_estimate *hands;
    struct cv_ready *ready; /* of all, as cv_elastic_end has found it last            */
    struct cv_tail *tails;  /* of all, while somebody looks for one                    */
    uint32_t n;       /* places                                                         */
    uint32_t present; /* workers that are there                                         */
    enum cv_command_kind kind;
    bool judged; /* somebody has read: pace and start are known                    */
    bool told;   /* phi is measured, not believed                                  */
    double told_windows; /* ... on so many windows, if they are not read evenly       */
    double phi;    /* part of the work that is done while reading                    */
    double late_s; /* start that comes after the end was read                        */
    double late_most_s; /* ... which is no longer than that                        */
    double
        least_after_s; /* the shortest time after the end that a chunk took; 0: none  */
    bool lined;       /* late_s comes from two sizes                                    */
    uint32_t tester;  /* who has the chunk that tells, or CV_NOBODY                     */
    uint32_t goes_on; /* asks for more and needs no new start, or CV_NOBODY             */
    uint32_t thief;   /* for whom something is recalled, or CV_NOBODY                   */
    uint32_t waits;   /* looks and recalls that are not answered yet                    */
    uint32_t unread;  /* chunks that showed nothing of the command                      */
    double round_s;   /* the longest that an answer to that has taken                   */
    uint32_t rounds;  /* pieces that the first one was given after its first            */
    double again_s;   /* ... of which it was given the first then                       */
    uint32_t recalls; /* since a chunk was last finished                                */
    uint32_t warmed; /* so many commands may have been started before anything is known */
    double warmed_s; /* when that was last more                                        */
    double scale_ups; /* speed of one whose prior is 1                                  */
    double
        start_scale;   /* starts take so many times what they took once; 0: not known   */
    double pooled_ups; /* all that is done, by the time that it took without starts */
    double
        small_write; /* what one that is slow has at a time, if that is little; else 0  */
    double
        shown_ups; /* mean speed of those of whom more than a slight test is known, if they are alike */
    double sure_ups; /* mean speed of those whose chunks were more than a start        */
    double mean_start_s, usual_start_s, mean_ups; /* over workers: cv_elastic_pool     */
    double
        start_varies; /* by this part, if slow ones are slow to start; below 0: they are not */
    double fold_s; /* what a result more takes to be folded; 0: nothing was          */
    double wave_s; /* more of those that are spare are given something then          */
    double
        sampled_s; /* some were tried first, of a command that reads all first; 0: nobody */
    double sample_s; /* ... and should be done after that time                        */
    double spread;   /* by that much those differ in speed; 0: not known              */
    double piece;    /* units of the first piece                                       */
    double record;   /* ... which had to be so long, since records are; 0: it was not  */
    double wake_s;   /* asked to be woken then; below 0: not                           */
    double tested_s; /* when the test was over; below 0: not                           */
    double test_s;   /* what it took after it had read the end                       */
    bool sampling;   /* those that were tried are waited for */
    bool apart;      /* those whose speeds are sure are not alike */
    bool waved;  /* some were kept, or it was found not to pay                        */
    bool looked; /* the first one was asked what it has written                      */
    bool doubt;  /* it does not work as it reads, and nothing else is known           */
    bool dry;   /* simulated streams: there was nothing to give since anything was done */
    bool emits; /* output came before the end of the input                        */
};

enum { CV_HAND_LOSSES = 3 };

static inline bool cv_hand_is_out(const struct cv_worker_estimate *hand)
{
    return hand->lost >= CV_HAND_LOSSES;
}

/* It can be given the first unit of a chunk. */
static inline bool cv_hand_is_free(const struct cv_worker_estimate *hand)
{
    return !cv_hand_is_out(hand) && !hand->late && !hand->coming &&
           (hand->state == CV_PHASE_IDLE || hand->state == CV_PHASE_PRESTARTED);
}

/* Paces are taken over so many seconds at least. */
static const double CV_SAMPLE_S = 1e-3;
/* Who reads slower than this part of what a pipe carries does so at its own pace. */
static const double CV_OWN_PACE = 0.3;
/* Once measured, a speed may be off by so much. */
enum { CV_AS_MEASURED = 3 };

/* Whether what came within that time was slower than so many ways to a host and back. */
static inline bool cv_elastic_tells(const struct cv_elastic *elastic, double since_s,
                                    double rounds)
{
    return since_s > 2 * rounds * elastic->round_s;
}

/* Somebody has a chunk that is not empty. */
bool cv_elastic_busy(const struct cv_elastic *elastic);
/* What a pipe may hold at once, if a command does not turn out to be slow: of less nobody knows whether
 * it was read late, or the command had no processor. */
double cv_elastic_pipe_capacity(const struct cleave_view *view);
/* One that is slow has less than that at a time. */
static inline bool cv_elastic_writes_small(const struct cleave_view *view)
{
    return view->ahead < cv_elastic_pipe_capacity(view);
}
/* Units of a chunk that cannot be told apart from none. */
double cv_elastic_min_units(const struct cleave_view *view);
/* Units per second that a pipe carries: who reads nearly as fast may work later. */
double cv_elastic_pipe(const struct cleave_view *view, uint32_t worker);
/* The input of a worker if all had the same; of a stream what one may hold. */
double cv_elastic_share(const struct cv_elastic *elastic, const struct cleave_view *view);
/* What it takes at the mean speed. */
double cv_elastic_share_s(const struct cv_elastic *elastic,
                          const struct cleave_view *view);

/* Means over workers, for those of which nothing is known; and what a start usually takes,
 * with some of the spread. To be called when something was learnt. */
void cv_elastic_pool(struct cv_elastic *elastic);
double cv_elastic_start(const struct cv_elastic *elastic, uint32_t worker);
/* What another one may take, as starts vary: those of all, or of slow ones that are slow to start. */
double cv_elastic_usual_start(const struct cv_elastic *elastic, uint32_t worker);
/* By what was measured before, all is done in so many seconds even if it was off: who takes
 * longer to start is not needed. INFINITY: nothing was. */
double cv_elastic_foreseen(const struct cv_elastic *elastic,
                           const struct cleave_view *view);
/* Speed: as seen, 0: not yet; or that of others. */
double cv_elastic_own_speed(const struct cv_elastic *elastic, uint32_t worker);
double cv_elastic_speed(const struct cv_elastic *elastic, uint32_t worker);

/* Units read by now, as far as can be told. */
double cv_elastic_read(const struct cv_elastic *elastic, uint32_t worker, double now_s);
/* Seconds until a free worker would work; until one that is busy is free. */
double cv_elastic_ready_in(const struct cv_elastic *elastic, uint32_t worker,
                           double now_s);
double cv_elastic_rest(const struct cv_elastic *elastic, uint32_t worker, double now_s);
/* In how many seconds all could end together, if `units` are left; sets `ready`. */
double cv_elastic_end(struct cv_elastic *elastic, double units, double now_s);
/* The same if results are to come one after the other, each in time to be folded. */
double cv_elastic_end_apart(struct cv_elastic *elastic, const struct cleave_view *view,
                            double now_s);

/* A chunk is done: `after_s` of `took_s` came after it had read the end. */
void cv_elastic_learn(struct cv_elastic *elastic, uint32_t worker, double units,
                      double took_s, double after_s);

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

/* --- closed, and late: elastic.c --------------------------------------------------- */

/* --- it works as it reads: elastic_kind.c ------------------------------------------------ */

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

/* --- it reads all first: elastic_kind.c ---------------------------------------------------- */

/* Some are tried first, and the others wait for them. */
bool cv_sample_waits(const struct cv_decision *turn);
void cv_slurp_serve(const struct cv_decision *turn);

#endif
