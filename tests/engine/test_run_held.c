/* test_run_held.c -- partial results that lie with a worker: they come, go and are forgotten.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/wire/protocol.h"
#include "run/worker/worker_fold.h"
#include "plumbing_check.h"

static struct cv_ordered_output *make_gather(void)
{
    struct cv_ordered_output *outputs = NULL;

    must(cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = -1,
                                                                    .memory = 1 << 20 },
                               &outputs, &err));
    return outputs;
}

static void hold(struct cv_worker_partials *holding, struct cv_ordered_output *outputs,
                 uint64_t id, const char *text)
{
    struct cv_chunk_output *store = NULL;

    must(cv_chunk_output_open(outputs, &store, &err));
    must(cv_chunk_output_write(store, text, strlen(text), &err));
    must(cv_partials_add(holding, id, store, &err));
}

/* Bytes of another worker come; whether that makes a partial complete. */
static bool comes(struct cv_worker_partials *holding, struct cv_ordered_output *outputs,
                  uint64_t id, const char *text, bool last)
{
    const struct cv_worker_partial *held = cv_partials_find(holding, id);
    const struct cv_frame_head head = { .type = CV_FRAME_PARTIAL,
                                        .flags = last ? CV_FRAME_LAST : 0,
                                        .length = (uint32_t)strlen(text),
                                        .chunk = id,
                                        .value = held != NULL
                                                     ? cv_chunk_output_size(held->store)
                                                     : 0 };
    bool complete = false;

    must(cv_partials_take(holding, outputs, &head, (const unsigned char *)text, &complete,
                          &err));
    return complete;
}

static void expect_text(const struct cv_worker_partial *held, const char *text)
{
    char got[100] = "";

    assert_non_null(held);
    assert_true(held->complete);
    assert_int_equal(held->taken.end - held->taken.begin, strlen(text));
    assert_int_equal(pread(held->taken.fd, got, strlen(text), (off_t)held->taken.begin),
                     strlen(text));
    assert_string_equal(got, text);
}

static void it_has_another_name_where_it_goes(void **state)
{
    struct cv_ordered_output *outputs = make_gather();
    struct cv_worker_partials giver = { 0 }, taker = { 0 };
    static unsigned char payload[CV_FRAME_MOST];
    struct cv_frame_head head;
    bool any, complete;

    (void)state;
    hold(&giver, outputs, 7, "seven");
    /* Twice to the same worker: these are two. */
    must(cv_partials_send(&giver, 7, 2, 70, &err));
    must(cv_partials_send(&giver, 7, 2, 71, &err));
    assert_int_equal(cv_partials_send(&giver, 8, 2, 80, NULL), CLEAVE_EINPUT);
    must(cv_partials_forget(&giver, 7, &err));
    assert_null(cv_partials_find(&giver, 7));
    for (uint64_t name = 70; name < 72; name++) {
        must(cv_partials_next(&giver, false, &head, payload, &any, &err));
        assert_true(any);
        assert_int_equal(head.peer, 2);
        assert_int_equal(head.chunk, name);
        must(cv_partials_take(&taker, outputs, &head, payload, &complete, &err));
        assert_true(complete);
        expect_text(cv_partials_find(&taker, name), "seven");
    }
    must(cv_partials_next(&giver, false, &head, payload, &any, &err));
    assert_false(any);
    assert_null(giver.held); /* freed after its last user */
    assert_int_equal(cv_partials_take(&taker, outputs, &head, payload, &complete, NULL),
                     CLEAVE_EINPUT);
    cv_partials_done(&giver);
    cv_partials_done(&taker);
    cv_ordered_output_free(outputs);
}

/* A partial that is forgotten before or during its arrival leaves nothing. */
static void chunk_is_forgotten_before_it_arrives(void **state)
{
    struct cv_ordered_output *outputs = make_gather();
    struct cv_worker_partials holding = { 0 };

    (void)state;
    must(cv_partials_forget(&holding, 1, &err));
    assert_null(cv_partials_find(&holding, 1));
    assert_false(comes(&holding, outputs, 1, "a", false));
    assert_false(comes(&holding, outputs, 1, "b", true));
    assert_null(holding.held);

    assert_false(comes(&holding, outputs, 2, "c", false));
    assert_non_null(cv_partials_find(&holding, 2));
    assert_false(comes(&holding, outputs, 3, "d", false));
    must(cv_partials_forget(&holding, 2, &err));
    assert_null(cv_partials_find(&holding, 2));
    assert_false(comes(&holding, outputs, 2, "e", false));
    assert_true(comes(&holding, outputs, 3, "f", true));
    assert_false(comes(&holding, outputs, 2, "", true));
    expect_text(cv_partials_find(&holding, 3), "df");
    assert_null(holding.held->next);
    must(cv_partials_forget(&holding, 3, &err));
    assert_null(holding.held);

    /* A partial that never arrives uses no memory. */
    must(cv_partials_forget(&holding, 4, &err));
    cv_partials_done(&holding);
    cv_ordered_output_free(outputs);
}

/* If a part of it is missing, the other parts do not make a partial. */
static void it_comes_with_a_gap(void **state)
{
    struct cv_ordered_output *outputs = make_gather();
    struct cv_worker_partials holding = { 0 };
    struct cv_frame_head head = {
        .type = CV_FRAME_PARTIAL, .flags = CV_FRAME_LAST, .length = 1, .chunk = 5
    };
    const unsigned char byte = 'x';
    struct cleave_error err;
    bool complete = false;

    (void)state;
    assert_false(comes(&holding, outputs, 5, "abc", false));
    for (head.value = 2; head.value < 5; head.value += 2) {
        assert_int_equal(cv_partials_take(&holding, outputs, &head, &byte, &complete,
                                          &err),
                         CLEAVE_EINPUT);
        assert_non_null(strstr(err.text, "of a partial result were sent before, and 3"));
        assert_false(complete);
    }
    cv_partials_done(&holding);
    cv_ordered_output_free(outputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_another_name_where_it_goes),
        cmocka_unit_test(chunk_is_forgotten_before_it_arrives),
        cmocka_unit_test(it_comes_with_a_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
