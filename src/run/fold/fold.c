/* fold.c -- fold partial results into one, by a command or a named reduction. SPDX-License-Identifier: MIT */
#include "run/fold/fold.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cleave/trace.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/common/shell.h"
#include "run/fold/named_reduction.h"

/* --- partial results that wait to be folded ---------------------------------------- */

void cv_fold_set_done(struct cv_fold_set *set)
{
    free(set->items);
    *set = (struct cv_fold_set){ 0 };
}

/* Whether items `index` and `index` + 1 can be folded. An item without a result has joined its
 * neighbours, so it is not adjacent to any. */
static bool linked(const struct cv_fold_set *set, size_t index)
{
    return index + 1 < set->count &&
           (set->commutative || set->items[index].end == set->items[index + 1].begin);
}

static void count_ready(struct cv_fold_set *set)
{
    set->ready = 0;
    for (size_t i = 0; i < set->count; i++)
        set->ready += linked(set, i) || (i > 0 && linked(set, i - 1));
}

static void remove_items(struct cv_fold_set *set, size_t index, size_t count)
{
    memmove(set->items + index, set->items + index + count,
            (set->count - index - count) * sizeof *set->items);
    set->count -= count;
}

/* The index of the first item after the partial. */
static size_t place(const struct cv_fold_set *set, const struct cv_partial *partial)
{
    const struct cv_partial *items = set->items;
    size_t at;

    if (set->commutative)
        CV_BISECT(at, set->count, i, items[i].bytes <= partial->bytes);
    else
        CV_BISECT(at, set->count, i, items[i].begin <= partial->begin);
    return at;
}

/* Join two adjacent intervals if one has no result. */
static bool join(struct cv_partial *before, const struct cv_partial *after)
{
    if (before->end != after->begin || (before->store != NULL && after->store != NULL))
        return false;
    before->end = after->end;
    before->covers += after->covers;
    if (before->store == NULL) {
        before->store = after->store;
        before->bytes = after->bytes;
        before->folded = after->folded;
    }
    return true;
}

enum cleave_status cv_fold_set_add(struct cv_fold_set *set,
                                   const struct cv_partial *partial,
                                   struct cleave_error *err)
{
    struct cv_partial added = *partial;
    size_t at;

    if (set->commutative && partial->store == NULL)
        return CLEAVE_OK;
    assert(set->commutative || partial->begin < partial->end);
    if (!CV_ROOM(set->items, &set->capacity, set->count + 1))
        return cv_fail_memory(err, "partial results");
    at = place(set, &added);
    if (!set->commutative) {
        struct cv_partial before;

        if (at < set->count && join(&added, &set->items[at]))
            remove_items(set, at, 1);
        if (at > 0 && (before = set->items[at - 1], join(&before, &added))) {
            added = before;
            remove_items(set, --at, 1);
        }
    }
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof *set->items);
    set->items[at] = added;
    set->count++;
    count_ready(set);
    return CLEAVE_OK;
}

/* The first of the `count` adjacent items with the smallest sum, among `length` items from
 * `first` that can be folded. */
static size_t smallest(const struct cv_fold_set *set, size_t first, size_t length,
                       size_t count, double *out_mean)
{
    double sum = 0, min;
    size_t best = first;

    for (size_t i = first; i < first + count; i++)
        sum += (double)set->items[i].bytes;
    min = sum;
    for (size_t i = first + 1; i + count <= first + length; i++) {
        sum += (double)set->items[i + count - 1].bytes - (double)set->items[i - 1].bytes;
        if (sum < min) {
            min = sum;
            best = i;
        }
    }
    *out_mean = min / (double)count;
    return best;
}

size_t cv_fold_set_take(struct cv_fold_set *set, size_t max, struct cv_partial *out)
{
    size_t best = 0, taken = 0;
    double min = 0;

    assert(max >= 2);
    for (size_t first = 0, length; first < set->count; first += length) {
        size_t count, at;
        double mean;

        for (length = 1; linked(set, first + length - 1);)
            length++;
        if (length < 2)
            continue;
        count = length < max ? length : max;
        at = smallest(set, first, length, count, &mean);
        if (taken == 0 || mean < min || (mean <= min && count > taken)) {
            best = at;
            taken = count;
            min = mean;
        }
    }
    if (taken == 0)
        return 0;
    memcpy(out, set->items + best, taken * sizeof *out);
    remove_items(set, best, taken);
    count_ready(set);
    return taken;
}

bool cv_fold_set_last(struct cv_fold_set *set, struct cv_partial *out)
{
    if (set->count != 1 || set->items[0].store == NULL)
        return false;
    return cv_fold_set_pop(set, out);
}

bool cv_fold_set_pop(struct cv_fold_set *set, struct cv_partial *out)
{
    if (set->count == 0)
        return false;
    *out = set->items[--set->count];
    count_ready(set);
    return true;
}

/* --- the command -------------------------------------------------------------------------- */

/* The word {} in a line for the shell; NULL: none. */
static const char *find_all_files(const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "{}")) != NULL) {
        if ((at == line || strchr(" \t\n;|&(", at[-1]) != NULL) &&
            strchr(" \t\n;|&)<>", at[2]) != NULL)
            return at;
        at += 2;
    }
    return NULL;
}

static bool takes_two(const char *command)
{
    return strstr(command, "{1}") != NULL && strstr(command, "{2}") != NULL;
}

static enum cv_named_kind kind_of(const char *command)
{
    struct cv_named_reduction named;

    return cv_named_reduction_parse(command, &named, NULL) == CLEAVE_OK ? named.kind
                                                                        : CV_NAMED_NONE;
}

bool cv_fold_is_named(const char *command)
{
    return kind_of(command) != CV_NAMED_NONE;
}

bool cv_fold_travels(const char *command)
{
    return kind_of(command) != CV_NAMED_SUM;
}

bool cv_fold_is_commutative(const char *command, bool requested)
{
    struct cv_named_reduction named;

    return cv_fold_is_named(command) &&
                   cv_named_reduction_parse(command, &named, NULL) == CLEAVE_OK
               ? cv_named_is_commutative(&named)
               : requested;
}

bool cv_fold_takes_files(const char *command)
{
    return takes_two(command) || find_all_files(command) != NULL ||
           kind_of(command) == CV_NAMED_SORT;
}

size_t cv_fold_most(const char *command)
{
    return takes_two(command) ? 2 : CV_FOLD_MOST;
}

enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err)
{
    struct cv_named_reduction named;
    const bool one = strstr(command, "{1}") != NULL, two = strstr(command, "{2}") != NULL;

    if (command[0] == '\0')
        return cv_fail(err, CLEAVE_EINPUT, "expected a command that reduces, got ''");
    CV_TRY(cv_named_reduction_parse(command, &named, err));
    if (named.kind != CV_NAMED_NONE || (!one && !two) ||
        (one && two && find_all_files(command) == NULL))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected {1} and {2}, or {}, or none of them in the command that "
                   "reduces, got '%s'",
                   CV_SHOWN(command, 128));
}

static void add_name(struct cv_text *out, int fd)
{
    cv_text_add(out, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

/* Replace {1}, {2} and {} by names of this process's descriptors, as the files have no other
 * name. */
static bool name_files(const char *command, const struct cv_fold_input *inputs,
                       size_t count, struct cv_text *out)
{
    const bool two = takes_two(command);
    const char *all = two ? NULL : find_all_files(command);

    for (const char *rest = command; *rest != '\0';) {
        const size_t length = strcspn(rest, "{");

        cv_text_add(out, "%.*s", (int)length, rest);
        rest += length;
        if (rest == all) {
            for (size_t i = 0; i < count; i++) {
                cv_text_add(out, "%s", i > 0 ? " " : "");
                add_name(out, inputs[i].taken.fd);
            }
            rest += 2;
            all = find_all_files(rest);
        } else if (two &&
                   (strncmp(rest, "{1}", 3) == 0 || strncmp(rest, "{2}", 3) == 0)) {
            add_name(out, inputs[rest[1] - '1'].taken.fd);
            rest += 3;
        } else if (*rest != '\0') {
            cv_text_add(out, "%c", *rest++);
        }
    }
    return !out->failed;
}

bool cv_fold_call_is_function(const struct cv_fold_call *call)
{
    return call->named.kind != CV_NAMED_NONE && call->named.kind != CV_NAMED_SORT;
}

static void drop_command(struct cv_fold_call *call)
{
    if (call->has_command)
        cv_command_done(&call->command);
    call->has_command = false;
}

static enum cleave_status set_command(struct cv_fold_call *call, const char *text,
                                      struct cleave_error *err)
{
    drop_command(call);
    CV_TRY(cv_shell_command_init(&call->command, call->prefix, text, err));
    call->has_command = true;
    return cv_command_set(&call->command, "CLEAVE_WORKER", call->worker, err);
}

enum cleave_status cv_fold_call_init(struct cv_fold_call *call, struct cleave_error *err)
{
    CV_TRY(cv_named_reduction_parse(call->text, &call->named, err));
    for (int sorted = 0; call->named.kind == CV_NAMED_SORT && sorted < 2; sorted++)
        cv_named_sort_command(&call->named, sorted, &call->sort[sorted]);
    if (call->sort[0].failed || call->sort[1].failed)
        return cv_fail_memory(err, "the reduction");
    return cv_fold_call_is_function(call) ? CLEAVE_OK
                                          : set_command(call, call->text, err);
}

static enum cleave_status start_on_files(struct cv_fold_call *call, struct cv_slot *slot,
                                         const char *command, struct cleave_error *err)
{
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status = name_files(command, call->inputs, call->count, &text)
                                    ? set_command(call, text.bytes, err)
                                    : cv_fail_memory(err, "a command");

    cv_text_done(&text);
    CV_TRY(status);
    slot->command = &call->command;
    return cv_slot_start_parts(slot, NULL, 0, err);
}

static enum cleave_status start_on_input(struct cv_fold_call *call, struct cv_slot *slot,
                                         struct cleave_error *err)
{
    struct cv_part parts[CV_FOLD_MOST];

    for (size_t i = 0; i < call->count; i++)
        parts[i] = (struct cv_part){ .fd = call->inputs[i].taken.fd,
                                     .begin = call->inputs[i].taken.begin,
                                     .end = call->inputs[i].taken.end,
                                     .name = "a partial result" };
    slot->command = &call->command;
    return cv_slot_start_parts(slot, parts, call->count, err);
}

/* The bytes of a partial, in a file that may have others: mapped from the start of a page. */
static enum cleave_status map_partial(const struct cv_taken *taken,
                                      struct cv_named_part *out, struct cleave_error *err)
{
    const uint64_t into = taken->begin % (uint64_t)sysconf(_SC_PAGESIZE);
    char *bytes;

    out->bytes = "";
    out->length = (size_t)(taken->end - taken->begin);
    if (out->length == 0)
        return CLEAVE_OK;
    bytes = mmap(NULL, out->length + into, PROT_READ, MAP_PRIVATE, taken->fd,
                 (off_t)(taken->begin - into));
    if (bytes == MAP_FAILED) {
        out->length = 0;
        return cv_fail_errno(err, errno, "cannot read a partial result");
    }
    out->bytes = bytes + into;
    return CLEAVE_OK;
}

static void unmap_partial(const struct cv_named_part *part)
{
    const size_t into = (uintptr_t)part->bytes % (size_t)sysconf(_SC_PAGESIZE);
    char *bytes; /* not const */

    memcpy(&bytes, &part->bytes, sizeof bytes);
    if (part->length > 0)
        munmap(bytes - into, part->length + into);
}

static bool reduce_partials(void *context, int fd, const atomic_bool *stop)
{
    struct cv_fold_call *call = context;
    struct cv_named_part parts[CV_FOLD_MOST] = { { NULL, 0, false } };
    enum cleave_status status = CLEAVE_OK;
    size_t count = 0;

    while (count < call->count && status == CLEAVE_OK) {
        parts[count].is_partial = call->inputs[count].folded;
        status = map_partial(&call->inputs[count].taken, &parts[count], &call->err);
        count++;
    }
    CV_THEN(status, cv_named_reduce(&call->named, parts, count, call->last, fd, stop,
                                    &call->err));
    while (count > 0)
        unmap_partial(&parts[--count]);
    return status == CLEAVE_OK;
}

enum cleave_status cv_fold_call_start(struct cv_fold_call *call, struct cv_slot *slot,
                                      struct cleave_error *err)
{
    bool sorted = true;

    if (cv_fold_call_is_function(call))
        return cv_slot_start_function(slot, reduce_partials, call, err);
    for (size_t i = 0; i < call->count; i++)
        sorted = sorted && call->inputs[i].folded;
    if (call->named.kind == CV_NAMED_SORT)
        return start_on_files(call, slot, call->sort[sorted].bytes, err);
    return cv_fold_takes_files(call->text) ? start_on_files(call, slot, call->text, err)
                                           : start_on_input(call, slot, err);
}

void cv_fold_call_done(struct cv_fold_call *call)
{
    drop_command(call);
    cv_text_done(&call->sort[0]);
    cv_text_done(&call->sort[1]);
}

/* --- the log ------------------------------------------------------------------------------ */

struct cv_fold_note {
    double start_s, end_s;
    size_t count;
    uint32_t worker;
};

void cv_fold_log_add(struct cv_fold_log *log, uint32_t worker, double start_s,
                     double end_s, size_t count)
{
    if (log == NULL)
        return;
    if (!CV_ROOM(log->notes, &log->room, log->count + 1)) {
        log->short_of_memory = true;
        return;
    }
    log->notes[log->count++] = (struct cv_fold_note){ start_s, end_s, count, worker };
}

enum cleave_status cv_fold_log_write(const struct cv_fold_log *log, double began_s,
                                     struct cleave_trace *trace, struct cleave_error *err)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct cv_fold_note *note = &log->notes[i];
        const double start_s = fmax(0, note->start_s - began_s);
        const struct cleave_entry entry = {
            .as.event = { .kind = CLEAVE_FOLDED,
                          .worker = note->worker,
                          .units = (double)note->count,
                          .start_s = start_s,
                          .time_s = fmax(start_s, note->end_s - began_s) }
        };

        CV_TRY(cleave_trace_add(trace, &entry, err));
    }
    return log->short_of_memory ? cv_fail_memory(err, "the folds of a trace") : CLEAVE_OK;
}

void cv_fold_log_done(struct cv_fold_log *log)
{
    free(log->notes);
    *log = (struct cv_fold_log){ 0 };
}

/* --- one fold ----------------------------------------------------------------------------- */

/* With this many ready partials, workers fold before they make more: enough for two full calls,
 * few enough for a descriptor each. */
enum { CROWD = 2 * CV_FOLD_MOST };

struct job {
    struct cv_slot slot;
    struct cv_fold_call call;
    struct cv_partial partials[CV_FOLD_MOST];
    size_t npartials; /* stores are owned                                           */
    uint32_t attempt; /* from 1                                                     */
};

struct cv_fold {
    struct cv_fold_options options;
    bool takes_files;
    bool closed;            /* the last step of a named reduction is done           */
    struct cv_fold_set set; /* the stores in it are owned                           */
    struct job *jobs;       /* owned: per worker                                    */
    uint32_t running;
    size_t crowd; /* see cv_fold_crowded                                              */
    uint64_t skipped, covered; /* bytes of the input: see cv_fold_covered           */
    bool stopped, failed, by_command;
    struct cleave_error err; /* once failed                                         */
    struct cv_fold_counts counts;
};

static void drop_partials(struct job *job)
{
    while (job->npartials > 0)
        cv_chunk_output_drop(job->partials[--job->npartials].store);
}

static void fail_fold(struct cv_fold *fold, const struct cleave_error *err)
{
    if (!fold->failed)
        fold->err = *err;
    fold->failed = true;
}

static enum cleave_status launch(struct cv_fold *fold, struct job *job,
                                 struct cleave_error *err)
{
    struct cv_fold_call *call = &job->call;

    for (call->count = 0; call->count < job->npartials; call->count++) {
        const struct cv_partial *partial = &job->partials[call->count];
        struct cv_fold_input *input = &call->inputs[call->count];

        input->folded = partial->folded;
        CV_TRY(cv_ordered_output_take(partial->store, &input->taken, err));
    }
    CV_TRY(cv_start_limiter_room(fold->options.limiter, err));
    CV_TRY(cv_fold_call_start(call, &job->slot, err));
    cv_start_limiter_begun(fold->options.limiter);
    fold->counts.calls += job->npartials > 1;
    return CLEAVE_OK;
}

/* The command was not started: if resources were short, its partials return to the set. */
static enum cleave_status put_off(struct cv_fold *fold, struct job *job,
                                  const struct cleave_error *why,
                                  struct cleave_error *err)
{
    if (!cv_start_limiter_wait(fold->options.limiter, fold->options.poller, why))
        return cv_fail_again(err, why);
    while (job->npartials > 0) {
        CV_TRY(cv_fold_set_add(&fold->set, &job->partials[job->npartials - 1], err));
        job->npartials--;
    }
    return CLEAVE_OK;
}

static void give_up(struct cv_fold *fold, const struct job *job)
{
    struct cleave_error err = job->call.err;
    char how[64];

    fold->by_command |= !fold->failed;
    if (cv_fold_call_is_function(&job->call)) {
        fail_fold(fold, &err);
        return;
    }
    cv_slot_describe_end(&job->slot, how, sizeof how);
    cv_fail(&err, CLEAVE_EENGINE, "the command that reduces %s on %zu partial results%s",
            how, job->npartials, job->attempt > 1 ? ", also when tried again" : "");
    fail_fold(fold, &err);
}

static enum cleave_status accept_result(struct cv_fold *fold, struct job *job,
                                        struct cleave_error *err)
{
    struct cv_chunk_output *store = job->slot.store;
    struct cv_partial partial = { .end = 1, .store = store, .folded = true };

    if (job->npartials > 0) {
        partial.begin = job->partials[0].begin;
        partial.end = job->partials[job->npartials - 1].end;
    }
    for (size_t i = 0; i < job->npartials; i++)
        partial.covers += job->partials[i].covers;
    fold->closed |= job->call.last;
    job->slot.store = NULL;
    drop_partials(job);
    return cv_fold_add(fold, partial, err);
}

static void job_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_fold *fold = context;
    struct job *job = &fold->jobs[slot->worker];
    const bool stopping = fold->stopped || fold->failed;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err, why;

    cv_start_limiter_ended(fold->options.limiter);
    fold->running--;
    fold->counts.seconds += cv_clock_s() - slot->start_s;
    if (end != CV_SLOT_DONE) {
        cv_chunk_output_drop(slot->store);
        slot->store = NULL;
    }
    if (end == CV_SLOT_DONE) {
        if (job->npartials > 1) {
            cv_fold_log_add(fold->options.log, slot->worker, slot->start_s, cv_clock_s(),
                            job->npartials);
            fold->counts.gone += job->npartials - 1;
        }
        status = accept_result(fold, job, &err);
    } else if (end == CV_SLOT_FAILED && slot->process.start_error != 0 && !stopping &&
               cv_command_fail_start(slot->command, slot->process.start_error, &why) ==
                   CLEAVE_ERESOURCES) {
        status = put_off(fold, job, &why, &err);
    } else if (end != CV_SLOT_STOPPED && job->attempt <= fold->options.retries &&
               !stopping && !cv_fold_call_is_function(&job->call)) {
        job->attempt++;
        fold->counts.retries++;
        if (launch(fold, job, &why) == CLEAVE_OK)
            fold->running++;
        else
            status = put_off(fold, job, &why, &err);
    } else if (end != CV_SLOT_STOPPED) {
        give_up(fold, job);
    }
    if (status != CLEAVE_OK)
        fail_fold(fold, &err);
}

static void job_broke(void *context, const struct cleave_error *err)
{
    fail_fold(context, err);
}

static const struct cv_slot_events job_events = { .ended = job_ended,
                                                  .broke = job_broke };

static enum cleave_status begin(struct cv_fold *fold, struct job *job,
                                struct cleave_error *err)
{
    struct cleave_error why;

    job->attempt = 1;
    if (launch(fold, job, &why) != CLEAVE_OK)
        return put_off(fold, job, &why, err);
    fold->running++;
    return CLEAVE_OK;
}

enum cleave_status cv_fold_start(struct cv_fold *fold, uint32_t worker, uint32_t among,
                                 struct cleave_error *err)
{
    struct job *job = &fold->jobs[worker];
    const size_t most = cv_fold_most(fold->options.command);
    size_t max;

    assert(!job->slot.busy && among > 0);
    if (fold->stopped || fold->failed || fold->set.ready == 0 ||
        cv_start_limiter_is_crowded(fold->options.limiter))
        return CLEAVE_OK;
    max = (fold->set.ready + among - 1) / among;
    max = max < 2 ? 2 : max > most ? most : max;
    job->npartials = cv_fold_set_take(&fold->set, max, job->partials);
    return begin(fold, job, err);
}

enum cleave_status cv_fold_close(struct cv_fold *fold, bool *out_done,
                                 struct cleave_error *err)
{
    struct job *job = &fold->jobs[0];
    const bool function = cv_fold_call_is_function(&job->call);
    struct cv_partial only;

    assert(fold->running == 0 && fold->set.ready == 0);
    *out_done = fold->closed || fold->stopped || fold->failed ||
                job->call.named.kind == CV_NAMED_NONE;
    if (*out_done || cv_start_limiter_is_crowded(fold->options.limiter))
        return CLEAVE_OK;
    job->npartials = 0;
    if (cv_fold_set_last(&fold->set, &only)) {
        job->partials[job->npartials++] = only;
        *out_done = only.folded && !function;
    } else {
        *out_done = fold->set.count > 0 || !function;
    }
    if (*out_done)
        return job->npartials > 0 ? cv_fold_set_add(&fold->set, &only, err) : CLEAVE_OK;
    job->call.last = true;
    return begin(fold, job, err);
}

/* --- all folds -------------------------------------------------------------------------- */

/* If each partial is a file with a descriptor and descriptors are few, fold sooner. */
static size_t crowd_of(const struct cv_fold *fold)
{
    const uint64_t files = fold->options.limiter->most_files;

    if (!fold->takes_files || files == 0 || files / 4 >= CROWD)
        return CROWD;
    return files < 8 ? 2 : (size_t)(files / 4);
}

enum cleave_status cv_fold_new(const struct cv_fold_options *options,
                               struct cv_fold **out, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_fold *fold;

    CV_TRY(cv_fold_check_command(options->command, err));
    fold = calloc(1, sizeof *fold);
    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    fold->options = *options;
    fold->takes_files = cv_fold_takes_files(options->command);
    fold->crowd = crowd_of(fold);
    fold->set.commutative =
        cv_fold_is_commutative(options->command, options->commutative);
    fold->jobs = calloc(options->nworkers, sizeof *fold->jobs);
    if (fold->jobs == NULL) {
        cv_fold_free(fold);
        return cv_fail_memory(err, "the reduction");
    }
    for (uint32_t w = 0; w < options->nworkers; w++) {
        struct cv_slot *slot = &fold->jobs[w].slot;

        cv_slot_init(slot);
        slot->poller = options->poller;
        slot->outputs = options->outputs;
        slot->listener = options->listener;
        slot->timeout_s = options->timeout_s;
        slot->events = &job_events;
        slot->context = fold;
        slot->worker = w;
        fold->jobs[w].call = (struct cv_fold_call){
            .text = options->command,
            .prefix = options->prefixes != NULL ? options->prefixes[w] : NULL,
            .worker = options->names[w],
        };
        CV_THEN(status, cv_fold_call_init(&fold->jobs[w].call, err));
    }
    if (status != CLEAVE_OK) {
        cv_fold_free(fold);
        return status;
    }
    *out = fold;
    return CLEAVE_OK;
}

void cv_fold_free(struct cv_fold *fold)
{
    struct cv_partial partial;

    if (fold == NULL)
        return;
    for (uint32_t w = 0; fold->jobs != NULL && w < fold->options.nworkers; w++) {
        cv_slot_done(&fold->jobs[w].slot);
        drop_partials(&fold->jobs[w]);
        cv_fold_call_done(&fold->jobs[w].call);
    }
    while (cv_fold_set_pop(&fold->set, &partial))
        cv_chunk_output_drop(partial.store);
    cv_fold_set_done(&fold->set);
    free(fold->jobs);
    free(fold);
}

enum cleave_status cv_fold_add(struct cv_fold *fold, struct cv_partial partial,
                               struct cleave_error *err)
{
    struct cv_taken taken;
    /* The descriptor of the output becomes free for another one. */
    enum cleave_status status = cv_ordered_output_take(partial.store, &taken, err);

    partial.bytes = cv_chunk_output_size(partial.store);
    CV_THEN(status, cv_fold_set_add(&fold->set, &partial, err));
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(partial.store);
    return status;
}

enum cleave_status cv_fold_skip(struct cv_fold *fold, uint64_t begin, uint64_t end,
                                struct cleave_error *err)
{
    if (fold->set.commutative) /* the set does not keep it */
        fold->skipped += end - begin;
    return cv_fold_set_add(&fold->set,
                           &(struct cv_partial){
                               .begin = begin, .end = end, .covers = end - begin },
                           err);
}

size_t cv_fold_ready(const struct cv_fold *fold)
{
    return fold->set.ready;
}

bool cv_fold_crowded(const struct cv_fold *fold)
{
    return fold->set.ready >= fold->crowd;
}

bool cv_fold_busy(const struct cv_fold *fold, uint32_t worker)
{
    return fold->jobs[worker].slot.busy;
}

uint32_t cv_fold_running(const struct cv_fold *fold)
{
    return fold->running;
}

void cv_fold_stop(struct cv_fold *fold)
{
    fold->stopped = true;
    for (uint32_t w = 0; w < fold->options.nworkers; w++)
        cv_slot_stop(&fold->jobs[w].slot);
}

enum cleave_status cv_fold_status(const struct cv_fold *fold, bool *out_command,
                                  struct cleave_error *err)
{
    if (out_command != NULL)
        *out_command = fold->by_command;
    return fold->failed ? cv_fail_again(err, &fold->err) : CLEAVE_OK;
}

enum cleave_status cv_fold_result(struct cv_fold *fold, struct cv_chunk_output **out,
                                  struct cleave_error *err)
{
    struct cv_partial last;

    assert(fold->running == 0 && fold->set.ready == 0);
    *out = NULL;
    fold->covered = fold->skipped;
    for (size_t i = 0; i < fold->set.count; i++)
        fold->covered += fold->set.items[i].covers;
    if (cv_fold_set_last(&fold->set, &last))
        *out = last.store;
    else if (fold->set.count > 1)
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the input");
    return CLEAVE_OK;
}

uint64_t cv_fold_covered(const struct cv_fold *fold)
{
    return fold->covered;
}

struct cv_fold_counts cv_fold_counts(const struct cv_fold *fold)
{
    struct cv_fold_counts counts = fold->counts;
    const double now_s = cv_clock_s();

    for (uint32_t w = 0; fold->running > 0 && w < fold->options.nworkers; w++)
        if (cv_fold_busy(fold, w) && fold->jobs[w].npartials > 1)
            counts.waited_s =
                fmax(counts.waited_s, (now_s - fold->jobs[w].slot.start_s) /
                                          (double)(fold->jobs[w].npartials - 1));
    return counts;
}

double cv_fold_one_s(struct cv_fold_counts counts)
{
    const double mean_s = counts.gone > 0 ? counts.seconds / (double)counts.gone : 0;

    return fmax(mean_s, counts.waited_s);
}
