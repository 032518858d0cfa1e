/* test_platform_file.c -- platform files: accepted and refused texts, and that writing
 * and reading give the same platform. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "io/platform_file.h"
#include "model/platform/platform_internal.h"

static const char sample[] =
    "# A platform with everything in it.\n"
    "port: duplex\n"
    "workers:\n"
    "  - name: old                # four alike become old.0 .. old.3\n"
    "    count: 4\n"
    "    speed: 1.0\n"
    "    compute_latency: 500ms\n"
    "    bandwidth: 20\n"
    "    latency: 0.2\n"
    "  - name: \"\xc3\xa9toile\"\n"
    "    speed: \"10 MB/s\"\n"
    "    bandwidth: 600 k/min\n"
    "    return_bandwidth: 40\n"
    "    return_latency: 5 ms\n"
    "    profile: [[0, 1.0], [1min, 0.4], [90, 1e0]]\n"
    "    ssh: me@star\n"
    "    slots: 8\n"
    "    command: nice -n 19 'a b'\n";

static const char sample_json[] =
    "{\"port\": \"duplex\", \"workers\": [\n"
    "  {\"name\": \"old\", \"count\": 4, \"speed\": 1.0, \"compute_latency\": "
    "\"500ms\",\n"
    "   \"bandwidth\": 20, \"latency\": 0.2},\n"
    "  {\"name\": \"\\u00e9toile\", \"speed\": \"10 MB/s\", \"bandwidth\": \"600 "
    "k/min\",\n"
    "   \"return_bandwidth\": 40, \"return_latency\": \"5 ms\",\n"
    "   \"profile\": [[0, 1.0], [\"1min\", 0.4], [90, 1e0]],\n"
    "   \"ssh\": \"me@star\", \"slots\": 8, \"command\": \"nice -n 19 'a b'\"}\n"
    "]}\n";

static struct cv_arena arena; /* host fields of all files */

static struct cv_platform_file parse(const char *text, size_t length)
{
    const struct cv_platform_view master = { .as = NULL };
    struct cv_platform_file file = { NULL, NULL };
    struct cleave_error err;

    if (cv_platform_parse_as("sample", text, length, &master, &arena, &file, &err) !=
        CLEAVE_OK)
        fail_msg("%u:%u: %s: %s", err.line, err.column, err.field, err.text);
    return file;
}

static void assert_same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        assert_true(a == b);
    else
        assert_string_equal(a, b);
}

static void assert_same_hosts(const struct cv_host_fields *a,
                              const struct cv_host_fields *b, uint32_t count)
{
    for (uint32_t g = 0; g < count; g++) {
        assert_string_equal(a[g].name, b[g].name);
        assert_same_text(a[g].ssh, b[g].ssh);
        assert_same_text(a[g].command, b[g].command);
        assert_int_equal(a[g].slots, b[g].slots);
        assert_int_equal(a[g].gpus, b[g].gpus);
    }
}

/* Equal to the last bit. */
static void assert_same(const struct cleave_platform *a, const struct cleave_platform *b)
{
    uint32_t n = cleave_platform_nworkers(a);

    assert_int_equal(cleave_platform_port(a), cleave_platform_port(b));
    assert_int_equal(n, cleave_platform_nworkers(b));
    assert_memory_equal(cleave_platform_workers(a), cleave_platform_workers(b),
                        n * sizeof(struct cleave_worker));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t steps_a, steps_b;
        const struct cleave_step *at_a = cleave_platform_profile(a, i, &steps_a);
        const struct cleave_step *at_b = cleave_platform_profile(b, i, &steps_b);

        assert_string_equal(cleave_platform_worker_name(a, i),
                            cleave_platform_worker_name(b, i));
        assert_int_equal(steps_a, steps_b);
        if (steps_a > 0)
            assert_memory_equal(at_a, at_b, steps_a * sizeof *at_a);
    }
}

static void sample_is_read(void **state)
{
    const struct cv_platform_file file = parse(sample, sizeof sample - 1);
    struct cleave_platform *platform = file.platform;
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    const struct cleave_step *steps;
    uint32_t n;

    (void)state;
    assert_int_equal(cleave_platform_port(platform), CLEAVE_PORT_DUPLEX);
    assert_int_equal(cleave_platform_nworkers(platform), 5);
    assert_string_equal(cleave_platform_worker_name(platform, 3), "old.3");
    assert_string_equal(cleave_platform_worker_name(platform, 4), "\xc3\xa9toile");
    assert_true(workers[3].speed_ups == 1 && workers[3].compute_latency_s == 0.5);
    assert_true(workers[3].bandwidth_ups == 20 && workers[3].latency_s == 0.2);
    assert_true(workers[3].return_bandwidth_ups == 20 &&
                workers[3].return_latency_s == 0.2);
    assert_true(workers[4].speed_ups == 1e7 && workers[4].compute_latency_s == 0);
    assert_true(workers[4].bandwidth_ups == 1e4 && workers[4].latency_s == 0);
    assert_true(workers[4].return_bandwidth_ups == 40);
    assert_true(workers[4].return_latency_s == 0.005);
    assert_null(cleave_platform_profile(platform, 3, &n));
    steps = cleave_platform_profile(platform, 4, &n);
    assert_int_equal(n, 3);
    assert_true(steps[1].from_s == 60 && steps[1].factor == 0.4);
    assert_string_equal(file.hosts[1].ssh, "me@star");
    assert_string_equal(file.hosts[1].command, "nice -n 19 'a b'");
    assert_int_equal(file.hosts[1].slots, 8);
    cleave_platform_free(platform);
}

static void json_is_read_alike(void **state)
{
    const struct cv_platform_file yaml = parse(sample, sizeof sample - 1);
    const struct cv_platform_file json = parse(sample_json, sizeof sample_json - 1);

    (void)state;
    assert_same(yaml.platform, json.platform);
    assert_same_hosts(yaml.hosts, json.hosts, 2);
    cleave_platform_free(yaml.platform);
    cleave_platform_free(json.platform);
}

static void unusual_spellings_are_read(void **state)
{
    static const char *const texts[] = {
        "workers: [{name: a, speed: 1, bandwidth: 2}]",
        "\xef\xbb\xbfworkers: [{name: a, speed: 1, bandwidth: 2}]\n", /* with a BOM */
        "%YAML 1.1\n---\nworkers: [{name: a, speed: 1, bandwidth: 2}]\n...\n",
        "workers:\r\n- name: a\r\n  speed: +1\r\n  bandwidth: 2.\r\n",
        "workers:\n- ? name\n  : a\n  ? speed\n  : 1\n  ? bandwidth\n  : '2'\n",
        "workers:\n- name: 'a'\n  speed: \"1\"\n  bandwidth: 2\n  latency: -0\n",
        "{\"workers\": [{\"bandwidth\": 2, \"speed\": 1e0, \"name\": \"a\"}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cleave_platform *platform = parse(texts[i], strlen(texts[i])).platform;

        assert_int_equal(cleave_platform_nworkers(platform), 1);
        assert_string_equal(cleave_platform_worker_name(platform, 0), "a");
        assert_true(cleave_platform_workers(platform)[0].speed_ups == 1);
        assert_true(cleave_platform_workers(platform)[0].bandwidth_ups == 2);
        assert_false(signbit(cleave_platform_workers(platform)[0].latency_s));
        cleave_platform_free(platform);
    }
}

/* --- Bad files ---------------------------------------------------------------------- */

static void read_message(const char *folder, char *out, size_t size)
{
    char path[1024];
    size_t length;
    FILE *file;

    snprintf(path, sizeof path, "%s/message", folder);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    length = fread(out, 1, size - 1, file);
    fclose(file);
    while (length > 0 && out[length - 1] == '\n')
        length--;
    out[length] = '\0';
}

/* Load the bad file of a case and compare the message, the folder cut from it. An expected
 * message that ends in "..." is the beginning of the message. */
static void check_case(const char *folder)
{
    char path[1024], expected[1024], said[1024];
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    const char *base, *rest;

    snprintf(path, sizeof path, "%s/platform.yaml", folder);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/platform.json", folder);
    read_message(folder, expected, sizeof expected);
    if (cleave_platform_load(path, &platform, &err) == CLEAVE_OK)
        fail_msg("%s was accepted", path);
    assert_null(platform);
    assert_int_equal(err.status, CLEAVE_EINPUT);
    base = strrchr(err.file, '/');
    assert_non_null(base);
    memmove(err.file, base + 1, strlen(base));
    cleave_error_format(&err, said, sizeof said);
    rest = strstr(expected, "...");
    if (rest != NULL && rest[3] == '\0' && strlen(said) > (size_t)(rest - expected))
        strcpy(said + (rest - expected), rest);
    if (strcmp(said, expected) != 0)
        fail_msg("%s\n  expected: %s\n       got: %s", folder, expected, said);
    assert_int_equal(cleave_platform_load(path, &platform, NULL), CLEAVE_EINPUT);
}

static void bad_files_get_their_message(void **state)
{
    char folder[800];
    DIR *list = opendir(CLEAVE_SOURCE_DIR "/tests/input");
    unsigned cases = 0;
    struct dirent *entry;

    (void)state;
    assert_non_null(list);
    while ((entry = readdir(list)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(folder, sizeof folder, "%s/tests/input/%s", CLEAVE_SOURCE_DIR,
                     entry->d_name);
            check_case(folder);
            cases++;
        }
    closedir(list);
    assert_true(cases >= 100);
}

static void files_that_cannot_be_read(void **state)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    char said[512];

    (void)state;
    assert_int_equal(cleave_platform_load("/no/such/file.yaml", &platform, &err),
                     CLEAVE_EINPUT);
    cleave_error_format(&err, said, sizeof said);
    assert_string_equal(said,
                        "/no/such/file.yaml: cannot open: No such file or directory");
    assert_int_equal(cleave_platform_load("/", &platform, &err), CLEAVE_EINPUT);
    cleave_error_format(&err, said, sizeof said);
    assert_string_equal(said, "/: cannot read: Is a directory");
    assert_null(platform);
}

/* --- Damaged files ------------------------------------------------------------------ */

/* For any text: a platform, or an error with its place. */
static bool survives(const char *text, size_t length)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    char *exact = malloc(length + 1); /* so that a sanitizer sees any step outside */
    enum cleave_status status;

    assert_non_null(exact);
    memcpy(exact, text, length);
    status = cleave_platform_parse("damaged", exact, length, &platform, &err);
    free(exact);
    if (status == CLEAVE_OK) {
        assert_non_null(platform);
        assert_true(cleave_platform_nworkers(platform) > 0);
        for (uint32_t i = 0; i < cleave_platform_nworkers(platform) && i < 100; i++) {
            struct cleave_platform *one = NULL;

            assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE,
                                                 &cleave_platform_workers(platform)[i], 1,
                                                 &one, NULL),
                             CLEAVE_OK);
            cleave_platform_free(one);
        }
        cleave_platform_free(platform);
        return true;
    }
    assert_null(platform);
    assert_int_equal(status, CLEAVE_EINPUT);
    assert_int_equal(err.status, CLEAVE_EINPUT);
    assert_string_equal(err.file, "damaged");
    assert_true(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    assert_true((err.line > 0) == (err.column > 0));
    return false;
}

static void files_cut_at_every_byte(void **state)
{
    unsigned read = 0;

    (void)state;
    for (size_t length = 0; length < sizeof sample; length++)
        read += survives(sample, length);
    assert_true(read >= 10); /* the last lines are optional fields */
    assert_true(survives(sample, sizeof sample - 1));
    for (size_t length = 0; length + 2 < sizeof sample_json - 1; length++)
        assert_false(survives(sample_json, length));
    assert_true(survives(sample_json, sizeof sample_json - 1));
}

static void files_with_random_damage(void **state)
{
    static const char spice[] = "{}[],:-?*&!|>'\"%@`#\n\t .0e\\\xff\xc3";
    struct cv_random random;
    char text[sizeof sample + 16];
    unsigned read = 0, turns = 20000;

    (void)state;
    cv_random_at(&random, 20240607, 0, 0, 0);
    for (unsigned turn = 0; turn < turns; turn++) {
        bool json = turn % 2 == 1;
        size_t length = json ? sizeof sample_json - 1 : sizeof sample - 1;
        uint64_t damages = 1 + cv_random_bits(&random) % 4;

        if (length > sizeof text - 8)
            length = sizeof text - 8;
        memcpy(text, json ? sample_json : sample, length);
        while (damages-- > 0) {
            size_t at = (size_t)(cv_random_bits(&random) % length);
            uint64_t how = cv_random_bits(&random) % 4;

            if (how == 0) {
                text[at] = (char)cv_random_bits(&random);
            } else if (how == 1) {
                text[at] = spice[cv_random_bits(&random) % (sizeof spice - 1)];
            } else if (how == 2) {
                memmove(text + at, text + at + 1, length - at - 1);
                length--;
            } else {
                memmove(text + at + 1, text + at, length - at);
                text[at] = spice[cv_random_bits(&random) % (sizeof spice - 1)];
                length++;
            }
        }
        read += survives(text, length);
    }
    assert_true(read > turns / 100 && read < turns);
}

/* --- Written files ------------------------------------------------------------------ */

static struct cv_platform_file write_and_read(const struct cleave_platform *platform,
                                              const struct cv_host_fields *hosts,
                                              const char *comment)
{
    struct cv_platform_file again;
    size_t length;
    char *text;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    assert_int_equal(cv_platform_write(platform, hosts, comment, file, NULL), CLEAVE_OK);
    fclose(file);
    again = parse(text, length);
    free(text);
    return again;
}

static void sample_is_written(void **state)
{
    const struct cv_platform_file file = parse(sample, sizeof sample - 1);
    const struct cv_platform_file again = write_and_read(file.platform, file.hosts, NULL);

    (void)state;
    assert_same(file.platform, again.platform);
    assert_same_hosts(file.hosts, again.hosts, 2);
    assert_int_equal(again.platform->ngroups, 2);
    cleave_platform_free(file.platform);
    cleave_platform_free(again.platform);
}

static void written_text_is_as_expected(void **state)
{
    static const char text[] =
        "workers: [{name: new, count: 2, speed: 3.5, bandwidth: 8e1, "
        "return_latency: 1ms, profile: [[0, 1], [60, 0.4]]},"
        "{name: gone, speed: 1, bandwidth: 1, from: 2, until: 9, memory: 3k, "
        "cost: 0.25},"
        "{name: 'no', speed: 1, bandwidth: 1, ssh: 'a \"b\" \\'}]";
    static const char expected[] = "# two\n"
                                   "#\n"
                                   "# lines?\n"
                                   "port: one\n"
                                   "workers:\n"
                                   "  - name: new\n"
                                   "    count: 2\n"
                                   "    speed: 3.5\n"
                                   "    compute_latency: 0\n"
                                   "    bandwidth: 80\n"
                                   "    latency: 0\n"
                                   "    return_latency: 0.001\n"
                                   "    profile: [[0, 1], [60, 0.4]]\n"
                                   "  - name: gone\n"
                                   "    speed: 1\n"
                                   "    compute_latency: 0\n"
                                   "    bandwidth: 1\n"
                                   "    latency: 0\n"
                                   "    from: 2\n"
                                   "    until: 9\n"
                                   "    memory: 3000\n"
                                   "    cost: 0.25\n"
                                   "  - name: \"no\"\n"
                                   "    speed: 1\n"
                                   "    compute_latency: 0\n"
                                   "    bandwidth: 1\n"
                                   "    latency: 0\n"
                                   "    ssh: \"a \\\"b\\\" \\\\\"\n";
    const struct cv_platform_file parsed = parse(text, sizeof text - 1);
    size_t length;
    char *written;
    FILE *file = open_memstream(&written, &length);

    (void)state;
    assert_non_null(file);
    assert_int_equal(cv_platform_write(parsed.platform, parsed.hosts, "two\n\nlines\x07",
                                       file, NULL),
                     CLEAVE_OK);
    fclose(file);
    assert_string_equal(written, expected);
    free(written);
    cleave_platform_free(parsed.platform);
}

static void failed_write_is_reported(void **state)
{
    struct cleave_platform *platform = parse(sample, sizeof sample - 1).platform;
    struct cleave_error err;
    FILE *full = fopen("/dev/full", "wb");

    (void)state;
    if (full == NULL) {
        cleave_platform_free(platform);
        skip();
    }
    assert_int_equal(cv_platform_write(platform, NULL, NULL, full, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "cannot write: No space left on device");
    fclose(full);
    cleave_platform_free(platform);
}

/* A positive number of any size. */
static double any_positive(struct cv_random *random)
{
    for (;;) {
        uint64_t bits = cv_random_bits(random);
        double value;

        memcpy(&value, &bits, sizeof value);
        value = fabs(value);
        if (isfinite(value) && value > 0)
            return value;
    }
}

static void any_name(struct cv_random *random, char name[72], unsigned number)
{
    static const char *const pieces[] = {
        "a", "-", ":", "#",        "'",    "\"",   "\\", "[", "{", "&", "*", "!", "%",
        "~", ".", "0", "\xc3\xa9", "null", "true", "|",  ">", "@", "`", ",", "?", "="
    };
    size_t length = 0;

    for (uint64_t n = cv_random_bits(random) % 6; n > 0; n--)
        length += (size_t)snprintf(name + length, 72 - length, "%s",
                                   pieces[cv_random_bits(random) % 26]);
    snprintf(name + length, 72 - length, "%s%u", length % 2 == 0 ? "" : "_", number);
}

static void any_group(struct cv_random *random, struct cleave_worker *kind,
                      struct cv_group *group, struct cv_host_fields *host,
                      struct cleave_step *steps)
{
    *kind = (struct cleave_worker){
        .speed_ups = any_positive(random),
        .compute_latency_s = any_positive(random),
        .bandwidth_ups = any_positive(random),
        .latency_s = cv_random_uniform(random),
        .return_bandwidth_ups = any_positive(random),
        .return_latency_s = any_positive(random),
    };
    group->count = 1 + (uint32_t)(cv_random_bits(random) % 3);
    group->steps = steps;
    group->nsteps = (uint32_t)(cv_random_bits(random) % 4);
    for (uint32_t i = 0; i < group->nsteps; i++) {
        steps[i].from_s = (i > 0 ? steps[i - 1].from_s : 0) + cv_random_uniform(random);
        steps[i].factor = cv_random_uniform(random);
    }
    host->ssh = cv_random_bits(random) % 3 == 0 ? "me@host -p 22 # \\ 'x' \"y\"" : NULL;
    host->command = cv_random_bits(random) % 3 == 0 ? "- run: {it} " : NULL;
    host->slots = (uint32_t)(cv_random_bits(random) % 3);
    if (host->slots == 0)
        host->gpus = cv_random_bits(random) % 2 == 0
                         ? CV_GPUS_AUTO
                         : (uint32_t)(cv_random_bits(random) % 3);
}

static void random_platforms_round_trip(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 7, 0, 0, 0);
    for (int turn = 0; turn < 500; turn++) {
        struct cleave_platform *platform = NULL;
        struct cv_platform_file again;
        struct cleave_worker kinds[8];
        struct cv_group groups[8] = { 0 };
        struct cv_host_fields hosts[8] = { 0 };
        struct cleave_step steps[8][4];
        char names[8][72];
        uint32_t n = 1 + (uint32_t)(cv_random_bits(&random) % 8);

        for (uint32_t g = 0; g < n; g++) {
            any_group(&random, &kinds[g], &groups[g], &hosts[g], steps[g]);
            any_name(&random, names[g], g + 100);
            groups[g].name = hosts[g].name = names[g];
        }
        assert_int_equal(cv_platform_build((enum cleave_port)(turn % 3), kinds, groups, n,
                                           &platform, NULL, NULL),
                         CLEAVE_OK);
        again = write_and_read(platform, hosts, names[0]);
        assert_same(platform, again.platform);
        assert_same_hosts(hosts, again.hosts, n);
        cleave_platform_free(platform);
        cleave_platform_free(again.platform);
    }
}

static void array_round_trips(void **state)
{
    struct cleave_worker workers[3] = { { 1, 2, 3, 4, 5, 6 },
                                        { 0.1, 0.2, 0.3, 0, 0.3, 0 },
                                        { 1e-300, 0, 1e300, 1e-9, 1e300, 1e-9 } };
    struct cleave_platform *platform = NULL, *again;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, 3, &platform, NULL),
                     CLEAVE_OK);
    again = write_and_read(platform, NULL, "made from an array").platform;
    assert_same(platform, again);
    cleave_platform_free(platform);
    cleave_platform_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_is_read),
        cmocka_unit_test(json_is_read_alike),
        cmocka_unit_test(unusual_spellings_are_read),
        cmocka_unit_test(bad_files_get_their_message),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(files_cut_at_every_byte),
        cmocka_unit_test(files_with_random_damage),
        cmocka_unit_test(sample_is_written),
        cmocka_unit_test(written_text_is_as_expected),
        cmocka_unit_test(failed_write_is_reported),
        cmocka_unit_test(random_platforms_round_trip),
        cmocka_unit_test(array_round_trips),
    };

    int failed;

    cv_arena_init(&arena);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    cv_arena_done(&arena);
    return failed;
}
