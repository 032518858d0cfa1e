/* host_connection.c -- connections to hosts: begin, hello, job, loss, retry, leaving.
 * SPDX-License-Identifier: MIT
 *
 * A connection by ssh takes tens of milliseconds of a processor here, most of them for
 * keys. If all were begun at once, all would be ready late. So a few are begun first, two
 * more for each connection that is ready or has failed, and the number doubles every
 * STEP_S unless processors were busy: most of the time a connection waits for the other
 * side. A thousand are begun in half a second. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/version.h>

#include "base/random.h"
#include "base/text.h"
#include "run/common/machine.h"
#include "run/hosts/host_spec.h"
#include "run/hosts/hosts_internal.h"

enum {
    JOB_FRAME =
        64 * 1024,   /* bytes of a job in a frame: a complete frame is a sign of life */
    MOST_TRIES = 20, /* in a row, to reach a host that was ready; and ... */
    LAST_TRIES = 4,  /* ... if no other host is ready, or the host reports a failure */
    EXIT_WAIT_MS = 200, /* for the status of a command whose output has ended */
    MOST_HELD = 8,      /* steps that busy processors may delay: hosts may not answer */
    IDLE = 4,           /* number in the first line of /proc/stat */
};

/* A worker waits this many times longer than the master, which may be suspended. */
static const double PATIENCE = 3;
/* A copy of cleave has some megabytes: its time limit is this many times the limit of a
 * connection. */
static const double LONGER = 12;
/* After STEP_S the number of connections doubles, if processors were idle for IDLE_PART of it. */
static const double STEP_S = 0.06, IDLE_PART = 0.25;
/* Batch systems signal all processes of a job, this one too, but not at the same time. */
static const double HUSH_S = 1;

static void hosts_settled(struct cv_hosts *hosts);

static void send_hello(struct cv_host *host)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    const uint64_t mark = host->words != NULL ? cv_random_key() : 0;

    if (mark != 0)
        cv_connect_stderr_expect(&host->login, mark);
    cv_pack_hello(&packer, &(struct cv_hello){ .version = CLEAVE_VERSION,
                                               .host = "master",
                                               .cores = cv_usable_cores() });
    (void)cv_link_send_packed(&host->link,
                              &(struct cv_frame_head){ .type = CV_FRAME_HELLO,
                                                       .value = mark },
                              &packer);
}

const char *cv_host_worker_name(const struct cv_host *host, uint32_t i,
                                char out[CV_HOST_NAME_ROOM])
{
    snprintf(out, CV_HOST_NAME_ROOM, host->slots == 1 ? "%.255s" : "%.255s.%u",
             host->name, i);
    return out;
}

/* Names of its workers: those in the run, if it has workers there. Workers that share a command
 * are named after the host. */
static const char **list_names(const struct cv_host *host, struct cv_arena *arena)
{
    const char **names = cv_array(arena, host->slots + 1u, sizeof *names);
    char made[CV_HOST_NAME_ROOM];

    for (uint32_t i = 0; names != NULL && i < host->slots; i++) {
        names[i] = host->first != CV_HOST_NOWHERE && cv_hosts_window(host->hosts) == 1
                       ? host->hosts->names[host->first + i]
                       : cv_arena_text(arena, cv_host_worker_name(host, i, made));
        if (names[i] == NULL)
            return NULL;
    }
    return names;
}

static enum cleave_status send_job(struct cv_host *host, struct cleave_error *err)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_remote_job job = host->hosts->terms.job;
    struct cv_arena arena;
    bool good;

    host->briefed = true;
    cv_arena_init(&arena);
    job.names = list_names(host, &arena);
    job.memory = job.memory > 0 ? job.memory : CV_GATHER_MEMORY;
    job.silence_s = PATIENCE * host->hosts->terms.silence_s;
    job.files = host->may_share ? host->hosts->files : NULL;
    job.nfiles = host->may_share ? host->hosts->nfiles : 0;
    if (job.names != NULL)
        cv_pack_job(&packer, &job);
    good = job.names != NULL && !packer.failed;
    cv_arena_done(&arena);
    if (good)
        host->link.most_pending += packer.length;
    for (size_t at = 0; good && at < packer.length; at += JOB_FRAME) {
        const size_t left = packer.length - at;
        const bool last = left <= JOB_FRAME;

        cv_link_send(&host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_JOB,
                                              .flags = last ? CV_FRAME_LAST : 0 },
                     packer.bytes + at, last ? left : JOB_FRAME);
    }
    cv_pack_done(&packer);
    return good ? CLEAVE_OK : cv_fail_memory(err, "a job");
}

/* --- a copy of cleave ---------------------------------------------------------------------
 *
 * A command is run with the program as its input; its process takes the place of the connection. */

static void end_process(struct cv_host *host)
{
    cv_poller_remove(host->hosts->poller, &host->push_watch);
    cv_poller_cancel(host->hosts->poller, &host->timer);
    cv_process_kill(&host->process);
}

static void push_failed(struct cv_host *host, const char *why)
{
    struct cleave_error err;

    end_process(host);
    cv_fail(&err, CLEAVE_EENGINE,
            "cannot put a copy of cleave there, into ~/.cache/cleave: %s; hosts.program "
            "FILE names an installed one",
            why);
    cv_host_fail(host, &err);
}

static void push_ended(void *context, unsigned events)
{
    struct cv_host *host = context;

    (void)events;
    /* Before the process is reaped: a child that has not executed its program yet may hold the
     * descriptor, so that closing it does not end the watch. */
    cv_poller_remove(host->hosts->poller, &host->push_watch);
    cv_process_reap(&host->process);
    if (host->process.exit_code != 0) {
        push_failed(host, "the command that does it failed");
        return;
    }
    end_process(host);
    cv_host_connect(host);
}

static void push_took_too_long(void *context)
{
    push_failed(context, "it takes too long");
}

static enum cleave_status start_push(struct cv_host *host, const struct cleave_copy *copy,
                                     int file, struct cleave_error *err)
{
    struct cv_hosts *hosts = host->hosts;
    struct cv_command command = { 0 };
    enum cleave_status status = cv_command_init(&command, NULL, copy->push, err);

    if (status == CLEAVE_OK)
        status = cv_process_start(&host->process, &command,
                                  &(struct cv_process_files){
                                      .in = file, .out = -1, .errors = -1, .extra = -1 },
                                  cv_poller_old_mask(hosts->poller), err);
    cv_command_done(&command);
    CV_TRY(status);
    CV_TRY(cv_poller_add(hosts->poller, &host->push_watch, host->process.pidfd,
                         CV_READABLE, push_ended, host, err));
    cv_poller_set(hosts->poller, &host->timer,
                  cv_clock_s() + LONGER * hosts->terms.connect_timeout_s,
                  push_took_too_long, host);
    return CLEAVE_OK;
}

/* Take a copy of cleave there, then connect. */
static void push(struct cv_host *host, const struct cleave_copy *copy)
{
    const int file = open(copy->file, O_RDONLY | O_CLOEXEC);
    struct cleave_error err;

    cv_hosts_note(host->hosts, "%s: gets a copy of cleave", host->name);
    cv_poller_cancel(host->hosts->poller, &host->timer);
    host->state = CV_HOST_CONNECTING;
    host->pushed = true;
    if (file < 0)
        push_failed(host, strerror(errno));
    else if (start_push(host, copy, file, &err) != CLEAVE_OK)
        push_failed(host, err.text);
    if (file >= 0)
        close(file);
}

/* --- leaving ------------------------------------------------------------------------------
 *
 * A host that leaves gets no new pieces and ends its own; the rest goes to others after
 * terms.notice_s. A host that gave notice itself returns pieces that were not started. */

static void notice_over(void *context)
{
    struct cv_host *host = context;
    struct cleave_error err;

    cv_fail(&err, CLEAVE_ELOST, "it had to leave, and its notice has ended");
    cv_host_fail(host, &err);
}

static void begin_to_leave(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->leaving = true;
    hosts->nleaving++;
    cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + hosts->terms.notice_s,
                  notice_over, host);
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
    cv_hosts_note(host->hosts, "%s: has to leave, and has %g s to finish its chunks",
                  host->name, host->hosts->terms.notice_s);
    begin_to_leave(host);
}

/* A host gave notice a moment ago: this process may be the next to be signalled, so nothing is
 * concluded from the absence of hosts. */
static bool stop_in_progress(const struct cv_hosts *hosts)
{
    return hosts->hush.is_set;
}

/* Wakes the poller, so that stop_in_progress is asked again. */
static void hush_over(void *context)
{
    (void)context;
}

static bool is_stopping(const struct cv_hosts *hosts)
{
    return hosts->stopped_by != NULL && *hosts->stopped_by != 0;
}

static void take_notice(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->noticed = true;
    cv_poller_set(hosts->poller, &hosts->hush, cv_clock_s() + HUSH_S, hush_over, hosts);
    if (host->leaving) /* by our order */
        return;
    if (!is_stopping(hosts)) /* a signal that ends the run may reach hosts as well */
        cv_hosts_note(hosts,
                      "%s: was told to end (SIGTERM): it gets nothing new, and leaves "
                      "within %g s (hosts.notice_s)",
                      host->name, hosts->terms.notice_s);
    begin_to_leave(host);
}

static void stop_leaving(struct cv_host *host)
{
    cv_poller_cancel(host->hosts->poller, &host->timer);
    host->hosts->nleaving--;
    host->leaving = false;
}

void cv_host_keep(struct cv_host *host)
{
    if (!host->leaving || host->noticed)
        return;
    stop_leaving(host);
    cv_hosts_note(host->hosts, "%s: stays", host->name);
    host->hosts->changed(host->hosts->context, host);
}

void cv_host_release(struct cv_host *host)
{
    stop_leaving(host);
    cv_link_close(&host->link);
    cv_send_reset(host);
    host->hosts->nready--;
    host->state = CV_HOST_OUT;
    snprintf(host->reason, sizeof host->reason, "%s",
             host->noticed ? "it was told to end (SIGTERM)" : "it was taken away");
    if (!host->noticed) /* the notice was reported */
        cv_hosts_note(host->hosts, "%s: has left", host->name);
    host->noticed = false;
}

/* The default is one slot per core. */
static enum cleave_status count_slots(struct cv_host *host, uint64_t cores,
                                      struct cleave_error *err)
{
    if (host->slots > 0)
        return CLEAVE_OK;
    cores = cores < CV_HOST_SLOTS_MOST ? cores : CV_HOST_SLOTS_MOST;
    cores *= cv_hosts_window(host->hosts);
    host->seats = calloc(cores, sizeof *host->seats);
    if (host->seats == NULL)
        return cv_fail_memory(err, "the slots of a host");
    host->slots = (uint32_t)cores;
    return CLEAVE_OK;
}

static void take_hello(struct cv_host *host, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_hello hello;
    struct cv_arena arena;
    struct cleave_error err;
    enum cleave_status status;

    cv_arena_init(&arena);
    status = cv_hello_read(head, payload, "worker", &arena, &hello, &err);
    if (status == CLEAVE_OK) {
        cv_shown(hello.host, strlen(hello.host), host->machine, sizeof host->machine);
        status = count_slots(host, hello.cores, &err);
    }
    cv_arena_done(&arena);
    if (status != CLEAVE_OK) {
        cv_host_fail(host, &err);
        return;
    }
    host->marks = head->value != 0;
    host->state = CV_HOST_GREETED;
    if (!host->briefed && send_job(host, &err) != CLEAVE_OK)
        cv_host_fail(host, &err);
}

uint64_t cv_host_output_base(const struct cv_host *host)
{
    enum { PIECES_BITS = 40 };

    return (uint64_t)host->peer << PIECES_BITS;
}

void cv_host_tell_reduce(struct cv_host *host)
{
    const struct cv_packer *payload = host->hosts->reduce;

    cv_link_send(&host->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_REDUCE,
                                          .length = (uint32_t)payload->length,
                                          .value = cv_host_output_base(host) },
                 payload->bytes, payload->length);
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
        cv_host_tell_blind(host, cv_shown((const char *)payload, head->length, why,
                                          sizeof why));
    if (host->was_ready && cv_host_tells(host, CV_NOTE_BACK))
        cv_hosts_note(host->hosts, "%s: is there again", host->name);
    if (!host->was_ready)
        cv_host_doubt_machine(host);
    host->was_ready = true;
    if (host->hosts->reduce != NULL)
        cv_host_tell_reduce(host);
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
            why[0] != '\0' ? why : "it refuses without a reason");
    cv_host_fail(host, &err);
}

static void take_frame(void *context, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_host *host = context;
    struct cv_slot *slot;
    enum cv_stage stage;

    /* remote_fold.c knows the stages of these. */
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
        take_notice(host);
    else
        cv_remote_frame(host, slot, head, payload);
}

/* Tell the worker why, if the link can take a frame. */
static void send_refusal(struct cv_host *host, const struct cleave_error *err)
{
    if (err->status != CLEAVE_EINPUT || host->link.out < 0)
        return;
    host->link.broken = false;
    cv_link_send(&host->link, &(struct cv_frame_head){ .type = CV_FRAME_REFUSED },
                 err->text, strlen(err->text));
}

/* Text that arrived instead of a hello: "; ...". */
static void describe_words(const struct cv_host *host, const struct cleave_error *err,
                           char *out, size_t size)
{
    const struct cv_link *link = &host->link;
    char shown[80];

    out[0] = '\0';
    if (err->status == CLEAVE_ELOST && link->frames == 0 && link->ngot > 0)
        snprintf(out, size, "; its message is '%s'",
                 cv_shown((const char *)link->got, link->ngot, shown, sizeof shown));
}

/* End the command that connects. True: it had ended by itself. */
static bool has_exited(struct cv_host *host)
{
    struct pollfd wait = { .fd = host->process.pidfd, .events = POLLIN };
    const bool ran = host->process.pid > 0;
    const bool exited = ran && poll(&wait, 1, EXIT_WAIT_MS) > 0;

    cv_process_kill(&host->process);
    return exited;
}

static void try_again(void *context)
{
    cv_host_connect(context);
}

/* Whether and when the host is tried again. Only a finished chunk resets the tries: a
 * host that becomes ready and is lost again and again is given up; soon, if it reports
 * a failure itself (a full disk). */
static void plan_next_try(struct cv_host *host, bool hopeful, bool refuses)
{
    struct cv_hosts *hosts = host->hosts;
    const double wait_s = host->tries < 5 ? (double)(1u << host->tries) / 2 : 16;
    const uint32_t max =
        hosts->nready > 0 && host->was_ready && !refuses ? MOST_TRIES : LAST_TRIES;

    host->state = CV_HOST_OUT;
    if (!hopeful || host->words == NULL || host->leaving || ++host->tries > max)
        return;
    host->state = CV_HOST_DOWN;
    cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + wait_s, try_again, host);
}

void cv_hosts_forgive(struct cv_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        hosts->items[i]->tries = 0;
}

/* Cut after the host had answered. A command that failed would fail again. */
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
    char words[120];
    bool exited;

    if (host->state == CV_HOST_DOWN || host->state == CV_HOST_OUT)
        return;
    send_refusal(host, err);
    host->state = CV_HOST_DOWN;
    host->hosts->nready -= was_ready;
    describe_words(host, err, words, sizeof words);
    cv_link_close(&host->link);
    exited = has_exited(host);
    cv_connect_stderr_end(&host->login);
    copy = was_ready || host->pushed ? NULL : cv_host_wanted_copy(host);
    if (copy != NULL && copy->push != NULL) {
        push(host, copy);
        return;
    }
    if (copy != NULL)
        snprintf(host->reason, sizeof host->reason, "%s", copy->absent);
    else
        cv_host_explain(host, err, words, exited);
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
    /* A signal from the terminal reaches hosts as well: do not report each of them. */
    if (!is_stopping(host->hosts))
        cv_host_tell_why(host, was_ready);
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
        status =
            cv_connect_stderr_open(&host->login, host->hosts->poller, errors.read, err);
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
    cv_poller_set(hosts->poller, &host->timer,
                  cv_clock_s() + hosts->terms.connect_timeout_s, host_took_too_long,
                  host);
    send_hello(host);
    /* A job that does not depend on the hello saves a round trip. */
    return host->slots > 0 ? send_job(host, err) : CLEAVE_OK;
}

void cv_host_connect(struct cv_host *host)
{
    struct cleave_error err;

    cv_send_reset(host);
    host->moved = host->stuck = host->briefed = host->marks = false;
    cv_process_kill(&host->process); /* the process of an earlier connection */
    host->state = CV_HOST_CONNECTING;
    if (connect_host(host, &err) != CLEAVE_OK)
        cv_host_fail(host, &err);
}

void cv_host_leave_out(struct cv_host *host)
{
    if (host->state == CV_HOST_OUT)
        return;
    end_process(host);
    cv_link_close(&host->link);
    cv_connect_stderr_end(&host->login);
    host->state = CV_HOST_OUT;
    cv_host_tell_why(host, false);
}

void cv_host_done(struct cv_host *host)
{
    end_process(host);
    cv_poller_cancel(host->hosts->poller, &host->link_timer);
    cv_link_close(&host->link);
    cv_connect_stderr_done(&host->login);
    cv_close(&host->given);
    free(host->seats);
    free(host->owed);
    free(host);
}

static size_t count_in(const struct cv_hosts *hosts, enum cv_host_state first,
                       enum cv_host_state last)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->items[i]->state >= first && hosts->items[i]->state <= last;
    return count;
}

bool cv_hosts_connecting(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) > 0;
}

bool cv_hosts_may_come(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0 ||
           cv_hosts_connecting(hosts) || stop_in_progress(hosts);
}

bool cv_hosts_any_hope(const struct cv_hosts *hosts)
{
    return hosts->nready > 0 || cv_hosts_may_come(hosts);
}

/* Hosts may become ready. A lost host counts if no other one is ready. */
static bool undecided(const struct cv_hosts *hosts)
{
    return cv_hosts_connecting(hosts) ||
           (hosts->nready == 0 && count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0);
}

/* Idle time of all processors since the start of the machine. NAN: not known. */
static double idle_s(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[256] = "", *at = line + 3, *end = NULL;
    double ticks = NAN;

    if (file == NULL)
        return NAN;
    if (fgets(line, sizeof line, file) == NULL || strncmp(line, "cpu ", 4) != 0)
        end = at; /* another format */
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
    cv_poller_set(hosts->poller, &hosts->step, hosts->step_s + STEP_S, widen, hosts);
}

/* More connections would delay all of them. */
static bool were_busy(const struct cv_hosts *hosts)
{
    const double time_s = cv_clock_s() - hosts->step_s;

    return idle_s() - hosts->idle_s < IDLE_PART * time_s * cv_usable_cores();
}

/* A connection by a descriptor costs nothing. */
static void begin_some(struct cv_hosts *hosts)
{
    struct cv_host *host;

    if (hosts->beginning) /* a host that failed at once is settled in here */
        return;
    hosts->beginning = true;
    while ((host = next_new(hosts)) != NULL &&
           (host->words == NULL ||
            count_in(hosts, CV_HOST_CONNECTING, CV_HOST_GREETED) < hosts->window))
        cv_host_connect(host);
    hosts->beginning = false;
    if (host != NULL && !hosts->step.is_set)
        set_step(hosts);
}

static void widen(void *context)
{
    struct cv_hosts *hosts = context;

    if (were_busy(hosts) && ++hosts->held < MOST_HELD) {
        set_step(hosts);
        return;
    }
    hosts->held = 0;
    hosts->window *= 2;
    begin_some(hosts);
}

/* A host is ready or out: begin another connection. */
static void hosts_settled(struct cv_hosts *hosts)
{
    if (!cv_hosts_connecting(hosts))
        cv_hosts_tell_rest(hosts);
    hosts->window += hosts->window > 0;
    if (hosts->window > 0)
        begin_some(hosts);
}

void cv_hosts_connect_no_more(struct cv_hosts *hosts)
{
    cv_poller_cancel(hosts->poller, &hosts->step);
    hosts->window = 0;
}

/* The end of the wait: hosts are ready since `first_s`, the last one since `last_s`. */
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

    /* A run that waits for all hosts gains nothing from an early one. */
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
        /* All ready hosts were lost: wait for the next one. */
        if (nready == 0 && !others)
            first_s = last_s = INFINITY;
        if (*stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}
