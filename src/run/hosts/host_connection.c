/* host_connection.c -- another machine, as the master sees it. SPDX-License-Identifier: MIT */
#include "run/hosts/hosts_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/execute.h>
#include <cleave/version.h>
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/common/usable_cores.h"
#include "run/hosts/host_spec.h"
#include "run/wire/frame.h"

/* --- tell another machine who is there and what is to be done ---------------------- */

enum {
    JOB_FRAME = 64 * 1024
}; /* bytes of a job in a frame: a whole one is a sign of life */

/* A worker waits longer for its master than the other way round: a master that was asleep
 * should find it again. */
static const double PATIENCE = 3;

static void push(struct cv_host *host, const struct cleave_copy *copy);
static void host_notice(struct cv_host *host);
static void hosts_settled(struct cv_hosts *hosts);

static void host_send_hello(struct cv_host *host)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    const uint64_t mark = host->words != NULL ? cv_begin_mark_key() : 0;

    if (mark != 0)
        cv_connect_stderr_expect(&host->login_stderr, mark);
    cv_pack_hello(&packer, &(struct cv_hello){ .version = CLEAVE_VERSION,
                                               .host = "master",
                                               .cores = cv_usable_cores() });
    if (!packer.failed)
        cv_link_send(&host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_HELLO, .value = mark },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

const char *cv_host_worker_name(const struct cv_host *host, uint32_t i,
                                char out[CV_HOST_NAME_ROOM])
{
    snprintf(out, CV_HOST_NAME_ROOM, host->slots == 1 ? "%.255s" : "%.255s.%u",
             host->name, i);
    return out;
}

/* The names of its workers: those of their places, if it has some. */
static const char **list_names(const struct cv_host *host, struct cv_arena *arena)
{
    const char **names = cv_array(arena, host->slots + 1u, sizeof *names);
    char made[CV_HOST_NAME_ROOM];

    for (uint32_t i = 0; names != NULL && i < host->slots; i++) {
        names[i] = host->first != CV_HOST_NOWHERE
                       ? host->hosts->names[host->first + i]
                       : cv_arena_text(arena, cv_host_worker_name(host, i, made));
        if (names[i] == NULL)
            return NULL;
    }
    return names;
}

static enum cleave_status pack_job(const struct cv_host *host, const char **names,
                                   struct cv_packer *packer, struct cleave_error *err)
{
    static const char *const nothing[] = { NULL };
    const struct cv_host_terms *terms = &host->hosts->terms;
    /* The words are only read. */
    union {
        const char *const *in;
        const char **out;
    } command = { terms->command },
      environment = { terms->environment != NULL ? terms->environment : nothing };
    struct cv_remote_job job = {
        .command = command.out,
        .names = names,
        .environment = environment.out,
        .directory = terms->work_directory != NULL ? terms->work_directory : "",
        .persistent = terms->persistent,
        .hashes = terms->hashes,
        .items = terms->items,
        .cleanup = terms->cleanup,
        .lines = terms->lines,
        .early = terms->early,
        .timeout_s = terms->command_timeout_s,
        .silence_s = PATIENCE * terms->silence_s,
        .memory = terms->memory > 0 ? terms->memory : CV_GATHER_MEMORY,
        .files = host->may_share ? host->hosts->files : NULL,
        .nfiles = host->may_share ? host->hosts->nfiles : 0,
    };

    if (names == NULL)
        return cv_fail_memory(err, "a job");
    cv_pack_job(packer, &job);
    return packer->failed ? cv_fail_memory(err, "a job") : CLEAVE_OK;
}

static enum cleave_status host_send_job(struct cv_host *host, struct cleave_error *err)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    enum cleave_status status;
    struct cv_arena arena;

    cv_arena_init(&arena);
    status = pack_job(host, list_names(host, &arena), &packer, err);
    cv_arena_done(&arena);
    if (status == CLEAVE_OK)
        host->link.most_pending += packer.length;
    for (size_t at = 0; status == CLEAVE_OK && at < packer.length; at += JOB_FRAME) {
        const size_t left = packer.length - at;
        const bool last = left <= JOB_FRAME;

        cv_link_send(&host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_JOB,
                                              .flags = last ? CV_FRAME_LAST : 0 },
                     packer.bytes + at, last ? left : JOB_FRAME);
    }
    cv_pack_done(&packer);
    return status;
}

/* --- take a copy of cleave to another machine -------------------------------------- */

/* Forget it; nothing is told. One that was never started has a pidfd of -1. */
static void push_done(struct cv_push *push)
{
    if (push->poller != NULL) {
        cv_poller_remove(push->poller, &push->watch);
        cv_poller_cancel(push->poller, &push->timer);
    }
    cv_process_kill(&push->process);
}

static void fail(struct cv_push *push, const char *why)
{
    struct cleave_error err;

    push_done(push);
    cv_fail(&err, CLEAVE_EENGINE,
            "cannot take a copy of cleave there, into ~/.cache/cleave: %s; --remote FILE "
            "names one that is there",
            why);
    push->ended(push->context, &err);
}

static void command_ended(void *context, unsigned events)
{
    struct cv_push *push = context;

    (void)events;
    /* First this: a descriptor that a child has until it is another program stays watched
     * when we close it, and tells of the same end again. */
    cv_poller_remove(push->poller, &push->watch);
    cv_process_reap(&push->process);
    if (push->process.exit_code != 0) {
        fail(push, "the command that does it failed");
        return;
    }
    push_done(push);
    push->ended(push->context, NULL);
}

static void took_too_long(void *context)
{
    fail(context, "it takes too long");
}

static enum cleave_status start(struct cv_push *push, int file, struct cleave_error *err)
{
    struct cv_command command = { 0 };
    enum cleave_status status = cv_command_init(&command, NULL, push->copy->push, err);

    if (status == CLEAVE_OK)
        status = cv_process_start(&push->process, &command,
                                  &(struct cv_process_files){
                                      .in = file, .out = -1, .errors = -1, .extra = -1 },
                                  cv_poller_old_mask(push->poller), err);
    cv_command_done(&command);
    CV_TRY(status);
    CV_TRY(cv_poller_add(push->poller, &push->watch, push->process.pidfd, CV_READABLE,
                         command_ended, push, err));
    return cv_poller_set(push->poller, &push->timer, cv_clock_s() + push->patience_s,
                         took_too_long, push, err);
}

/* What a connection that ended with this status asks for; NULL: nothing. */
static const struct cleave_copy *push_asked(const struct cv_push *push, int exit_code)
{
    if (exit_code < CLEAVE_HOST_LACKS ||
        (size_t)(exit_code - CLEAVE_HOST_LACKS) >= push->ncopies)
        return NULL;
    return &push->copies[exit_code - CLEAVE_HOST_LACKS];
}

static void push_start(struct cv_push *push)
{
    const int file = open(push->copy->file, O_RDONLY | O_CLOEXEC);
    struct cleave_error err;

    if (file < 0)
        fail(push, strerror(errno));
    else if (start(push, file, &err) != CLEAVE_OK)
        fail(push, err.text);
    if (file >= 0)
        close(file);
}

/* --- another machine, as the master sees it ---------------------------------------- */

enum {
    MOST_TRIES = 20,   /* one after the other, of a host that was ready once; and    */
    LAST_TRIES = 4,    /* when no other host is there, or it says itself that it fails */
    EXIT_WAIT_MS = 200 /* for the status of a command whose output has ended          */
};

/* A copy of cleave is some megabytes: it may take so many times as long as an answer. */
static const double LONGER = 12;

/* --- rules -------------------------------------------------------------------------------- */

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
    return host_send_job(host, err);
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
    hosts_settled(host->hosts);
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
    else if (head->type == CV_FRAME_NOTICE)
        host_notice(host);
    else
        cv_remote_frame(host, slot, head, payload);
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
    else if (push_asked(&host->push, host->process.exit_code) != NULL ||
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
    push_start(&host->push);
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
    copy = was_ready || host->pushed ? NULL
                                     : push_asked(&host->push, host->process.exit_code);
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
        cv_remote_lose(host);
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
    hosts_settled(host->hosts);
}

static void link_broke(void *context, const struct cleave_error *err)
{
    cv_host_fail(context, err);
}

static void host_took_too_long(void *context)
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
                         cv_clock_s() + hosts->terms.connect_timeout_s,
                         host_took_too_long, host, err));
    host_send_hello(host);
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
    push_done(&host->push);
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
    push_done(&host->push);
    cv_link_close(&host->link);
    cv_process_kill(&host->process);
    cv_connect_stderr_done(&host->login_stderr);
    cv_close(&host->given);
    free(host->seats);
    free(host->owed);
    free(host);
}

/* --- a host that is to go ---------------------------------------------------------- */

/* It gets nothing more and ends what it has; what is not done when its notice is over goes to
 * others, as if it had been lost. One that has said so itself gives back what it has not begun. */

static void notice_over(void *context)
{
    struct cv_host *host = context;
    struct cleave_error err;

    cv_fail(&err, CLEAVE_ELOST, "it was to leave, and its notice is over");
    cv_host_fail(host, &err);
}

static void begin_to_leave(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->leaving = true;
    hosts->nleaving++;
    if (cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + hosts->terms.notice_s,
                      notice_over, host, NULL) != CLEAVE_OK)
        notice_over(host);
}

void cv_host_dismiss(struct cv_host *host)
{
    if (host->leaving || host->state == CV_HOST_OUT)
        return;
    if (host->state != CV_HOST_READY) {
        snprintf(host->reason, sizeof host->reason, "it was taken away");
        cv_host_leave_out(host);
        return;
    }
    cv_hosts_note(host->hosts, "%s: is to leave, and has %g s to end what it has",
                  host->name, host->hosts->terms.notice_s);
    begin_to_leave(host);
}

/* Batch systems tell all processes of a job to end, this one too, but not at the same time. */
static const double HUSH_S = 1;

static bool stop_in_progress(const struct cv_hosts *hosts)
{
    return hosts->told_s > 0 && cv_clock_s() < hosts->told_s + HUSH_S;
}

/* Who waits looks again. */
static void hush_over(void *context)
{
    (void)context;
}

static void host_notice(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->noticed = true;
    if (cv_poller_set(hosts->poller, &hosts->hush, cv_clock_s() + HUSH_S, hush_over,
                      hosts, NULL) == CLEAVE_OK)
        hosts->told_s = cv_clock_s();
    if (host->leaving) /* it has been told so by us already */
        return;
    /* A signal that ends the run may reach hosts as well. */
    if (hosts->stopped_by == NULL || *hosts->stopped_by == 0)
        cv_hosts_note(hosts,
                      "%s: was told to end (SIGTERM): it gets nothing new, and leaves "
                      "within %g s (--grace)",
                      host->name, hosts->terms.notice_s);
    begin_to_leave(host);
}

/* It leaves no more, whatever the reason. */
static void forget(struct cv_host *host)
{
    cv_poller_cancel(host->hosts->poller, &host->timer);
    host->hosts->nleaving--;
    host->leaving = false;
}

void cv_host_keep(struct cv_host *host)
{
    if (!host->leaving || host->noticed)
        return;
    forget(host);
    cv_hosts_note(host->hosts, "%s: stays", host->name);
    host->hosts->changed(host->hosts->context, host);
}

void cv_host_release(struct cv_host *host)
{
    forget(host);
    cv_link_close(&host->link);
    cv_send_reset(host);
    host->hosts->nready--;
    host->state = CV_HOST_OUT;
    snprintf(host->reason, sizeof host->reason, "%s",
             host->noticed ? "it was told to end (SIGTERM)" : "it was taken away");
    if (!host->noticed) /* of others one line is enough */
        cv_hosts_note(host->hosts, "%s: has left", host->name);
    host->noticed = false;
}

/* As many again are begun after so long, if processors were idle for such a part of it; and after so many
 * times that long whatever they were, lest hosts that do not answer keep others waiting. */
static const double STEP_S = 0.06, IDLE_PART = 0.25;
enum { MOST_HELD = 8 };
enum { IDLE = 4 }; /* which number of the first line: cpu user nice system idle ... */

static size_t count_in(const struct cv_hosts *hosts, enum cv_host_state first,
                       enum cv_host_state last)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->items[i]->state >= first && hosts->items[i]->state <= last;
    return count;
}

bool cv_hosts_may_come(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0 ||
           count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) > 0 || stop_in_progress(hosts);
}

bool cv_hosts_any_hope(const struct cv_hosts *hosts)
{
    return hosts->nready > 0 || cv_hosts_may_come(hosts);
}

/* Whether it is not decided yet who is there. One that was cut off is tried again, and
 * waited for when there is nobody else. */
static bool undecided(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) > 0 ||
           (hosts->nready == 0 && count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0);
}

/* How long they had nothing to do since the machine was started, all added up. NAN: it does not
 * say. */
static double idle_s(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[256] = "", *at = line + 3, *end = NULL;
    double ticks = NAN;

    if (file == NULL)
        return NAN;
    if (fgets(line, sizeof line, file) == NULL || strncmp(line, "cpu ", 4) != 0)
        end = at; /* it says something else */
    fclose(file);
    for (int i = 0; i < IDLE && end != at; i++) {
        at = end != NULL ? end : at;
        ticks = strtod(at, &end);
    }
    return end != at ? ticks / (double)sysconf(_SC_CLK_TCK) : NAN;
}

static struct cv_host *next_new(const struct cv_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->state == CV_HOST_NEW)
            return hosts->items[i];
    return NULL;
}

static void widen(void *context);

static void set_step(struct cv_hosts *hosts)
{
    hosts->step_s = cv_clock_s();
    hosts->idle_s = idle_s();
    /* Without a timer, who settles begins the others. */
    hosts->stepping = cv_poller_set(hosts->poller, &hosts->step, hosts->step_s + STEP_S,
                                    widen, hosts, NULL) == CLEAVE_OK;
}

/* Whether processors were busy since the step was set: more connections would make all later. */
static bool were_busy(const struct cv_hosts *hosts)
{
    const double time_s = cv_clock_s() - hosts->step_s;

    return idle_s() - hosts->idle_s < IDLE_PART * time_s * cv_usable_cores();
}

/* Descriptors are there, and cost nothing. */
static void begin_some(struct cv_hosts *hosts)
{
    struct cv_host *host;

    if (hosts->beginning) /* one that could not be begun has settled in here */
        return;
    hosts->beginning = true;
    while ((host = next_new(hosts)) != NULL &&
           (host->words == NULL ||
            count_in(hosts, CV_HOST_CONNECTING, CV_HOST_GREETED) < hosts->window))
        cv_host_connect(host);
    hosts->beginning = false;
    if (host != NULL && !hosts->stepping)
        set_step(hosts);
}

static void widen(void *context)
{
    struct cv_hosts *hosts = context;

    hosts->stepping = false;
    if (were_busy(hosts) && ++hosts->held < MOST_HELD) {
        set_step(hosts);
        return;
    }
    hosts->held = 0;
    hosts->window *= 2;
    begin_some(hosts);
}

/* One is ready, or out: another connection can be begun. */
static void hosts_settled(struct cv_hosts *hosts)
{
    if (count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) == 0)
        cv_hosts_tell_rest(hosts);
    hosts->window += hosts->window > 0;
    if (hosts->window > 0)
        begin_some(hosts);
}

void cv_hosts_connect_no_more(struct cv_hosts *hosts)
{
    if (hosts->stepping)
        cv_poller_cancel(hosts->poller, &hosts->step);
    hosts->stepping = false;
    hosts->window = 0;
}

/* When it is not waited for more any longer: some are there since `first_s`, and the last of them
 * since `last_s`. */
static double waits_until(const struct cv_patience *patience, double first_s,
                          double last_s)
{
    return fmin(first_s + patience->most_s, last_s + patience->gap_s);
}

enum cleave_status cv_hosts_connect(struct cv_hosts *hosts,
                                    const struct cv_patience *patience, bool others,
                                    const int *stopped_by, struct cleave_error *err)
{
    double first_s = others ? cv_clock_s() : INFINITY, last_s = first_s;
    size_t nready = 0;

    /* Who waits for all, or begins without those who are late, gains nothing by the first ones. */
    hosts->window = isinf(patience->gap_s)  ? hosts->count + 1
                    : cv_usable_cores() > 2 ? cv_usable_cores()
                                            : 2;
    begin_some(hosts);
    while (undecided(hosts) && cv_clock_s() < waits_until(patience, first_s, last_s)) {
        const double until_s = waits_until(patience, first_s, last_s);

        CV_TRY(cv_poller_wait(hosts->poller,
                              isinf(until_s) ? -1 : fmax(until_s - cv_clock_s(), 0),
                              err));
        if (hosts->nready > nready) {
            last_s = cv_clock_s();
            first_s = fmin(first_s, last_s);
        }
        nready = hosts->nready;
        /* Who was there has gone: nobody is there who would begin without the others. */
        if (nready == 0 && !others)
            first_s = last_s = INFINITY;
        if (*stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}
