/* simgrid.h -- simulation by SimGrid, on stars and on topologies with contention.
 * SPDX-License-Identifier: MIT
 *
 * A job that points to a struct cleave_simgrid is simulated by SimGrid instead of the
 * native engine: same policy, same driver, same random numbers. SimGrid runs in a
 * separate process, the program cleave-simgrid. The library searches for it in the
 * directory named by the environment variable CLEAVE_LIBEXEC or, without the variable, in
 * the directory of the running program and in the installation directory. If the program
 * is missing, calls fail with CLEAVE_EENGINE. */
#ifndef CLEAVE_SIMGRID_H
#define CLEAVE_SIMGRID_H
#include <cleave/platform.h>

CLEAVE_BEGIN_C

/* The simulated hardware of a job. With a topology, worker names of the platform are
 * names of its hosts; the topology sets the true transfer times and speeds. The platform
 * sets ports, compute latencies and the costs that policies know. */
struct cleave_simgrid {
    const char *topology; /* a platform file of SimGrid; NULL: the platform's star */
    const char *master;   /* a host; NULL: the first by name                       */
    /* Hosts for measuring and reductions. NULL: `nworkers` hosts other than the
     * master, evenly spread by name; 0: all of them. */
    const char *const *workers;
    uint32_t nworkers;
    double unit_bytes;    /* bytes of a unit of load; 0: 1 MB */
    double unit_flops;    /* flops of a unit of load; 0: 1 Gflop */
    double partial_bytes; /* bytes of a partial in a reduction; 0: 1 MB */
    /* Optional: buffer for lines "HOST: reason" of hosts that were not measured because
     * no message reaches them and returns; truncated if necessary. */
    char *left_out;
    size_t left_out_size;
};

/* Find the program cleave-simgrid and write its path to `path`, if that is not NULL. On
 * failure err names the package to install. */
enum cleave_status cleave_simgrid_find(char *path, size_t size, struct cleave_error *err);

/* Measure the star of the master by simulation: latency, bandwidth both ways and speed of
 * each worker alone. Workers have the names of their hosts. */
enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err);

/* Time to send a partial between two nodes without other traffic. */
struct cleave_pair_costs {
    uint32_t nodes; /* number of nodes */
    double mean_s, least_s,
        most_s; /* least_s is NAN if there are too many pairs to try all */
};

/* Measure the links of a reduction among `nodes` (0: all) hosts, evenly spread by
 * name. */
enum cleave_status cleave_simgrid_measure_pairs(const struct cleave_simgrid *where,
                                                uint32_t nodes,
                                                struct cleave_pair_costs *out,
                                                struct cleave_error *err);

CLEAVE_END_C
#endif
