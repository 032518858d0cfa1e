/* native_open.h -- simulated commands that are fed as they read.
 * SPDX-License-Identifier: MIT
 *
 * Where a run says how commands read, every chunk is a process that reads a range of the
 * load: native_process.c has its times, native_open.c what orders do to it. Each process
 * has at most one event in the heap; one whose key it does not know any more is stale. */
#ifndef CV_NATIVE_OPEN_H
#define CV_NATIVE_OPEN_H
#include "engine/simulated_input.h"
#include "sim/load/native_internal.h"

/* What a worker's command does. */
struct process {
    double begin, end; /* the range that the chunk has; equal: where is not decided yet */
    double given;      /* so far it has come over the link                             */
    double read;       /* so far it was read at `read_at_s`, which may be to come      */
    double read_at_s;
    double ready_s;    /* it has started up                                            */
    double end_read_s; /* closed: when it has read the end of its input                */
    double factor;     /* noise: it takes so many times as long                        */
    uint64_t key;      /* of its event                                                 */
    enum cleave_event_kind next; /* what that is                                        */
    bool opened; /* by CLEAVE_OPEN: it is told of                                */
    bool closed, started, drained; /* the last two: that has been told                  */
};

struct native_open {
    const struct cv_command_model *command; /* borrowed */
    struct process *processes;              /* owned: by worker                         */
    struct cv_simulated_input input;
    struct queue wishes; /* chunks that wait for their part of a stream                 */
    size_t nwishes;
};

/* --- processes: native_process.c -------------------------------------------------------- */

/* The chunk that is first at the processor of its worker is started, and has been given so
 * many units of it. */
void cv_native_process_start(struct native *native, uint32_t worker,
                             const struct process *from);
/* How far it has read by now. */
void cv_native_process_catch_up(struct native *native, uint32_t worker);
/* Something about it has changed: when does it next have something to tell? */
void cv_native_process_plan(struct native *native, uint32_t worker);
/* So many units more have come over the link. */
void cv_native_process_give(struct native *native, uint32_t worker, double units);
/* Its event has come. True: the chunk is done, else `out` says what there is to tell. */
bool cv_native_process_tell(struct native *native, uint32_t worker,
                            struct cleave_event *out);

#endif
