/* test_costs_file.c -- cost files: accepted and refused texts, and agreement of both
 * readers. SPDX-License-Identifier: MIT */
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
#include <cmocka.h>

#include "base/quantity.h"
#include "base/random.h"
#include "io/costs_file.h"
#include "model/reduce/reduce_costs.h"

static struct cleave_costs *parse(const char *text)
{
    struct cleave_costs *costs = NULL;
    struct cleave_error err;

    if (cv_costs_parse("sample", text, strlen(text), &costs, &err) != CLEAVE_OK)
        fail_msg("%u:%u: %s: %s", err.line, err.column, err.field, err.text);
    return costs;
}

static bool is_quick(const char *text)
{
    struct cv_costs_draft draft = { .nodes = 0 };
    const bool quick = cv_costs_read_quickly(text, strlen(text), &draft);

    cv_costs_draft_clear(&draft);
    return quick;
}

static void assert_same(const struct cleave_costs *a, const struct cleave_costs *b)
{
    const size_t n = a->nodes;

    assert_int_equal(a->nodes, b->nodes);
    assert_memory_equal(a->transfer, b->transfer, n * n * sizeof *a->transfer);
    assert_memory_equal(a->compute, b->compute, n * sizeof *a->compute);
}

static void sample_is_read(void **state)
{
    static const char json[] = "{\"compute\": [0, 1e-1, 2.50], \"transfer\":\n"
                               "  [[9, 1, 2], [3, 9, 4.5], [0.005, 6, 9]]}\n";
    static const char yaml[] = "# times in seconds unless they say otherwise\n"
                               "transfer:\n"
                               "  - [0, 1, 2]\n"
                               "  - [3, -1, 4500ms]\n"
                               "  - [5 ms, 0.1min, 0]\n"
                               "compute: [0, \"100ms\", 2.5]\n";
    struct cleave_costs *costs = parse(json), *other = parse(yaml);

    (void)state;
    assert_true(is_quick(json));
    assert_false(is_quick(yaml));
    assert_int_equal(cleave_costs_nodes(costs), 3);
    assert_true(costs->transfer[0 * 3 + 1] == 1 && costs->transfer[0 * 3 + 2] == 2);
    assert_true(costs->transfer[1 * 3 + 0] == 3 && costs->transfer[1 * 3 + 2] == 4.5);
    assert_true(costs->transfer[2 * 3 + 0] == 0.005 && costs->transfer[2 * 3 + 1] == 6);
    assert_true(costs->compute[0] == 0 && costs->compute[1] == 0.1);
    assert_true(costs->compute[2] == 2.5);
    assert_same(costs, other); /* the diagonal does not matter */
    cleave_costs_free(costs);
    cleave_costs_free(other);
}

static void compute_may_be_left_out(void **state)
{
    struct cleave_costs *quick = parse("{\"transfer\": [[0, 1], [2, 0]]}");
    struct cleave_costs *slow = parse("transfer: [[0, 1], [2, 0]]");

    (void)state;
    assert_true(quick->compute[0] == 0 && quick->compute[1] == 0);
    assert_same(quick, slow);
    cleave_costs_free(quick);
    cleave_costs_free(slow);
    quick = parse("{\"transfer\": [[7]]}");
    assert_int_equal(quick->nodes, 1);
    cleave_costs_free(quick);
}

/* No byte after the text is read: not even a 0 is there. */
static void quick_reader_stays_in_the_text(void **state)
{
    static const char whole[] =
        "{\"transfer\": [[0, 1.25], [2e0, 0]], \"compute\": [1, 2]}";

    (void)state;
    for (size_t length = 1; length <= strlen(whole); length++) {
        struct cv_costs_draft draft = { .nodes = 0 };
        char *text = malloc(length);

        assert_non_null(text);
        memcpy(text, whole, length);
        assert_int_equal(cv_costs_read_quickly(text, length, &draft),
                         length == strlen(whole));
        cv_costs_draft_clear(&draft);
        free(text);
    }
}

/* Texts that only the full reader knows or refuses. */
static void quick_reader_knows_its_limits(void **state)
{
    static const char *const others[] = {
        "",
        "{}",
        "[[0]]",
        "{\"transfer\": [[00]]}",
        "{\"transfer\": [[0.]]}",
        "{\"transfer\": [[.5]]}",
        "{\"transfer\": [[-0]]}",
        "{\"transfer\": [[+1]]}",
        "{\"transfer\": [[1e999]]}",
        "{\"transfer\": [[1e]]}",
        "{\"transfer\": [[0, 1], [1]]}",
        "{\"transfer\": [[0, 1]]}",
        "{\"transfer\": [[0], [1]]}",
        "{\"transfer\": [[0,]]}",
        "{\"transfer\": [[0]], \"transfer\": [[0]]}",
        "{\"transfer\": [[0]], \"compute\": [1], \"compute\": [1]}",
        "{\"transfer\": [[0]], \"compute\": [1, 2]}",
        "{\"transfer\": [[0]]} x",
        "{\"transfer\": [[0]]",
        "{\"transfer\": [[\"1\"]]}",
        "{\"transfer\": [[\t0]]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_quick(others[i]))
            fail_msg("was read: %s", others[i]);
}

/* Numbers as programs write them come out to the last bit, by either way. */
static void random_matrices_are_read_exactly(void **state)
{
    static const char *const formats[] = { "%.17g", "%.3f", "%.15g", "%.9e", "%.0f" };
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    for (int turn = 0; turn < 300; turn++) {
        const size_t n = 1 + cv_random_bits(&random) % 5;
        double expected[25];
        char text[4096], number[64];
        size_t length = (size_t)snprintf(text, sizeof text, "{\"transfer\": [");
        struct cleave_costs *costs;

        for (size_t i = 0; i < n * n; i++) {
            const double bits = (double)(cv_random_bits(&random) >> 11);
            const double value = bits * (turn % 3 == 0   ? 0x1p-53
                                         : turn % 3 == 1 ? 0x1p-30
                                                         : 0x1p-90);

            snprintf(number, sizeof number, formats[turn % 5], value);
            assert_null(cv_quantity_parse(number, CV_SECONDS, &expected[i]));
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%s",
                                 i % n == 0 ? "[" : "", number, i % n == n - 1 ? "]" : "",
                                 i + 1 < n * n ? ", " : "]}");
        }
        assert_true(is_quick(text));
        costs = parse(text);
        assert_int_equal(costs->nodes, n);
        for (size_t i = 0; i < n * n; i++)
            assert_true(i % (n + 1) == 0 || costs->transfer[i] == expected[i]);
        cleave_costs_free(costs);
    }
}

static void too_many_nodes(void **state)
{
    const size_t room = 13 + 2 * (size_t)(CV_COSTS_NODES + 1) + 3;
    char *text = malloc(room + 1);
    struct cleave_costs *costs = NULL;
    struct cleave_error err;
    size_t length;

    (void)state;
    assert_non_null(text);
    length = (size_t)snprintf(text, room, "{\"transfer\":[[");
    for (int i = 0; i <= CV_COSTS_NODES; i++) {
        text[length++] = '0';
        text[length++] = ',';
    }
    text[--length] = '\0';
    assert_int_equal(cv_costs_parse("big", text, length, &costs, &err), CLEAVE_EINPUT);
    assert_string_equal(err.field, "transfer[0][20000]");
    assert_string_equal(err.text, "expected at most 20000 nodes, got '0'");
    free(text);
}

/* --- Bad files ---------------------------------------------------------------------- */

static void read_message(const char *folder, char *message, size_t size)
{
    char path[1000];
    FILE *file;

    snprintf(path, sizeof path, "%s/message", folder);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(fgets(message, (int)size, file));
    message[strcspn(message, "\n")] = '\0';
    fclose(file);
}

static void check_case(const char *folder)
{
    char path[1000], expected[512], said[512];
    struct cleave_costs *costs = NULL;
    struct cleave_error err;

    read_message(folder, expected, sizeof expected);
    snprintf(path, sizeof path, "%s/costs.json", folder);
    if (cleave_costs_load(path, &costs, &err) == CLEAVE_OK)
        fail_msg("%s: was accepted", folder);
    assert_null(costs);
    assert_int_equal(err.status, CLEAVE_EINPUT);
    assert_string_equal(err.file, path);
    snprintf(err.file, sizeof err.file, "costs.json");
    cleave_error_format(&err, said, sizeof said);
    if (strcmp(said, expected) != 0)
        fail_msg("%s:\n  expected %s\n  said     %s", folder, expected, said);
}

static void bad_files_get_their_message(void **state)
{
    DIR *list = opendir(CLEAVE_SOURCE_DIR "/tests/input_costs");
    unsigned cases = 0;
    struct dirent *entry;
    char folder[800];

    (void)state;
    assert_non_null(list);
    while ((entry = readdir(list)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(folder, sizeof folder, "%s/tests/input_costs/%s", CLEAVE_SOURCE_DIR,
                     entry->d_name);
            check_case(folder);
            cases++;
        }
    closedir(list);
    assert_true(cases >= 35);
}

static void files_that_cannot_be_read(void **state)
{
    struct cleave_costs *costs = NULL;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_costs_load("/no/such/file", &costs, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "cannot open: No such file or directory");
    assert_null(costs);
}

/* --- Damaged files ------------------------------------------------------------------ */

static const char sample[] =
    "{\"transfer\": [[0, 1, 2.5], [1, 0, 1e-3], [2, \"5ms\", 0]],\n"
    " \"compute\": [1, 0, 20]}\n";

/* For any text: usable costs, or an error with its place. */
static bool survives(const char *text, size_t length)
{
    struct cleave_costs *costs = NULL;
    struct cleave_error err;
    char *exact = malloc(length + 1); /* so that a sanitizer sees any step outside */
    enum cleave_status status;

    assert_non_null(exact);
    memcpy(exact, text, length);
    exact[length] = '\0';
    status = cv_costs_parse("damaged", exact, length, &costs, &err);
    free(exact);
    if (status == CLEAVE_OK) {
        for (size_t i = 0; i < (size_t)costs->nodes * costs->nodes; i++)
            assert_true(costs->transfer[i] >= 0 && isfinite(costs->transfer[i]));
        cleave_costs_free(costs);
        return true;
    }
    assert_null(costs);
    assert_int_equal(status, CLEAVE_EINPUT);
    assert_string_equal(err.file, "damaged");
    assert_true(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    return false;
}

static void files_cut_at_every_byte(void **state)
{
    unsigned read = 0;

    (void)state;
    for (size_t cut = 0; cut < sizeof sample; cut++)
        read += survives(sample, cut);
    assert_int_equal(read, 2); /* with and without the last newline */
}

static void files_with_random_damage(void **state)
{
    char text[sizeof sample];
    struct cv_random random;
    unsigned read = 0;

    (void)state;
    memcpy(text, sample, sizeof sample);
    cv_random_at(&random, 98, 0, 0, 0);
    for (int turn = 0; turn < 5000; turn++) {
        const size_t at = (size_t)(cv_random_bits(&random) % (sizeof sample - 1));

        text[at] = (char)cv_random_bits(&random);
        read += survives(text, sizeof sample - 1);
        text[at] = sample[at];
    }
    assert_true(read > 0 && read < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_is_read),
        cmocka_unit_test(compute_may_be_left_out),
        cmocka_unit_test(quick_reader_stays_in_the_text),
        cmocka_unit_test(quick_reader_knows_its_limits),
        cmocka_unit_test(random_matrices_are_read_exactly),
        cmocka_unit_test(too_many_nodes),
        cmocka_unit_test(bad_files_get_their_message),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(files_cut_at_every_byte),
        cmocka_unit_test(files_with_random_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
