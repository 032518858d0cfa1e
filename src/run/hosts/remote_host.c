/* remote_host.c -- another machine, as the master sees it. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_host.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/execute.h>

#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/hosts/host_spec.h"
#include "run/wire/frame.h"

enum {
    MOST_TRIES = 20,   /* one after the other, of a host that was ready once; and    */
    LAST_TRIES = 4,    /* when no other host is there, or it says itself that it fails */
    EXIT_WAIT_MS = 200 /* for the status of a command whose output has ended          */
};

/* A copy of cleave is some megabytes: it may take so many times as long as an answer. */
static const double LONGER = 12;

/* --- rules -------------------------------------------------------------------------------- */

void cv_host_accuse(struct cv_host *host, const char *format, ...)
{
    struct cleave_error err;
    char text[300];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cv_fail(&err, CLEAVE_EINPUT, "broke the protocol: %s", text);
    cv_host_fail(host, &err);
}

bool cv_host_admit(struct cv_host *host, enum cv_stage stage,
                   const struct cv_frame_head *head)
{
    if (cv_host_may(stage, head->type))
        return true;
    cv_host_accuse(host, "%s %s", cv_frame_name(head->type), cv_stage_text(stage));
    return false;
}

/* --- frames ------------------------------------------------------------------------------- */

/* One that was not told how many slots it has has one for each core. */
static enum cleave_status count_slots(struct cv_host *host, uint64_t cores,
                                      struct cleave_error *err)
{
    if (host->slots > 0)
        return CLEAVE_OK;
    cores = cores < CV_HOST_SLOTS_MOST ? cores : CV_HOST_SLOTS_MOST;
    host->seats = calloc(cores, sizeof *host->seats);
    if (host->seats == NULL)
        return cv_fail_memory(err, "the slots of a host");
    host->slots = (uint32_t)cores;
    return CLEAVE_OK;
}

/* Tell it what is to be done. */
static enum cleave_status brief(struct cv_host *host, struct cleave_error *err)
{
    host->briefed = true;
    return cv_host_send_job(host, err);
}

static void take_hello(struct cv_host *host, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_hello hello;
    struct cv_arena arena;
    struct cleave_error err;
    enum cleave_status status;

    cv_arena_init(&arena);
    if (cv_unpack_hello(payload, head->length, &arena, &hello)) {
        status = cv_hello_check(&hello, "the worker", &err);
        cv_shown(hello.host, strlen(hello.host), host->machine, sizeof host->machine);
        if (status == CLEAVE_OK)
            status = count_slots(host, hello.cores, &err);
    } else {
        status = cv_fail(&err, CLEAVE_EINPUT,
                         "expected the hello of a worker, got something else");
    }
    cv_arena_done(&arena);
    if (status != CLEAVE_OK) {
        cv_host_fail(host, &err);
        return;
    }
    host->marks = head->value != 0;
    host->state = CV_HOST_GREETED;
    if (!host->briefed && brief(host, &err) != CLEAVE_OK)
        cv_host_fail(host, &err);
}

static void take_ready(struct cv_host *host, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    char why[300];
    bool sees;

    cv_poller_cancel(host->hosts->poller, &host->timer);
    cv_host_tell_words(host);
    host->state = CV_HOST_READY;
    host->hosts->nready++;
    sees = head->value != 0 && host->may_share && host->hosts->nfiles > 0;
    host->shares = sees && !host->hosts->packed;
    host->sees = sees && host->hosts->packed;
    host->link.silence_s = host->hosts->terms.silence_s;
    host->reason[0] = '\0';
    if (host->may_share && host->hosts->nfiles > 0 && !sees && !host->was_ready)
        cv_hosts_note(host->hosts, "%s: does not see the input, which is sent there: %s",
                      host->name,
                      cv_shown((const char *)payload, head->length, why, sizeof why));
    if (host->was_ready && cv_host_tells(host, CV_NOTE_BACK))
        cv_hosts_note(host->hosts, "%s: is there again", host->name);
    if (!host->was_ready)
        cv_host_doubt_machine(host);
    host->was_ready = true;
    host->hosts->changed(host->hosts->context, host);
    host->hosts->settled(host->hosts);
}

static void take_refusal(struct cv_host *host, const struct cv_frame_head *head,
                         const unsigned char *payload)
{
    struct cleave_error err;
    char why[300];

    cv_shown((const char *)payload, head->length, why, sizeof why);
    cv_fail(&err, CLEAVE_EREFUSED, "%s",
            why[0] != '\0' ? why : "it refuses, and does not say why");
    cv_host_fail(host, &err);
}

static void take_frame(void *context, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_host *host = context;
    struct cv_slot *slot;
    enum cv_stage stage;

    /* Who has been asked for partial results knows where these stand. */
    if (host->state == CV_HOST_READY && head->type >= CV_FRAME_OTHERS &&
        host->hosts->other != NULL) {
        host->hosts->other(host->hosts->other_context, host, head, payload);
        return;
    }
    stage = cv_host_stage(host, head, &slot);
    if (!cv_host_admit(host, stage, head))
        return;
    if (head->type == CV_FRAME_REFUSED)
        take_refusal(host, head, payload);
    else if (stage == CV_STAGE_CONNECTING)
        take_hello(host, head, payload);
    else if (stage == CV_STAGE_GREETED)
        take_ready(host, head, payload);
    else
        host->hosts->piece_frame(host, slot, head, payload);
}

/* --- the end of a connection -------------------------------------------------------------- */

/* Tell the other side what it did wrong, if there is room for a word. */
static void send_refusal(struct cv_host *host, const struct cleave_error *err)
{
    if (err->status != CLEAVE_EINPUT || host->link.out < 0)
        return;
    host->link.broken = false;
    cv_link_send(&host->link, &(struct cv_frame_head){ .type = CV_FRAME_REFUSED },
                 err->text, strlen(err->text));
}

/* What came instead of a worker's hello, of one that waits for something else: "; ...". */
static void describe_words(const struct cv_host *host, const struct cleave_error *err,
                           char *out, size_t size)
{
    const struct cv_link *link = &host->link;
    char shown[80];

    out[0] = '\0';
    if (err->status == CLEAVE_ELOST && link->frames == 0 && link->ngot > 0)
        snprintf(out, size, "; what it said is '%s'",
                 cv_shown((const char *)link->got, link->ngot, shown, sizeof shown));
}

/* How the command that connects has ended, for those who know it: " (...)". */
static void describe_exit(struct cv_host *host, char *out, size_t size)
{
    struct pollfd wait = { .fd = host->process.pidfd, .events = POLLIN };
    char name[CV_SIGNAL_ROOM];

    out[0] = '\0';
    if (host->process.pid <= 0)
        return;
    if (poll(&wait, 1, EXIT_WAIT_MS) <= 0) {
        cv_process_kill(&host->process);
        return;
    }
    cv_process_kill(&host->process);
    if (host->process.signal != 0)
        snprintf(out, size, "; '%s' was ended by %s", host->words[0],
                 cv_signal_text(host->process.signal, name));
    else if (host->pushed && host->process.exit_code >= 126)
        snprintf(out, size,
                 "; the copy of cleave does not run there: it needs the same kind of "
                 "machine and libraries, or to be linked statically");
    else if (cv_push_asked(&host->push, host->process.exit_code) != NULL ||
             host->process.exit_code == CLEAVE_HOST_LACKS)
        snprintf(out, size, "; there is no cleave that could be used");
    else if (host->process.exit_code == 127)
        snprintf(out, size,
                 "; '%s' exited with status 127: is there a cleave? --push brings one",
                 host->words[0]);
    else if (host->process.exit_code != 0)
        snprintf(out, size, "; '%s' exited with status %d", host->words[0],
                 host->process.exit_code);
}

static void try_again(void *context)
{
    cv_host_connect(context);
}

/* Whether it is tried again, and when. Only a chunk that is finished says that it is of use
 * again: one that gets ready and goes, again and again, is given up, and soon if it says
 * why it goes (a full disk): that is no loss of a connection which comes back. */
static void plan_next_try(struct cv_host *host, bool hopeful, bool refuses)
{
    struct cv_hosts *hosts = host->hosts;
    const double wait_s = host->tries < 5 ? (double)(1u << host->tries) / 2 : 16;
    const uint32_t max =
        hosts->nready > 0 && host->was_ready && !refuses ? MOST_TRIES : LAST_TRIES;

    if (!hopeful || host->words == NULL || host->leaving || ++host->tries > max ||
        cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + wait_s, try_again, host,
                      NULL) != CLEAVE_OK)
        host->state = CV_HOST_OUT;
    else
        host->state = CV_HOST_DOWN;
}

static void copy_ended(void *context, const struct cleave_error *err)
{
    if (err == NULL)
        cv_host_connect(context);
    else
        cv_host_fail(context, err);
}

/* Take a copy of cleave there, and connect then. */
static void push(struct cv_host *host, const struct cleave_copy *copy)
{
    struct cv_hosts *hosts = host->hosts;

    cv_hosts_note(hosts, "%s: gets a copy of cleave", host->name);
    cv_poller_cancel(hosts->poller, &host->timer);
    host->state = CV_HOST_CONNECTING;
    host->pushed = true;
    host->push.copy = copy;
    host->push.poller = hosts->poller;
    host->push.patience_s = LONGER * hosts->terms.connect_timeout_s;
    host->push.ended = copy_ended;
    host->push.context = host;
    cv_push_start(&host->push);
}

static void tell_why(struct cv_host *host, bool was_ready)
{
    if (host->state == CV_HOST_OUT && !was_ready && !host->was_ready && !host->stuck)
        cv_host_tell_absent(host, host->reason);
    else if (was_ready
                 ? cv_host_tells(host, CV_NOTE_LOST)
                 : host->state != CV_HOST_DOWN || cv_host_tells(host, CV_NOTE_ABSENT))
        cv_hosts_note(host->hosts, "%s: %s: %s", host->name,
                      host->state == CV_HOST_OUT && (host->stuck || !was_ready)
                          ? "left out"
                      : was_ready ? "lost, its chunks go elsewhere"
                                  : "still not there",
                      host->reason);
}

/* Whether a host that has not been ready was there, and its connection was cut. A command
 * that fails by itself would fail again. */
static bool was_cut(const struct cv_host *host, enum cv_host_state before,
                    enum cleave_status status)
{
    if (status != CLEAVE_ECLOSED && status != CLEAVE_ELOST)
        return false;
    return before == CV_HOST_GREETED ||
           (before == CV_HOST_CONNECTING && status == CLEAVE_ECLOSED &&
            host->process.exit_code == 0);
}

void cv_host_fail(struct cv_host *host, const struct cleave_error *err)
{
    const enum cv_host_state before = host->state;
    const bool was_ready = before == CV_HOST_READY;
    const struct cleave_copy *copy;
    char words[120], how[200], said[400];

    if (host->state == CV_HOST_DOWN || host->state == CV_HOST_OUT)
        return;
    send_refusal(host, err);
    host->state = CV_HOST_DOWN;
    host->hosts->nready -= was_ready;
    describe_words(host, err, words, sizeof words);
    cv_link_close(&host->link);
    describe_exit(host, how, sizeof how);
    cv_connect_stderr_end(&host->login_stderr);
    copy = was_ready || host->pushed
               ? NULL
               : cv_push_asked(&host->push, host->process.exit_code);
    if (copy != NULL && copy->push != NULL) {
        push(host, copy);
        return;
    }
    cv_host_quote_words(host, err, said, sizeof said);
    if (copy != NULL)
        snprintf(host->reason, sizeof host->reason, "%s", copy->absent);
    else
        snprintf(host->reason, sizeof host->reason, "%.250s%.110s%.140s%.290s", err->text,
                 words, how, said);
    cv_poller_cancel(host->hosts->poller, &host->timer);
    if (was_ready)
        host->hosts->pieces_lost(host);
    cv_send_reset(host);
    plan_next_try(host,
                  (host->was_ready || was_cut(host, before, err->status)) &&
                      (host->moved || !host->stuck),
                  err->status == CLEAVE_EREFUSED);
    host->hosts->nleaving -= host->leaving;
    host->leaving = host->noticed = false;
    /* A signal from the terminal reaches hosts as well: that they go is no news then. */
    if (host->hosts->stopped_by == NULL || *host->hosts->stopped_by == 0)
        tell_why(host, was_ready);
    host->hosts->changed(host->hosts->context, host);
    host->hosts->settled(host->hosts);
}

static void link_broke(void *context, const struct cleave_error *err)
{
    cv_host_fail(context, err);
}

static void took_too_long(void *context)
{
    struct cv_host *host = context;
    struct cleave_error err;

    cv_fail(&err, CLEAVE_ELOST, "no answer within %g s",
            host->hosts->terms.connect_timeout_s);
    cv_host_fail(host, &err);
}

/* --- the beginning ------------------------------------------------------------------------ */

static enum cleave_status start_command(struct cv_host *host, int *in, int *out,
                                        struct cleave_error *err)
{
    struct cv_pipe to = { -1, -1 }, from = { -1, -1 }, errors = { -1, -1 };
    struct cv_command command = { 0 };
    enum cleave_status status;

    status = cv_command_init(&command, NULL, host->words, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&to, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&from, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&errors, err);
    if (status == CLEAVE_OK) {
        status = cv_connect_stderr_open(&host->login_stderr, host->hosts->poller,
                                        errors.read, err);
        errors.read = -1;
    }
    if (status == CLEAVE_OK)
        status = cv_process_start(&host->process, &command,
                                  &(struct cv_process_files){ .in = to.read,
                                                              .out = from.write,
                                                              .errors = errors.write,
                                                              .extra = -1 },
                                  cv_poller_old_mask(host->hosts->poller), err);
    cv_command_done(&command);
    *in = from.read;
    *out = to.write;
    from.read = to.write = -1;
    if (status != CLEAVE_OK) {
        cv_close(in);
        cv_close(out);
    }
    cv_pipe_close(&to);
    cv_pipe_close(&from);
    cv_pipe_close(&errors);
    return status;
}

static enum cleave_status connect_host(struct cv_host *host, struct cleave_error *err)
{
    struct cv_hosts *hosts = host->hosts;
    int in = host->given, out = in;

    host->given = -1;
    if (host->words != NULL)
        CV_TRY(start_command(host, &in, &out, err));
    host->link.poller = hosts->poller;
    host->link.frame = take_frame;
    host->link.more = cv_send_more;
    host->link.broke = link_broke;
    host->link.context = host;
    host->link.silence_s = hosts->terms.connect_timeout_s;
    host->link.lenient = host->words != NULL;
    if (host->channel != NULL)
        CV_TRY(cv_link_open_channel(&host->link, host->channel, err));
    else
        CV_TRY(cv_link_open(&host->link, in, out, err));
    CV_TRY(cv_poller_set(hosts->poller, &host->timer,
                         cv_clock_s() + hosts->terms.connect_timeout_s, took_too_long,
                         host, err));
    cv_host_send_hello(host);
    /* Where its hello says nothing that the job depends on, that is not waited for: on a long
     * way, the first piece comes there a round trip sooner. */
    return host->slots > 0 ? brief(host, err) : CLEAVE_OK;
}

void cv_host_connect(struct cv_host *host)
{
    struct cleave_error err;

    cv_send_reset(host);
    host->moved = host->stuck = host->briefed = host->marks = false;
    cv_process_kill(&host->process); /* of one that has left */
    host->state = CV_HOST_CONNECTING;
    if (connect_host(host, &err) != CLEAVE_OK)
        cv_host_fail(host, &err);
}

void cv_host_leave_out(struct cv_host *host)
{
    if (host->state == CV_HOST_OUT)
        return;
    cv_poller_cancel(host->hosts->poller, &host->timer);
    cv_push_done(&host->push);
    cv_link_close(&host->link);
    cv_process_kill(&host->process);
    cv_connect_stderr_end(&host->login_stderr);
    host->state = CV_HOST_OUT;
    tell_why(host, false);
}

void cv_host_done(struct cv_host *host)
{
    cv_poller_cancel(host->hosts->poller, &host->timer);
    cv_poller_cancel(host->hosts->poller, &host->link_timer);
    cv_push_done(&host->push);
    cv_link_close(&host->link);
    cv_process_kill(&host->process);
    cv_connect_stderr_done(&host->login_stderr);
    cv_close(&host->given);
    free(host->seats);
    free(host->owed);
    free(host);
}
