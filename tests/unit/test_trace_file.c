/* test_trace_file.c -- traces in memory, written and read.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <cleave/trace.h>
#include "base/random.h"
#include "io/trace_file.h"

static const char platform_text[] = "workers:\n"
                                    "  - {name: old, count: 2, speed: 1, bandwidth: 2}\n"
                                    "  - {name: 'q\"\xc3\xa9', speed: 1, bandwidth: 2}\n";

#define HEADER                                                                         \
    "{\"format\":\"cleave-trace-1\",\"policy\":\"umr\",\"load\":100,\"port\":\"one\"," \
    "\"workers\":[\"old.0\",\"old.1\",\"q\\\"\xc3\xa9\"]}\n"

static int make_platform(void **state)
{
    struct cleave_platform *platform = NULL;

    if (cleave_platform_parse("memory", platform_text, sizeof platform_text - 1,
                              &platform, NULL) != CLEAVE_OK)
        return 1;
    *state = platform;
    return 0;
}

static int free_platform(void **state)
{
    cleave_platform_free(*state);
    return 0;
}

static struct cleave_trace *make_trace(void)
{
    static const struct cleave_entry entries[] = {
        { .as.event = { .kind = CLEAVE_START } },
        { .is_order = true,
          .as.order = { .kind = CLEAVE_SEND, .worker = 2, .units = 0.1 } },
        { .is_order = true, .as.order = { .kind = CLEAVE_WAKE_AT, .time_s = 1.0 / 3 } },
        { .as.event = { .kind = CLEAVE_WAKE,
                        .start_s = 1.0 / 3,
                        .time_s = 1.0 / 3,
                        .more = true } },
        { .as.event = { .kind = CLEAVE_CAME, .worker = 1 } },
        { .as.event = { .kind = CLEAVE_SENT,
                        .worker = 2,
                        .chunk = 0,
                        .units = 0.1,
                        .start_s = 0,
                        .time_s = 1e-300 } },
        { .as.event = { .kind = CLEAVE_DONE,
                        .worker = 1,
                        .chunk = UINT64_MAX,
                        .units = 5e-324,
                        .start_s = 1,
                        .time_s = 1.7976931348623157e308 } },
    };
    struct cleave_trace *trace = NULL;

    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        assert_int_equal(cleave_trace_add(trace, &entries[i], NULL), CLEAVE_OK);
    return trace;
}

static void assert_same_entry(const struct cleave_entry *a, const struct cleave_entry *b)
{
    assert_int_equal(a->is_order, b->is_order);
    if (a->is_order) {
        assert_int_equal(a->as.order.kind, b->as.order.kind);
        assert_int_equal(a->as.order.worker, b->as.order.worker);
        assert_true(a->as.order.units == b->as.order.units);
        assert_true(a->as.order.time_s == b->as.order.time_s);
        assert_int_equal(a->as.order.peer, b->as.order.peer);
    } else {
        assert_int_equal(a->as.event.kind, b->as.event.kind);
        assert_int_equal(a->as.event.worker, b->as.event.worker);
        assert_true(a->as.event.chunk == b->as.event.chunk);
        assert_true(a->as.event.units == b->as.event.units);
        assert_true(a->as.event.start_s == b->as.event.start_s);
        assert_true(a->as.event.time_s == b->as.event.time_s);
        assert_int_equal(a->as.event.more, b->as.event.more);
        assert_int_equal(a->as.event.peer, b->as.event.peer);
        assert_true(a->as.event.read_s == b->as.event.read_s);
        assert_true(a->as.event.output == b->as.event.output);
        assert_true(a->as.event.cpu_s == b->as.event.cpu_s);
        assert_true(a->as.event.fold_s == b->as.event.fold_s);
    }
    assert_int_equal(a->knows_left, b->knows_left);
    assert_true(a->units_left == b->units_left);
}

static char *save(const struct cleave_trace *trace,
                  const struct cleave_platform *platform, size_t *out_length)
{
    char *text;
    FILE *file = open_memstream(&text, out_length);

    assert_non_null(file);
    assert_int_equal(cleave_trace_save(trace, platform, "umr", 100, file, NULL),
                     CLEAVE_OK);
    fclose(file);
    return text;
}

static enum cleave_status read_as(const char *text, size_t length,
                                  const struct cleave_platform *platform,
                                  uint32_t *out_nodes, struct cleave_trace **out,
                                  struct cleave_error *err)
{
    struct cv_trace_file read;
    enum cleave_status status;
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    rewind(file);
    status =
        cv_trace_file_read(file, "run.trace",
                           &(struct cv_trace_wanted){ .platform = platform }, &read, err);
    if (status == CLEAVE_OK) {
        *out = read.trace;
        read.trace = NULL;
        *out_nodes = read.header.nworkers;
    }
    cv_trace_file_done(&read);
    fclose(file);
    return status;
}

static enum cleave_status read_text(const char *text, size_t length,
                                    const struct cleave_platform *platform,
                                    struct cleave_trace **out, struct cleave_error *err)
{
    uint32_t count;

    return read_as(text, length, platform, &count, out, err);
}

static void log_keeps_entries(void **state)
{
    struct cleave_trace *trace = NULL;
    struct cleave_entry entry = { .is_order = true, .as.order = { .kind = CLEAVE_SEND } };

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(cleave_trace_count(trace), 0);
        for (uint32_t i = 0; i < 5000; i++) {
            entry.as.order.worker = i;
            assert_int_equal(cleave_trace_add(trace, &entry, NULL), CLEAVE_OK);
        }
        assert_int_equal(cleave_trace_count(trace), 5000);
        for (uint32_t i = 0; i < 5000; i++)
            assert_int_equal(cleave_trace_at(trace, i)->as.order.worker, i);
        cleave_trace_clear(trace);
    }
    cleave_trace_free(trace);
    cleave_trace_free(NULL);
}

static void text_is_as_expected(void **state)
{
    struct cleave_trace *trace = make_trace();
    size_t length;
    char *text = save(trace, *state, &length);

    assert_string_equal(
        text,
        HEADER "{\"event\":\"start\",\"start\":0,\"end\":0}\n"
               "{\"order\":\"send\",\"worker\":\"q\\\"\xc3\xa9\",\"units\":0."
               "10000000000000001}\n"
               "{\"order\":\"wake\",\"worker\":\"old.0\",\"time\":0.33333333333333331}\n"
               "{\"event\":\"wake\",\"worker\":\"old.0\",\"start\":0.33333333333333331,"
               "\"end\":0.33333333333333331,\"more\":true}\n"
               "{\"event\":\"came\",\"worker\":\"old.1\",\"start\":0,\"end\":0}\n"
               "{\"event\":\"sent\",\"worker\":\"q\\\"\xc3\xa9\",\"chunk\":0,"
               "\"units\":0.10000000000000001,\"start\":0,\"end\":1e-300}\n"
               "{\"event\":\"done\",\"worker\":\"old.1\",\"chunk\":18446744073709551615,"
               "\"units\":4.9406564584124654e-324,\"start\":1,"
               "\"end\":1.7976931348623157e+308}\n");
    free(text);
    cleave_trace_free(trace);
}

static void trace_round_trips(void **state)
{
    struct cleave_trace *trace = make_trace(), *again = NULL;
    size_t length;
    char *text = save(trace, *state, &length);

    assert_int_equal(read_text(text, length, *state, &again, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_count(again), cleave_trace_count(trace));
    for (size_t i = 0; i < cleave_trace_count(trace); i++)
        assert_same_entry(cleave_trace_at(trace, i), cleave_trace_at(again, i));
    free(text);
    cleave_trace_free(trace);
    cleave_trace_free(again);
}

/* Every order and event about open chunks, with all members. */
static void open_chunks_round_trip(void **state)
{
    static const struct cleave_entry entries[] = {
        { .is_order = true,
          .as.order = { .kind = CLEAVE_OPEN, .worker = 1, .units = 1.0 / 3 } },
        { .is_order = true,
          .as.order = { .kind = CLEAVE_EXTEND, .worker = 2, .units = 2.0 / 3 } },
        { .is_order = true, .as.order = { .kind = CLEAVE_CLOSE, .worker = 1 } },
        { .is_order = true, .as.order = { .kind = CLEAVE_QUERY, .worker = 2 } },
        { .knows_left = true,
          .units_left = 7.5,
          .as.event = { .kind = CLEAVE_STARTED,
                        .worker = 1,
                        .chunk = 3,
                        .units = 0.1,
                        .start_s = 0.2,
                        .time_s = 0.3 } },
        { .as.event = { .kind = CLEAVE_DRAINED,
                        .worker = 1,
                        .chunk = 3,
                        .units = 0.1,
                        .start_s = 0.2,
                        .time_s = 0.4,
                        .more = true } },
        { .as.event = { .kind = CLEAVE_EXTENDED,
                        .worker = 2,
                        .chunk = 4,
                        .units = 0,
                        .start_s = 0.4,
                        .time_s = 0.4 } },
        { .as.event = { .kind = CLEAVE_PROGRESS,
                        .worker = 2,
                        .chunk = 4,
                        .units = 0.7,
                        .start_s = 0.5,
                        .time_s = 0.5,
                        .output = 1.0 / 7,
                        .cpu_s = 1.0 / 9 } },
        { .as.event = { .kind = CLEAVE_DONE,
                        .worker = 1,
                        .chunk = 3,
                        .units = 0.1,
                        .start_s = 0.2,
                        .time_s = 0.9,
                        .read_s = 0.8,
                        .fold_s = 1.0 / 3 } },
    };
    struct cleave_trace *trace = NULL, *again = NULL;
    size_t length;
    char *text;

    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        assert_int_equal(cleave_trace_add(trace, &entries[i], NULL), CLEAVE_OK);
    text = save(trace, *state, &length);
    assert_int_equal(read_text(text, length, *state, &again, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_count(again), sizeof entries / sizeof *entries);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        assert_same_entry(&entries[i], cleave_trace_at(again, i));
    cleave_trace_free(trace);
    cleave_trace_free(again);
    free(text);
}

static void trace_is_loaded_from_a_file(void **state)
{
    struct cleave_trace *trace = make_trace(), *again = NULL;
    char path[] = "/tmp/cleave-trace-XXXXXX";
    int descriptor = mkstemp(path);
    struct cleave_error err;
    FILE *file;

    assert_true(descriptor >= 0);
    file = fdopen(descriptor, "wb");
    assert_non_null(file);
    assert_int_equal(cleave_trace_save(trace, *state, "umr", 100, file, NULL), CLEAVE_OK);
    fclose(file);
    assert_int_equal(cleave_trace_load(path, *state, &again, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_count(again), 7);
    cleave_trace_free(again);
    again = NULL;
    remove(path);
    assert_int_equal(cleave_trace_load(path, *state, &again, &err), CLEAVE_EINPUT);
    assert_null(again);
    assert_string_equal(err.file, path);
    assert_string_equal(err.text, "cannot open: No such file or directory");
    cleave_trace_free(trace);
}

#define SENT "\"event\":\"sent\",\"worker\":\"old.0\",\"chunk\":0,\"units\":1,"

static const struct {
    const char *text, *message;
} bad_traces[] = {
    { "", "run.trace: expected a trace, got an empty file" },
    { "\n", "run.trace:1:1: expected an object, got the end of the line; is it a trace, "
            "as listener.trace "
            "writes it?" },
    { "[]\n",
      "run.trace:1:1: expected an object, got '['; is it a trace, as listener.trace "
      "writes it?" },
    { "{}\n", "run.trace:1:3: expected the field 'format' of a trace" },
    { "{\"policy\":1}\n", "run.trace:1:2: expected the field 'format' of a trace" },
    { "{\"format\":\"cleave-trace-9\"}\n",
      "run.trace:1:11: format: expected 'cleave-trace-1', got 'cleave-trace-9'" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":\"x\"}\n",
      "run.trace:1:48: expected a number, got '\"x\"'" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"multi\"}"
      "\n",
      "run.trace:1:57: port: expected 'one', got 'multi'" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"one\","
      "\"workers\":[\"old.0\",\"new\"]}\n",
      "run.trace:1:82: workers: expected 'old.1', got 'new'" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"one\","
      "\"workers\":[\"old.0\"]}\n",
      "run.trace:1:82: workers: expected the 3 workers of the platform, got fewer" },
    { HEADER "{}\n", "run.trace:2:1: expected an event or an order" },
    { HEADER "\n", "run.trace:2:1: expected an object, got the end of the line" },
    { HEADER "{\"event\":\"gone\"}\n",
      "run.trace:2:10: event: expected start, sent, done, returned, recalled, "
      "lost, dropped, started, drained, extended, progress, ended, came or wake, got "
      "'gone'" },
    { HEADER "{\"order\":\"stop\"}\n",
      "run.trace:2:10: order: expected send, open, extend, close, query, copy, recall, "
      "return or wake, got 'stop'" },
    { HEADER "{\"order\":\"wake\",\"event\":\"wake\"}\n",
      "run.trace:2:25: expected either an event or an order" },
    { HEADER "{\"order\":\"wake\"}\n",
      "run.trace:2:1: required field 'time' is missing" },
    { HEADER "{\"order\":\"wake\",\"time\":1,\"units\":1}\n",
      "run.trace:2:1: order 'wake' has no field 'units'" },
    { HEADER "{\"order\":\"send\",\"worker\":\"old.2\",\"units\":1}\n",
      "run.trace:2:26: worker: expected a worker of the platform, got 'old.2'" },
    { HEADER "{\"order\":\"send\",\"worker\":0,\"units\":1}\n",
      "run.trace:2:26: expected a string, got '0'" },
    { HEADER "{\"order\":\"wake\",\"time\":-1}\n",
      "run.trace:2:24: time: expected a number of at least 0, got -1" },
    { HEADER "{\"order\":\"wake\",\"time\":NaN}\n",
      "run.trace:2:24: expected a number, got 'NaN'" },
    { HEADER "{\"order\":\"wake\",\"time\":1e999}\n",
      "run.trace:2:24: expected a number below 1.8e308, got '1e999'" },
    { HEADER "{\"order\":\"wake\",\"time\":01}\n",
      "run.trace:2:24: expected a number, got '01'" },
    { HEADER "{\"order\":\"wake\",\"time\":1.}\n",
      "run.trace:2:24: expected a number, got '1.'" },
    { HEADER "{\"order\":\"wake\",\"time\":1,\"time\":1}\n",
      "run.trace:2:26: duplicate field 'time'" },
    { HEADER "{\"order\":\"wake\",\"tiem\":1}\n",
      "run.trace:2:17: unknown field 'tiem'; did you mean 'item' or 'time'?" },
    { HEADER "{\"order\":\"wake\",\"time\":1,}\n",
      "run.trace:2:26: expected a string, got '}'" },
    { HEADER "{\"order\":\"wake\" \"time\":1}\n",
      "run.trace:2:17: expected ',' or '}', got '\"time\"'" },
    { HEADER "{\"order\" \"wake\"}\n", "run.trace:2:10: expected ':', got '\"wake\"'" },
    { HEADER "{\"order\":\"wake\",\"time\":1} x\n",
      "run.trace:2:27: expected the end of the line, got 'x'" },
    { HEADER "{\"order\":\"wake\",\"ti",
      "run.trace:2:17: expected a string with quotes at both ends, got '\"ti'" },
    { HEADER "{" SENT "\"start\":2,\"end\":1}\n",
      "run.trace:2:1: expected an end after the start" },
    { HEADER "{" SENT "\"start\":0,\"end\":1,\"more\":1}\n",
      "run.trace:2:79: expected true or false, got '1'" },
    { HEADER "{\"event\":\"sent\",\"chunk\":1.5}\n",
      "run.trace:2:25: expected a whole number of at least 0, got '1.5'" },
    { HEADER "{\"event\":\"sent\",\"chunk\":18446744073709551616}\n",
      "run.trace:2:25: expected a whole number of at least 0, got "
      "'18446744073709551616'" },
    /* Columns count characters, not bytes. */
    { HEADER "{\"order\":\"send\",\"worker\":\"q\\\"\xc3\xa9\",\"units\":x}\n",
      "run.trace:2:41: expected a number, got 'x'" },
};

static void bad_traces_get_their_message(void **state)
{
    for (size_t i = 0; i < sizeof bad_traces / sizeof *bad_traces; i++) {
        struct cleave_trace *trace = NULL;
        struct cleave_error err;
        char said[512];

        if (read_text(bad_traces[i].text, strlen(bad_traces[i].text), *state, &trace,
                      &err) == CLEAVE_OK)
            fail_msg("accepted, instead of: %s", bad_traces[i].message);
        assert_null(trace);
        cleave_error_format(&err, said, sizeof said);
        assert_string_equal(said, bad_traces[i].message);
    }
}

static void loose_but_valid_json_is_read(void **state)
{
    static const char text[] = HEADER
        " { \"time\" : 2.5e-1 ,\t\"order\" : \"wake\" } \r\n"
        "{\"end\":2,\"start\":1,\"units\":3,\"chunk\":4,\"worker\":\"old\\u002e1\","
        "\"event\":\"done\",\"more\":false}";
    struct cleave_trace *trace = NULL;

    assert_int_equal(read_text(text, sizeof text - 1, *state, &trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_count(trace), 2);
    assert_true(cleave_trace_at(trace, 0)->as.order.time_s == 0.25);
    assert_int_equal(cleave_trace_at(trace, 1)->as.event.worker, 1);
    assert_int_equal(cleave_trace_at(trace, 1)->as.event.chunk, 4);
    assert_false(cleave_trace_at(trace, 1)->as.event.more);
    cleave_trace_free(trace);
}

static void unreadable_text_is_not_written(void **state)
{
    static const struct {
        struct cleave_entry entry;
        const char *text;
    } cases[] = {
        { { .as.event = { .kind = CLEAVE_SENT, .worker = 3 } },
          "entry 0 of the trace has a worker that the platform does not have" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_SEND, .worker = 3 } },
          "entry 0 of the trace has a worker that the platform does not have" },
        { { .as.event = { .kind = CLEAVE_DONE, .time_s = NAN } },
          "entry 0 of the trace has a time below 0 or not finite" },
        { { .as.event = { .kind = CLEAVE_DONE, .start_s = 2, .time_s = 1 } },
          "entry 0 of the trace has an end before its start" },
        { { .as.event = { .kind = CLEAVE_SENT, .units = INFINITY } },
          "entry 0 of the trace has units below 0 or not finite" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_SEND, .units = -1 } },
          "entry 0 of the trace has units below 0 or not finite" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_WAKE_AT, .time_s = -1 } },
          "entry 0 of the trace has a time below 0 or not finite" },
    };
    FILE *file = tmpfile();

    assert_non_null(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_trace *trace = NULL;
        struct cleave_error err;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_save(trace, *state, "p", NAN, file, NULL),
                         CLEAVE_EINPUT);
        assert_int_equal(cleave_trace_add(trace, &cases[i].entry, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_save(trace, *state, "p", 1, file, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].text);
        cleave_trace_free(trace);
    }
    fclose(file);
}

static void failed_write_is_reported(void **state)
{
    struct cleave_trace *trace = make_trace();
    FILE *full = fopen("/dev/full", "wb");
    struct cleave_error err;

    if (full == NULL) {
        cleave_trace_free(trace);
        skip();
    }
    assert_int_equal(cleave_trace_save(trace, *state, "p", 1, full, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "cannot write: No space left on device");
    fclose(full);
    cleave_trace_free(trace);
}

/* A trace, or an error with its place. */
static bool survives(const char *text, size_t length,
                     const struct cleave_platform *platform)
{
    struct cleave_trace *trace = NULL;
    struct cleave_error err;

    if (read_text(text, length, platform, &trace, &err) == CLEAVE_OK) {
        cleave_trace_free(trace);
        return true;
    }
    assert_null(trace);
    assert_int_equal(err.status, CLEAVE_EINPUT);
    assert_string_equal(err.file, "run.trace");
    assert_true(err.line > 0 || length == 0);
    assert_true(err.text[0] != '\0');
    return false;
}

static void traces_cut_at_every_byte(void **state)
{
    struct cleave_trace *trace = make_trace();
    unsigned read = 0;
    size_t length;
    char *text = save(trace, *state, &length);

    for (size_t cut = 0; cut <= length; cut++)
        read += survives(text, cut, *state);
    assert_int_equal(read, 2 * 8); /* at the end of a line, before or after its newline */
    free(text);
    cleave_trace_free(trace);
}

static void traces_with_random_damage(void **state)
{
    struct cleave_trace *trace = make_trace();
    struct cv_random random;
    size_t length;
    char *text = save(trace, *state, &length);

    cv_random_at(&random, 99, 0, 0, 0);
    for (int turn = 0; turn < 3000; turn++) {
        size_t at = (size_t)(cv_random_bits(&random) % length);
        char kept = text[at];

        text[at] = (char)cv_random_bits(&random);
        survives(text, length, *state);
        text[at] = kept;
    }
    assert_true(survives(text, length, *state));
    free(text);
    cleave_trace_free(trace);
}

/* --- Reductions --------------------------------------------------------------------- */

#define REDUCE_HEADER \
    "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"task\":\"reduce\",\"nodes\":3}\n"

static struct cleave_trace *make_reduction(void)
{
    static const struct cleave_entry entries[] = {
        { .as.event = { .kind = CLEAVE_START } },
        { .is_order = true,
          .as.order = { .kind = CLEAVE_COMBINE, .worker = 2, .peer = 0 } },
        { .is_order = true,
          .as.order = { .kind = CLEAVE_WAKE_AT, .worker = 1, .time_s = 0.1 } },
        { .as.event = { .kind = CLEAVE_WAKE,
                        .worker = 1,
                        .start_s = 0.1,
                        .time_s = 0.1,
                        .more = true } },
        { .as.event = { .kind = CLEAVE_ARRIVED,
                        .worker = 2,
                        .peer = 0,
                        .start_s = 0,
                        .time_s = 1.0 / 3 } },
        { .as.event = { .kind = CLEAVE_COMBINED,
                        .worker = 2,
                        .peer = 0,
                        .start_s = 1.0 / 3,
                        .time_s = 1e300 } },
    };
    struct cleave_trace *trace = NULL;

    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        assert_int_equal(cleave_trace_add(trace, &entries[i], NULL), CLEAVE_OK);
    return trace;
}

static enum cleave_status read_reduction(const char *text, size_t length,
                                         uint32_t *out_nodes, struct cleave_trace **out,
                                         struct cleave_error *err)
{
    return read_as(text, length, NULL, out_nodes, out, err);
}

static void reductions_round_trip(void **state)
{
    static const char expected[] = REDUCE_HEADER
        "{\"event\":\"start\",\"start\":0,\"end\":0}\n"
        "{\"order\":\"combine\",\"worker\":2,\"peer\":0}\n"
        "{\"order\":\"wake\",\"worker\":1,\"time\":0.10000000000000001}\n"
        "{\"event\":\"wake\",\"worker\":1,\"start\":0.10000000000000001,"
        "\"end\":0.10000000000000001,\"more\":true}\n"
        "{\"event\":\"arrived\",\"worker\":2,\"peer\":0,\"start\":0,"
        "\"end\":0.33333333333333331}\n"
        "{\"event\":\"combined\",\"worker\":2,\"peer\":0,\"start\":0.33333333333333331,"
        "\"end\":1.0000000000000001e+300}\n";
    struct cleave_trace *trace = make_reduction(), *again = NULL;
    uint32_t nodes = 0;
    size_t length;
    char *text;
    FILE *file = open_memstream(&text, &length);

    (void)state;
    assert_non_null(file);
    assert_int_equal(cleave_trace_save_reduce(trace, 3, "p", file, NULL), CLEAVE_OK);
    fclose(file);
    assert_string_equal(text, expected);
    assert_int_equal(read_reduction(text, length, &nodes, &again, NULL), CLEAVE_OK);
    assert_int_equal(nodes, 3);
    assert_int_equal(cleave_trace_count(again), cleave_trace_count(trace));
    for (size_t i = 0; i < cleave_trace_count(trace); i++)
        assert_same_entry(cleave_trace_at(trace, i), cleave_trace_at(again, i));
    free(text);
    cleave_trace_free(trace);
    cleave_trace_free(again);
}

static const struct {
    const char *text, *message;
} bad_reductions[] = {
    { HEADER, "run.trace:1:43: expected the field 'task' of a trace of a reduction" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"task\":\"load\"}\n",
      "run.trace:1:48: task: expected 'reduce', got 'load'" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"task\":\"reduce\",\"nodes\":0}"
      "\n",
      "run.trace:1:65: nodes: expected from 1 to 4294967295 nodes, got 0" },
    { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"task\":\"reduce\","
      "\"nodes\":4294967296}\n",
      "run.trace:1:65: nodes: expected from 1 to 4294967295 nodes, got 4294967296" },
    { REDUCE_HEADER "{\"order\":\"send\"}\n",
      "run.trace:2:10: order: expected combine or wake, got 'send'" },
    { REDUCE_HEADER "{\"event\":\"sent\"}\n",
      "run.trace:2:10: event: expected start, arrived, combined or wake, got 'sent'" },
    { REDUCE_HEADER "{\"order\":\"combine\",\"worker\":3,\"peer\":0}\n",
      "run.trace:2:29: worker: expected a node below 3, got 3" },
    { REDUCE_HEADER "{\"order\":\"combine\",\"worker\":0,\"peer\":9}\n",
      "run.trace:2:38: peer: expected a node below 3, got 9" },
    { REDUCE_HEADER "{\"order\":\"combine\",\"worker\":\"a\",\"peer\":0}\n",
      "run.trace:2:29: expected a whole number of at least 0, got '\"a\"'" },
    { REDUCE_HEADER "{\"order\":\"combine\",\"worker\":1,\"peer\":1}\n",
      "run.trace:2:1: expected a worker and another as its peer" },
    { REDUCE_HEADER "{\"order\":\"combine\",\"worker\":1}\n",
      "run.trace:2:1: required field 'peer' is missing" },
    { REDUCE_HEADER "{\"order\":\"wake\",\"time\":1}\n",
      "run.trace:2:1: required field 'worker' is missing" },
    { REDUCE_HEADER "{\"event\":\"arrived\",\"worker\":1,\"peer\":0,\"chunk\":0,"
                    "\"start\":0,\"end\":1}\n",
      "run.trace:2:1: event 'arrived' has no field 'chunk'" },
};

static void bad_reductions_get_their_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_reductions / sizeof *bad_reductions; i++) {
        struct cleave_trace *trace = NULL;
        struct cleave_error err;
        uint32_t nodes = 7;
        char said[512];

        if (read_reduction(bad_reductions[i].text, strlen(bad_reductions[i].text), &nodes,
                           &trace, &err) == CLEAVE_OK)
            fail_msg("accepted, instead of: %s", bad_reductions[i].message);
        assert_null(trace);
        assert_int_equal(nodes, 7);
        cleave_error_format(&err, said, sizeof said);
        assert_string_equal(said, bad_reductions[i].message);
    }
}

static void loads_and_reductions_do_not_mix(void **state)
{
    static const struct {
        struct cleave_entry entry;
        bool as_load;
        const char *text;
    } cases[] = {
        { { .as.event = { .kind = CLEAVE_ARRIVED, .worker = 1 } },
          true,
          "entry 0 of the trace has a combination, which a load does not have" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_COMBINE, .worker = 1 } },
          true,
          "entry 0 of the trace has a combination, which a load does not have" },
        { { .as.event = { .kind = CLEAVE_DONE } },
          false,
          "entry 0 of the trace has a chunk, which a reduction does not have" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_SEND, .units = 1 } },
          false,
          "entry 0 of the trace has a chunk, which a reduction does not have" },
        { { .as.event = { .kind = CLEAVE_COMBINED, .worker = 1, .peer = 3 } },
          false,
          "entry 0 of the trace has a node that the reduction does not have" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_COMBINE } },
          false,
          "entry 0 of the trace has a node that sends to itself" },
        { { .is_order = true, .as.order = { .kind = CLEAVE_WAKE_AT, .worker = 3 } },
          false,
          "entry 0 of the trace has a node that the reduction does not have" },
    };
    FILE *file = tmpfile();

    assert_non_null(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_trace *trace = NULL;
        struct cleave_error err;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_add(trace, &cases[i].entry, NULL), CLEAVE_OK);
        if (cases[i].as_load)
            assert_int_equal(cleave_trace_save(trace, *state, "p", 1, file, &err),
                             CLEAVE_EINPUT);
        else
            assert_int_equal(cleave_trace_save_reduce(trace, 3, "p", file, &err),
                             CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].text);
        cleave_trace_free(trace);
    }
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_keeps_entries),
        cmocka_unit_test(text_is_as_expected),
        cmocka_unit_test(trace_round_trips),
        cmocka_unit_test(open_chunks_round_trip),
        cmocka_unit_test(trace_is_loaded_from_a_file),
        cmocka_unit_test(bad_traces_get_their_message),
        cmocka_unit_test(loose_but_valid_json_is_read),
        cmocka_unit_test(unreadable_text_is_not_written),
        cmocka_unit_test(failed_write_is_reported),
        cmocka_unit_test(traces_cut_at_every_byte),
        cmocka_unit_test(traces_with_random_damage),
        cmocka_unit_test(reductions_round_trip),
        cmocka_unit_test(bad_reductions_get_their_message),
        cmocka_unit_test(loads_and_reductions_do_not_mix),
    };

    return cmocka_run_group_tests(tests, make_platform, free_platform);
}
