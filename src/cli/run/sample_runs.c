/* sample_runs.c -- run a command on parts of a sample. SPDX-License-Identifier: MIT */
#include "cli/run/sample_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"
#include "run/decode/decoder.h"

enum {
    RECORDS = 4000,    /* most records of a sample */
    PARTS = 4,         /* most parts of an input */
    OUTPUT = 64 << 20, /* most bytes of an output */
};

void cv_sample_output_done(struct cv_sample_output *output)
{
    free(output->bytes);
    *output = (struct cv_sample_output){ NULL, 0, "" };
}

/* --- opening ------------------------------------------------------------------------------ */

static void signalled(void *context, int signal)
{
    struct cv_sample_runs *runs = context;

    runs->signal = signal;
}

static void ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_sample_runs *runs = context;

    (void)slot;
    runs->end = end;
    runs->over = true;
}

static void broke(void *context, const struct cleave_error *err)
{
    struct cv_sample_runs *runs = context;

    runs->broke = *err;
    runs->broken = true;
}

static const struct cv_slot_events events = { .ended = ended, .broke = broke };

/* Whether name and first bytes choose the format. */
static bool chooses(const struct cv_sample_runs *runs)
{
    const char *split = runs->values->split;

    return split == NULL || strcmp(split, "auto") == 0;
}

static enum cleave_status open_source(struct cv_sample_runs *runs,
                                      struct cleave_error *err)
{
    const struct cv_run_options *values = runs->values;
    const char *decode = values->decode;
    struct cv_splitter **splitter = &runs->splitter;

    CV_TRY(cv_splitter_parse(chooses(runs) ? "lines" : values->split, splitter, err));
    CV_TRY(cv_splitter_set_records(*splitter, values->records, err));
    CV_TRY(cv_splitter_set_together(*splitter, values->together, err));
    if (values->header != NULL)
        CV_TRY(cv_splitter_set_header(*splitter, cv_header_how(values->header), err));
    return cv_source_open(values->inputs.items, values->inputs.count,
                          &(struct cv_source_options){
                              .splitter = *splitter,
                              .choose = chooses(runs) ? *splitter : NULL,
                              .no_header = values->no_header || runs->no_header,
                              .header = values->header != NULL,
                              .raw = decode != NULL && strcmp(decode, "none") == 0,
                              .codec = decode != NULL ? cv_codec_named(decode) : NULL,
                              .max_record = values->max_record > 0
                                                ? cv_record_limit(values->max_record)
                                                : CLEAVE_MAX_RECORD },
                          &runs->source, err);
}

/* A word that names a file by a relative path: its absolute path, as the command runs elsewhere. */
static const char *absolute_word(const struct cv_sample_runs *runs, const char *word)
{
    char path[PATH_MAX];
    struct stat facts;

    if (word[0] == '/' || strpbrk(word, "/.") == NULL || stat(word, &facts) != 0 ||
        realpath(word, path) == NULL)
        return word;
    return cv_need_text(runs->call->arena, path, "the command");
}

static enum cleave_status open_command(struct cv_sample_runs *runs,
                                       struct cleave_error *err)
{
    const char **words = cv_call_words(runs->call, runs->call->noperands);

    for (size_t i = 0; words[i] != NULL; i++)
        words[i] = absolute_word(runs, words[i]);
    CV_TRY(cv_command_init(&runs->command, NULL, words, err));
    runs->has_command = true;
    return CLEAVE_OK;
}

static enum cleave_status open_directory(struct cv_sample_runs *runs,
                                         struct cleave_error *err)
{
    const char *parent = getenv("TMPDIR");

    if (parent == NULL || parent[0] == '\0')
        parent = "/tmp";
    if (realpath(parent, runs->directory) == NULL ||
        strlen(runs->directory) + 24 > sizeof runs->directory ||
        mkdtemp(strcat(runs->directory, "/cleave-check.XXXXXX")) == NULL ||
        chdir(runs->directory) != 0) {
        runs->directory[0] = '\0';
        return cv_fail_errno(err, errno, "cannot make a temporary directory");
    }
    return CLEAVE_OK;
}

enum cleave_status cv_sample_runs_open(struct cv_sample_runs *runs,
                                       struct cleave_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

    CV_TRY(open_source(runs, err));
    CV_TRY(cv_source_validate(runs->source, err));
    CV_TRY(open_command(runs, err));
    CV_TRY(cv_poller_new(&runs->poller, err));
    CV_TRY(cv_poller_signals(runs->poller, signals, 3, signalled, runs, err));
    CV_TRY(cv_ordered_output_new(
        &(struct cv_ordered_output_options){ .sink = -1,
                                             .sink_name = "the outputs",
                                             .memory = CV_GATHER_MEMORY,
                                             .files = true },
        &runs->outputs, err));
    runs->nowhere = cv_dev_null_open(O_WRONLY);
    if (runs->nowhere < 0)
        return cv_fail_errno(err, errno, "cannot open /dev/null");
    CV_TRY(open_directory(runs, err));
    runs->slot.poller = runs->poller;
    runs->slot.outputs = runs->outputs;
    runs->slot.events = &events;
    runs->slot.context = runs;
    return CLEAVE_OK;
}

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void cv_sample_runs_close(struct cv_sample_runs *runs)
{
    if (runs->slot.poller != NULL)
        cv_slot_done(&runs->slot);
    if (runs->outputs != NULL)
        cv_ordered_output_free(runs->outputs);
    cv_poller_free(runs->poller);
    if (runs->directory[0] != '\0' && chdir("/") == 0)
        nftw(runs->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (runs->has_command)
        cv_command_done(&runs->command);
    cv_close(&runs->nowhere);
    cv_source_free(runs->source);
    cv_splitter_free(runs->splitter);
    cv_sample_output_done(&runs->header);
    free(runs->bounds);
}

/* --- the sample --------------------------------------------------------------------------- */

static bool add_bound(struct cv_sample_runs *runs, uint64_t at)
{
    if (!CV_ROOM(runs->bounds, &runs->room, runs->nrecords + 1))
        return false;
    runs->bounds[runs->nrecords++] = at;
    return true;
}

/* The sample ends after RECORDS records. */
static enum cleave_status find_records(struct cv_sample_runs *runs,
                                       struct cleave_error *err)
{
    struct cv_piece head, rest = runs->sample, tail;

    if (!add_bound(runs, rest.body.begin))
        return cv_fail_memory(err, "the sample");
    while (rest.body.begin < rest.body.end && runs->nrecords <= RECORDS) {
        CV_TRY(
            cv_source_part(runs->source, &rest, rest.body.begin + 1, &head, &tail, err));
        if (!add_bound(runs, head.body.end))
            return cv_fail_memory(err, "the sample");
        if (tail.body.begin == tail.body.end)
            break;
        rest = tail;
    }
    runs->nrecords--;
    if (runs->nrecords < 2)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least 2 records in the sample of %s, got %zu",
                       runs->sample.name, runs->nrecords);
    if (runs->bounds[runs->nrecords] == runs->sample.body.end)
        return CLEAVE_OK;
    CV_TRY(cv_source_part(runs->source, &runs->sample, runs->bounds[runs->nrecords],
                          &head, &tail, err));
    runs->sample = head;
    return CLEAVE_OK;
}

static void input_ready(void *context, unsigned ready)
{
    (void)ready;
    *(bool *)context = true;
}

/* Wait for more of a stream, or a signal. */
static enum cleave_status await_input(struct cv_sample_runs *runs,
                                      struct cleave_error *err)
{
    const int fd = cv_source_poll_fd(runs->source);
    struct cv_watch watch = { 0 };
    enum cleave_status status = CLEAVE_OK;
    bool ready = fd < 0;

    if (fd >= 0)
        CV_TRY(cv_poller_add(runs->poller, &watch, fd, CV_READABLE, input_ready, &ready,
                             err));
    while (!ready && runs->signal == 0 && status == CLEAVE_OK)
        status = cv_poller_wait(runs->poller, -1, err);
    cv_poller_remove(runs->poller, &watch);
    CV_TRY(status);
    return runs->signal != 0 ? cv_fail_stopped(err) : cv_source_pump(runs->source, err);
}

enum cleave_status cv_sample_runs_take(struct cv_sample_runs *runs,
                                       struct cleave_error *err)
{
    uint64_t wanted = (uint64_t)runs->values->sample;
    enum cv_take state;

    while (chooses(runs) && !cv_source_has_header(runs->source))
        CV_TRY(await_input(runs, err));
    runs->headed = cv_source_has_head(runs->source);
    for (;;) {
        CV_TRY(cv_source_take(runs->source, wanted, &state, &runs->sample, err));
        if (state != CV_TAKE_WAIT)
            break;
        CV_TRY(await_input(runs, err));
    }
    if (state == CV_TAKE_END)
        return cv_fail(err, CLEAVE_EINPUT, "expected at least 2 records, got no input");
    return find_records(runs, err);
}

/* Records [begin, end) of the sample as a piece. */
static enum cleave_status piece_of(struct cv_sample_runs *runs, size_t begin, size_t end,
                                   struct cv_piece *out, struct cleave_error *err)
{
    struct cv_piece head, tail;

    *out = runs->sample;
    if (begin > 0) {
        CV_TRY(cv_source_part(runs->source, out, runs->bounds[begin], &head, &tail, err));
        *out = tail;
    }
    if (end < runs->nrecords) {
        CV_TRY(cv_source_part(runs->source, out, runs->bounds[end], &head, &tail, err));
        *out = head;
    }
    return CLEAVE_OK;
}

/* --- one run ------------------------------------------------------------------------------ */

static enum cleave_status read_output(struct cv_sample_runs *runs,
                                      struct cv_sample_output *out,
                                      struct cleave_error *err)
{
    struct cv_taken taken;
    struct cv_part part;

    CV_TRY(cv_ordered_output_take(runs->slot.store, &taken, err));
    out->length = (size_t)(taken.end - taken.begin);
    if (out->length > OUTPUT)
        return cv_fail(err, CLEAVE_EENGINE,
                       "the command writes more than 64 MiB for the sample: take less "
                       "with --sample");
    out->bytes = malloc(out->length + 1);
    if (out->bytes == NULL)
        return cv_fail_memory(err, "an output");
    part = (struct cv_part){ .fd = taken.fd, .begin = taken.begin, .end = taken.end };
    return cv_part_read(&part, part.begin, out->bytes, out->length) ==
                   (ssize_t)out->length
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
}

enum cleave_status cv_sample_run_command(struct cv_sample_runs *runs,
                                         const struct cv_command *command,
                                         const struct cv_part *parts, size_t count,
                                         bool loud, struct cv_sample_output *out,
                                         struct cleave_error *err)
{
    struct cv_slot *slot = &runs->slot;
    enum cleave_status status;

    cv_sample_output_done(out);
    slot->command = command;
    slot->errors = loud ? 0 : runs->nowhere;
    slot->timeout_s = runs->until_s - cv_clock_s();
    if (slot->timeout_s < 0.001)
        slot->timeout_s = 0.001;
    runs->over = false;
    CV_TRY(cv_slot_start_parts(slot, parts, count, err));
    while (!runs->over && !runs->broken && runs->signal == 0)
        CV_TRY(cv_poller_wait(runs->poller, -1, err));
    if (runs->broken)
        return cv_fail_again(err, &runs->broke);
    if (runs->signal != 0)
        return cv_fail_stopped(err);
    if (slot->process.start_error != 0)
        return cv_command_fail_start(command, slot->process.start_error, err);
    runs->timed_out = runs->end == CV_SLOT_TIMED_OUT;
    if (runs->timed_out)
        status = cv_fail(err, CLEAVE_EENGINE, "the runs took longer than its limit");
    else
        status = read_output(runs, out, err);
    if (runs->end != CV_SLOT_DONE)
        cv_slot_describe_end(slot, out->failed, sizeof out->failed);
    cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    return status;
}

static size_t add_parts(const struct cv_piece *piece, struct cv_part parts[PARTS])
{
    size_t count = 0;

    if (piece->header.end > piece->header.begin)
        parts[count++] = cv_piece_header(piece);
    parts[count++] = cv_piece_body(piece);
    if (piece->closing != CV_CLOSING_NONE)
        parts[count++] = cv_piece_closing(piece);
    return count;
}

enum cleave_status cv_sample_run_records(struct cv_sample_runs *runs, size_t begin,
                                         size_t end, bool loud,
                                         struct cv_sample_output *out,
                                         struct cleave_error *err)
{
    struct cv_piece piece;
    struct cv_part parts[PARTS];

    CV_TRY(piece_of(runs, begin, end, &piece, err));
    return cv_sample_run_command(runs, &runs->command, parts, add_parts(&piece, parts),
                                 loud, out, err);
}

enum cleave_status cv_sample_run_pair(struct cv_sample_runs *runs,
                                      const struct cv_record_pair *pair,
                                      struct cv_sample_output *out,
                                      struct cleave_error *err)
{
    struct cv_piece first, second;
    struct cv_part parts[PARTS];
    size_t count;

    if (pair->end[0] == pair->begin[1])
        return cv_sample_run_records(runs, pair->begin[0], pair->end[1], false, out, err);
    CV_TRY(piece_of(runs, pair->begin[0], pair->end[0], &first, err));
    CV_TRY(piece_of(runs, pair->begin[1], pair->end[1], &second, err));
    count = add_parts(&first, parts);
    parts[count++] = cv_piece_body(&second);
    return cv_sample_run_command(runs, &runs->command, parts, count, false, out, err);
}

enum cleave_status cv_sample_run_header(struct cv_sample_runs *runs,
                                        struct cleave_error *err)
{
    struct cv_piece last;
    struct cv_part part;

    if (!runs->headed)
        return CLEAVE_OK;
    CV_TRY(piece_of(runs, runs->nrecords - 1, runs->nrecords, &last, err));
    if (last.header.end == last.header.begin)
        return CLEAVE_OK;
    part = cv_piece_header(&last);
    CV_TRY(
        cv_sample_run_command(runs, &runs->command, &part, 1, false, &runs->header, err));
    if (runs->header.failed[0] != '\0')
        cv_sample_output_done(&runs->header);
    return CLEAVE_OK;
}
