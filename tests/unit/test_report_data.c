/* test_report_data.c -- traces summed up for reports. SPDX-License-Identifier: MIT */
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

#include "report/page/html_report.h"
#include "report/page/report_data.h"

/* A trace file in memory: a header made by hand, and events. */
struct fixture {
    struct cv_trace_file file;
    const char *names[8];
};

static void open_load(struct fixture *fixture, uint32_t nworkers, enum cleave_port port)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

    memset(fixture, 0, sizeof *fixture);
    cv_arena_init(&fixture->file.arena);
    memcpy(fixture->names, names, sizeof fixture->names);
    fixture->file.header = (struct cv_trace_header){ .task = CLEAVE_TASK_LOAD,
                                                     .policy = "umr",
                                                     .load = 10,
                                                     .port = port,
                                                     .names = fixture->names,
                                                     .nworkers = nworkers };
    assert_int_equal(cleave_trace_new(&fixture->file.trace, NULL), CLEAVE_OK);
}

static void open_reduce(struct fixture *fixture, uint32_t nodes)
{
    open_load(fixture, 8, CLEAVE_PORT_ONE);
    fixture->file.header = (struct cv_trace_header){ .task = CLEAVE_TASK_REDUCE,
                                                     .policy = "greedy",
                                                     .nworkers = nodes };
}

static void add(struct fixture *fixture, enum cleave_event_kind kind, uint32_t worker,
                uint64_t ref, double units, double start_s, double end_s)
{
    const struct cleave_entry entry = { .as.event = { .kind = kind,
                                                      .worker = worker,
                                                      .chunk = ref,
                                                      .peer = (uint32_t)ref,
                                                      .units = units,
                                                      .start_s = start_s,
                                                      .time_s = end_s } };

    assert_int_equal(cleave_trace_add(fixture->file.trace, &entry, NULL), CLEAVE_OK);
}

static void load_is_summed_up(void **state)
{
    const struct cleave_left_out left = { 2, "too slow" };
    struct fixture fixture;
    struct cv_report_data data;

    (void)state;
    open_load(&fixture, 3, CLEAVE_PORT_ONE);
    add(&fixture, CLEAVE_START, 0, 0, 0, 0, 0);
    add(&fixture, CLEAVE_SENT, 0, 0, 4, 0, 1);
    add(&fixture, CLEAVE_SENT, 1, 1, 6, 1, 3);
    add(&fixture, CLEAVE_DONE, 0, 0, 4, 1, 5);
    add(&fixture, CLEAVE_DONE, 1, 1, 6, 3, 9);
    add(&fixture, CLEAVE_RETURNED, 0, 0, 4, 5, 6);
    add(&fixture, CLEAVE_RETURNED, 1, 1, 6, 9, 10);
    assert_int_equal(cleave_trace_describe(fixture.file.trace,
                                           &(struct cleave_trace_facts){
                                               .left_out = &left, .nleft_out = 1 },
                                           NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    assert_true(data.makespan_s == 10);
    assert_true(data.units == 10);
    assert_true(data.send_s == 3);
    assert_true(data.return_s == 2);
    assert_true(fabs(data.utilisation - 10.0 / 30) < 1e-15);
    assert_true(data.first_end_s == 6);
    assert_int_equal(data.used, 2);
    assert_int_equal(data.nodes[1].chunks, 1);
    assert_true(data.nodes[1].busy_s == 6);
    assert_true(data.nodes[1].receive_s == 2);
    assert_true(data.nodes[1].first_s == 1);
    assert_true(data.nodes[1].last_s == 10);
    assert_true(isnan(data.nodes[2].last_s));
    assert_string_equal(data.nodes[2].reason, "too slow");
    /* Sorted by row, links before processors, then by start. */
    assert_int_equal(data.nspans, 6);
    assert_int_equal(data.spans[0].kind, CV_SPAN_SEND);
    assert_int_equal(data.spans[1].kind, CV_SPAN_RETURN);
    assert_int_equal(data.spans[2].kind, CV_SPAN_COMPUTE);
    assert_int_equal(data.spans[3].row, 1);
    assert_int_equal(cv_report_data_reduce(&data, NULL), CLEAVE_OK);
    assert_int_equal(data.nspans, 6);
    assert_true(data.block_s == 0);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void reduction_is_summed_up(void **state)
{
    struct fixture fixture;
    struct cv_report_data data;

    (void)state;
    open_reduce(&fixture, 3);
    add(&fixture, CLEAVE_ARRIVED, 2, 1, 0, 0, 1);
    add(&fixture, CLEAVE_COMBINED, 2, 1, 0, 1, 3);
    add(&fixture, CLEAVE_ARRIVED, 2, 0, 0, 1, 2);
    add(&fixture, CLEAVE_COMBINED, 2, 0, 0, 3, 4);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    assert_int_equal(data.root, 2);
    assert_false(data.joined);
    assert_int_equal(data.nodes[0].parent, 2);
    assert_true(data.nodes[0].parent_s == 1);
    assert_true(data.nodes[0].return_s == 1);
    assert_true(data.nodes[2].busy_s == 3);
    assert_true(data.nodes[2].receive_s == 2);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);

    /* Without arrivals a combination stands for both. */
    open_reduce(&fixture, 2);
    add(&fixture, CLEAVE_COMBINED, 0, 1, 0, 0, 3);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    assert_true(data.joined);
    assert_int_equal(data.root, 0);
    assert_true(data.nodes[1].parent_s == 0);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void many_spans_become_blocks(void **state)
{
    enum { MANY = 400000 };
    struct fixture fixture;
    struct cv_report_data data;
    double busy_s = 0, units = 0, last_end = 0;
    uint64_t count = 0;

    (void)state;
    open_load(&fixture, 4, CLEAVE_PORT_MULTI);
    for (uint32_t i = 0; i < MANY; i++)
        add(&fixture, CLEAVE_DONE, i % 4, i, 0.5, (double)(i >> 2),
            (double)(i >> 2) + 0.75);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    assert_int_equal(data.nspans, MANY);
    assert_int_equal(cv_report_data_reduce(&data, NULL), CLEAVE_OK);
    assert_true(data.nspans <= 200000);
    assert_true(data.nspans > 1000);
    assert_true(data.block_s > 0);
    for (size_t i = 0; i < data.nspans; i++) {
        const struct cv_report_data_span *span = &data.spans[i];

        assert_true(span->end_s - span->start_s <= data.block_s ||
                    fabs(span->end_s - span->start_s - 0.75) < 1e-9);
        if (i > 0 && data.spans[i - 1].row == span->row)
            assert_true(span->start_s >= last_end);
        last_end = span->end_s;
        busy_s += span->busy_s;
        units += span->units;
        count += span->ref;
    }
    /* Nothing is lost in them. */
    assert_int_equal(count, MANY);
    assert_true(fabs(busy_s - 0.75 * MANY) < 1e-6 * MANY);
    assert_true(fabs(units - 0.5 * MANY) < 1e-6 * MANY);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void many_nodes_become_groups(void **state)
{
    enum { NODES = 9000 };
    struct fixture fixture;
    struct cv_report_data data;
    double busy_s = 0;

    (void)state;
    open_reduce(&fixture, NODES);
    for (uint32_t i = 0; i + 1 < NODES; i++)
        add(&fixture, CLEAVE_COMBINED, i + 1, i, 0, i, i + 1);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    assert_int_equal(cv_report_data_reduce(&data, NULL), CLEAVE_OK);
    assert_int_equal(data.group, 9);
    assert_true(data.nspans <= 300000);
    for (size_t i = 0; i < data.nspans; i++) {
        assert_true(data.spans[i].row < 1000);
        assert_true(data.spans[i].busy_s <=
                    (data.spans[i].end_s - data.spans[i].start_s) * (1 + 1e-9));
        busy_s += data.spans[i].busy_s * data.group;
    }
    assert_true(fabs(busy_s - (NODES - 1)) < 1e-6 * NODES);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void match(const struct fixture *one, const struct fixture *two,
                  const char *expected)
{
    struct cv_report_data a, b;
    struct cleave_error err = { .text = "" };
    char line[900] = "";
    enum cleave_status status;

    assert_int_equal(cv_report_data_make(&one->file, NULL, 0, &a, NULL), CLEAVE_OK);
    assert_int_equal(cv_report_data_make(&two->file, NULL, 0, &b, NULL), CLEAVE_OK);
    status = cv_report_data_match(&a, &b, "plan.jsonl", &err);
    if (expected == NULL) {
        assert_int_equal(status, CLEAVE_OK);
    } else {
        assert_int_equal(status, CLEAVE_EINPUT);
        cleave_error_format(&err, line, sizeof line);
        assert_string_equal(line, expected);
    }
    cv_report_data_done(&a);
    cv_report_data_done(&b);
}

static void only_what_belongs_together(void **state)
{
    struct fixture one, two;

    (void)state;
    open_load(&one, 3, CLEAVE_PORT_ONE);
    open_load(&two, 3, CLEAVE_PORT_ONE);
    match(&one, &two, NULL);
    two.file.header.load = 10.05;
    match(&one, &two, NULL);
    two.file.header.load = 12;
    match(&one, &two,
          "plan.jsonl: expected a load of 10 units, as the other trace has, got 12");
    two.file.header.load = 10;
    two.names[1] = "x";
    match(
        &one, &two,
        "plan.jsonl: expected the workers of the other trace: number 1 is 'b' there, but "
        "'x' here");
    two.file.header.nworkers = 2;
    match(&one, &two, "plan.jsonl: expected 3 workers, as the other trace has, got 2");
    cv_trace_file_done(&two.file);
    open_reduce(&two, 3);
    match(&one, &two,
          "plan.jsonl: expected a trace of a load, as the other is, got one of a "
          "reduction");
    cv_trace_file_done(&one.file);
    cv_trace_file_done(&two.file);
}

/* The whole page, for a run in which nothing happened and one with strange names. */
static char *write_page(const struct cv_report *report)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    cv_report_write(report, file);
    fclose(file);
    return text;
}

/* The drawing for print: spans as wide as they are long, the bound where it is. */
static void drawing_is_to_scale(void **state)
{
    struct fixture fixture;
    struct cv_report_data data;
    char *text;

    (void)state;
    open_load(&fixture, 2, CLEAVE_PORT_ONE);
    add(&fixture, CLEAVE_SENT, 0, 0, 1, 0, 25);
    add(&fixture, CLEAVE_DONE, 0, 0, 1, 25, 100);
    assert_int_equal(cleave_trace_describe(fixture.file.trace,
                                           &(struct cleave_trace_facts){
                                               .bound = { "price", 50 } },
                                           NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    text = write_page(&(struct cv_report){ .measured = &data, .measured_name = "x" });
    /* 884 pixels for 100 s, starting at 104. */
    assert_non_null(strstr(text, "m104.00 0h221.00\"/>"));
    assert_non_null(strstr(text, "m325.00 0h663.00\"/>"));
    assert_non_null(strstr(text, "<path class=\"edge\" d=\"M546.0 18V"));
    free(text);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void strange_names_stay_text(void **state)
{
    struct fixture fixture;
    struct cv_report_data data;
    char *text;

    (void)state;
    open_load(&fixture, 2, CLEAVE_PORT_ONE);
    fixture.names[0] = "</script><b>\"&'";
    fixture.names[1] = "\xff\x01";
    fixture.file.header.policy = "<i>";
    add(&fixture, CLEAVE_DONE, 0, 0, 1, 0, 1);
    assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL), CLEAVE_OK);
    text = write_page(&(struct cv_report){ .measured = &data, .measured_name = "a<b" });
    assert_null(strstr(text, "<b>\"&'"));
    assert_null(strstr(text, "<i>"));
    assert_non_null(strstr(text, "&lt;/script&gt;&lt;b&gt;&quot;&amp;'"));
    assert_non_null(
        strstr(text, "\"\\u003c/script>\\u003cb>\\\"&'\",\"\xef\xbf\xbd\\u0001\""));
    assert_non_null(strstr(text, "a&lt;b"));
    free(text);
    cv_report_data_done(&data);
    cv_trace_file_done(&fixture.file);
}

static void nothing_happened(void **state)
{
    struct fixture fixture;
    struct cv_report_data data;
    char *text;

    (void)state;
    for (int reduce = 0; reduce < 2; reduce++) {
        if (reduce)
            open_reduce(&fixture, 1);
        else
            open_load(&fixture, 2, CLEAVE_PORT_DUPLEX);
        add(&fixture, CLEAVE_START, 0, 0, 0, 0, 0);
        assert_int_equal(cv_report_data_make(&fixture.file, NULL, 0, &data, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_report_data_reduce(&data, NULL), CLEAVE_OK);
        text = write_page(&(struct cv_report){ .measured = &data,
                                               .predicted = &data,
                                               .measured_name = "x",
                                               .predicted_name = "y" });
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, ">inf"));
        assert_non_null(strstr(text, "</html>"));
        free(text);
        cv_report_data_done(&data);
        cv_trace_file_done(&fixture.file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_is_summed_up),
        cmocka_unit_test(reduction_is_summed_up),
        cmocka_unit_test(many_spans_become_blocks),
        cmocka_unit_test(many_nodes_become_groups),
        cmocka_unit_test(only_what_belongs_together),
        cmocka_unit_test(drawing_is_to_scale),
        cmocka_unit_test(strange_names_stay_text),
        cmocka_unit_test(nothing_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
