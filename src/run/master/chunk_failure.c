/* chunk_failure.c -- failed chunks: retry, cross-check, split or give up.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/fail.h"
#include "base/file_target.h"
#include "run/input/source.h"
#include "run/slot/slot.h"

/* --- inputs of failed commands --------------------------------------------------------- */

enum {
    NAME_ROOM = 256, /* of a file in the directory */
    /* of the input in it; the rest is for a range, a number and ".mates" */
    NAME_MOST = 180,
    MOST_NAMES = 100000,
};

static enum cleave_status fail_keep(const char *where, int error,
                                    struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "%s: cannot keep the input of a failed chunk: %s",
                   where, strerror(error));
}

enum { COPY = 64 * 1024 };

/* --- bytes -------------------------------------------------------------------------------- */

/* Write some bytes from offset `at`; returns as write(2). */
static ssize_t keep_some(const struct cv_part *part, uint64_t at, int to)
{
    off_t offset = (off_t)at;
    char bytes[COPY];
    ssize_t got;

    if (part->bytes != NULL)
        return write(to, (const char *)part->bytes + (at - part->begin), part->end - at);
    if (part->lazy == NULL)
        return sendfile(to, part->fd, &offset, part->end - at);
    got = cv_part_read(part, at, bytes, sizeof bytes);
    return got <= 0 ? got : write(to, bytes, (size_t)got);
}

static int keep_part(const struct cv_part *part, int to)
{
    uint64_t at = part->begin;

    while (at < part->end) {
        const ssize_t moved = keep_some(part, at, to);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? errno : EIO;
        at += (uint64_t)moved;
    }
    return 0;
}

/* Write a new file. EEXIST if the name is taken, even by a dangling link. */
static int keep_parts(int folder, const char *name, const struct cv_part *parts,
                      size_t count)
{
    const int fd =
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = 0;

    if (fd < 0)
        return errno;
    for (size_t i = 0; i < count && error == 0; i++)
        error = keep_part(&parts[i], fd);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error != 0) /* a partial file would look complete */
        unlinkat(folder, name, 0);
    return error;
}

/* --- names -------------------------------------------------------------------------------- */

/* The file name for an input, which no other input has. */
static void name_input(const struct cleave_input *inputs, const struct cv_piece *piece,
                       char out[NAME_MOST + 1])
{
    const char *name = cv_file_name(piece->name);
    bool alone = true;
    size_t length;

    if (strcmp(piece->name, "standard input") == 0)
        name = "stdin";
    for (size_t i = 0; i < inputs->count; i++)
        alone = alone && (strcmp(cv_file_name(inputs->files[i]), name) != 0 ||
                          strcmp(inputs->files[i], piece->name) == 0);
    if (!alone)
        name = piece->name;
    length = strlen(name);
    if (length > NAME_MOST) /* the end of a long path is more specific */
        name += length - NAME_MOST;
    length = strlen(name);
    memcpy(out, name, length + 1);
    for (size_t i = 0; i < length; i++)
        if (out[i] == '/')
            out[i] = '%';
}

/* Write the piece under a name with its range; EEXIST: the name is taken. */
static int keep_as(int folder, const char *name, const struct cv_piece *piece)
{
    const struct cv_part given[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece) };
    const struct cv_part mate = cv_piece_mate(piece);
    char mates[NAME_ROOM + 8];
    int error = keep_parts(folder, name, given, 3);

    if (error != 0 || piece->mate_fd < 0)
        return error;
    snprintf(mates, sizeof mates, "%s.mates", name);
    error = keep_parts(folder, mates, &mate, 1);
    if (error != 0)
        unlinkat(folder, name, 0);
    return error;
}

/* Write the piece to `directory`, which is created if missing, as NAME.BEGIN-END, and
 * its mates as NAME.BEGIN-END.mates. NAME is the file name of the input; if two inputs
 * have the same, the path with '%' for '/'. An existing file is never touched: .2, .3
 * and so on are appended. Only the owner may read the files. */
static enum cleave_status failed_input_keep(const char *directory,
                                            const struct cleave_input *inputs,
                                            const struct cv_piece *piece,
                                            struct cleave_error *err)
{
    char input[NAME_MOST + 1], name[NAME_ROOM];
    int folder, error = EEXIST;

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return fail_keep(directory, errno, err);
    folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fail_keep(directory, errno, err);
    name_input(inputs, piece, input);
    for (unsigned number = 1; error == EEXIST && number < MOST_NAMES; number++) {
        char ending[16] = "";

        if (number > 1)
            snprintf(ending, sizeof ending, ".%u", number);
        snprintf(name, sizeof name, "%s.%llu-%llu%s", input,
                 (unsigned long long)piece->body.begin,
                 (unsigned long long)piece->body.end, ending);
        error = keep_as(folder, name, piece);
    }
    close(folder);
    return error == 0 ? CLEAVE_OK : fail_keep(directory, error, err);
}

/* --- giving up ------------------------------------------------------------------------- */

/* Whether all chunks fail except those that begin a file. */
static bool fails_without_header(const struct cv_exec_run *run)
{
    return !run->request->input.header && run->request->items.words == NULL &&
           !run->start_failed && !run->middle_succeeded;
}

/* The command could not be run, or not be given its files: if there are hosts, that may be so
 * on this one only. */
static bool is_unfit(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    if (cv_slot_is_remote(slot))
        return cv_remote_facts(slot).unfit;
    return run->pool.hosts.count > 0 && cv_slot_was_not_run(slot);
}

/* Chunks were given up because no host could run their command, and for no other reason. */
static bool hosts_are_unfit(const struct cv_exec_run *run)
{
    const struct cv_order_queue *queue = &run->queue;

    return queue->unfit >= CLEAVE_ALL_FAIL_UNREAD_LIMIT &&
           queue->unfit == queue->failed && queue->resumed == 0 &&
           !run->pool.health.anybody;
}

/* Every chunk fails: halt after CLEAVE_ALL_FAIL_LIMIT failures, or after
 * CLEAVE_ALL_FAIL_UNREAD_LIMIT if the commands exited before they read any input. */
static bool all_chunks_fail(const struct cv_exec_run *run)
{
    const struct cv_order_queue *queue = &run->queue;

    if (queue->resumed > 0 || run->request->items.words != NULL)
        return false;
    if (!run->pool.health.anybody && queue->unread >= CLEAVE_ALL_FAIL_UNREAD_LIMIT)
        return true;
    return queue->failed >= CLEAVE_ALL_FAIL_LIMIT &&
           (!run->pool.health.anybody || fails_without_header(run));
}

/* Whether the command is known to have failed before it read anything. */
static bool is_unread(const struct cv_attempt *attempt)
{
    return attempt->slot.open.on && !cv_slot_is_remote(&attempt->slot) &&
           !(attempt->slot.open.spawn_s > 0);
}

/* The number that failures.halt_on counts, with the chunk that has just ended. */
static double count_ends(const struct cv_exec_run *run, double over)
{
    switch (run->request->failures.halt_on) {
    case CLEAVE_HALT_ON_SUCCESSES:
        return over - (double)run->queue.failed;
    case CLEAVE_HALT_ON_ENDS:
        return over;
    case CLEAVE_HALT_ON_LATER:
        return (double)run->queue.later_in_a_row;
    default:
        return (double)run->queue.failed;
    }
}

static void halt_if_asked(struct cv_exec_run *run)
{
    const struct cleave_failure_options *failures = &run->request->failures;
    const double over = (double)run->queue.chunks + 1, count = count_ends(run, over);
    const bool many =
        (failures->halt_fails > 0 && count >= (double)failures->halt_fails) ||
        (failures->halt_share > 0 && over >= 3 && count >= failures->halt_share * over);

    if (failures->halt == CLEAVE_HALT_ALL_FAIL) {
        run->unfit = run->unfit || hosts_are_unfit(run);
        run->hopeless = all_chunks_fail(run);
        run->halted = run->unfit || run->hopeless;
    }
    if (failures->halt < CLEAVE_HALT_SOON || !many)
        return;
    run->halted = true;
    if (failures->halt == CLEAVE_HALT_NOW)
        cv_attempt_table_stop(&run->table);
}

void cv_chunk_succeeded(struct cv_exec_run *run)
{
    run->queue.later_in_a_row = 0;
    if (run->request->failures.halt_on != CLEAVE_HALT_ON_FAILURES)
        halt_if_asked(run);
}

static void drop_output(struct cv_attempt *attempt)
{
    if (attempt->slot.store != NULL)
        cv_chunk_output_drop(attempt->slot.store);
    attempt->slot.store = NULL;
}

/* The output of a failed chunk is dropped, except for items without reduce.command (a
 * shell would show it), line-buffered output, and a chunk whose first lines were
 * already written. */
static bool keeps_output(const struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    return cv_slot_passed(&attempt->slot) > 0 ||
           (run->request->items.words != NULL && run->request->reduce.command == NULL) ||
           run->request->output.lines;
}

static enum cleave_status settle_output(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    struct cv_chunk_output *store;

    CV_TRY(cv_item_output_format(&attempt->slot, &attempt->slot.store, err));
    store = attempt->slot.store;
    if (store == NULL)
        return cv_result_sink_skip(run->results, piece.begin, piece.end, err);
    attempt->slot.store = NULL;
    return cv_result_sink_add(run->results, store, &piece, &attempt->slot, err);
}

static enum cleave_status settle_failure(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    const struct cv_piece piece = attempt->slot.piece;

    if (run->request->failures.isolate)
        CV_TRY(cv_note_bad(run, &piece, err));
    if (run->request->failures.directory != NULL)
        CV_TRY(failed_input_keep(run->request->failures.directory, &run->request->input,
                                 &piece, err));
    if (attempt->chunk.past.family == NULL)
        cv_worker_health_confirm_failure(&run->pool.health, &attempt->chunk.past);
    halt_if_asked(run);
    CV_TRY(settle_output(run, attempt, err));
    CV_TRY(cv_input_coverage_fail(&queue->coverage, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(queue->source, &piece, err));
    return cv_poison_tracker_clear(&run->poison, piece.begin, piece.end, err);
}

/* Give the chunk up. If its bytes cannot be settled they are left, and the failure is
 * not counted. */
static enum cleave_status give_up(struct cv_exec_run *run, struct cv_attempt *attempt,
                                  struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    enum cleave_status status;

    queue->failed++;
    queue->unread += is_unread(attempt);
    queue->unfit += is_unfit(run, &attempt->slot);
    if (attempt->slot.piece.body.begin == 0)
        run->start_failed = true;
    cv_note_failure(run, attempt);
    status = settle_failure(run, attempt, err);
    if (status != CLEAVE_OK) {
        queue->failed--;
        queue->unread -= is_unread(attempt);
        queue->unfit -= is_unfit(run, &attempt->slot);
    }
    return status;
}

/* --- the header alone ------------------------------------------------------------------- */

/* Whether the command got the header alone, and its last attempt exited with a status that is not
 * due to the worker. */
static bool failed_for_head(const struct cv_exec_run *run,
                            const struct cv_attempt *attempt, enum cv_slot_end end)
{
    const struct cv_slot *slot = &attempt->slot;

    return end == CV_SLOT_FAILED && slot->fault == NULL && slot->process.signal == 0 &&
           slot->process.exit_code < 126 &&
           attempt->chunk.attempt > run->request->failures.retries &&
           cv_source_is_head(run->queue.source, &slot->piece);
}

/* The chunk is done without an output, so that nothing is removed from others. */
static enum cleave_status do_without_head(struct cv_exec_run *run,
                                          struct cv_attempt *attempt,
                                          struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    char how[CV_FAILURE_TEXT];

    cv_slot_describe_end(&attempt->slot, how, sizeof how);
    cv_note(run->request,
            "for the header alone the command %s: each output is written with its own "
            "header, if it has one",
            how);
    drop_output(attempt);
    CV_TRY(cv_chunk_output_open(run->outputs, &attempt->slot.store, err));
    CV_TRY(settle_output(run, attempt, err));
    CV_TRY(cv_input_coverage_add(&run->queue.coverage, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(run->queue.source, &piece, err));
    return cv_poison_tracker_clear(&run->poison, piece.begin, piece.end, err);
}

/* --- decisions ------------------------------------------------------------------------------ */

enum action {
    REQUEUE, /* it was stopped: put the piece back */
    RETRY,
    BISECT, /* split the piece in two */
    GIVE_UP,
};

struct decision {
    enum action verdict;
    struct cv_piece head, tail; /* the two halves */
    bool single;                /* the piece is one record */
    bool free;                  /* RETRY: not one of failures.retries */
};

/* Whether a failure domain has work to do that the piece has not failed in. */
static bool other_domain_available(const struct cv_exec_run *run,
                                   const struct cv_failure_history *past)
{
    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        if (cv_worker_pool_serves(&run->pool, w) &&
            !cv_failure_history_has(past, cv_worker_pool_domain(&run->pool, w)))
            return true;
    return false;
}

/* Whether another domain should try the chunk, although no retries were asked for, to
 * find out whether chunk or worker is the cause. */
static bool needs_cross_check(const struct cv_exec_run *run,
                              const struct cv_attempt *attempt, bool doubtful)
{
    const struct cleave_failure_options *failures = &run->request->failures;

    return doubtful && failures->retries == 0 && !failures->strict &&
           run->request->items.words == NULL && /* as in a shell, they run once */
           attempt->chunk.past.count < CV_HEALTH_CROSS_CHECKS &&
           other_domain_available(run, &attempt->chunk.past);
}

/* Whether another worker should run the chunk, whatever failures.retries is: this one could not
 * run the command with its files; or the command was killed on a host, which is tried once. */
static bool goes_elsewhere(struct cv_exec_run *run, const struct cv_attempt *attempt,
                           bool killed)
{
    const struct cv_failure_history *past = &attempt->chunk.past;
    const struct cv_slot *slot = &attempt->slot;
    const bool unfit = is_unfit(run, slot);
    uint32_t max = 0;

    if (unfit)
        max = CV_HISTORY_PARTIES;
    else if (killed && cv_slot_is_remote(slot) && !run->request->failures.strict)
        max = 2;
    if (past->count >= max)
        return false;
    if (other_domain_available(run, past))
        return true;
    if (!unfit || !cv_hosts_connecting(&run->pool.hosts))
        return false;
    cv_worker_health_pause(&run->pool.health,
                           cv_worker_pool_domain(&run->pool, slot->worker));
    return true;
}

/* Split the piece if that is possible and useful. */
static enum cleave_status try_halves(struct cv_exec_run *run,
                                     const struct cv_attempt *attempt,
                                     struct decision *out, struct cleave_error *err)
{
    if (cv_bisect_group_hopeless(attempt->chunk.past.family))
        return CLEAVE_OK;
    CV_TRY(cv_piece_bisect(run->queue.source, &attempt->slot.piece, &out->head,
                           &out->tail, err));
    out->single = out->tail.end == out->tail.begin;
    if (!out->single)
        out->verdict = BISECT;
    return CLEAVE_OK;
}

/* Whether the command may have been killed for lack of memory: by a SIGKILL that
 * cleave did not send, as reported by a shell, or because the system has killed a
 * process of this control group. */
static bool lacked_memory(struct cv_exec_run *run, const struct cv_slot *slot,
                          enum cv_slot_end end)
{
    const uint64_t before = run->memory_kills;

    if (end != CV_SLOT_FAILED || slot->fault != NULL)
        return false;
    if (!cv_slot_is_remote(slot))
        run->memory_kills = cv_memory_kills();
    return (slot->process.signal == SIGKILL && slot->kills == 0) ||
           slot->process.exit_code == 128 + SIGKILL || run->memory_kills > before;
}

/* Count the failure. Returns whether it is doubtful. */
static bool count_failure(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    const uint32_t domain = cv_worker_pool_domain(&run->pool, attempt->slot.worker);
    char how[sizeof run->pool.health.items->ways[0]];
    bool doubtful = false;
    uint8_t way = 0;

    run->pool.tallies[attempt->slot.worker].failures++;
    /* Parts of a failed piece are likely to fail, whichever worker runs them. */
    if (attempt->chunk.past.family == NULL) {
        cv_slot_describe_end(&attempt->slot, how, sizeof how);
        doubtful = cv_worker_health_note_failure(&run->pool.health, domain, how, &way);
    }
    cv_failure_history_add(&attempt->chunk.past, domain, way);
    return doubtful;
}

/* Call once for each end. */
static enum cleave_status decide(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 enum cv_slot_end end, struct decision *out,
                                 struct cleave_error *err)
{
    const struct cleave_failure_options *failures = &run->request->failures;
    const struct cv_bisect_group *family = attempt->chunk.past.family;
    const bool may_try = attempt->chunk.attempt <= failures->retries;
    const struct cv_piece *piece = &attempt->slot.piece;
    bool doubtful, large;

    *out = (struct decision){ .verdict = REQUEUE };
    if (end == CV_SLOT_STOPPED)
        return CLEAVE_OK;
    out->verdict = GIVE_UP;
    doubtful = count_failure(run, attempt);
    large = lacked_memory(run, &attempt->slot, end);
    if (large && !cv_source_is_head(run->queue.source, piece))
        cv_order_queue_lower_size_limit(&run->queue, piece->units);
    if (run->halted || run->stopped_by != 0)
        return CLEAVE_OK;
    if (run->request->output.lines && cv_slot_passed(&attempt->slot) > 0)
        return CLEAVE_OK; /* a second output cannot follow the lines already written */
    if (large && (may_try || failures->isolate))
        CV_TRY(try_halves(run, attempt, out, err));
    if (out->verdict == GIVE_UP && goes_elsewhere(run, attempt, large)) {
        out->verdict = RETRY;
        out->free = true;
    }
    if (out->verdict == GIVE_UP && (family == NULL || !family->isolates) &&
        (may_try || needs_cross_check(run, attempt, doubtful))) {
        out->verdict = RETRY;
    }
    if (out->verdict == GIVE_UP && failures->isolate)
        CV_TRY(try_halves(run, attempt, out, err));
    if (out->verdict == GIVE_UP && may_try)
        out->verdict = RETRY;
    return CLEAVE_OK;
}

static void domain_backed_off(void *context, uint32_t domain)
{
    struct cv_exec_run *run = context;
    const struct cv_health_record *at = &run->pool.health.items[domain];
    char reason[200];

    if (!at->out)
        return;
    cv_worker_health_reason(at, reason, sizeof reason);
    cv_note(run->request, "%.200s: left out: %s",
            cv_worker_pool_domain_name(&run->pool, domain), reason);
}

static void worker_rested(void *context, uint32_t worker, double since_s)
{
    struct cv_exec_run *run = context;

    if (run->queue.open && !cv_start_rates_rested(run, worker) &&
        cv_worker_pool_serves(&run->pool, worker))
        cv_event_queue_push(&run->events, (struct cleave_event){
                                              .kind = CLEAVE_CAME,
                                              .worker = worker,
                                              .start_s = since_s - run->events.began_s });
}

static void domain_recovered(void *context, uint32_t domain)
{
    struct cv_exec_run *run = context;

    for (uint32_t w = domain; run->queue.open && w < run->pool.nworkers &&
                              cv_worker_pool_domain(&run->pool, w) == domain;
         w++)
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_CAME, .worker = w });
}

enum cleave_status cv_chunk_trust(struct cv_exec_run *run, struct cleave_error *err)
{
    struct cv_worker_health *health = &run->pool.health;

    health->rests = domain_backed_off;
    health->is_back = domain_recovered;
    health->rested = worker_rested;
    health->context = run;
    run->memory_kills = cv_memory_kills();
    return cv_worker_health_open(health, run->pool.nworkers, run->poller, err);
}

/* --- retries and halves ---------------------------------------------------------------- */

static enum cleave_status queue_retry(struct cv_exec_run *run,
                                      const struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    const struct cv_retry again = { attempt->chunk, attempt->slot.piece };

    return cv_retry_queue_push(&run->agains, &again, err);
}

/* The attempt has ended: queue another one. */
static enum cleave_status retry_later(struct cv_exec_run *run,
                                      const struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    cv_worker_health_note_retry(&run->pool.health, &attempt->chunk.past);
    return queue_retry(run, attempt, err);
}

/* Any worker may retry the piece, and its worker gets new work now. */
static void end_for_policy(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    cv_chunk_tell_over(run, attempt);
    attempt->chunk.reported = CV_UNREPORTED;
}

/* Queue both halves before everything else; the policy is not told of them. */
static enum cleave_status do_halves(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    const struct decision *decision,
                                    struct cleave_error *err)
{
    struct cv_retry half = { .chunk = attempt->chunk, .piece = decision->tail };
    const bool isolate = run->request->failures.isolate;

    if (attempt->chunk.past.family == NULL)
        cv_worker_health_confirm_failure(&run->pool.health, &attempt->chunk.past);
    CV_TRY(cv_bisect_group_split(&run->families, &half.chunk.past.family, isolate, err));
    half.chunk.attempt = isolate ? 1 : attempt->chunk.attempt + 1;
    half.chunk.began_s = cv_clock_s();
    run->queue.parted++;
    run->queue.running++;
    CV_TRY(cv_retry_queue_push(&run->agains, &half, err));
    half.piece = decision->head;
    return cv_retry_queue_push(&run->agains, &half, err);
}

static void keep_written_prefix(struct cv_attempt *attempt)
{
    cv_streamed_output_remember(attempt->slot.store);
    attempt->slot.store = NULL;
}

/* Drop the output, or keep the part that was already written: the next output must
 * begin with it. */
static void set_output_aside(const struct cv_exec_run *run, struct cv_attempt *attempt,
                             enum action verdict)
{
    const bool seen = run->request->output.early && cv_slot_passed(&attempt->slot) > 0;

    if (verdict == RETRY && seen) {
        keep_written_prefix(attempt);
    } else if (verdict != GIVE_UP || !keeps_output(run, attempt)) {
        drop_output(attempt);
    } else if (seen) {
        cv_chunk_output_keep_lines(attempt->slot.store);
    }
}

static enum cleave_status carry_out(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    const struct decision *decision,
                                    struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;

    set_output_aside(run, attempt, decision->verdict);
    switch (decision->verdict) {
    case REQUEUE:
        queue->running--;
        return cv_source_put_back(queue->source, &attempt->slot.piece, err);
    case RETRY:
        attempt->chunk.attempt += !decision->free;
        queue->retries++;
        return retry_later(run, attempt, err);
    case BISECT:
        return do_halves(run, attempt, decision, err);
    default:
        cv_bisect_group_over(attempt->chunk.past.family, false, decision->single);
        return cv_source_is_head(queue->source, &attempt->slot.piece)
                   ? do_without_head(run, attempt, err)
                   : give_up(run, attempt, err);
    }
}

static enum cleave_status give_up_truncated(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err)
{
    attempt->slot.fault = "was lost with its host after lines of it had been written";
    return give_up(run, attempt, err);
}

enum cleave_status cv_chunk_output_mismatch(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err)
{
    drop_output(attempt);
    attempt->slot.fault =
        "gave another output than the one already written (see output.group)";
    return give_up(run, attempt, err);
}

static enum cleave_status give_up_poisoned(struct cv_exec_run *run,
                                           struct cv_attempt *attempt, uint32_t hosts,
                                           struct cleave_error *err)
{
    static const char *const faults[] = { "was lost with its host",
                                          "was lost 3 times with the only host",
                                          "was lost 3 times, with both hosts",
                                          "was lost with 3 hosts" };

    if (cv_slot_passed(&attempt->slot) > 0)
        cv_chunk_output_keep_lines(attempt->slot.store);
    else
        drop_output(attempt);
    attempt->slot.fault = faults[hosts <= CV_BLAME_LOSSES ? hosts : CV_BLAME_LOSSES];
    if (hosts > 1)
        cv_hosts_forgive(&run->pool.hosts);
    return give_up(run, attempt, err);
}

enum cleave_status cv_chunk_failed(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   enum cv_slot_end end, bool *out_over,
                                   struct cleave_error *err)
{
    struct decision decision;

    if (attempt->slot.open.on && end != CV_SLOT_STOPPED)
        CV_TRY(cv_recall_unread(run, attempt, err));
    if (failed_for_head(run, attempt, end)) {
        cv_attempt_report(run, attempt, end, false);
        *out_over = true;
        return do_without_head(run, attempt, err);
    }
    CV_TRY(decide(run, attempt, end, &decision, err));
    *out_over = decision.verdict == GIVE_UP;
    if (!*out_over) /* a chunk that is given up is counted at its end */
        cv_worker_pool_was_busy(&run->pool, attempt->slot.worker, 0,
                                cv_chunk_busy_s(attempt, cv_clock_s()));
    cv_attempt_report(run, attempt, end, *out_over);
    /* The policy is not told of halves, and an open chunk may be large. */
    if (decision.verdict == BISECT ||
        (decision.verdict == RETRY && attempt->slot.open.on))
        end_for_policy(run, attempt);
    return carry_out(run, attempt, &decision, err);
}

/* --- lost hosts ----------------------------------------------------------------------------- */

/* The new output must begin with the part already written, so the same piece is
 * retried, without the part that was not sent. */
static enum cleave_status requeue_partly_written(struct cv_exec_run *run,
                                                 struct cv_attempt *attempt,
                                                 struct cleave_error *err)
{
    if (attempt->slot.open.on && attempt->chunk.reported != CV_UNREPORTED)
        CV_TRY(cv_recall_untransferred(run, attempt, err));
    end_for_policy(run, attempt);
    return retry_later(run, attempt, err);
}

/* Put the piece back, or queue it again. */
static enum cleave_status leave_chunk(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;

    if (cv_ordered_output_remembers(run->outputs, piece.begin))
        return requeue_partly_written(run, attempt, err);
    /* Other domains will be tried, or the policy does not know who had it last. */
    if (attempt->chunk.past.count > 0 || attempt->chunk.runs_alone ||
        attempt->chunk.copied)
        return retry_later(run, attempt, err);
    if (run->request->input.records > 0 && !run->queue.gets_losses) {
        /* An order of as many bytes could have another number of records. */
        end_for_policy(run, attempt);
        return retry_later(run, attempt, err);
    }
    run->queue.running--;
    return cv_order_queue_requeue(&run->queue, &attempt->chunk, &piece, err);
}

/* Machines on which a chunk can run. */
static uint32_t machines(const struct cv_worker_pool *pool)
{
    uint32_t count = 0;

    for (size_t i = 0; i < pool->hosts.count; i++)
        count += pool->hosts.items[i]->was_ready;
    for (uint32_t w = 0; w < pool->nworkers; w++)
        if (pool->host_of[w] == NULL && !pool->absent[w])
            return count + 1;
    return count;
}

/* One of several chunks may have killed the host: retry this one while nothing else is
 * running. */
static enum cleave_status retry_alone(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    end_for_policy(run, attempt);
    attempt->chunk.runs_alone = true;
    return retry_later(run, attempt, err);
}

enum cleave_status cv_chunk_lost(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 bool *out_given_up, struct cleave_error *err)
{
    const struct cv_slot *slot = &attempt->slot;
    const bool seen = cv_slot_passed(slot) > 0;
    uint32_t hosts = 0;
    bool alone;

    if (seen && !run->request->output.early) {
        *out_given_up = true;
        cv_attempt_report(run, attempt, CV_SLOT_LOST, true);
        return give_up_truncated(run, attempt, err);
    }
    if (cv_remote_facts(slot).was_running)
        CV_TRY(cv_poison_tracker_lost(&run->poison, slot->piece.begin, slot->piece.end,
                                      cv_remote_host(slot), machines(&run->pool), &hosts,
                                      err));
    alone = hosts > 0 && !attempt->chunk.runs_alone && cv_remote_others_ran(slot) &&
            !run->request->hosts.fold;
    *out_given_up = hosts > 0 && !alone;
    if (seen && !*out_given_up)
        keep_written_prefix(attempt);
    run->queue.lost += !*out_given_up;
    if (alone)
        return retry_alone(run, attempt, err);
    if (hosts == 0) {
        run->queue.given_back += cv_remote_facts(slot).given_back;
        return leave_chunk(run, attempt, err);
    }
    cv_attempt_report(run, attempt, CV_SLOT_LOST, true);
    return give_up_poisoned(run, attempt, hosts, err);
}

/* --- commands that ask to be run later ----------------------------------------------------- */

bool cv_chunk_asks_later(const struct cv_exec_run *run, const struct cv_slot *slot,
                         enum cv_slot_end end)
{
    return end == CV_SLOT_FAILED && slot->fault == NULL && slot->kills == 0 &&
           slot->process.signal == 0 && slot->process.exit_code > 0 &&
           (slot->later_s > 0 ||
            cv_status_is_ok(slot->process.exit_code, &run->request->failures.later));
}

void cv_chunk_rest(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cv_slot *slot = &attempt->slot;
    const double told_s = slot->later_s > 0 ? slot->later_s
                          : cv_slot_is_remote(slot)
                              ? cv_remote_facts(slot).retry_s
                              : cv_error_lines_retry_after(&slot->error_lines);
    /* The workers that share its command rest as well. */
    const uint32_t window = cv_hosts_window(&run->pool.hosts);
    const uint32_t first = slot->worker - slot->worker % window;
    double rest_s = 0;
    char how[32] = "";

    for (uint32_t w = first; w < first + window; w++)
        rest_s = cv_worker_health_postpone(&run->pool.health, w, attempt->runs_s, told_s);
    if (!(slot->later_s > 0))
        snprintf(how, sizeof how, "status %d, ", slot->process.exit_code);
    cv_start_rates_lower(run, slot->worker, &slot->piece);
    run->pool.tallies[slot->worker].later++;
    run->queue.later_in_a_row++;
    if (run->request->failures.halt_on == CLEAVE_HALT_ON_LATER)
        halt_if_asked(run);
    if (run->queue.later++ == 0)
        cv_note(run->request,
                "%.200s rests for %.3g s: the command asked to be run later (%s%s)",
                run->pool.names[slot->worker], rest_s, how,
                slot->later_s > 0 ? "its answer" : "failures.later");
}

enum cleave_status cv_chunk_postpone(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     struct cleave_error *err)
{
    cv_worker_pool_was_busy(&run->pool, attempt->slot.worker, 0,
                            cv_chunk_busy_s(attempt, cv_clock_s()));
    cv_attempt_report(run, attempt, CV_SLOT_FAILED, false);
    set_output_aside(run, attempt, RETRY);
    return leave_chunk(run, attempt, err);
}

/* --- commands that cannot start now ---------------------------------------------------- */

bool cv_chunk_put_off(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cleave_error *why)
{
    struct cleave_error ignored;

    return cv_resource_wait_wait(run, &attempt->slot, why) &&
           queue_retry(run, attempt, &ignored) == CLEAVE_OK;
}
