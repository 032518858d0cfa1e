/* test_trace_export.c -- traces in the formats of other viewers.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "io/trace_export.h"

static struct cleave_platform *make_platform(enum cleave_port port)
{
    static const char *const ports[] = { "one", "duplex", "multi" };
    struct cleave_platform *platform = NULL;
    char text[200];

    snprintf(text, sizeof text,
             "port: %s\nworkers:\n  - {name: 'a\"b', speed: 1, bandwidth: 2}\n"
             "  - {name: c, speed: 1, bandwidth: 2}\n",
             ports[port]);
    assert_int_equal(cleave_platform_parse("memory", text, strlen(text), &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

static struct cleave_trace *make_trace(const struct cleave_event *events, size_t count)
{
    struct cleave_trace *trace = NULL;

    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(cleave_trace_add(trace,
                                          &(struct cleave_entry){ .as.event = events[i] },
                                          NULL),
                         CLEAVE_OK);
    return trace;
}

/* Two chunks on worker 0, which overlap, and their results; one on worker 1. */
static const struct cleave_event load_events[] = {
    { .kind = CLEAVE_START },
    { .kind = CLEAVE_SENT, .chunk = 0, .units = 3, .start_s = 0, .time_s = 1 },
    { .kind = CLEAVE_SENT,
      .worker = 1,
      .chunk = 1,
      .units = 4,
      .start_s = 1,
      .time_s = 2 },
    { .kind = CLEAVE_DONE, .chunk = 0, .units = 3, .start_s = 1, .time_s = 4 },
    { .kind = CLEAVE_DONE, .chunk = 2, .units = 5, .start_s = 3, .time_s = 5 },
    { .kind = CLEAVE_DONE,
      .worker = 1,
      .chunk = 1,
      .units = 4,
      .start_s = 2,
      .time_s = 6 },
    { .kind = CLEAVE_RETURNED, .chunk = 0, .units = 3, .start_s = 4, .time_s = 7 },
    { .kind = CLEAVE_LOST,
      .worker = 1,
      .chunk = 3,
      .units = 1,
      .start_s = 6,
      .time_s = 6 },
};
enum { LOAD_EVENTS = sizeof load_events / sizeof *load_events };

/* In a run on other machines a chunk is done when its output is here: the computation had
 * ended when that began to come. */
static void outputs_that_come_back_end_computations(void **state)
{
    static const struct cleave_event events[] = {
        { .kind = CLEAVE_RETURNED, .chunk = 0, .units = 3, .start_s = 4, .time_s = 7 },
        { .kind = CLEAVE_DONE, .chunk = 0, .units = 3, .start_s = 1, .time_s = 7 },
        { .kind = CLEAVE_DONE, .chunk = 1, .units = 3, .start_s = 4, .time_s = 8 },
        /* The time of another chunk is not used. */
        { .kind = CLEAVE_RETURNED, .chunk = 1, .units = 3, .start_s = 8, .time_s = 9 },
        { .kind = CLEAVE_DONE, .chunk = 2, .units = 3, .start_s = 5, .time_s = 9 },
    };
    static const struct cv_span expected[] = {
        { .kind = CV_SPAN_RETURN, .chunk = 0, .start_s = 4, .end_s = 7 },
        { .kind = CV_SPAN_COMPUTE, .chunk = 0, .start_s = 1, .end_s = 4 },
        { .kind = CV_SPAN_COMPUTE, .chunk = 1, .start_s = 4, .end_s = 8 },
        { .kind = CV_SPAN_RETURN, .chunk = 1, .start_s = 8, .end_s = 9 },
        { .kind = CV_SPAN_COMPUTE, .chunk = 2, .start_s = 5, .end_s = 9 },
    };
    struct cleave_trace *trace = make_trace(events, 5);

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct cv_span span;

        assert_true(cv_span_at(trace, i, &span));
        assert_int_equal(span.kind, expected[i].kind);
        assert_int_equal(span.chunk, expected[i].chunk);
        assert_true(span.start_s == expected[i].start_s);
        assert_true(span.end_s == expected[i].end_s);
    }
    cleave_trace_free(trace);
}

static char *write_story(const struct cv_trace_context *context,
                         enum cv_trace_format format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    struct cleave_error err = { .text = "" };

    assert_non_null(file);
    if (cv_trace_export(context, format, file, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    fclose(file);
    return text;
}

static char *write_load(enum cleave_port port, enum cv_trace_format format)
{
    struct cleave_platform *platform = make_platform(port);
    struct cleave_trace *trace = make_trace(load_events, LOAD_EVENTS);
    char *text;

    assert_int_equal(cleave_trace_describe(trace,
                                           &(struct cleave_trace_facts){
                                               .command = "cleave x",
                                               .bound = { "price", 6.5 } },
                                           NULL),
                     CLEAVE_OK);
    text = write_story(&(struct cv_trace_context){ .trace = trace,
                                                   .platform = platform,
                                                   .policy = "umr",
                                                   .load = 12 },
                       format);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void names_tell_the_format(void **state)
{
    (void)state;
    assert_int_equal(cv_trace_format_of("run.jsonl"), CV_TRACE_OWN);
    assert_int_equal(cv_trace_format_of("run.json"), CV_TRACE_OWN);
    assert_int_equal(cv_trace_format_of("chrome.json"), CV_TRACE_OWN);
    assert_int_equal(cv_trace_format_of("dir/run.chrome.json"), CV_TRACE_CHROME);
    assert_int_equal(cv_trace_format_of("run.perfetto.json"), CV_TRACE_CHROME);
    assert_int_equal(cv_trace_format_of("run.paje"), CV_TRACE_PAJE);
    assert_int_equal(cv_trace_format_of(".paje"), CV_TRACE_OWN);
    assert_int_equal(cv_trace_format_of("paje"), CV_TRACE_OWN);
    assert_int_equal(cv_trace_format_of(""), CV_TRACE_OWN);
}

static void chrome_has_every_span(void **state)
{
    char *text = write_load(CLEAVE_PORT_ONE, CV_TRACE_CHROME);

    (void)state;
    /* Transfers are on the port and on the link of the worker. */
    assert_int_equal(count_of(text, "\"cat\": \"send\""), 4);
    assert_int_equal(count_of(text, "\"cat\": \"return\""), 2);
    assert_int_equal(count_of(text, "\"cat\": \"compute\""), 3);
    assert_int_equal(count_of(text, "\"cat\": \"lost\""), 1);
    /* Microseconds, and the units. */
    assert_non_null(strstr(text, "\"ts\": 2000000, \"dur\": 4000000, \"args\": "
                                 "{\"chunk\": 1, \"units\": 4}"));
    assert_non_null(strstr(text, "\"command\": \"cleave x\""));
    assert_non_null(strstr(text, "\"bound\": 6.5"));
    assert_non_null(strstr(text, "a\\\"b link"));
    free(text);
}

/* Overlapping ones go to another thread, or viewers would drop them. */
/* The thread of the first computation in a text; *rest follows it. */
static unsigned long thread_of(const char *text, const char **rest)
{
    static const char key[] = "\"tid\": ";
    const char *found = strstr(text, "\"cat\": \"compute\"");
    char *end = NULL;
    unsigned long number;

    if (found != NULL)
        found = strstr(found, key);
    *rest = text;
    if (found == NULL) {
        fail_msg("there is no computation in %s", text);
        return 0;
    }
    number = strtoul(found + strlen(key), &end, 10);
    *rest = end;
    return number;
}

static void chrome_threads_do_not_overlap(void **state)
{
    char *text = write_load(CLEAVE_PORT_DUPLEX, CV_TRACE_CHROME);
    const char *rest;
    const unsigned long one = thread_of(text, &rest);

    (void)state;
    assert_int_not_equal(one, thread_of(rest, &rest));
    assert_non_null(strstr(text, "\"name\": \"port in\""));
    free(text);
    text = write_load(CLEAVE_PORT_MULTI, CV_TRACE_CHROME);
    assert_null(strstr(text, "\"master\""));
    assert_int_equal(count_of(text, "\"cat\": \"send\""), 2);
    free(text);
}

/* Reads the lines after the definitions: times never go back, pushed states are popped,
 * and begun links end. */
static void check_paje(const char *text, size_t pushes, size_t links)
{
    size_t pushed = 0, popped = 0, started = 0, ended = 0;
    double last = 0;

    for (const char *line = text; line != NULL && *line != '\0';) {
        char *rest, *end;
        const long kind = strtol(line, &rest, 10);
        const double time = strtod(rest, &end);

        if (*line != '%' && rest > line && end > rest && kind >= 4) {
            assert_true(time >= last);
            last = time;
            pushed += kind == 5;
            popped += kind == 6;
            started += kind == 7;
            ended += kind == 8;
            assert_true(popped <= pushed);
            assert_true(ended <= started);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    assert_int_equal(pushed, pushes);
    assert_int_equal(popped, pushes);
    assert_int_equal(started, links);
    assert_int_equal(ended, links);
}

static void paje_is_in_order(void **state)
{
    char *text = write_load(CLEAVE_PORT_ONE, CV_TRACE_PAJE);

    (void)state;
    /* 3 transfers on two places each, 3 computations; the lost chunk has no length. */
    check_paje(text, 9, 3);
    assert_non_null(strstr(text, "4 0 w0 W r \"a'b\"\n"));
    assert_non_null(strstr(text, "%EventDef PajePushState 5\n"));
    assert_non_null(strstr(text, "9 7.000000000 R r\n"));
    free(text);
}

static void reductions_too(void **state)
{
    static const struct cleave_event events[] = {
        { .kind = CLEAVE_START },
        { .kind = CLEAVE_ARRIVED, .worker = 0, .peer = 1, .start_s = 0, .time_s = 1 },
        { .kind = CLEAVE_COMBINED, .worker = 0, .peer = 1, .start_s = 1, .time_s = 3 },
        { .kind = CLEAVE_ARRIVED, .worker = 0, .peer = 2, .start_s = 1, .time_s = 1 },
        { .kind = CLEAVE_COMBINED, .worker = 0, .peer = 2, .start_s = 3, .time_s = 4 },
    };
    struct cleave_trace *trace = make_trace(events, sizeof events / sizeof *events);
    const struct cv_trace_context context = { .trace = trace,
                                              .nodes = 3,
                                              .policy = "greedy" };
    char *text = write_story(&context, CV_TRACE_CHROME);

    (void)state;
    assert_non_null(strstr(text, "\"send to 0\""));
    assert_non_null(strstr(text, "\"receive from 2\""));
    assert_int_equal(count_of(text, "\"cat\": \"combine\""), 2);
    free(text);
    text = write_story(&context, CV_TRACE_PAJE);
    check_paje(text, 4, 2);
    assert_null(strstr(text, "master\"\n5"));
    free(text);
    text = write_story(&context, CV_TRACE_OWN);
    assert_int_equal(strncmp(text, "{\"format\":\"cleave-trace-1\"", 26), 0);
    free(text);
    cleave_trace_free(trace);
}

static void bad_entries_are_refused(void **state)
{
    static const struct cleave_event bad = { .kind = CLEAVE_DONE,
                                             .worker = 7,
                                             .time_s = 1 };
    struct cleave_platform *platform = make_platform(CLEAVE_PORT_ONE);
    struct cleave_trace *trace = make_trace(&bad, 1);
    struct cleave_error err;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    for (int format = CV_TRACE_OWN; format <= CV_TRACE_PAJE; format++) {
        assert_int_equal(cv_trace_export(&(struct cv_trace_context){ .trace = trace,
                                                                     .platform = platform,
                                                                     .policy = "umr" },
                                         (enum cv_trace_format)format, file, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text,
                            "entry 0 of the trace has a worker that the platform "
                            "does not have");
    }
    fclose(file);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

static void a_full_disk_is_reported(void **state)
{
    struct cleave_platform *platform = make_platform(CLEAVE_PORT_ONE);
    struct cleave_trace *trace = make_trace(load_events, LOAD_EVENTS);

    (void)state;
    for (int format = CV_TRACE_OWN; format <= CV_TRACE_PAJE; format++) {
        FILE *file = fopen("/dev/full", "w");
        struct cleave_error err;

        if (file == NULL)
            skip();
        assert_int_equal(cv_trace_export(&(struct cv_trace_context){ .trace = trace,
                                                                     .platform = platform,
                                                                     .policy = "umr" },
                                         (enum cv_trace_format)format, file, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, "cannot write: No space left on device");
        fclose(file);
    }
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_that_come_back_end_computations),
        cmocka_unit_test(names_tell_the_format),
        cmocka_unit_test(chrome_has_every_span),
        cmocka_unit_test(chrome_threads_do_not_overlap),
        cmocka_unit_test(paje_is_in_order),
        cmocka_unit_test(reductions_too),
        cmocka_unit_test(bad_entries_are_refused),
        cmocka_unit_test(a_full_disk_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
