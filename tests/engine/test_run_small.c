/* test_run_small.c -- a small input is cut only if its records are slow.
 * SPDX-License-Identifier: MIT
 *
 * A rule for inputs that a command can read at once: one command gets a record, and when it has
 * read it, another one. If it reads on before a second command could have been started, its
 * records are fast, and it gets everything. Else others get the rest. The policy is
 * linked here, to show that the engine supplies the facts of the rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "open_run_check.h"

enum phase { FIRST, SECOND, REST, CUT };

struct small {
    enum phase phase;
};

static double patience_s; /* expected seconds of a start */

/* The command reads slowly: close it, and give all others an equal share. */
static void cut(struct small *small, const struct cleave_view *view,
                struct cleave_orders *orders)
{
    small->phase = CUT;
    cleave_order_close(orders, 0);
    for (uint32_t w = 1; w < view->nworkers && view->units_left > 0; w++)
        cleave_order_send(orders, w, view->units_left / (view->nworkers - 1));
}

static void small_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct small *small = state;

    switch (event->kind) {
    case CLEAVE_START:
        cleave_order_open(orders, 0, 1);
        break;
    case CLEAVE_DRAINED:
        if (small->phase == FIRST) {
            small->phase = SECOND;
            cleave_order_extend(orders, 0, 1);
            cleave_order_wake(orders, 0, event->time_s + patience_s);
        } else if (small->phase == SECOND) {
            small->phase = REST;
            cleave_order_extend(orders, 0, fmax(1, view->units_left));
        }
        break;
    case CLEAVE_EXTENDED:
        if (small->phase == REST || event->units <= 0) {
            small->phase = REST;
            cleave_order_close(orders, 0);
        }
        break;
    case CLEAVE_WAKE:
        if (small->phase == SECOND)
            cut(small, view, orders);
        break;
    default:
        break;
    }
}

static const struct cleave_policy small_policy = { .name = "small",
                                                   .state_size = sizeof(struct small),
                                                   .decide = small_decide,
                                                   .gets_losses = true,
                                                   .opens_chunks = true };

static struct ran run_small(const char *text, const char *line, double seconds)
{
    const char *const command[] = { "sh", "-c", line, NULL };

    patience_s = seconds;
    write_file(path_a, text, strlen(text));
    return run_open((struct cleave_execution){ .command = command,
                                               .input = { .files = file_a, .count = 1 },
                                               .policy.own = &small_policy });
}

static void fast_records_are_one_chunk(void **state)
{
    static const char *const commands[] = {
        "wc -l", "cat >/dev/null; echo 5",
        "n=0; while read -r x; do n=$((n + 1)); done; echo $n"
    };
    struct ran ran;

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ran = run_small("A\nB\nC\nD\nE\n", commands[i], 1000);
        expect_bytes(&ran, "5\n", 2);
        assert_int_equal(ran.result->chunks, 1);
        forget(&ran);
    }
    /* Fewer records than there are questions. */
    ran = run_small("A\n", "wc -l", 1000);
    expect_bytes(&ran, "1\n", 2);
    forget(&ran);
}

/* The first record waits for the others to do the last one. */
static void slow_records_are_cut(void **state)
{
    char line[400];
    struct ran ran;

    (void)state;
    snprintf(line, sizeof line,
             "while read -r x; do [ $x = 1 ] && until [ -e %s ]; do sleep 0.01; done; "
             "[ $x = 4 ] && touch %s; echo $x; done",
             path_b, path_b);
    ran = run_small("1\n2\n3\n4\n", line, 0.001);
    expect_bytes(&ran, "1\n2\n3\n4\n", 8);
    assert_true(ran.result->chunks > 1);
    forget(&ran);
}

static int test(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_records_are_one_chunk),
        cmocka_unit_test(slow_records_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_all(test);
}
