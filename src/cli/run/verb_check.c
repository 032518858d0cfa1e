/* verb_check.c -- cleave check: whether a command gives the same result on pieces of its input.
 * SPDX-License-Identifier: MIT
 *
 * The command runs on a sample as a whole, on the pieces of random cuts, and on records that come
 * twice or in another order, which shows commands that remember earlier records. The verdict is the
 * first way to combine outputs of pieces that gave the output of the whole each time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/run/sample_runs.h"
#include "run/decode/decoder.h"
#include "run/fold/fold.h"
#include "run/fold/named_reduction.h"

enum {
    CUTS = 8,
    PIECES = 4, /* most pieces of a cut */
    SHOWN = 40, /* bytes of an output in a message */
    NAMES = 16,
};
static const double TIMEOUT_S = 30;

/* Where concatenation is wrong. */
struct example {
    bool known;
    struct cv_record_pair pair;
    char together[4 * SHOWN], apart[4 * SHOWN]; /* outputs, for a message */
};

struct check {
    struct cv_sample_runs runs;
    uint32_t random;
    uint64_t cuts;
    bool repeats;    /* a second run gave the same output */
    bool by_records; /* concatenated outputs were right so far */
    char names[NAMES][64];
    bool fits[NAMES]; /* the named reduction was right so far */
    size_t nnames;
    struct example bad;
};

/* --- do outputs of pieces make the output of the whole? ----------------------------------- */

/* grep and its like end with status 1 if they find nothing. */
static bool may_find_nothing(const struct check *check,
                             const struct cv_sample_output *output)
{
    const struct cv_call *call = check->runs.call;
    bool searches = CV_IS_ONE_OF(call->operands[0], "rg", "ag", "ack");

    for (size_t i = 0; i < call->noperands; i++)
        searches = searches || strstr(call->operands[i], "grep") != NULL;
    return searches && strcmp(output->failed, "exited with status 1") == 0;
}

static bool has_failed(const struct check *check, const struct cv_sample_output *output)
{
    return output->failed[0] != '\0' && !may_find_nothing(check, output);
}

/* The concatenated outputs, with one header; NULL: out of memory. */
static char *concatenate(const struct check *check,
                         const struct cv_sample_output *outputs, size_t count,
                         size_t *out_length)
{
    const struct cv_sample_output *header = &check->runs.header;
    size_t room = 1;
    char *bytes;

    for (size_t i = 0; i < count; i++)
        room += outputs[i].length;
    bytes = malloc(room);
    *out_length = 0;
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        const bool headed = i > 0 && header->length > 0 &&
                            outputs[i].length >= header->length &&
                            memcmp(outputs[i].bytes, header->bytes, header->length) == 0;
        const size_t skip = headed ? header->length : 0;

        memcpy(bytes + *out_length, outputs[i].bytes + skip, outputs[i].length - skip);
        *out_length += outputs[i].length - skip;
    }
    return bytes;
}

static enum cleave_status is_concatenation(const struct check *check,
                                           const struct cv_sample_output *whole,
                                           const struct cv_sample_output *outputs,
                                           size_t count, bool *out,
                                           struct cleave_error *err)
{
    size_t length;
    char *bytes = concatenate(check, outputs, count, &length);

    if (bytes == NULL)
        return cv_fail_memory(err, "the outputs");
    *out = length == whole->length && memcmp(bytes, whole->bytes, length) == 0;
    free(bytes);
    return CLEAVE_OK;
}

/* Equal, except a newline at the end: a named reduction ends its last line. */
static bool is_equal(const struct cv_sample_output *a, const struct cv_sample_output *b)
{
    const size_t na = a->length - (a->length > 0 && a->bytes[a->length - 1] == '\n');
    const size_t nb = b->length - (b->length > 0 && b->bytes[b->length - 1] == '\n');

    return na == nb && (na == 0 || memcmp(a->bytes, b->bytes, na) == 0);
}

static enum cleave_status run_sort(struct check *check,
                                   const struct cv_named_reduction *how,
                                   const struct cv_sample_output *outputs, size_t count,
                                   struct cv_sample_output *out, struct cleave_error *err)
{
    struct cv_words words = { .arena = check->runs.call->arena };
    struct cv_command command;
    struct cv_part parts[2 * PIECES];
    size_t nparts = 0;
    enum cleave_status status;
    const char **argv;

    cv_words_add(&words, "sort");
    cv_words_split(&words, how->options);
    argv = cv_words_done(&words);
    if (argv == NULL)
        return cv_fail_memory(err, "a command");
    for (size_t i = 0; i < count; i++) {
        const struct cv_sample_output *output = &outputs[i];

        if (output->length == 0)
            continue;
        parts[nparts++] =
            (struct cv_part){ .bytes = output->bytes, .end = output->length };
        if (output->bytes[output->length - 1] != '\n')
            parts[nparts++] = (struct cv_part){ .bytes = "\n", .end = 1 };
    }
    CV_TRY(cv_command_init(&command, NULL, argv, err));
    status =
        cv_sample_run_command(&check->runs, &command, parts, nparts, false, out, err);
    cv_command_done(&command);
    return status;
}

static enum cleave_status run_named(const struct cv_named_reduction *how,
                                    const struct cv_sample_output *outputs, size_t count,
                                    struct cv_sample_output *out,
                                    struct cleave_error *err)
{
    static const atomic_bool never;
    struct cv_named_part parts[PIECES];
    struct cleave_error refused;
    const int fd = memfd_create("cleave-check", MFD_CLOEXEC);
    struct stat facts;
    enum cleave_status status;

    cv_sample_output_done(out);
    if (fd < 0)
        return cv_fail_errno(err, errno, "cannot keep an output");
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct cv_named_part){ outputs[i].bytes, outputs[i].length, false };
    status = cv_named_reduce(how, parts, count, true, fd, &never, &refused);
    snprintf(out->failed, sizeof out->failed, "%s", status == CLEAVE_OK ? "" : "refused");
    if (fstat(fd, &facts) == 0)
        out->bytes = malloc((size_t)facts.st_size + 1);
    if (out->bytes != NULL && pread(fd, out->bytes, (size_t)facts.st_size, 0) > 0)
        out->length = (size_t)facts.st_size;
    close(fd);
    return out->bytes != NULL ? CLEAVE_OK : cv_fail_memory(err, "an output");
}

/* Drop the names that do not make `whole` of the outputs. */
static enum cleave_status judge_names(struct check *check,
                                      const struct cv_sample_output *whole,
                                      const struct cv_sample_output *outputs,
                                      size_t count, struct cleave_error *err)
{
    for (size_t i = 0; i < check->nnames; i++) {
        struct cv_sample_output result = { NULL, 0, "" };
        struct cv_named_reduction how;
        enum cleave_status status;

        if (!check->fits[i])
            continue;
        CV_TRY(cv_named_reduction_parse(check->names[i], &how, err));
        status = how.kind == CV_NAMED_SORT
                     ? run_sort(check, &how, outputs, count, &result, err)
                     : run_named(&how, outputs, count, &result, err);
        check->fits[i] = result.failed[0] == '\0' && is_equal(&result, whole);
        cv_sample_output_done(&result);
        CV_TRY(status);
    }
    return CLEAVE_OK;
}

/* The first name that fits; NULL: none. */
static const char *found_name(const struct check *check)
{
    for (size_t i = 0; i < check->nnames; i++)
        if (check->fits[i])
            return check->names[i];
    return NULL;
}

static bool is_open(const struct check *check)
{
    return check->by_records || found_name(check) != NULL;
}

/* The beginning of an output, or how the command failed. */
static void show(const struct cv_sample_output *output, bool failed, char *out,
                 size_t size)
{
    size_t length = output->length, used = 1;

    if (failed) {
        snprintf(out, size, "the command %s", output->failed);
        return;
    }
    out[0] = '\'';
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        const char byte = output->bytes[i];
        char one[CV_SHOWN_ROOM] = { '\\', byte == '\n' ? 'n' : 't' };

        if (byte != '\n' && byte != '\t')
            cv_show_one(&byte, 1, one);
        used += (size_t)snprintf(out + used, size - used, "%s", one);
    }
    snprintf(out + used, size - used, "%s", length > SHOWN ? "...'" : "'");
}

static void note_example(struct check *check, const struct cv_record_pair *pair,
                         const struct cv_sample_output *whole,
                         const struct cv_sample_output halves[2])
{
    const int bad = has_failed(check, &halves[0]) ? 0 : 1;
    struct cv_sample_output joined = { NULL, 0, "" };

    joined.bytes = concatenate(check, halves, 2, &joined.length);
    check->bad.pair = *pair;
    check->bad.known = true;
    show(whole, has_failed(check, whole), check->bad.together,
         sizeof check->bad.together);
    if (has_failed(check, &halves[bad]))
        show(&halves[bad], true, check->bad.apart, sizeof check->bad.apart);
    else if (joined.bytes != NULL)
        show(&joined, false, check->bad.apart, sizeof check->bad.apart);
    cv_sample_output_done(&joined);
}

/* Whether the outputs of two ranges are not, one after the other, the output of both; with `names`,
 * names are judged. */
static enum cleave_status differs(struct check *check, const struct cv_record_pair *pair,
                                  bool names, bool *out, struct cleave_error *err)
{
    struct cv_sample_output whole = { NULL, 0, "" },
                            halves[2] = { { NULL, 0, "" }, { NULL, 0, "" } };
    enum cleave_status status = cv_sample_run_pair(&check->runs, pair, &whole, err);
    bool same = true;

    for (int i = 0; i < 2; i++)
        CV_THEN(status, cv_sample_run_records(&check->runs, pair->begin[i], pair->end[i],
                                              false, &halves[i], err));
    CV_THEN(status, is_concatenation(check, &whole, halves, 2, &same, err));
    *out = status == CLEAVE_OK &&
           (!same || (!has_failed(check, &whole) &&
                      (has_failed(check, &halves[0]) || has_failed(check, &halves[1]))));
    if (*out)
        note_example(check, pair, &whole, halves);
    if (status == CLEAVE_OK && names)
        status = judge_names(check, &whole, halves, 2, err);
    cv_sample_output_done(&whole);
    cv_sample_output_done(&halves[0]);
    cv_sample_output_done(&halves[1]);
    return status;
}

/* --- cuts --------------------------------------------------------------------------------- */

static size_t draw(struct check *check, size_t below)
{
    check->random = check->random * 1664525 + 1013904223;
    return (size_t)(((uint64_t)check->random * below) >> 32);
}

/* The borders of cut number `turn`: the first two are at the first and at the last record. */
static size_t choose_borders(struct check *check, unsigned turn,
                             size_t borders[PIECES + 1])
{
    const size_t n = check->runs.nrecords;
    size_t count = 1;

    borders[0] = 0;
    if (turn < 2 || n < 3) {
        borders[count++] = turn == 0 ? 1 : n - 1;
    } else {
        for (size_t left = 1 + turn % (PIECES - 1); left > 0; left--) {
            const size_t from = borders[count - 1] + 1, room = n - from;

            if (room > left - 1)
                borders[count++] =
                    from + draw(check, left > 1 ? room / left + (room < left) : room);
        }
    }
    borders[count] = n;
    return count;
}

static struct cv_record_pair neighbours(size_t begin, size_t middle, size_t end)
{
    return (struct cv_record_pair){ { begin, middle }, { middle, end } };
}

/* Find where concatenation is wrong: between two neighbours, or at a border of the whole. */
static enum cleave_status find_pair(struct check *check, const size_t *borders,
                                    size_t count, struct cleave_error *err)
{
    struct cv_record_pair pair;
    bool found = false;

    for (size_t i = 1; i < count && !found; i++) {
        pair = neighbours(borders[i - 1], borders[i], borders[i + 1]);
        CV_TRY(differs(check, &pair, false, &found, err));
    }
    for (size_t i = 1; i < count && !found && count > 2; i++) {
        pair = neighbours(borders[0], borders[i], borders[count]);
        CV_TRY(differs(check, &pair, false, &found, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status judge_cut(struct check *check,
                                    const struct cv_sample_output *whole,
                                    const size_t *borders, size_t count,
                                    struct cleave_error *err)
{
    struct cv_sample_output outputs[PIECES] = { { NULL, 0, "" } };
    bool failed = false, same = true;
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < count; i++) {
        CV_THEN(status, cv_sample_run_records(&check->runs, borders[i], borders[i + 1],
                                              false, &outputs[i], err));
        failed = failed || has_failed(check, &outputs[i]);
    }
    CV_THEN(status, is_concatenation(check, whole, outputs, count, &same, err));
    if (status == CLEAVE_OK)
        check->cuts++;
    for (size_t i = 0; failed && i < check->nnames; i++)
        check->fits[i] = false;
    CV_THEN(status, judge_names(check, whole, outputs, count, err));
    if (status == CLEAVE_OK && (failed || !same) && check->by_records) {
        check->by_records = false;
        status = find_pair(check, borders, count, err);
    }
    for (size_t i = 0; i < count; i++)
        cv_sample_output_done(&outputs[i]);
    return status;
}

static enum cleave_status judge_cuts(struct check *check,
                                     const struct cv_sample_output *whole,
                                     struct cleave_error *err)
{
    const unsigned cuts = check->runs.nrecords == 2 ? 1 : CUTS;

    for (unsigned turn = 0; turn < cuts && is_open(check); turn++) {
        size_t borders[PIECES + 1];
        const size_t count = choose_borders(check, turn, borders);

        CV_TRY(judge_cut(check, whole, borders, count, err));
    }
    return CLEAVE_OK;
}

/* Judge a pair. An example of neighbours is kept, because it can be made smaller. */
static enum cleave_status judge_pair(struct check *check,
                                     const struct cv_record_pair *pair,
                                     struct cleave_error *err)
{
    const struct example before = check->bad;
    bool found;

    CV_TRY(differs(check, pair, true, &found, err));
    check->by_records = check->by_records && !found;
    if (before.known)
        check->bad = before;
    return CLEAVE_OK;
}

/* Neighbours of several sizes: a command may count records and act at a certain number. */
static enum cleave_status judge_sizes(struct check *check, struct cleave_error *err)
{
    for (size_t size = 1; 2 * size < check->runs.nrecords && is_open(check); size *= 8) {
        const size_t begin = draw(check, check->runs.nrecords - 2 * size);
        const struct cv_record_pair pair =
            neighbours(begin, begin + size, begin + 2 * size);

        CV_TRY(judge_pair(check, &pair, err));
    }
    return CLEAVE_OK;
}

/* Records that come twice, and records in another order: the sample may be without equal records, or
 * sorted. Not for formats whose pieces need more than their bytes. */
static enum cleave_status judge_orders(struct check *check, struct cleave_error *err)
{
    const size_t n = check->runs.nrecords, at = n / 2, quarter = n / 4;
    const struct cv_record_pair pairs[] = {
        { { at, at }, { at + 1, at + 1 } },
        { { at, at - 1 }, { at + 1, at } },
        { { at, at }, { at + quarter, at + quarter } },
        { { at, at - quarter }, { at + quarter, at } },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && n > 8 && is_open(check) &&
                       !cv_splitter_frames(check->runs.splitter);
         i++)
        CV_TRY(judge_pair(check, &pairs[i], err));
    return CLEAVE_OK;
}

/* differs() with fewer records on one side: the `count` next to the border. */
static enum cleave_status differs_by(struct check *check, struct cv_record_pair pair,
                                     int side, size_t count, bool *out,
                                     struct cleave_error *err)
{
    if (side == 0)
        pair.begin[0] = pair.end[0] - count;
    else
        pair.end[1] = pair.begin[1] + count;
    return differs(check, &pair, false, out, err);
}

/* Find the smallest number of records on one side of the example that still differs. */
static enum cleave_status shrink(struct check *check, int side, struct cleave_error *err)
{
    const struct cv_record_pair pair = check->bad.pair;
    const size_t most = pair.end[side] - pair.begin[side];
    size_t low = 0, high = 1; /* `low` records are too few */
    bool found = false;

    while (!found && high < most) {
        CV_TRY(differs_by(check, pair, side, high, &found, err));
        low = found ? low : high;
        high = found ? high : 2 * high;
    }
    high = found ? high : most;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        CV_TRY(differs_by(check, pair, side, middle, &found, err));
        low = found ? low : middle;
        high = found ? middle : high;
    }
    return CLEAVE_OK;
}

/* --- all of it ---------------------------------------------------------------------------- */

static void add_name(struct check *check, const char *name)
{
    if (check->nnames == NAMES)
        return;
    snprintf(check->names[check->nnames], sizeof check->names[0], "%s", name);
    check->fits[check->nnames++] = true;
}

static void add_names(struct check *check, const struct cv_sample_output *whole)
{
    static const char *const names[] = { "sum",     "max",     "min",     "counts",
                                         "sort",    "sort:-n", "sort:-r", "sort:-nr",
                                         "sort:-u", "uniq" };
    char line[64];
    size_t lines = 0;
    const char *guess = cv_run_reduce_guess(check->runs.call);

    for (size_t i = 0; i < whole->length; i++)
        lines += whole->bytes[i] == '\n';
    if (guess != NULL && guess[0] != '\0' && strlen(guess) < sizeof check->names[0])
        add_name(check, guess);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (guess == NULL || strcmp(guess, names[i]) != 0)
            add_name(check, names[i]);
    for (int tail = 0; tail < 2; tail++) {
        snprintf(line, sizeof line, "%s:%zu", tail ? "tail" : "head", lines);
        add_name(check, lines > 1 ? line : tail ? "last" : "first");
    }
    add_name(check, "count");
}

static enum cleave_status run_whole(struct check *check, struct cv_sample_output *whole,
                                    struct cleave_error *err)
{
    struct cv_sample_output again = { NULL, 0, "" };
    enum cleave_status status;

    CV_TRY(
        cv_sample_run_records(&check->runs, 0, check->runs.nrecords, true, whole, err));
    if (has_failed(check, whole))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the command %s on the sample; it ran in an empty directory: are "
                       "files named by absolute paths?",
                       whole->failed);
    status =
        cv_sample_run_records(&check->runs, 0, check->runs.nrecords, false, &again, err);
    check->repeats = status == CLEAVE_OK && again.length == whole->length &&
                     memcmp(again.bytes, whole->bytes, whole->length) == 0;
    cv_sample_output_done(&again);
    return status;
}

static enum cleave_status judge(struct check *check, struct cv_sample_output *whole,
                                struct cleave_error *err)
{
    CV_TRY(run_whole(check, whole, err));
    if (!check->repeats)
        return CLEAVE_OK;
    check->by_records = true;
    add_names(check, whole);
    CV_TRY(cv_sample_run_header(&check->runs, err));
    CV_TRY(judge_cuts(check, whole, err));
    CV_TRY(judge_sizes(check, err));
    CV_TRY(judge_orders(check, err));
    if (is_open(check) || !check->bad.known ||
        check->bad.pair.end[0] != check->bad.pair.begin[1])
        return CLEAVE_OK;
    CV_TRY(shrink(check, 0, err));
    CV_TRY(shrink(check, 1, err));
    return shrink(check, 0, err);
}

/* "5", "5 to 9" */
static void show_range(size_t begin, size_t end, char *out, size_t size)
{
    if (end - begin == 1)
        snprintf(out, size, "%zu", end);
    else
        snprintf(out, size, "%zu to %zu", begin + 1, end);
}

static void show_example(const struct check *check)
{
    const struct cv_record_pair *bad = &check->bad.pair;
    const bool neighbours = bad->end[0] == bad->begin[1];
    char first[64], second[64];

    if (!check->repeats)
        cv_print_note("the command writes something else when it runs again on the same "
                      "input");
    if (!check->bad.known)
        return;
    show_range(bad->begin[0], neighbours ? bad->end[1] : bad->end[0], first,
               sizeof first);
    show_range(bad->begin[1], bad->end[1], second, sizeof second);
    cv_print_note("records %s%s%s: together %s, one after the other %s", first,
                  neighbours ? "" : ", then ", neighbours ? "" : second,
                  check->bad.together, check->bad.apart);
}

/* The command line to type. */
static void show_run(const struct check *check, const char *name)
{
    const char *words[4] = { NULL };
    size_t count = 0;

    if (check->runs.no_header)
        words[count++] = "--no-header";
    if (name != NULL) {
        if (check->runs.headed && check->runs.values->header == NULL)
            words[count++] = "--header";
        words[count++] = "--reduce";
        words[count] = name;
    }
    cv_print_note("to run it: cleave run%s", cv_run_line(check->runs.call, words));
}

static uint64_t sample_bytes(const struct check *check)
{
    return check->runs.bounds[check->runs.nrecords] - check->runs.bounds[0];
}

static int show_verdict(const struct check *check, const struct cv_sample_output *whole)
{
    const char *name = check->by_records ? NULL : found_name(check);
    const bool no = !check->by_records && name == NULL;
    const struct cv_record_pair *bad = &check->bad.pair;
    const int first = bad->begin[0] > bad->begin[1];
    struct cv_json json;

    if (check->runs.values->json) {
        cv_result_open(&json);
        cv_fields(&json, "verdict %s", no ? "no" : name != NULL ? "reduce" : "records");
        cv_field_text(&json, "reduce", name);
        cv_fields(&json, "cuts %llu, sample_bytes %llu", (unsigned long long)check->cuts,
                  (unsigned long long)sample_bytes(check));
        if (no && check->bad.known)
            cv_fields(&json, "counterexample {begin %llu, end %llu}",
                      (unsigned long long)check->runs.bounds[bad->begin[first]],
                      (unsigned long long)check->runs.bounds[bad->end[!first]]);
        else
            cv_field_text(&json, "counterexample", NULL);
        CV_DO(cv_result_close(&json));
    } else {
        printf("%s%s\n",
               no             ? "no"
               : name != NULL ? "reduce "
                              : "records",
               name != NULL ? name : "");
    }
    if (no)
        show_example(check);
    else if (!check->runs.values->quiet && whole->length == 0)
        cv_print_note("the command wrote nothing for the sample, which proves little: "
                      "--sample with more");
    if (!no && !check->runs.values->quiet)
        show_run(check, name);
    return no ? CV_EXIT_FAILED : CV_EXIT_DONE;
}

static int read_options(struct check *check)
{
    const struct cv_run_options *values = check->runs.values;
    double limit_s = TIMEOUT_S;

    if (values->pairs != NULL || values->fetch != NULL)
        return cv_refuse("%s is not for check: give the input with -i FILE",
                         values->pairs != NULL ? "--pairs" : "--fetch");
    if (!(values->sample >= 1 && values->sample <= 16e6))
        return cv_refuse("--sample: expected 1 byte to 16 MB, got %g bytes",
                         values->sample);
    if (values->timeout != NULL &&
        (cv_quantity_parse(values->timeout, CV_DURATION, &limit_s) != NULL ||
         !(limit_s > 0)))
        return cv_refuse(
            "--timeout: expected a time above 0 such as 30s or 2min, got '%s'",
            CV_ECHO(values->timeout));
    if (values->decode != NULL && !CV_IS_ONE_OF(values->decode, "auto", "none") &&
        cv_codec_named(values->decode) == NULL)
        return cv_refuse("--decode: expected auto, none or a format, got '%s'",
                         CV_ECHO(values->decode));
    check->runs.until_s = cv_clock_s() + limit_s;
    return CV_EXIT_DONE;
}

/* Whether the command may be one of those for which a header is a record, such as wc -l. */
static bool may_take_header(const struct check *check)
{
    const struct cv_run_options *values = check->runs.values;

    return !check->runs.no_header && check->repeats && !check->by_records &&
           found_name(check) == NULL && check->runs.headed && values->header == NULL &&
           values->inputs.count > 0 && strcmp(values->inputs.items[0], "-") != 0;
}

/* *again: the check has to be repeated with the header as a record. */
static int run_check(struct check *check, bool *again)
{
    struct cv_sample_output whole = { NULL, 0, "" };
    struct cleave_error err;
    enum cleave_status status = cv_sample_runs_open(&check->runs, &err);
    int code;

    CV_THEN(status, cv_sample_runs_take(&check->runs, &err));
    if (status == CLEAVE_OK && !check->runs.values->quiet && !check->runs.no_header)
        cv_print_note("the command runs several times in an empty directory, on %zu "
                      "records (%llu bytes) of %s",
                      check->runs.nrecords, (unsigned long long)sample_bytes(check),
                      check->runs.sample.name);
    CV_THEN(status, judge(check, &whole, &err));
    *again = status == CLEAVE_OK && may_take_header(check);
    if (*again)
        code = CV_EXIT_DONE;
    else if (status == CLEAVE_OK || (check->runs.timed_out && check->cuts > 0))
        code = show_verdict(check, &whole);
    else if (check->runs.timed_out)
        code =
            cv_print_error(CV_EXIT_FAILED,
                           "the command took too long for one cut: --sample with less, "
                           "or --timeout with more");
    else if (check->runs.signal != 0)
        code = CV_EXIT_BY_SIGNAL + check->runs.signal;
    else
        code = cv_print_status(&err);
    cv_sample_output_done(&whole);
    return code == CV_EXIT_ENGINE ? CV_EXIT_FAILED : code;
}

static int try_check(struct check *check, const struct cv_call *call, bool *again)
{
    int status;

    *check = (struct check){ .random = 1 };
    check->runs.call = call;
    check->runs.values = call->values;
    check->runs.nowhere = -1;
    check->runs.no_header = *again;
    *again = false;
    cv_slot_init(&check->runs.slot);
    CV_DO(read_options(check));
    CV_DO(cv_run_mistakes_check(call, false));
    CV_DO(cv_run_command_check(call, false, false));
    status = run_check(check, again);
    cv_sample_runs_close(&check->runs);
    return status;
}

static int run(const struct cv_call *call)
{
    struct check *check = malloc(sizeof *check);
    int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;
    bool again = false;

    if (check == NULL) {
        cv_close(&directory);
        return cv_no_memory("the check");
    }
    status = try_check(check, call, &again);
    if (again && directory >= 0 && fchdir(directory) == 0)
        status = try_check(check, call, &again);
    cv_close(&directory);
    free(check);
    return status;
}

const struct cv_verb cv_verb_check = {
    .name = "check",
    .summary = "find out whether a command can run on pieces of its input",
    .is_first = true,
    .description =
        "Runs the command several times on the beginning of the input: on all of it, "
        "on the pieces of random cuts between records, and on records that come twice "
        "or in another order. The result is 'records' if concatenated outputs of "
        "pieces are the output of the whole, 'reduce NAME' if cleave run --reduce "
        "NAME makes it of them, or 'no', with status 1 and the smallest example. The "
        "command gets its input on standard input and runs in an empty temporary "
        "directory. A sample is evidence, not a proof.",
    .operands = "[--] COMMAND [ARG]...",
    .max_operands = 100000000,
    .command = true,
    .groups = cv_check_groups,
    .examples = "cleave check -q -i examples/plan.c -- tr a-z A-Z\n"
                "cleave check -q -i examples/plan.c --json -- wc -l",
    .presets = &cv_check_presets,
    .values_size = sizeof(struct cv_run_options),
    .run = run,
};
