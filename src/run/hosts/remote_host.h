/* remote_host.h -- another machine, as the master sees it. SPDX-License-Identifier: MIT
 *
 * A host is reached by a command that connects standard input and output to a worker there
 * (worker_serve.h), or by a descriptor. Pieces go to it one after the other, no more at a
 * time than it takes in a moment, so that what has not gone can be taken back and the rate
 * of the link is known. */
#ifndef CV_REMOTE_HOST_H
#define CV_REMOTE_HOST_H
#include <cleave/execute.h>
#include "run/wire/link.h"
#include "run/kit/process.h"
#include "run/wire/remote.h"
#include "base/fail.h"
#include "run/slot/slot.h"

enum cv_host_state {
    CV_HOST_NEW,        /* nothing was tried                                            */
    CV_HOST_CONNECTING, /* no hello has come                                            */
    CV_HOST_GREETED,    /* it is told of the job                                        */
    CV_HOST_READY,
    CV_HOST_DOWN, /* it was ready, and is tried again after a while                     */
    CV_HOST_OUT,  /* it is not tried any more                                           */
};

struct cv_hosts;

struct cv_host {
    struct cv_hosts *hosts; /* borrowed: all of them                                    */
    const char *name;       /* of the arena of all, as the texts below                  */
    const char **words;     /* to be run; NULL: a descriptor                            */
    const char **push;      /* to be run with `push_file` as input; NULL: none          */
    const char *push_file;
    struct cv_watch push_watch;
    bool pushed;
    int given; /* owned until used: that descriptor; -1                    */
    uint32_t slots;
    uint32_t first; /* of its workers in the run                                        */
    bool may_share; /* it is asked whether it sees the input                            */

    enum cv_host_state state;
    struct cv_link link;
    struct cv_process process;
    struct cv_timer timer; /* to be ready, or until the next try                        */
    uint32_t tries;        /* one after the other that failed                           */
    bool shares;           /* it sees the input                                         */
    bool was_ready;
    char machine[128]; /* what it calls itself                                          */
    char reason[400];  /* why it is not there                                           */
    char fault[200];   /* of the last piece that has ended                              */

    struct cv_slot *lanes;        /* borrowed: list of those that stand for its slots   */
    struct cv_slot *queue, **end; /* pieces that are to be sent                         */
    uint64_t numbered;            /* pieces                                             */
    uint64_t in_flight;           /* bytes sent that were not acknowledged              */
    double rate_Bps, rtt_s;       /* of the input's bytes; 0 and below 0: not known     */
    double since_s, delivered;    /* what the rate is measured with                     */
    double probe_s;               /* when a frame was sent that is waited for; 0: none  */
    uint64_t probe_chunk, probe_bytes;
    uint64_t plain, wire; /* bytes before and after compression                         */
};

struct cv_hosts {
    struct cv_poller *poller; /* borrowed, as all here but what is named owned          */
    struct cv_gather *gather;
    const struct cleave_execution *execution;
    struct cv_source *source;
    const char *const *names; /* of the workers of the run                              */
    bool one_port;            /* one transfer at a time over all links                  */
    /* A host is ready, or is not any more; its slots have been told before. */
    void (*changed)(void *context, struct cv_host *host);
    /* Frames from CV_FRAME_OTHERS on; NULL: none are expected. */
    void (*other)(void *context, struct cv_host *host, const struct cv_frame_head *head,
                  const unsigned char *payload);
    void *context;
    bool keeps; /* outputs stay with the hosts (kept.h)                                 */

    struct cv_arena arena;
    struct cv_host **items; /* owned                                                    */
    size_t count, room;
    struct cv_remote_file *files; /* of the input, if it can be shared                  */
    size_t nfiles;
    struct cv_slot *port; /* the one that sends, with one_port                  */
    struct cv_slot *waiting, **waiting_end;
};

/* --- all of them (hosts.c) ---------------------------------------------------------------- */

void cv_hosts_init(struct cv_hosts *hosts);
/* Ends all connections. */
void cv_hosts_done(struct cv_hosts *hosts);
/* What the input is, for hosts that may see it. */
enum cleave_status cv_hosts_describe(struct cv_hosts *hosts, struct cleave_error *err);
/* Add a host; its workers are those from `first` on. `asked` is copied but for the link. */
enum cleave_status cv_hosts_add(struct cv_hosts *hosts, const struct cleave_host *asked,
                                uint32_t first, struct cv_host **out,
                                struct cleave_error *err);
/* Connect to all that were not tried; wait until each is ready or out, but no longer than
 * `patience_s` (INFINITY: no limit) once one is ready, or `others` are, who are no hosts:
 * the rest may join later. */
enum cleave_status cv_hosts_connect(struct cv_hosts *hosts, double patience_s,
                                    bool others, const int *stopped_by,
                                    struct cleave_error *err);
/* Whether any is ready; whether any may be. */
bool cv_hosts_any_ready(const struct cv_hosts *hosts);
bool cv_hosts_any_hope(const struct cv_hosts *hosts);
/* Tell the user. */
void cv_hosts_note(const struct cv_hosts *hosts, const char *format, ...) CV_PRINTF(2, 3);

/* --- one (remote_host.c) ------------------------------------------------------------------ */

/* Begin to connect; what comes of it is told by `changed`. */
void cv_host_connect(struct cv_host *host);
/* It is lost, or could not be reached. */
void cv_host_fail(struct cv_host *host, const struct cleave_error *err);
void cv_host_done(struct cv_host *host);

/* Take a copy of cleave there, and connect then (remote_push.c). */
void cv_host_push(struct cv_host *host);

/* --- sending (remote_send.c) -------------------------------------------------------------- */

/* Send the piece of a slot as soon as the port allows. */
void cv_send_ask(struct cv_slot *slot);
/* It needs no sending any more: it has arrived or was given up. */
void cv_send_over(struct cv_slot *slot);
/* The next frame for the host; false: nothing may be sent now. */
bool cv_send_more(void *context);
/* The host has so many bytes of the slot's piece. */
void cv_send_got(struct cv_slot *slot, uint64_t bytes);
/* Nothing is on its way any more. */
void cv_send_reset(struct cv_host *host);

/* --- what comes back (remote_slot.c) ------------------------------------------------------ */

void cv_remote_frame(struct cv_host *host, const struct cv_frame_head *head,
                     const unsigned char *payload);
/* The host has gone: so have the pieces of its slots. */
void cv_remote_lose(struct cv_host *host);

#endif
