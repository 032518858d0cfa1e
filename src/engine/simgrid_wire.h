/* simgrid_wire.h -- messages between cleave and its program cleave-simgrid.
 * SPDX-License-Identifier: MIT
 *
 * SimGrid allows one world per process and aborts the process on errors, so it runs in a
 * separate one. That process is an engine: it receives orders and answers with events,
 * over a socket that is its standard input. Policies, drivers and random numbers stay in
 * cleave.
 *
 * Both programs are of one build and one machine, which the first message checks: structs
 * are sent unchanged. */
#ifndef CV_SIMGRID_WIRE_H
#define CV_SIMGRID_WIRE_H
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cleave/policy.h>
#include "engine/simulated_command.h"

enum cv_wire_task {
    CV_WIRE_LOAD,
    CV_WIRE_REDUCE,
    CV_WIRE_MEASURE_STAR,  /* costs of every worker alone, then exit */
    CV_WIRE_MEASURE_PAIRS, /* costs of partials between nodes, then exit */
};

/* The first message. `bytes` bytes follow: for a load the workers; with profiles all
 * their steps, then the number of steps of each worker (uint32_t); with leaders the costs
 * of all groups come after the workers, and their leaders, counts and the group of each
 * worker (uint32_t) before the texts; then texts, each with
 * its zero: topology, master, names of hosts. An empty topology is a star, an empty
 * master the first host. */
struct cv_wire_open {
    char version[32];
    uint32_t message_bytes, answer_bytes; /* as the sender knows them             */
    uint32_t task, port;
    uint32_t nodes;   /* workers, or nodes of a reduction; 0: all */
    uint32_t names;   /* host names that follow: none, or one for each node */
    uint32_t nsteps;  /* total of all profiles */
    uint32_t groups;  /* of a tree of leaders; 0: no worker leads others */
    uint32_t plain;   /* reductions: a node does one thing at a time               */
    uint32_t records; /* keep the orders of a run for CV_WIRE_REPEAT               */
    double unit_bytes, unit_flops; /* topologies: a unit of load                   */
    double partial_bytes;          /* topologies: a partial                        */
    uint64_t bytes;
};

enum cv_wire_what {
    CV_WIRE_BEGIN,  /* a run; answered by CV_WIRE_READY                            */
    CV_WIRE_ORDER,  /* not answered                                                */
    CV_WIRE_WAIT,   /* answered by CV_WIRE_EVENT or CV_WIRE_NOTHING                */
    CV_WIRE_LEFT,   /* units left; answered by CV_WIRE_READY */
    CV_WIRE_HANG,   /* order.worker hangs at order.time_s; not answered            */
    CV_WIRE_REPEAT, /* the last run `repeats` times; answered by CV_WIRE_READY     */
};

/* cost: factors on transfer, computation and return of a chunk; seconds of transfer and
 * combination of a partial. */
struct cv_wire_message {
    uint32_t what, repeats;
    struct cleave_order order;
    double cost[3];
    uint32_t noisy; /* CV_WIRE_BEGIN: factors other than 1 may follow */
    double stream_end_s, stream_rest, result_ratio;
    uint32_t opens; /* CV_WIRE_BEGIN: chunks may be opened; the rest is as in cv_run */
    struct cv_command_model command;
    double units, hold;
    /* CV_WIRE_BEGIN: as in cv_run; hangs follow as messages */
    struct cleave_conditions conditions;
    uint64_t seed;
    uint32_t run, gets_losses, copies, items;
};

enum cv_wire_reply {
    CV_WIRE_READY,
    CV_WIRE_EVENT,
    CV_WIRE_NOTHING, /* nothing is running */
    CV_WIRE_FAILED,  /* a struct cleave_error follows, then the end */
    CV_WIRE_STAR,    /* `count` workers follow, then their names, `bytes` in all    */
    CV_WIRE_PAIRS,   /* seconds: mean, minimum and maximum; count: nodes */
};

struct cv_wire_answer {
    uint32_t reply, count;
    struct cleave_event event;
    double seconds[3];
    uint64_t bytes;
};

/* The text of a log line after its level: "Parse error" of "[12.5] ./src/x.cpp:95:
 * [xbt/ERROR] Parse error"; NULL if the line has none. */
static inline const char *cv_simgrid_marked(const char *line)
{
    const char *mark = strstr(line, "/CRITICAL] ");

    if (mark == NULL)
        mark = strstr(line, "/ERROR] ");
    return mark == NULL ? NULL : strchr(mark, ' ') + 1;
}

enum { CV_SIMGRID_LOG = 8192 }; /* bytes of a log that are read */

/* The reason in a log of SimGrid: the first line that it marked as an error, without the
 * mark, or else the last line; `none` if there is no line. */
static inline void cv_simgrid_reason(int log, const char *none, char *out, size_t size)
{
    /* Names of C++ exceptions that platform files cause, in plain words. */
    static const char *const plain[][2] = {
        { "NetworkFailureException",
          "a link or host on the way goes off, by a profile of the platform file" },
        { "HostFailureException",
          "the host goes off, by a profile of the platform file" },
    };

    char text[CV_SIMGRID_LOG], *line, *rest = text;
    const ssize_t length = pread(log, text, sizeof text - 1, 0);
    const char *best = none, *marked = NULL;

    text[length > 0 ? length : 0] = '\0';
    while (marked == NULL && (line = strsep(&rest, "\n")) != NULL) {
        marked = cv_simgrid_marked(line);
        if (line[strspn(line, " \t")] != '\0')
            best = marked != NULL ? marked : line;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(best, plain[i][0]) != NULL)
            best = plain[i][1];
    snprintf(out, size, "%s", best);
}

#endif
