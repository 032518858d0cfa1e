/* world.h -- a simulated world and its activities. SPDX-License-Identifier: MIT
 *
 * One actor, the server, receives orders and reports events. Everything that takes time is
 * an activity, carried out by another actor (a doer; doers are reused). Ended activities
 * are kept until they are asked for, in the order of the rule for simultaneous events. */
#ifndef CV_WORLD_H
#define CV_WORLD_H
#include <simgrid/forward.h>
#include <stdbool.h>
#include <stddef.h>
#include "engine/simgrid_wire.h"
#include "model/platform/noise.h"

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
struct led_world;

/* An activity ends, continues with its changed members, or is forgotten. */
enum activity_turn { CV_TURN_END, CV_TURN_ON, CV_TURN_GONE };

/* A delay, then a transfer, then a computation; each may be missing. */
struct activity {
    uint64_t key; /* the lowest of simultaneous ends comes first */
    double delay_s;
    sg_host_t from, to; /* a transfer; from is NULL if there is none */
    double bytes;       /* on a star units of load, or seconds, until it begins */
    struct link *link;  /* on a star */
    double flops;       /* at `to` */
    double usual_s;     /* duration without contention, 0: unknown */
    double wanted_s;    /* above 0: it ends at exactly this time */
    double start_s, end_s;
    sg_exec_t exec; /* while it computes */
    bool changed;   /* the flops were changed during the computation */
    bool over;
    /* Optional: whether it has ended, called by its doer. */
    enum activity_turn (*then)(struct world *world, struct activity *activity);
    /* After its end: begin the next activity and fill the event, except its times. */
    void (*ended)(struct world *world, struct activity *activity,
                  struct cleave_event *out);
    void *about;
    uint32_t worker;       /* that cv_world_wake wakes */
    struct activity *next; /* among the free ones */
};

struct doer;

/* A link of a star, which carries one message at a time. SimGrid counts whole bytes, up to
 * 64 bits, so the bytes of a unit depend on the message. */
struct link {
    sg_link_t link;
    double rate_ups, factor; /* factor: on bandwidth now, by the profile */
    double unit_bytes;
};

/* A load or a reduction. */
struct world_task {
    void (*open)(struct world *world);
    void (*begin)(struct world *world, const struct cv_wire_message *run);
    void (*submit)(struct world *world, const struct cv_wire_message *message);
    double (*left)(const struct world *world); /* NULL for a reduction */
    /* A worker hangs; NULL for a reduction. */
    void (*hang)(struct world *world, uint32_t worker, double time_s);
    /* After an event: true if it is held back. NULL: none is. */
    bool (*holds)(struct world *world, struct cleave_event *event);
};

extern const struct world_task cv_load_task, cv_reduce_task;

struct world {
    int socket;
    struct cv_wire_open told;
    char *blob;                          /* owned: the next eight point into it */
    const struct cleave_worker *workers; /* hosts: first the platform, then `led` */
    struct led_world *led; /* owned: leaders and those that they lead, or NULL */
    const struct cleave_worker *groups; /* groups of a tree of leaders */
    /* leaders of groups, then the counts of groups, then the groups of workers */
    const uint32_t *leaders;
    const uint32_t *nsteps;
    const struct cleave_step *steps;
    const char *topology, *master_name;
    const char **names; /* owned */

    /* The first run of the next world, in memory that all worlds share. */
    struct pending {
        bool any;
        struct cv_wire_message run;
    } * pending;
    const struct world_task *task;
    void *state; /* owned: state of the task */
    sg_host_t master, *hosts;
    uint32_t nhosts;
    struct link *down, *up; /* owned, star only: links to and from each host */
    bool latency_on_links;
    /* owned, star only, by host: state by its profile; present stalls */
    uint32_t *paces, *still;
    struct change *changes; /* owned: by time; NULL: not yet, or none */
    double origin_s;        /* clock at the beginning of the run */
    double usual_s;         /* longest duration of an activity so far */
    double told_s;          /* time of the last event reported */
    uint32_t run;           /* counts runs */

    struct activity **waiting; /* owned: ended, the next one last */
    size_t nwaiting, waiting_room;
    size_t under_way;
    struct activity *free_activities;
    struct doer *free_doers;
    sg_sem_t server;
    bool called; /* the server was woken for an end */
};

/* Zeroed memory; if there is none, the process fails. */
void *cv_world_take(struct world *world, size_t count, size_t size);
/* Send an error to cleave, and exit. */
void cv_world_fail(struct world *world, enum cleave_status status, const char *format,
                   ...) __attribute__((format(printf, 3, 4), noreturn));
void cv_world_read(struct world *world, void *to, size_t bytes);
void cv_world_answer(struct world *world, const void *from, size_t bytes);

/* Seconds since the run began. */
double cv_world_now(const struct world *world);
bool cv_world_is_star(const struct world *world);
/* A fresh activity, to be filled in and begun. */
struct activity *cv_world_activity(struct world *world);
/* SimGrid is not involved if it takes no time. */
void cv_world_begin(struct world *world, struct activity *activity);
/* Carry out an order to wake a worker. */
void cv_world_wake(struct world *world, uint64_t key, const struct cleave_order *order);
/* The flops of a running computation were changed. */
void cv_world_change(struct activity *activity);
/* Wait until an activity without delay and transfer computes. */
void cv_world_await(const struct activity *activity);
/* Do not report an activity that has ended. */
void cv_world_drop(struct world *world, struct activity *activity);
/* Wait for the next end; false: nothing is running. */
bool cv_world_next(struct world *world, struct activity *out);

/* Flops per unit of load, or per second: large, as SimGrid's tolerances are absolute. */
#define CV_STAR_UNIT 1e9

/* Load the star of a platform, or a platform file of SimGrid. */
void cv_star_load(struct world *world);
void cv_topology_load(struct world *world);
/* Latencies belong to links, or else to activities. */
void cv_star_latency(struct world *world, bool on_links);
/* Begin the changes of speeds and bandwidths of a run. */
void cv_weather_begin(struct world *world);
/* A host stalls from time to time. */
void cv_standstill_go(struct world *world, const struct cv_standstill *still,
                      uint32_t worker);

#endif
