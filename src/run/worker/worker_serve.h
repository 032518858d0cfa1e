/* worker_serve.h -- the worker at the other end of a link. SPDX-License-Identifier: MIT
 *
 * It is given a job and pieces of an input (protocol.h), runs the command on them in its
 * slots, as a local run would, and sends back what they write. */
#ifndef CV_WORKER_SERVE_H
#define CV_WORKER_SERVE_H
#include <cleave/execute.h>
#include <stdbool.h>
#include <stdint.h>
#include "run/wire/frame.h"

struct cleave_channel;
struct cv_guard;
struct cv_worker;
struct cv_chunk_output;

struct cv_worker_options {
    int in, out; /* taken over: the link to the master; they may be one                */
    struct cleave_channel *channel; /* borrowed, instead of them; NULL: none            */
    bool by_login; /* they lead through a login, whose scripts may print something      */
    /* What else comes in frames from CV_FRAME_OTHERS on; NULL: nothing. See
     * worker_internal.h for what may be done with the worker. */
    void (*other)(void *context, struct cv_worker *worker,
                  const struct cv_frame_head *head, const unsigned char *payload);
    /* The job is known, and the worker is about to say that it is ready. May be NULL. */
    enum cleave_status (*ready)(void *context, struct cv_worker *worker,
                                struct cleave_error *err);
    /* The worker is about to end. May be NULL. */
    void (*done)(void *context, struct cv_worker *worker);
    /* Keep the output of a piece, which is yours then, instead of sending it; false, or
     * NULL: it is sent. */
    bool (*keep)(void *context, struct cv_worker *worker, uint64_t chunk,
                 struct cv_chunk_output *output);
    /* There is room for more on the link than outputs: send a frame. False, or NULL: there
     * is none. */
    bool (*more)(void *context, struct cv_worker *worker);
    void *context; /* borrowed */
    enum cleave_pin pin;
    uint32_t slots; /* told as the cores that there are; 0: those                      */
    /* It leads others: its command is `cleave run --framed` with these words, ended by NULL, and
     * those of the job; NULL: the job's. */
    const char *const *lead;
    uint32_t gpus; /* above 0: slots have one of so many GPUs each                     */
    bool guard;    /* a process is forked that ends the commands if this one is killed */
    struct cv_guard *lent; /* borrowed: that process, if it has been forked; or NULL    */
};

/* Serve until the master closes the link, which is success; fails when the master speaks
 * nonsense (EINPUT), refuses this worker (EREFUSED) or is silent for too long (ELOST), and
 * when a signal stops it (ESTOPPED). Commands that run are killed. */
enum cleave_status cv_worker_serve(const struct cv_worker_options *options,
                                   struct cleave_error *err);

#endif
