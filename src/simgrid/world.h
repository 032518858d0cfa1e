/* world.h -- a simulated world and what goes on in it. SPDX-License-Identifier: MIT
 *
 * One actor, the server, hears orders and reports events. Everything that takes time is an
 * activity, carried out by an actor of its own (a doer; they are used again). What ended is
 * kept, in the order of the rule for simultaneous events, until it is asked for. */
#ifndef CV_WORLD_H
#define CV_WORLD_H
#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>
#include "engine/simgrid_wire.h"

/* Sanitizers only understand threads, and a process with threads cannot be copied. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CV_WORLD_WATCHED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CV_WORLD_WATCHED 1
#endif
#ifndef CV_WORLD_WATCHED
#define CV_WORLD_WATCHED 0
#endif

struct world;

/* It has ended; it goes on with what it says now; it is forgotten. */
enum activity_turn { CV_TURN_END, CV_TURN_ON, CV_TURN_GONE };

/* A delay, then a transfer, then a computation; each may be missing. */
struct activity {
    uint64_t key; /* of simultaneous ends the lowest comes first */
    double delay_s;
    sg_host_t from, to; /* a transfer; from is NULL when there is none        */
    double bytes;       /* on a star units of load, or seconds, until it begins */
    struct link *link;  /* on a star: the one that it takes                    */
    double flops;       /* at `to`                                     */
    double usual_s;     /* how long it takes when nothing is in its way, 0: not known */
    bool at_once;       /* it takes no time at all: SimGrid need not be asked         */
    double wanted_s; /* above 0: it is to end at this very time, whatever rounding says */
    double start_s, end_s;
    sg_exec_t exec; /* while it computes                        */
    bool changed;   /* its flops were changed while it computed */
    bool over;
    /* Optional, asked by its doer when it has come so far: whether that is the end. */
    enum activity_turn (*then)(struct world *world, struct activity *activity);
    /* When it has ended: begin what follows and fill the event, but for its times. */
    void (*ended)(struct world *world, struct activity *activity,
                  struct cleave_event *out);
    void *about;
    struct activity *next; /* among the free ones */
};

struct doer;

/* A link of a star, which carries one message at a time. SimGrid counts whole bytes, up to
 * 64 bits: what a unit is in bytes suits the message. */
struct link {
    sg_link_t link;
    double rate_ups, factor; /* factor: on bandwidth now, by the profile */
    double unit_bytes;
};

/* What is asked of a world: a load or a reduction. */
struct world_task {
    void (*open)(struct world *world);
    void (*begin)(struct world *world, const struct cv_wire_message *run);
    void (*submit)(struct world *world, const struct cv_wire_message *message);
    double (*left)(const struct world *world); /* NULL: nobody asks */
};

extern const struct world_task cv_load_task, cv_reduce_task;

struct world {
    int socket;
    struct cv_wire_open told;
    char *blob; /* owned: all below point into it */
    const struct cleave_worker *workers;
    const uint32_t *nsteps;
    const struct cleave_step *steps;
    const char *topology, *master_name;
    const char **names; /* owned */

    /* What the next world is to begin with: seen by all of them. */
    struct pending {
        bool any;
        struct cv_wire_message run;
    } * pending;
    const struct world_task *task;
    void *state; /* owned, of the task */
    sg_host_t master, *hosts;
    struct link *down, *up; /* owned, of a star: to and from each host */
    bool latency_on_links;
    struct weather *weather; /* owned; NULL: not yet, or none */
    double origin_s;         /* clock at the beginning of the run       */
    double usual_s;          /* the longest that an activity takes so far */
    double told_s;           /* of the event that was told last */
    uint32_t run;            /* counts runs */

    struct activity **waiting; /* owned: ended, the next one last */
    size_t nwaiting, waiting_room;
    size_t under_way;
    struct activity *free_activities;
    struct doer *free_doers;
    sg_sem_t server;
    bool called; /* the server has been told that something ended */
};

/* --- world.c ------------------------------------------------------------------------- */

/* Memory, or the end. */
void *cv_world_take(struct world *world, size_t count, size_t size);
/* Tell the other side what is wrong, and end. */
void cv_world_fail(struct world *world, enum cleave_status status, const char *format,
                   ...) __attribute__((format(printf, 3, 4), noreturn));
void cv_world_read(struct world *world, void *to, size_t bytes);
void cv_world_answer(struct world *world, const void *from, size_t bytes);

/* Seconds since the run began. */
double cv_world_now(const struct world *world);
bool cv_world_is_star(const struct world *world);
/* A fresh activity, to be filled in and begun. */
struct activity *cv_world_activity(struct world *world);
void cv_world_begin(struct world *world, struct activity *activity);
/* What computes has had its flops changed: it goes on with these, or has ended. */
void cv_world_change(struct activity *activity);
/* What begins with a computation has begun with it. */
void cv_world_await(const struct activity *activity);
/* What has ended and was not told is not to be told. */
void cv_world_drop(struct world *world, struct activity *activity);
/* The next that ended, after whatever time; false when nothing is under way. */
bool cv_world_next(struct world *world, struct activity *out);

/* --- world.c: the platform that is generated ------------------------------------------ */

/* A unit of load, or a second, is so many flops: SimGrid's tolerances, which are absolute,
 * do not matter then. */
#define CV_STAR_UNIT 1e9

void cv_star_load(struct world *world);
/* Latencies are charged by links, or else by whoever sends. */
void cv_star_latency(struct world *world, bool on_links);

/* --- world.c: a link of it -------------------------------------------------------- */

/* --- world.c: speeds that change ---------------------------------------------------- */

/* Back to how it is at the beginning, and onwards from now. */
void cv_weather_begin(struct world *world);

/* --- world.c: a platform file of SimGrid -------------------------------------------- */

void cv_topology_load(struct world *world);

/* --- measure.c ------------------------------------------------------------------------ */

void cv_measure_star(struct world *world);
void cv_measure_pairs(struct world *world);

/* --- simgrid_main.c ------------------------------------------------------------------------- */

/* How the process of a world ends whose run is over; the one that was to begin is pending. */
enum { CV_WORLD_USED = 77 };

/* The server's actor: hears orders until nobody is there any more. */
void cv_serve(struct world *world) __attribute__((noreturn));

#endif
