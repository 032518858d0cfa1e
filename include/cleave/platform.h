/* platform.h -- a master's port, its workers, their links and their costs.
 * SPDX-License-Identifier: MIT
 *
 * Sending x units to a worker takes latency_s + x / bandwidth_ups seconds, computing
 * them compute_latency_s + x / speed_ups. A platform is read-only once made and may be
 * shared by any number of runs and threads. */
#ifndef CLEAVE_PLATFORM_H
#define CLEAVE_PLATFORM_H
#include <stdint.h>
#include <cleave/error.h>

CLEAVE_BEGIN_C

enum cleave_port {
    CLEAVE_PORT_ONE,    /* the master handles one message at a time    */
    CLEAVE_PORT_DUPLEX, /* one message each way at a time              */
    CLEAVE_PORT_MULTI,  /* one message per worker and way at a time    */
};

struct cleave_worker {
    double speed_ups;            /* units per second                       */
    double compute_latency_s;    /* start-up of one computation            */
    double bandwidth_ups;        /* units per second from the master       */
    double latency_s;            /* start-up of one message from the master */
    double return_bandwidth_ups; /* the way back                           */
    double return_latency_s;
};

/* Starting at second `from_s`, speed and bandwidths are multiplied by `factor`. */
struct cleave_step {
    double from_s;
    double factor;
};

/* All steps of a worker in increasing time: the factor is 1 before the first step, and
 * the last step has no end. A factor of 0 is a pause: the worker is absent. */
struct cleave_profile {
    const struct cleave_step *steps; /* NULL: constant */
    uint32_t nsteps;
};

struct cleave_platform;

/* Most workers a platform may have in all. */
#define CLEAVE_MAX_WORKERS 10000000u

/* Read a YAML or JSON platform file. On success *out is owned by the caller
 * (cleave_platform_free); on failure *out is untouched and err names file, line,
 * column and field. */
enum cleave_status cleave_platform_load(const char *path, struct cleave_platform **out,
                                        struct cleave_error *err);

/* Read a platform file from memory; `name` replaces the file name in messages. */
enum cleave_status cleave_platform_parse(const char *name, const char *text,
                                         size_t length, struct cleave_platform **out,
                                         struct cleave_error *err);

/* Make a platform of `nworkers` workers named w0, w1, ... The array is copied and
 * checked as a file would be. */
enum cleave_status cleave_platform_new(enum cleave_port port,
                                       const struct cleave_worker *workers,
                                       uint32_t nworkers, struct cleave_platform **out,
                                       struct cleave_error *err);
void cleave_platform_free(struct cleave_platform *platform);

enum cleave_port cleave_platform_port(const struct cleave_platform *platform);
uint32_t cleave_platform_nworkers(const struct cleave_platform *platform);
/* All workers in file order: borrowed, valid until the platform is freed. */
const struct cleave_worker *
cleave_platform_workers(const struct cleave_platform *platform);
/* Name of worker `index`: borrowed, valid until the platform is freed. */
const char *cleave_platform_worker_name(const struct cleave_platform *platform,
                                        uint32_t index);
/* Steps of worker `index` in increasing time, *out_n of them: borrowed, or NULL. */
const struct cleave_step *cleave_platform_profile(const struct cleave_platform *platform,
                                                  uint32_t index, uint32_t *out_n);
/* Limit for the units of a chunk of worker `index`; INFINITY: none. */
double cleave_platform_memory(const struct cleave_platform *platform, uint32_t index);
/* Price of worker `index` per second, in any currency, from the beginning of its first
 * message to the end of its last computation or result; 0: free. */
double cleave_platform_cost(const struct cleave_platform *platform, uint32_t index);
/* The name of a port rule, as platform files spell it: borrowed, static. */
const char *cleave_port_name(enum cleave_port port);

/* One of several loads that share a platform. A unit keeps a worker busy for
 * compute[worker] / speed seconds and its link for transfer / bandwidth seconds; a chunk is
 * of one load and pays the latencies of worker and link. */
struct cleave_load {
    const char *name;
    double units;          /* above 0; for a policy 0 before it may know the load */
    double weight;         /* above 0 */
    double release_s;      /* nothing of it can be sent before */
    const double *compute; /* borrowed: per worker, above 0 */
    double transfer;       /* 0 or more */
    /* set by the library: a bound on its time if it had the platform for itself */
    double alone_s;
};

/* What a schedule of several loads is good for. */
enum cleave_goal {
    CLEAVE_GOAL_MAKESPAN, /* the end of the last load */
    CLEAVE_GOAL_WEIGHTED, /* the sum of weight times end over all loads */
    CLEAVE_GOAL_STRETCH,  /* the largest (end - release) / alone_s */
};

CLEAVE_END_C
#endif
