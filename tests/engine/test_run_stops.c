/* test_run_stops.c -- runs that are stopped at random moments. SPDX-License-Identifier: MIT
 *
 * Each byte of the input was done and its output was written, or it is left: a second run
 * over the left bytes gives the rest of the output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cleave/execute.h>
#include <cleave/platform.h>

enum { LINES = 3000, STARTS = 20, ROOM = 1 << 20 };

static char input[64], text[ROOM];
static size_t length;
static struct cleave_cancel *cancel;

/* --- one run ------------------------------------------------------------------------------ */

struct trial {
    const char *reduce;
    bool unordered, items, hosts, early;
    uint32_t stop; /* after this number of ends of commands */
    uint32_t ends;
};

static void count_end(void *context, const struct cleave_attempt *attempt)
{
    struct trial *trial = context;

    (void)attempt;
    if (++trial->ends == trial->stop)
        cleave_cancel(cancel);
}

static enum cleave_status words_of(void *context, uint64_t item, uint32_t slot,
                                   char ***out, struct cleave_error *err)
{
    char **words = malloc(3 * sizeof *words + 32), *number = (char *)(words + 3);

    (void)context;
    (void)slot;
    (void)err;
    snprintf(number, 32, "%d", (int)item);
    words[0] = (char *)"echo"; /* NOLINT: not written to */
    words[1] = number;
    words[2] = NULL;
    *out = words;
    return CLEAVE_OK;
}

static struct cleave_platform *two_workers(void)
{
    static const char yaml[] =
        "workers:\n  - {name: w, count: 3, speed: 1e6, bandwidth: 1e8}\n";
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_parse("here", yaml, sizeof yaml - 1, &platform,
                                           NULL),
                     CLEAVE_OK);
    return platform;
}

/* The output of a run of the trial over `file`, or over `nitems` items. */
static struct cleave_execution_result *run_trial(struct trial *trial, const char *file,
                                                 uint64_t nitems, int sink)
{
    static const char *const connect[] = { "cleave", "worker", NULL };
    static const char *const tr[] = { "tr", "0-9", "a-j", NULL };
    static const char *const echo[] = { "echo", NULL };
    const char *const program = getenv("CLEAVE");
    const char *const there[] = { program, "worker", NULL };
    const struct cleave_host host = { .name = "w.2",
                                      .connect = program != NULL ? there : connect,
                                      .first = 2,
                                      .slots = 1 };
    struct cleave_platform *platform = two_workers();
    struct cleave_execution request = {
        .command = trial->items ? echo : tr,
        .output = { .descriptor = sink,
                    .name = "sink",
                    .unordered = trial->unordered,
                    .early = trial->early },
        .workers.platform = platform,
        .hosts = { .list = &host, .count = trial->hosts },
        .policy.block = trial->items ? 1 : (double)length / STARTS,
        .reduce.command = trial->reduce,
        .listener = { .attempted = count_end, .context = trial },
        .cancel = trial->stop > 0 ? cancel : NULL,
    };
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };
    enum cleave_status status;

    if (trial->items) {
        request.items.words = words_of;
        request.items.count = nitems;
    } else {
        request.input.files = &file;
        request.input.count = 1;
    }
    status = cleave_execute(&request, &result, &err);
    cleave_platform_free(platform);
    if (status == CLEAVE_ESTOPPED) {
        assert_string_equal(err.text, "stopped by cleave_cancel");
        assert_int_equal(result->stopped_by, CLEAVE_CANCELLED);
    } else if (status != CLEAVE_OK) {
        fail_msg("%s: %s", err.field, err.text);
    }
    return result;
}

/* --- what was written --------------------------------------------------------------------- */

static size_t bytes_of(int sink, char *out)
{
    const off_t size = lseek(sink, 0, SEEK_END);

    assert_true(size >= 0 && size < ROOM);
    assert_int_equal(pread(sink, out, (size_t)size, 0), size);
    return (size_t)size;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(char *bytes, size_t size)
{
    static char *lines[LINES + 1], copy[ROOM];
    size_t count = 0, at = 0;

    memcpy(copy, bytes, size);
    copy[size] = '\0';
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(bytes + at, "%s\n", lines[i]); /* NOLINT: it fits */
}

/* Run the left bytes, and append the output. */
static void run_left(struct trial *trial, const struct cleave_execution_result *result,
                     int sink)
{
    char left[80];
    int file;

    trial->stop = 0;
    snprintf(left, sizeof left, "%s-left", input);
    file = open(left, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t i = 0; i < result->nleft_ranges; i++) {
        const struct cleave_input_range *range = &result->left_ranges[i];

        assert_int_equal(write(file, text + range->begin, range->end - range->begin),
                         range->end - range->begin);
    }
    assert_int_equal(lseek(sink, 0, SEEK_END) >= 0, 1);
    cleave_execution_free(run_trial(trial, left, 0, sink));
    close(file);
    unlink(left);
}

static void check_chunks(const struct trial *kind, uint32_t stop)
{
    static char out[ROOM], want[ROOM];
    const int sink = memfd_create("sink", MFD_CLOEXEC), whole = memfd_create("whole", 0);
    struct trial trial = *kind, again = *kind;
    struct cleave_execution_result *result;
    size_t size, nwant;

    assert_int_equal(cleave_cancel_new(&cancel, NULL), CLEAVE_OK);
    again.stop = again.ends = 0;
    cleave_execution_free(run_trial(&again, input, 0, whole));
    nwant = bytes_of(whole, want);
    trial.stop = stop;
    result = run_trial(&trial, input, 0, sink);
    if (result->input_bytes + result->left_bytes != (double)length)
        fail_msg("stop %u: %g bytes done, %g left of %zu", stop, result->input_bytes,
                 result->left_bytes, length);
    if (result->left_bytes > 0) {
        /* The beginning of an output is the only allowed output of left bytes. */
        size = bytes_of(sink, out);
        assert_true(result->cut_bytes <= (double)size);
        assert_int_equal(ftruncate(sink, (off_t)(size - (size_t)result->cut_bytes)), 0);
        run_left(&again, result, sink);
    }
    size = bytes_of(sink, out);
    if (trial.unordered || trial.hosts) {
        sort_lines(out, size);
        sort_lines(want, nwant);
    }
    if (size != nwant || memcmp(out, want, size) != 0)
        fail_msg("stop %u%s%s: %zu bytes put out with those of what was left, not %zu",
                 stop, trial.unordered ? ", unordered" : "", trial.hosts ? ", hosts" : "",
                 size, nwant);
    cleave_execution_free(result);
    cleave_cancel_free(cancel);
    close(sink);
    close(whole);
}

static void chunks_are_delivered_or_left(void **state)
{
    static const struct trial kinds[] = { { .unordered = false },
                                          { .unordered = true },
                                          { .early = true },
                                          { .reduce = "cat" } };

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t stop = 1; stop < STARTS; stop += 1 + (uint32_t)random() % 5)
            check_chunks(&kinds[k], stop);
}

static void chunks_of_hosts_are_delivered_or_left(void **state)
{
    static const struct trial kinds[] = { { .hosts = true },
                                          { .hosts = true, .unordered = true } };

    (void)state;
    if (getenv("CLEAVE") == NULL)
        skip();
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < 2; i++)
            check_chunks(&kinds[k], 1 + (uint32_t)random() % (STARTS - 1));
}

/* Items 0 to 29 of which each writes its number. */
static void items_are_delivered_or_left(void **state)
{
    enum { ITEMS = 30 };
    static char out[ROOM];

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct trial trial = { .items = true, .unordered = i % 2 == 1 };
        const int sink = memfd_create("sink", MFD_CLOEXEC);
        struct cleave_execution_result *result;
        bool seen[ITEMS] = { false };

        assert_int_equal(cleave_cancel_new(&cancel, NULL), CLEAVE_OK);
        trial.stop = 1 + (uint32_t)random() % (ITEMS - 1);
        result = run_trial(&trial, NULL, ITEMS, sink);
        out[bytes_of(sink, out)] = '\0';
        for (char *line = strtok(out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            assert_false(seen[strtol(line, NULL, 10)]);
            seen[strtol(line, NULL, 10)] = true;
        }
        for (size_t r = 0; r < result->nleft_ranges; r++)
            for (uint64_t at = result->left_ranges[r].begin;
                 at < result->left_ranges[r].end; at++) {
                assert_false(seen[at]);
                seen[at] = true;
            }
        for (int at = 0; at < ITEMS; at++)
            assert_true(seen[at]);
        cleave_execution_free(result);
        cleave_cancel_free(cancel);
        close(sink);
    }
}

/* --- an output that is in order behind a missing one -------------------------------------- */

static void finished_chunks_without_output_are_counted(void **state)
{
    static const char *const command[] = {
        "sh", "-c", "if read first && test $first = 1; then sleep 60; fi; cat", NULL
    };
    const char *const files[] = { input };
    const int sink = memfd_create("sink", MFD_CLOEXEC);
    struct trial trial = { .stop = 4 };
    const struct cleave_execution request = {
        .command = command,
        .input = { .files = files, .count = 1 },
        .output = { .descriptor = sink, .name = "sink" },
        .workers.count = 2,
        .policy.block = (double)length / STARTS,
        .listener = { .attempted = count_end, .context = &trial },
    };
    struct cleave_execution stopped = request;
    struct cleave_execution_result *result = NULL;

    (void)state;
    assert_int_equal(cleave_cancel_new(&cancel, NULL), CLEAVE_OK);
    stopped.cancel = cancel;
    assert_int_equal(cleave_execute(&stopped, &result, NULL), CLEAVE_ESTOPPED);
    assert_int_equal(lseek(sink, 0, SEEK_END), 0);
    assert_int_equal(result->nleft_ranges, 1);
    assert_true(result->left_bytes == (double)length && result->input_bytes == 0);
    assert_int_equal(result->chunks, 0);
    assert_true(result->unwritten >= 4 && result->unwritten_bytes > 0);
    cleave_execution_free(result);
    cleave_cancel_free(cancel);
    close(sink);
}

/* --- a slow reader ------------------------------------------------------------------------ */

enum { OUTPUT = 100000 }; /* bytes of each chunk: more than a pipe holds */

static void *read_late(void *context)
{
    static char bytes[ROOM];
    const int *end = context;
    size_t *sum = malloc(sizeof *sum);
    ssize_t got;

    usleep(100000);
    for (*sum = 0; (got = read(*end, bytes, sizeof bytes)) > 0; *sum += (size_t)got)
        ;
    return sum;
}

/* A run that is stopped while the first output is in the pipe in part. */
static void stop_with_pipe(int ends[2], struct cleave_execution_result **result)
{
    static const char *const command[] = { "sh", "-c", "yes | head -c 100000", NULL };
    const char *const files[] = { input };
    struct trial trial = { .stop = 3 };
    struct cleave_execution request = {
        .command = command,
        .input = { .files = files, .count = 1 },
        .output = { .descriptor = ends[1], .name = "sink" },
        .workers.count = 1,
        .policy.block = (double)length / 4,
        .listener = { .attempted = count_end, .context = &trial },
    };

    assert_int_equal(cleave_cancel_new(&cancel, NULL), CLEAVE_OK);
    request.cancel = cancel;
    assert_int_equal(cleave_execute(&request, result, NULL), CLEAVE_ESTOPPED);
    cleave_cancel_free(cancel);
}

static void the_beginning_of_an_output_is_counted(void **state)
{
    static char out[ROOM];
    struct cleave_execution_result *result = NULL;
    ssize_t size;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    stop_with_pipe(ends, &result);
    size = read(ends[0], out, ROOM);
    assert_true(size > 0 && size < OUTPUT);
    assert_int_equal(result->cut_bytes, size);
    assert_int_equal(result->output_bytes, size);
    assert_int_equal(result->left_bytes, length);
    cleave_execution_free(result);
    close(ends[0]);
    close(ends[1]);
}

static void an_output_that_was_begun_is_completed(void **state)
{
    struct cleave_execution_result *result = NULL;
    pthread_t reader;
    void *sum;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_late, &ends[0]), 0);
    stop_with_pipe(ends, &result);
    close(ends[1]);
    pthread_join(reader, &sum);
    assert_int_equal(result->cut_bytes, 0);
    assert_true(*(size_t *)sum > 0);
    assert_int_equal(*(size_t *)sum, OUTPUT * result->chunks);
    cleave_execution_free(result);
    close(ends[0]);
    free(sum);
}

static int write_input(void **state)
{
    int fd;

    (void)state;
    srandom(1);
    snprintf(input, sizeof input, "/tmp/cleave-stops-XXXXXX");
    fd = mkstemp(input);
    for (int i = 1; i <= LINES; i++)
        length += (size_t)snprintf(text + length, ROOM - length, "%d\n", i);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        return 1;
    return close(fd);
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_delivered_or_left),
        cmocka_unit_test(chunks_of_hosts_are_delivered_or_left),
        cmocka_unit_test(items_are_delivered_or_left),
        cmocka_unit_test(finished_chunks_without_output_are_counted),
        cmocka_unit_test(the_beginning_of_an_output_is_counted),
        cmocka_unit_test(an_output_that_was_begun_is_completed),
    };

    return cmocka_run_group_tests(tests, write_input, remove_input);
}
