/* test_run_limit.c -- records that are too long, against the definition of records.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/input/source.h"
#include "own_folder.h"
#include "run_check.h"
#include "unit/split_check.h"

enum { MOST = 600 };

/* The first record with more than `most` bytes: its start; SIZE_MAX: there is none. */
static size_t first_long(const struct split_input *input, size_t max)
{
    for (size_t start = 0, end; start < input->n; start = end) {
        end = split_at(input, start + 1);
        if (end - start > max)
            return start;
    }
    return SIZE_MAX;
}

/* Take all there is; its result. */
static enum cleave_status take_all(struct cv_source *source, struct cv_random *random,
                                   int writer, const struct split_input *input,
                                   struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    enum cv_take taken = CV_TAKE_WAIT;
    struct cv_piece piece;
    size_t fed = 0;

    while (status == CLEAVE_OK && taken != CV_TAKE_END) {
        const size_t left = input->n - fed;
        const size_t some = left > 0 ? 1 + below(random, left) : 0;

        if (writer >= 0 && some > 0) {
            assert_int_equal(write(writer, input->bytes + fed, some), some);
            fed += some;
        } else if (writer >= 0) {
            close(writer);
            writer = -1;
        }
        status = cv_source_pump(source, err);
        if (status == CLEAVE_OK)
            status = cv_source_take(source, 1 + below(random, 300), &taken, &piece, err);
        if (status == CLEAVE_OK && taken == CV_TAKE_PIECE)
            status = cv_source_finish(source, &piece, err);
    }
    if (writer >= 0)
        close(writer);
    return status;
}

static void try_limit(const struct split_input *input, struct cv_random *random,
                      size_t max, bool stream)
{
    const struct cv_source_options options = { .splitter = input->splitter,
                                               .raw = true,
                                               .max_record = max };
    const size_t expected = first_long(input, max);
    struct cv_source *source = NULL;
    struct cleave_error why = { .text = "" };
    char path[128], text[200];
    const char *name = path;
    enum cleave_status status;
    int pipes[2] = { -1, -1 };

    if (stream) {
        assert_int_equal(pipe(pipes), 0);
        snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    } else {
        path_of(path, "input");
        write_file(path, input->bytes, input->n);
    }
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    status = take_all(source, random, pipes[1], input, &why);
    cv_source_free(source);
    if (expected == SIZE_MAX) {
        assert_int_equal(status, CLEAVE_OK);
    } else {
        assert_int_equal(status, CLEAVE_EINPUT);
        assert_string_equal(why.file, path);
        snprintf(
            text, sizeof text,
            "the record from byte %zu on is longer than %zu bytes (is it split as it "
            "should be? input.max_record allows more)",
            expected, max);
        assert_string_equal(why.text, text);
    }
    if (stream)
        close(pipes[0]);
    else
        unlink(path);
}

/* Not by chance or by how it comes, but by its length alone. */
static void the_first_that_is_too_long_is_named(void **state)
{
    struct cv_random random;
    char bytes[MOST];

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    for (size_t k = 0; k < REFERENCE_CASES; k++)
        for (size_t number = 0; number < 60; number++) {
            const struct reference_case *test = &reference_cases[k];
            struct cv_splitter *splitter = parse(test->splitter);
            const size_t n = below(&random, number % 2 == 0 ? 12 : MOST);
            const size_t max = 1 + below(&random, number % 3 == 0 ? 200 : 30);
            struct split_input input;

            for (size_t i = 0; i < n; i++)
                bytes[i] = test->letters[below(&random, test->nletters)];
            split_input_open(&input, splitter, bytes, n);
            if (test->reference(bytes, n, input.is)) {
                try_limit(&input, &random, max, false);
                try_limit(&input, &random, max, true);
            }
            split_input_close(&input);
            cv_splitter_free(splitter);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_is_too_long_is_named),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
