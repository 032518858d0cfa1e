/* as4dr.h -- adaptive rounds for streams: the state that as4dr.c and as4dr_plan.c share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_AS4DR_H
#define CV_AS4DR_H
#include "model/load/plan.h"
#include "model/stream/stream_costs.h"
#include "policy/common/fit.h"
#include "policy/common/setup.h"

/* Values of parameters, in the order of their words. */
enum { CV_RULE_EQ1, CV_RULE_DEADBEAT, CV_RULE_PLL, CV_RULE_PERIODIC };
enum { CV_POST_EVENT, CV_POST_SPACED };
enum { CV_SERVE_FIFO, CV_SERVE_RR, CV_SERVE_EDF };
enum { CV_END_TAPER, CV_END_SPREAD, CV_END_NONE };
enum { CV_START_CLOSE, CV_START_SPREAD, CV_START_ZERO };

#define CV_NO_CHUNK UINT64_MAX

/* Requests of a worker: about a round, about its last chunk. */
enum { CV_REQUEST_ROUND, CV_REQUEST_LAST, CV_REQUESTS };

/* Parts on their way to a worker: two rounds, and its last chunk. */
enum { CV_PARTS_AWAY = 8 };

/* Fixed before the first post, per worker. */
struct cv_as4dr_place {
    double theta;      /* part of a round that is sent first                 */
    double first_load; /* load of the first round */
    double start_s;    /* when that is posted                                */
    double latency_s;  /* declared latency of a computation */
    double speed_ups;  /* as declared                                        */
    bool member;       /* gets any load                                      */
};

/* State of a worker. */
struct cv_as4dr_worker {
    double load;          /* load of the newest round */
    double first, second; /* the two parts of the load */
    double posted_s;      /* when it was posted */
    double result_s;      /* when part one returned last */
    double target_s;      /* when it should be posted, by its phase */
    double speed_ups;     /* as measured last                                   */
    /* latency of a computation: declared, or in a real run measured */
    double latency_s;
    struct cv_fit fit;   /* for that */
    double sigma_s;      /* the length of a round, as measured last            */
    double done_s;       /* end of the last computation; negative: none        */
    double cpu_from_s;   /* begin of the current computation */
    double due_units;    /* posted, not yet computed                           */
    uint32_t due_parts;  /* parts posted, not yet computed */
    uint32_t held_parts; /* held parts that have arrived */
    double request[CV_PARTS_AWAY]; /* units of parts that have not arrived */
    uint32_t ordered, arrived; /* parts                                              */
    uint32_t rounds;
    uint64_t first_chunk;             /* part one of the newest round */
    uint64_t ready_chunk;             /* a part two that returns with the next part one */
    uint64_t last_chunk;              /* the last chunk of the worker */
    uint64_t pair_chunk;              /* the part two that returns with part one */
    uint64_t back_chunk[CV_REQUESTS]; /* first message of a request */
    double asked_s[CV_REQUESTS];      /* when it was made */
    double sent_s;                    /* when the newest part arrived */
    double deadline_s;                /* deadline of the newest request */
    bool waits_post, waits_back;      /* for its turn                               */
    bool held_back;                   /* until its period ends */
    bool closed;                      /* gets no further round                      */
};

/* Observers of a simulation; functions may be NULL. */
struct cv_as4dr_watch {
    void *context;
    void (*event)(void *context, const struct cleave_event *event);
    /* A round was posted. */
    void (*posted)(void *context, uint32_t worker, double time_s, double units);
    /* Part one of a round was measured: the round takes sigma_s. */
    void (*measured)(void *context, uint32_t worker, double time_s, double sigma_s);
    /* A request for a port was served `wait_s` after it was made. */
    void (*waited)(void *context, uint32_t worker, bool back, double wait_s);
    /* The rest was spread: the common end and the share of every worker. */
    void (*spread)(void *context, double end_s, const double *share);
};

struct cv_as4dr_rank {
    double key;
    uint32_t worker;
};

/* A part that waits for the send port. */
struct cv_as4dr_urgent {
    double deadline_s, units;
    uint64_t number; /* number of the request */
    uint32_t worker;
    bool first; /* part of its round */
};

/* Measured speeds of a worker on a grid of time, the newest CV_HISTORY_CELLS cells. */
enum { CV_HISTORY_CELLS = 256 };

struct cv_as4dr_history {
    float speed[CV_HISTORY_CELLS]; /* by cell number modulo the size; 0: unknown */
    double cell_s;
    int64_t newest;    /* number of the newest cell; -1: none */
    int64_t looked_at; /* newest cell at the last search for a period */
    double period_s;   /* 0: none found */
};

struct cv_as4dr_history *cv_as4dr_history_new(struct cv_arena *arena, uint32_t workers,
                                              double cell_s);
/* The worker computed at `speed_ups` from begin_s to end_s. */
void cv_as4dr_history_add(struct cv_as4dr_history *history, double begin_s, double end_s,
                          double speed_ups);
/* Units from begin_s to end_s with the speeds of a period before; `speed_ups` if they are
 * not known. */
double cv_as4dr_history_work(const struct cv_as4dr_history *history, double begin_s,
                             double end_s, double speed_ups);

struct cv_as4dr {
    /* Parameters. */
    double period_s, wanted_theta, gain, wanted_floor_s, margin, first;
    uint32_t trim;
    const char *rule_word, *post_word, *service_word, *end_word, *start_word;
    /* The plan. */
    int rule, post, service, end, start;
    bool automatic;        /* tau follows measurements */
    bool real;             /* latencies are measured */
    double tau_s;          /* the length of rounds, at first if automatic      */
    double least_tau_s;    /* least automatic tau */
    double floor_s;        /* shortest round of a tapered end                  */
    double least_s;        /* least declared work of a round */
    double mean_latency_s; /* mean latency of computations */
    double phase_s;        /* from a first post to the second */
    bool finite;           /* the end is known from the beginning              */
    uint32_t nmembers;
    const struct cv_as4dr_place *places;
    const uint32_t *members;            /* in the order of service             */
    const struct cv_as4dr_watch *watch; /* borrowed, or NULL */
    /* The run. */
    struct cv_as4dr_worker *workers;
    struct cv_as4dr_history *history;       /* rule periodic                         */
    double speed_sum;                       /* sum of the speeds measured last */
    double reserved;                        /* posted, not yet ordered               */
    uint64_t ordered;                       /* chunks                                */
    bool known_end;                         /* units_left is finite and final */
    bool lifted;                            /* turns no longer count */
    bool spread_out;                        /* the rest has been spread              */
    double idle_s, idle_base;               /* idle time and (seconds x tau), fading */
    uint32_t post_turn, back_turn;          /* index into members                    */
    struct cv_as4dr_rank *ranks;            /* one per worker */
    double *room[4];                        /* per worker, for spreading */
    struct cv_water_fill_workspace *basins; /* per worker */
    struct cv_as4dr_urgent *urgent;         /* heap                                  */
    uint32_t nurgent;
    uint64_t requests;
    uint64_t sending, fetching; /* last chunk of a port that serves one at a time */
};

enum cleave_status cv_as4dr_plan(void *state, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err);

/* A plan given exactly: one number per worker each. */
struct cv_as4dr_given {
    double tau_s, floor_s;
    const double *theta, *first_load, *start_s;
};
enum cleave_status cv_as4dr_give(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 const struct cv_as4dr_given *given,
                                 struct cv_arena *arena, struct cleave_error *err);

/* The wanted length of the next round of a worker. */
double cv_as4dr_tau(const struct cv_as4dr *as4dr, uint32_t worker, double now_s);
void cv_as4dr_measure(struct cv_as4dr *as4dr, const struct cleave_event *event,
                      bool first);
/* The load of the next round if the end is far. */
double cv_as4dr_next(struct cv_as4dr *as4dr, uint32_t worker, double now_s);
/* When the worker will have computed everything posted. */
double cv_as4dr_free_at(const struct cv_as4dr *as4dr, uint32_t worker, double now_s);

#endif
