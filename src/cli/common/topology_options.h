/* topology_options.h -- which engine simulates, and on what topology.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TOPOLOGY_OPTIONS_H
#define CV_TOPOLOGY_OPTIONS_H
#include <cleave/simgrid.h>
#include "base/text.h"
#include "cli/common/options.h"

struct cv_topology_options {
    const char *file, *master, *workers, *port;
    double unit_bytes, unit_flops, partial_bytes; /* 0: not given */
    uint64_t count;                               /* of workers; 0: not given */
};

/* Rows of an option table; WHERE(name) is the offset of a field of the struct above. */
/* clang-format off */
#define CV_TOPOLOGY_OPTION(WHERE)                                                     \
    { .name = "--topology", .kind = CV_OPTION_TEXT, .argument = "FILE",               \
      .offset = WHERE(file),                                                          \
      .help = "A platform file of SimGrid: messages go over its links, which they "   \
              "share, and computations run at the speed of its hosts. Simulated by "  \
              "SimGrid." }
#define CV_TOPOLOGY_HOSTS(WHERE)                                                      \
    { .name = "--worker-hosts", .kind = CV_OPTION_TEXT, .argument = "A,B,C",          \
      .offset = WHERE(workers),                                                       \
      .help = "Hosts of the topology that take part, by name. Default: all of them, " \
              "or as many as are asked for, evenly spread in the order of names." }
#define CV_TOPOLOGY_WORKERS(WHERE)                                                    \
    { .name = "--workers", .kind = CV_OPTION_COUNT, .argument = "N",                  \
      .offset = WHERE(count), .min = 1, .max = 1e7,                                \
      .help = "On a topology: so many of its hosts take part, evenly spread in the "  \
              "order of names. Default: all of them." }
#define CV_TOPOLOGY_MASTER(WHERE)                                                     \
    { .name = "--master", .kind = CV_OPTION_TEXT, .argument = "HOST",                 \
      .offset = WHERE(master),                                                        \
      .help = "The host of the topology that holds the load. Default: the first by "  \
              "name." }
#define CV_TOPOLOGY_UNITS(WHERE)                                                      \
    { .name = "--unit-bytes", .kind = CV_OPTION_UNITS, .argument = "SIZE",            \
      .offset = WHERE(unit_bytes),                                                    \
      .help = "On a topology: bytes in a unit of load. Default 1 MB." },              \
    { .name = "--unit-flops", .kind = CV_OPTION_UNITS, .argument = "N",               \
      .offset = WHERE(unit_flops),                                                    \
      .help = "On a topology: floating-point operations that a unit of load takes. "  \
              "Default 1e9." }
#define CV_TOPOLOGY_PORT(WHERE)                                                       \
    { .name = "--port", .kind = CV_OPTION_TEXT, .argument = "one|duplex|multi",       \
      .offset = WHERE(port),                                                          \
      .help = "On a topology, without --platform: how many messages the master "      \
              "handles at a time. Default one." }
/* Of verbs that simulate. */
#define CV_TOPOLOGY_ROWS(WHERE)                                                       \
    CV_TOPOLOGY_OPTION(WHERE), CV_TOPOLOGY_MASTER(WHERE), CV_TOPOLOGY_WORKERS(WHERE), \
    CV_TOPOLOGY_HOSTS(WHERE), CV_TOPOLOGY_PORT(WHERE), CV_TOPOLOGY_UNITS(WHERE)
/* clang-format on */

/* The name of the engine that is asked for; NULL is native, or simgrid for a topology. */
const char *cv_engine_used(const char *engine, const struct cv_topology_options *options);

/* A line about it for people, if it is not native. */
void cv_engine_line(const char *engine, const struct cv_topology_options *options,
                    struct cv_text *text);

/* Check engine and topology. *out is what a job takes, NULL for the native engine; it and
 * what it points to live as long as the arena and the options. Returns an exit status. */
int cv_topology_open(const char *engine, const struct cv_topology_options *options,
                     struct cv_arena *arena, const struct cleave_simgrid **out);
/* The star that a master on the topology sees, measured: owned by the caller. */
int cv_topology_platform(const struct cv_topology_options *options,
                         const struct cleave_simgrid *simgrid,
                         struct cleave_platform **out);

#endif
