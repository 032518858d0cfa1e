/* test_lead_rules.c -- leaders and their hosts, in words. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run/hosts/leader_spec.h"

enum { N = 6, NONE = -1 };
static const char *const all[N] = { "a", "b", NULL, "n1", "n2", "n3" };

/* Apply --via texts to those workers; `known` is led by "b" before. */
static enum cleave_status apply(const char *const *texts, int known, int out[N],
                                struct cleave_error *err)
{
    static const bool others[N] = { true, true, true, true, true, false };
    uint32_t leader[N];
    struct cv_via via;
    size_t count = 0;
    struct cv_arena arena;
    enum cleave_status status;

    cv_arena_init(&arena);
    while (texts[count] != NULL)
        count++;
    for (int i = 0; i < N; i++)
        leader[i] = i == known ? 1 : CV_NO_LEADER;
    status = cv_via_read_names(texts, count, &arena, &via, err);
    if (status == CLEAVE_OK)
        status =
            cv_lead_rules_apply(via.rules, via.count,
                                &(struct cv_lead_names){ all, others, N }, leader, err);
    for (int i = 0; i < N; i++)
        out[i] = leader[i] == CV_NO_LEADER ? NONE : (int)leader[i];
    cv_arena_done(&arena);
    return status;
}

static void leaders_get_whom_they_are_given(void **state)
{
    static const struct {
        const char *texts[4];
        int known, leader[N];
    } cases[] = {
        { { "a:n[1-2]", "b:n3" }, NONE, { NONE, NONE, NONE, 0, 0, 1 } },
        { { "a:n1", "a:n2" }, NONE, { NONE, NONE, NONE, 0, 0, NONE } },
        /* All other hosts: hosts that are named elsewhere, known, or not meant, are not
         * among them. */
        { { "a" }, NONE, { NONE, 0, NONE, 0, 0, NONE } },
        { { "a", "b:n2" }, NONE, { NONE, 0, NONE, 0, 1, NONE } },
        { { "a" }, 3, { NONE, 0, NONE, 1, 0, NONE } },
        { { "b:n1" }, 3, { NONE, NONE, NONE, 1, NONE, NONE } },
        { { "a", "b:a" }, NONE, { 1, NONE, NONE, 0, 0, NONE } },
        { { "n2:n1", "n1:b" }, NONE, { NONE, 3, NONE, 4, NONE, NONE } },
    };
    struct cleave_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int leader[N];

        assert_int_equal(apply(cases[i].texts, cases[i].known, leader, &err), CLEAVE_OK);
        assert_memory_equal(leader, cases[i].leader, sizeof leader);
    }
}

static void contradictions_are_refused(void **state)
{
    static const struct {
        const char *texts[4];
        const char *says;
    } cases[] = {
        { { "a:x" }, "hosts.via: expected the name of a worker, got 'x'" },
        { { "x:a" }, "hosts.via: expected the name of a worker, got 'x'" },
        { { "a:a" }, "hosts.via: 'a' cannot lead itself" },
        { { "a:n1", "b:n1" },
          "hosts.via: 'n1' is led by 'a' and by 'b': expected one leader" },
        { { "a", "b" },
          "hosts.via: expected one leader of all other hosts, got 'a' and 'b': name the "
          "hosts of each, hosts.via a:HOSTS" },
        { { "a:n1,n2,b", "b" }, "hosts.via b: no other host is left to lead" },
        { { "a:b", "b:n1", "n1:a" },
          "hosts.via: 'a' leads itself: leaders form a circle" },
        { { "a:n1:2" },
          "hosts.via: expected names of workers whose connection the platform file "
          "describes, got 'n1'" },
        { { "me@a:n1" },
          "hosts.via: expected names of workers whose connection the platform file "
          "describes, got 'me@a'" },
        { { "a:" }, "hosts.via: expected a host before and after each comma, got ''" },
        { { "a:4" },
          "hosts.via: expected the hosts behind the leader after the ':', whose own "
          "slots hosts.list has, got '4'" },
        { { ":n1" }, "hosts.via: expected a host before the ':', got ':n1'" },
        { { "a:n1,:" },
          "hosts.via: expected other machines than ':', this one, got 'n1,:'" },
        { { "n[1-2]:a" },
          "hosts.via: expected one host that leads, before the ':', got 'n[1-2]:a'" },
        { { "" }, "hosts.via: expected a host before the ':', got ''" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_error err;
        int leader[N];

        assert_int_equal(apply(cases[i].texts, NONE, leader, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaders_get_whom_they_are_given),
        cmocka_unit_test(contradictions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
