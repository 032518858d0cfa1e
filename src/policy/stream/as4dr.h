/* as4dr.h -- adaptive rounds for streams: what the files of the policy share.
 * SPDX-License-Identifier: MIT
 *
 * as4dr.c follows the rounds; as4dr_plan.c and as4dr_plan.c choose what is fixed before
 * the first post, as4dr_plan.c the loads, with as4dr_plan.c that foresees periodic
 * speeds; as4dr.c says who is served next and as4dr.c what happens when the
 * end of the load is known. */
#ifndef CV_AS4DR_H
#define CV_AS4DR_H
#include "model/load/plan.h"
#include "policy/common/fit.h"
#include "policy/common/setup.h"

enum cv_as4dr_rule { CV_RULE_EQ1, CV_RULE_DEADBEAT, CV_RULE_PLL, CV_RULE_PERIODIC };
enum cv_as4dr_post { CV_POST_EVENT, CV_POST_SPACED };
enum cv_as4dr_service { CV_SERVE_FIFO, CV_SERVE_RR, CV_SERVE_EDF };
enum cv_as4dr_end { CV_END_TAPER, CV_END_SPREAD, CV_END_NONE };
enum cv_as4dr_start { CV_START_CLOSE, CV_START_SPREAD, CV_START_ZERO };

/* No chunk, no time yet. */
#define CV_NO_CHUNK UINT64_MAX

/* A round that is not given is at least so many times as long as a latency of computing,
 * of which there are two. */
#define CV_LATENCIES_PER_ROUND 10.0

/* Requests a worker may have under way: about a round, about what it got last. */
enum { CV_REQUEST_ROUND, CV_REQUEST_LAST, CV_REQUESTS };

/* Parts that may be on their way to a worker: two rounds, and its share of the rest. */
enum { CV_PARTS_AWAY = 8 };

/* Fixed before the first post, per worker. */
struct cv_as4dr_place {
    double theta;      /* part of a round that is sent first                 */
    double first_load; /* of the first round                                 */
    double start_s;    /* when that is posted                                */
    double latency_s;  /* of a computation, as declared                      */
    double speed_ups;  /* as declared                                        */
    bool member;       /* gets any load                                      */
};

/* What a run knows of a worker. */
struct cv_as4dr_worker {
    double load;          /* of the round posted last                           */
    double first, second; /* its two parts                                     */
    double posted_s;      /* when                                               */
    double result_s;      /* when the result of part one was there last */
    double target_s;      /* when it should have been posted, by its phase      */
    double speed_ups;     /* as measured last                                   */
    double latency_s;    /* of a computation: as declared, or in a real run as measured */
    struct cv_fit fit;   /* from that                                          */
    double sigma_s;      /* the length of a round, as measured last            */
    double done_s;       /* end of the last computation; negative: none        */
    double cpu_from_s;   /* since when the current one is under way            */
    double due_units;    /* posted, not yet computed                           */
    uint32_t due_parts;  /* the same in parts                                  */
    uint32_t held_parts; /* those that have arrived                            */
    double request
        [CV_PARTS_AWAY];       /* units of parts that have not, by their number         */
    uint32_t ordered, arrived; /* parts                                              */
    uint32_t rounds;
    uint64_t first_chunk;             /* part one of the round posted last              */
    uint64_t ready_chunk;             /* a part two whose result waits for the next     */
    uint64_t last_chunk;              /* what the worker got when the rest was spread   */
    uint64_t pair_chunk;              /* the part two asked for together with part one  */
    uint64_t back_chunk[CV_REQUESTS]; /* first message of a request ...        */
    double asked_s[CV_REQUESTS];      /* ... and when that was made            */
    double sent_s;                    /* when the part sent last was there     */
    double deadline_s;                /* of that which asked last              */
    bool waits_post, waits_back;      /* for its turn                               */
    bool held_back;                   /* until its period is over */
    bool closed;                      /* gets no further round                      */
};

/* Whoever simulates may listen to what the policy measures; calls may be NULL. */
struct cv_as4dr_watch {
    void *context;
    void (*event)(void *context, const struct cleave_event *event);
    /* A round was posted. */
    void (*posted)(void *context, uint32_t worker, double time_s, double units);
    /* It is known how long part one of a round took: the round takes sigma_s. */
    void (*measured)(void *context, uint32_t worker, double time_s, double sigma_s);
    /* A request for a port was served `wait_s` after it was made. */
    void (*waited)(void *context, uint32_t worker, bool back, double wait_s);
    /* What was left was spread: the common end and the share of every worker. */
    void (*spread)(void *context, double end_s, const double *share);
};

struct cv_as4dr_rank {
    double key;
    uint32_t worker;
};

/* A part that waits for the send port, the most urgent one first. */
struct cv_as4dr_urgent {
    double deadline_s, units;
    uint64_t number; /* of the request */
    uint32_t worker;
    bool first; /* part of its round */
};

struct cv_as4dr_history; /* as4dr_plan.h */

struct cv_as4dr {
    /* Parameters. */
    double period_s, wanted_theta, gain, wanted_floor_s, margin, first;
    uint32_t trim;
    const char *rule_word, *post_word, *service_word, *end_word, *start_word;
    /* The plan. */
    enum cv_as4dr_rule rule;
    enum cv_as4dr_post post;
    enum cv_as4dr_service service;
    enum cv_as4dr_end end;
    enum cv_as4dr_start start;
    bool automatic;        /* tau follows what is measured                     */
    bool real;             /* latencies are measured, too                      */
    double tau_s;          /* the length of rounds, at first if automatic      */
    double least_tau_s;    /* of an automatic one                              */
    double floor_s;        /* shortest round of a tapered end                  */
    double least_s;        /* declared work of a round, at least; 0: any       */
    double mean_latency_s; /* of computations                                  */
    double phase_s;        /* from a first post to the one after it            */
    bool finite;           /* the end is known from the beginning              */
    uint32_t nmembers;
    const struct cv_as4dr_place *places;
    const uint32_t *members;            /* in the order of service             */
    const struct cv_as4dr_watch *watch; /* borrowed; NULL: nobody listens      */
    /* The run. */
    struct cv_as4dr_worker *workers;
    struct cv_as4dr_history *history;       /* rule periodic                         */
    double speed_sum;                       /* of the speeds measured last           */
    double reserved;                        /* posted, not yet ordered               */
    uint64_t ordered;                       /* chunks                                */
    bool known_end;                         /* units_left is all there is            */
    bool lifted;                            /* turns no longer count                 */
    bool spread_out;                        /* the rest has been spread              */
    double idle_s, idle_base;               /* idle time and (seconds x tau), fading */
    uint32_t post_turn, back_turn;          /* index into members                    */
    struct cv_as4dr_rank *ranks;            /* room for one per worker               */
    double *room[4];                        /* the same, for spreading               */
    struct cv_water_fill_workspace *basins; /* the same                              */
    struct cv_as4dr_urgent *urgent;         /* heap                                  */
    uint32_t nurgent;
    uint64_t requests;
    uint64_t sending,
        fetching; /* last chunk handed to a port that is served one by one */
};

/* --- as4dr_plan.c ------------------------------------------------------------------- */

/* Everything fixed before the first post, from declared costs. */
enum cleave_status cv_as4dr_plan(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err);

/* The same, given exactly: one number per worker each. */
struct cv_as4dr_given {
    double tau_s, floor_s;
    const double *theta, *first_load, *start_s;
};
enum cleave_status cv_as4dr_give(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 const struct cv_as4dr_given *given,
                                 struct cv_arena *arena, struct cleave_error *err);

/* --- as4dr_plan.c ----------------------------------------------------------------- */

/* The length of rounds: tau, the least automatic one, the shortest of a tapered end.
 * `workers` are those of the view, without the latency of results if there are none. */
void cv_as4dr_choose_tau(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         const struct cleave_worker *workers);

/* --- as4dr_plan.c ------------------------------------------------------------------- */

/* How long the next round of a worker should take. */
double cv_as4dr_tau(const struct cv_as4dr *as4dr, uint32_t worker, double now_s);
/* A part of a round was computed. */
void cv_as4dr_measure(struct cv_as4dr *as4dr, const struct cleave_event *event,
                      bool first);
/* The load of the next round if the end is far. */
double cv_as4dr_next(struct cv_as4dr *as4dr, uint32_t worker, double now_s);
/* When the worker will have computed all that was posted to it. */
double cv_as4dr_free_at(const struct cv_as4dr *as4dr, uint32_t worker, double now_s);

/* --- as4dr.c ---------------------------------------------------------------- */

/* --- as4dr.c -------------------------------------------------------------------- */

#endif
