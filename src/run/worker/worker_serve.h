/* worker_serve.h -- the worker at the other end of a link. SPDX-License-Identifier: MIT
 *
 * A worker receives a job and pieces of an input (protocol.h), runs the command on them in its
 * slots, as a local run would, and sends their outputs. */
#ifndef CV_WORKER_SERVE_H
#define CV_WORKER_SERVE_H
#include <cleave/execute.h>
#include <stdbool.h>
#include <stdint.h>
#include "run/wire/protocol.h"

struct cleave_channel;
struct cv_guard;
struct cv_worker;
struct cv_chunk_output;

struct cv_worker_options {
    int in, out; /* owned by the worker: the link to the master; they may be one */
    struct cleave_channel *channel; /* borrowed, instead of them; or NULL */
    bool by_login; /* the link goes through a login, whose scripts may print text */
    enum cleave_pin pin;
    uint32_t slots; /* reported as the number of cores; 0: the number of cores */
    uint32_t gpus;  /* above 0: each slot has one of this many GPUs */
    bool guard;     /* fork a process that ends the commands if this one is killed */
    struct cv_guard *lent; /* borrowed: such a process that exists already; or NULL */

    /* Makes the command of a worker that leads others: a run that stays and shares each piece
     * (run/framed.h). The command is in the arena and ended by NULL. NULL: it does not lead. */
    enum cleave_status (*lead)(const char *const *words, const struct cv_remote_job *job,
                               struct cv_arena *arena, const char ***out,
                               struct cleave_error *err);
    const char *const *lead_words; /* borrowed: passed to `lead` */

    /* Partial results (worker_fold.h); each may be NULL. */
    void *context; /* borrowed */
    /* A frame from CV_FRAME_OTHERS. */
    void (*other)(void *context, struct cv_worker *worker,
                  const struct cv_frame_head *head, const unsigned char *payload);
    /* The job is known, and READY is about to be sent. */
    enum cleave_status (*ready)(void *context, struct cv_worker *worker,
                                struct cleave_error *err);
    /* The worker is about to end. */
    void (*done)(void *context, struct cv_worker *worker);
    /* Keep the output of a piece, which is taken, instead of sending it. False: send it. */
    bool (*keep)(void *context, struct cv_worker *worker, uint64_t chunk,
                 struct cv_chunk_output *output);
    /* All outputs are sent: send another frame. False: there is none. */
    bool (*more)(void *context, struct cv_worker *worker);
};

/* Serve until the master closes the link, which is success. EINPUT: the master broke the
 * protocol; EREFUSED: it refused this worker; ELOST: it was silent for too long; ESTOPPED: a
 * signal. Commands that run are killed. */
enum cleave_status cv_worker_serve(const struct cv_worker_options *options,
                                   struct cleave_error *err);

#endif
