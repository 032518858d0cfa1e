/* simgrid.h -- simulation by SimGrid, on stars and on topologies with contention.
 * SPDX-License-Identifier: MIT
 *
 * A job that points to a struct cleave_simgrid is simulated by SimGrid instead of the
 * native engine: same policy, same driver, same random numbers. SimGrid runs in a process
 * of its own, the program cleave-simgrid, which is looked for in the folder that the
 * variable CLEAVE_LIBEXEC names or, without it, beside the running program and where cleave
 * was installed. Without that program calls fail with CLEAVE_EENGINE. */
#ifndef CLEAVE_SIMGRID_H
#define CLEAVE_SIMGRID_H
#include <cleave/platform.h>

CLEAVE_BEGIN_C

/* Where a job is simulated. With a topology, worker names of the platform are names of
 * hosts there; true transfer times and speeds are those of the topology, while ports,
 * compute latencies and what policies are told remain those of the platform. */
struct cleave_simgrid {
    const char *topology; /* a platform file of SimGrid; NULL: the platform's star */
    const char *master;   /* a host; NULL: the first by name                       */
    const char *const *workers; /* hosts, for measuring and reductions; NULL: `nworkers`
                                   of the others, evenly spread by name; 0: all of them  */
    uint32_t nworkers;
    double unit_bytes;    /* what a unit of load is; 0: 1 MB                       */
    double unit_flops;    /* the same; 0: 1 Gflop                                  */
    double partial_bytes; /* what a partial is, in a reduction; 0: 1 MB            */
    /* Optional: room for lines "HOST: reason" of hosts that were not measured, since no
     * message gets to them and back; cut short if need be.                           */
    char *left_out;
    size_t left_out_size;
};

/* Is the program here? Then `path`, if not NULL, is filled with where. On failure err says
 * what to install. */
enum cleave_status cleave_simgrid_find(char *path, size_t size, struct cleave_error *err);

/* The star that a master on the topology sees: latency, bandwidth both ways and speed of
 * each worker by itself, measured in simulation. Workers have the names of their hosts. */
enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err);

/* What sending a partial between two nodes takes when nothing else goes on. */
struct cleave_pair_costs {
    uint32_t
        nodes; /* taking part                                                       */
    double mean_s, least_s,
        most_s; /* least_s is NAN when there are too many to try all */
};

/* The same for a reduction among `nodes` (0: all) hosts, evenly spread by name. */
enum cleave_status cleave_simgrid_measure_pairs(const struct cleave_simgrid *where,
                                                uint32_t nodes,
                                                struct cleave_pair_costs *out,
                                                struct cleave_error *err);

CLEAVE_END_C
#endif
