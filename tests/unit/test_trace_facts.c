/* test_trace_facts.c -- facts of a trace about its run as a whole, written and read, and
 * traces read without a platform. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/trace_file.h"

static const char platform_text[] = "port: duplex\nworkers:\n"
                                    "  - {name: old, count: 2, speed: 1, bandwidth: 2}\n";

static struct cleave_platform *make_platform(void)
{
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_parse("memory", platform_text,
                                           sizeof platform_text - 1, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* A file with this text; its name is written to `path`. */
static void put_file(const char *text, char path[64])
{
    int fd;

    snprintf(path, 64, "/tmp/cleave-facts-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static enum cleave_status load_text(const char *text, struct cv_trace_file *out,
                                    struct cleave_error *err)
{
    enum cleave_status status;
    char path[64];

    put_file(text, path);
    status =
        cv_trace_file_load(path,
                           &(struct cv_trace_wanted){ .any = true, .events_only = true },
                           out, err);
    unlink(path);
    return status;
}

static char *save(const struct cleave_trace *trace,
                  const struct cleave_platform *platform)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    assert_int_equal(cleave_trace_save(trace, platform, "umr", 7, file, NULL), CLEAVE_OK);
    fclose(file);
    return text;
}

static void facts_add_up(void **state)
{
    const struct cleave_left_out left[] = { { 1, "slow" } };
    const struct cleave_trace_facts *facts;
    struct cleave_trace *trace = NULL;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    facts = cleave_trace_facts(trace);
    assert_null(facts->command);
    assert_null(facts->bound.name);
    assert_int_equal(cleave_trace_describe(trace,
                                           &(struct cleave_trace_facts){
                                               .command = "one",
                                               .bound = { "price", 3 },
                                               .left_out = left,
                                               .nleft_out = 1 },
                                           NULL),
                     CLEAVE_OK);
    assert_int_equal(cleave_trace_describe(
                         trace, &(struct cleave_trace_facts){ .command = "two" }, NULL),
                     CLEAVE_OK);
    cleave_trace_clear(trace);
    facts = cleave_trace_facts(trace);
    assert_string_equal(facts->command, "two");
    assert_string_equal(facts->bound.name, "price");
    assert_true(facts->bound.value_s == 3);
    assert_int_equal(facts->nleft_out, 1);
    assert_string_equal(facts->left_out[0].reason, "slow");
    assert_ptr_not_equal(facts->left_out[0].reason, left[0].reason);
    cleave_trace_free(trace);
}

static void facts_survive_a_file(void **state)
{
    const struct cleave_left_out left[] = { { 1, "its \"link\" <b>" } };
    const struct cleave_trace_failure failures[] = {
        { 1, 7, 2, "a b: bytes 3 to 9", "exited with status 3", "one\ntwo\n" },
        { 0, 9, 1, "echo \"x\"", "was ended by SIGKILL (killed)", NULL }
    };
    const double starts_s[] = { 0.25, NAN };
    const struct cleave_trace_facts given = { .command = "cleave plan load 'a b'",
                                              .engine = "native",
                                              .noise = "normal:0.2",
                                              .picked = "umr",
                                              .why = "because",
                                              .lifespan_s = 60,
                                              .bound = { "price", 1.0 / 3 },
                                              .left_out = left,
                                              .nleft_out = 1,
                                              .failures = failures,
                                              .nfailures = 2,
                                              .starts_s = starts_s,
                                              .nstarts = 2 };
    struct cleave_platform *platform = make_platform();
    const struct cleave_trace_facts *facts;
    struct cleave_trace *trace = NULL;
    struct cv_trace_file file;
    struct cleave_error err;
    char *text;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_describe(trace, &given, NULL), CLEAVE_OK);
    text = save(trace, platform);
    if (load_text(text, &file, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(file.header.task, CLEAVE_TASK_LOAD);
    assert_string_equal(file.header.policy, "umr");
    assert_true(file.header.load == 7);
    assert_int_equal(file.header.port, CLEAVE_PORT_DUPLEX);
    assert_int_equal(file.header.nworkers, 2);
    assert_string_equal(file.header.names[1], "old.1");
    facts = cleave_trace_facts(file.trace);
    assert_string_equal(facts->command, given.command);
    assert_string_equal(facts->engine, "native");
    assert_string_equal(facts->noise, "normal:0.2");
    assert_string_equal(facts->picked, "umr");
    assert_string_equal(facts->why, "because");
    assert_non_null(facts->version);
    assert_true(facts->lifespan_s == 60);
    assert_true(facts->bound.value_s == 1.0 / 3);
    assert_int_equal(facts->nleft_out, 1);
    assert_int_equal(facts->left_out[0].worker, 1);
    assert_string_equal(facts->left_out[0].reason, left[0].reason);
    assert_int_equal(facts->nfailures, 2);
    assert_int_equal(facts->failures[0].worker, 1);
    assert_int_equal(facts->failures[0].chunk, 7);
    assert_int_equal(facts->failures[0].attempts, 2);
    assert_string_equal(facts->failures[0].what, failures[0].what);
    assert_string_equal(facts->failures[0].errors, failures[0].errors);
    assert_string_equal(facts->failures[1].how, failures[1].how);
    assert_null(facts->failures[1].errors);
    assert_int_equal(facts->nstarts, 2);
    assert_true(facts->starts_s[0] == 0.25 && isnan(facts->starts_s[1]));
    cv_trace_file_done(&file);
    free(text);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

#define LOAD                                                                       \
    "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"one\"," \
    "\"workers\":[\"a\",\"b\"]"
#define REDUCE \
    "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"task\":\"reduce\",\"nodes\":3"

static void later_versions_may_add(void **state)
{
    struct cv_trace_file file;
    struct cleave_error err;

    (void)state;
    if (load_text(LOAD
                  ",\"about\":{\"new\":[1,{\"x\":null,\"y\":[true,false]}],\"command\":"
                  "\"c\",\"bound\":{\"value\":2,\"proof\":\"p\",\"name\":\"n\"},"
                  "\"left_out\":[]}}\n"
                  "{\"event\":\"start\",\"start\":0,\"end\":0}\n"
                  "{\"order\":\"send\",\"worker\":\"b\",\"units\":1}\n",
                  &file, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    assert_string_equal(cleave_trace_facts(file.trace)->command, "c");
    assert_true(cleave_trace_facts(file.trace)->bound.value_s == 2);
    /* Orders are left out. */
    assert_int_equal(cleave_trace_count(file.trace), 1);
    cv_trace_file_done(&file);
    assert_int_equal(load_text(REDUCE "}\n", &file, &err), CLEAVE_OK);
    assert_int_equal(file.header.task, CLEAVE_TASK_REDUCE);
    assert_int_equal(file.header.nworkers, 3);
    cv_trace_file_done(&file);
}

static void mistakes_are_reported(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "expected a trace, got an empty file" },
        { "hello\n", "expected an object, got 'hello'; is it a trace, as listener.trace "
                     "writes it?" },
        { "{\"format\":\"other\"}\n", "expected 'cleave-trace-1', got 'other'" },
        { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"what\":1}\n",
          "expected the field 'load' of a trace" },
        { LOAD ",\"other\":1}\n", "expected the end of the header" },
        { LOAD ",\"about\":{},\"other\":1}\n", "expected the end of the header" },
        { LOAD ",\"about\":{\"command\":1}}\n", "expected a string, got '1'" },
        { LOAD ",\"about\":{\"left_out\":[{\"worker\":\"x\"}]}}\n",
          "expected a worker of the header, got 'x'" },
        { LOAD ",\"about\":{\"bound\":3}}\n", "expected an object, got '3'" },
        { LOAD ",\"about\":{\"new\":nul}}\n", "expected null, got 'nul'" },
        { LOAD "}\n{\"event\":\"done\",\"worker\":\"x\"}\n",
          "expected a worker of the header, got 'x'" },
        { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"two\"}"
          "\n",
          "expected one, duplex or multi, got 'two'" },
        { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"one\","
          "\"workers\":[]}\n",
          "expected from 1 to 10000000 workers, got none" },
        { "{\"format\":\"cleave-trace-1\",\"policy\":\"p\",\"load\":1,\"port\":\"one\","
          "\"workers\":[\"a\",\"a\"]}\n",
          "expected different names, got two workers 'a'" },
        { REDUCE
          "}\n{\"event\":\"combined\",\"worker\":3,\"peer\":0,\"start\":0,\"end\":1}\n",
          "expected a node below 3, got 3" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_trace_file file;
        struct cleave_error err = { .text = "" };

        assert_int_equal(load_text(cases[i].text, &file, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
        assert_int_not_equal(err.file[0], '\0');
        cv_trace_file_done(&file);
    }
}

/* Deep nesting in skipped values ends in a message, not in a crash. */
static void deep_values_are_refused(void **state)
{
    struct cv_trace_file file;
    struct cleave_error err = { .text = "" };
    char text[2000] = LOAD ",\"about\":{\"new\":";
    size_t at = strlen(text);

    (void)state;
    memset(text + at, '[', 1000);
    text[at + 1000] = '\0';
    assert_int_equal(load_text(text, &file, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected fewer brackets inside brackets");
    cv_trace_file_done(&file);
}

/* The readers that know the platform take files with facts as well. */
static void strict_readers_take_facts(void **state)
{
    struct cleave_trace *trace = NULL;
    uint32_t nodes = 0;
    char path[64];

    (void)state;
    put_file(REDUCE ",\"about\":{\"bound\":{\"name\":\"b\",\"value\":9}}}\n", path);
    assert_int_equal(cleave_trace_load_reduce(path, &nodes, &trace, NULL), CLEAVE_OK);
    unlink(path);
    assert_int_equal(nodes, 3);
    assert_true(cleave_trace_facts(trace)->bound.value_s == 9);
    cleave_trace_free(trace);
}

/* The input of a policy comes back to the last bit. */
static void told_survives_a_file(void **state)
{
    const struct cleave_setting settings[] = { { "chunk", "3.5" }, { "a \"b\"", "" } };
    const struct cleave_worker workers[] = { { 1.0 / 3, 0.1, 100, 0, 50, 2 },
                                             { 7, 0, 1e-9, 1e9, 3, 1 } };
    const struct cleave_policy_input given = { .settings = settings,
                                               .nsettings = 2,
                                               .changing = true,
                                               .view = { .workers = workers,
                                                         .nworkers = 2,
                                                         .port = CLEAVE_PORT_DUPLEX,
                                                         .units_total = 20.0 / 3,
                                                         .result_ratio = 0.1,
                                                         .lifespan_s = 4,
                                                         .error = 0.25,
                                                         .real = true,
                                                         .seed = UINT64_MAX } };
    struct cleave_platform *platform = make_platform();
    struct cleave_trace *trace = NULL;
    const struct cleave_policy_input *told;
    struct cv_trace_file file;
    char *text;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_describe(trace,
                                           &(struct cleave_trace_facts){ .told = &given },
                                           NULL),
                     CLEAVE_OK);
    assert_ptr_not_equal(cleave_trace_facts(trace)->told->view.workers, workers);
    text = save(trace, platform);
    assert_int_equal(load_text(text, &file, NULL), CLEAVE_OK);
    assert_string_equal(cleave_trace_facts(file.trace)->policy, "umr");
    told = cleave_trace_facts(file.trace)->told;
    assert_non_null(told);
    assert_int_equal(told->nsettings, 2);
    assert_string_equal(told->settings[0].key, "chunk");
    assert_string_equal(told->settings[1].key, "a \"b\"");
    assert_string_equal(told->settings[1].value, "");
    assert_memory_equal(told->view.workers, workers, sizeof workers);
    assert_int_equal(told->view.port, CLEAVE_PORT_DUPLEX);
    assert_int_equal(told->view.nworkers, 2);
    assert_true(told->view.units_total == 20.0 / 3 && told->view.units_left == 20.0 / 3);
    assert_true(told->view.result_ratio == 0.1 && told->view.lifespan_s == 4);
    assert_true(told->view.error == 0.25 && told->view.real && told->changing);
    assert_true(told->view.seed == UINT64_MAX);
    cv_trace_file_done(&file);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
    free(text);
}

/* Thousands of unused places are a number. */
static void workers_alike_are_counted(void **state)
{
    enum { PLACES = 5000 };
    const struct cleave_worker first = { 7, 0, 1e-9, 1e9, 3, 1 },
                               other = { 1, 0, 1, 0, 1, 0 };
    struct cleave_worker workers[PLACES];
    const struct cleave_policy_input given = {
        .view = { .workers = workers, .nworkers = PLACES, .units_total = 1 }
    };
    struct cleave_platform *platform = make_platform();
    struct cleave_trace *trace = NULL;
    const struct cleave_policy_input *told;
    struct cv_trace_file file;
    char *text;

    (void)state;
    for (size_t i = 0; i < PLACES; i++)
        workers[i] = i == 0 || i == 2 ? first : other;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_describe(trace,
                                           &(struct cleave_trace_facts){ .told = &given },
                                           NULL),
                     CLEAVE_OK);
    text = save(trace, platform);
    assert_true(strlen(text) < 1000);
    assert_non_null(strstr(text, "\"alike\":4996"));
    assert_int_equal(load_text(text, &file, NULL), CLEAVE_OK);
    told = cleave_trace_facts(file.trace)->told;
    assert_int_equal(told->view.nworkers, PLACES);
    assert_memory_equal(told->view.workers, workers, sizeof workers);
    cv_trace_file_done(&file);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
    free(text);
}

static void bad_traces_are_reported(void **state)
{
    static const struct {
        const char *told, *text;
    } cases[] = {
        { "{\"seed\":1}", "expected the costs of the workers" },
        { "{\"workers\":[[1,0,1,0,1,0]]}",
          "expected the costs of 2 workers or more, got fewer" },
        { "{\"workers\":[[1],[1]]}", "expected 6 numbers, got fewer" },
        { "{\"alike\":1,\"workers\":[[1,0,1,0,1,0]]}",
          "expected at most 1000000 workers like the last one" },
        { "{\"workers\":[[1,0,1,0,1,0]],\"alike\":1000001}",
          "expected at most 1000000 workers like the last one" },
        { "{\"workers\":[[1,0,1,0,1,0]],\"alike\":-1}",
          "expected a whole number of at least 0, got '-1'" },
        { "{\"workers\":[[1,0,1,0,1,0],[1,0,1,0,1,-1]]}",
          "expected a number of at least 0, got -1" },
        { "{\"memory\":[5,-2e0]}", "expected a number of at least 0, got -2e0" },
        { "{\"memory\":[5]}", "expected an entry for each of 2 workers" },
        { "{\"sizes\":[1,2,-3]}", "expected a number of at least 0, got -3" },
        { "{\"profiles\":[[0,1,-1,2],[]]}", "expected a number of at least 0, got -1" },
        { "{\"profiles\":[[0,1,0,2],[]]}", "expected increasing times" },
        { "{\"profiles\":[[0],[]]}", "expected pairs of time and factor" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_trace_file file;
        struct cleave_error err;
        char text[400];

        snprintf(text, sizeof text,
                 "{\"format\":\"cleave-trace-1\",\"policy\":\"umr\",\"load\":7,"
                 "\"port\":\"one\",\"workers\":[\"a\",\"b\"],\"about\":{\"told\":%s}}\n",
                 cases[i].told);
        assert_int_equal(load_text(text, &file, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].text);
        cv_trace_file_done(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_add_up),
        cmocka_unit_test(facts_survive_a_file),
        cmocka_unit_test(later_versions_may_add),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(deep_values_are_refused),
        cmocka_unit_test(strict_readers_take_facts),
        cmocka_unit_test(told_survives_a_file),
        cmocka_unit_test(workers_alike_are_counted),
        cmocka_unit_test(bad_traces_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
