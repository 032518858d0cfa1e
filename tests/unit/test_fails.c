/* test_fails.c -- who tries again what failed, halves, and what the system says of memory.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/run_check.h"
#include "run/failures/retry_queue.h"
#include "run/failures/worker_health.h"
#include "run/common/poller.h"
#include "run/slot/slot.h"

/* --- who ---------------------------------------------------------------------------------- */

static void the_last_parties_are_remembered(void **state)
{
    struct cv_failure_history past = { .count = 0 };

    (void)state;
    for (uint32_t p = 0; p < 3 * CV_HISTORY_PARTIES; p++)
        cv_failure_history_add(&past, p, (uint8_t)p);
    assert_int_equal(past.count, CV_HISTORY_PARTIES);
    assert_false(cv_failure_history_has(&past, 2 * CV_HISTORY_PARTIES - 1));
    for (uint32_t p = 2 * CV_HISTORY_PARTIES; p < 3 * CV_HISTORY_PARTIES; p++)
        assert_true(cv_failure_history_has(&past, p));
    /* Once more: it is the last one, and nobody is forgotten for it. */
    cv_failure_history_add(&past, 2 * CV_HISTORY_PARTIES, 7);
    assert_int_equal(past.items[CV_HISTORY_PARTIES - 1].domain, 2 * CV_HISTORY_PARTIES);
    assert_true(cv_failure_history_has(&past, 2 * CV_HISTORY_PARTIES + 1));
    assert_int_equal(past.items[CV_HISTORY_PARTIES - 1].way, 7);
    for (uint32_t i = 0; i + 1 < CV_HISTORY_PARTIES; i++)
        assert_int_equal(past.items[i].way, past.items[i].domain);
}

static void nothing_to_do(void *context, uint32_t domain)
{
    (void)context;
    (void)domain;
}

/* A party fails with a piece that others succeed with, and then with one that is bad itself. */
static void a_reason_names_the_failure_it_speaks_of(void **state)
{
    struct cv_worker_health health = { .rests = nothing_to_do, .is_back = nothing_to_do };
    struct cv_failure_history good = { .count = 0 }, bad = { .count = 0 };
    const struct cv_health_record *at;
    struct cv_poller *poller;
    char reason[200], how[32];
    uint8_t way;

    (void)state;
    assert_ok(cv_poller_new(&poller, &err));
    assert_ok(cv_worker_health_open(&health, 2, poller, &err));
    at = &health.items[0];
    cv_worker_health_note_failure(&health, 0, "exited with status 3", &way);
    cv_failure_history_add(&good, 0, way);
    cv_worker_health_note_failure(&health, 0, "exited with status 5", &way);
    cv_failure_history_add(&bad, 0, way);
    cv_worker_health_note_success(&health, 1, &good);
    cv_worker_health_reason(at, reason, sizeof reason);
    assert_string_equal(
        reason,
        "a command that failed there, as it exited with status 3, succeeded elsewhere");
    cv_worker_health_clear_backoff(&health);
    cv_worker_health_note_success(&health, 1, &bad);
    cv_worker_health_reason(at, reason, sizeof reason);
    assert_string_equal(reason, "its last 2 commands failed (the last one exited with "
                                "status 5), the same chunks succeeded elsewhere");
    /* One that fails in many ways. */
    cv_worker_health_clear_backoff(&health);
    for (int i = 0; i < 2 * CV_TRUST_WAYS; i++) {
        snprintf(how, sizeof how, "exited with status %d", 10 + i);
        cv_worker_health_note_failure(&health, 0, how, &way);
    }
    cv_failure_history_add(&good, 0, way);
    cv_worker_health_note_success(&health, 1, &good);
    cv_worker_health_reason(at, reason, sizeof reason);
    assert_string_equal(reason, "a command that failed there succeeded elsewhere");
    cv_worker_health_close(&health);
    cv_poller_free(poller);
}

/* --- rests that commands ask for ---------------------------------------------------------- */

static uint32_t rested_worker;

static void note_rested(void *context, uint32_t worker, double since_s)
{
    (void)context;
    assert_true(since_s > 0 && since_s <= cv_clock_s());
    rested_worker = worker;
}

static void rests_double_until_a_success(void **state)
{
    struct cv_worker_health health = { .rested = note_rested };
    struct cv_poller *poller;
    double rest_s, began_s;

    (void)state;
    assert_ok(cv_poller_new(&poller, &err));
    assert_ok(cv_worker_health_open(&health, 3, poller, &err));
    began_s = cv_clock_s();
    rest_s = cv_worker_health_postpone(&health, 1, began_s, 0);
    assert_true(rest_s > 0.9 && rest_s <= 1);
    assert_true(cv_worker_health_is_postponed(&health, 1));
    assert_false(cv_worker_health_is_postponed(&health, 0));
    assert_true(cv_worker_health_awaits(&health));
    /* Another attempt of that time says the same again. */
    rest_s = cv_worker_health_postpone(&health, 1, began_s - 1, 0);
    assert_true(rest_s > 0.5 && rest_s <= 1);
    for (double expected_s = 2; expected_s <= 256; expected_s *= 2) {
        const double most_s = expected_s < 64 ? expected_s : 64;

        rest_s = cv_worker_health_postpone(&health, 1, cv_clock_s(), 0);
        assert_true(rest_s > most_s - 1 && rest_s <= most_s);
    }
    cv_worker_health_answered(&health, 1);
    assert_true(cv_worker_health_is_postponed(&health, 1));
    rest_s = cv_worker_health_postpone(&health, 1, cv_clock_s(), 100);
    assert_true(rest_s > 99 && rest_s <= 100);
    /* A rest that was told ends after this time, and another one is a short one. */
    cv_worker_health_postpone(&health, 2, cv_clock_s(), 1e-3);
    while (rested_worker != 2)
        assert_ok(cv_poller_wait(poller, 1, &err));
    assert_false(cv_worker_health_is_postponed(&health, 2));
    cv_worker_health_close(&health);
    cv_poller_free(poller);
}

static void a_retry_after_line_tells_seconds(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {
        { "Retry-After: 30\n", 30 },
        { "slow down\nretry-after: 0.5\r\n", 0.5 },
        { "Retry-After:7", 7 },
        { "Retry-After: 1e99\n", 24 * 3600 },
        { "Retry-After: 30\nbye\n", 0 },
        { "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\n", 0 },
        { "Retry-After: -3\n", 0 },
        { "Retry-After: nan\n", 0 },
        { "Retry-After:\n", 0 },
        { "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_error_lines lines = { .tail = "" };

        cv_error_lines_keep(&lines, cases[i].text, strlen(cases[i].text));
        assert_true(cv_error_lines_retry_after(&lines) == cases[i].seconds);
    }
}

/* Others try what a domain failed with: until the last of these tries has ended, it waits. */
static void a_suspect_waits_for_the_tries_of_others(void **state)
{
    struct cv_worker_health health = { .rests = nothing_to_do, .is_back = nothing_to_do };
    struct cv_failure_history one = { .count = 0 }, other = { .count = 0 };
    struct cv_bisect_group family = { 0 };
    struct cv_poller *poller;
    uint8_t way;

    (void)state;
    assert_ok(cv_poller_new(&poller, &err));
    assert_ok(cv_worker_health_open(&health, 3, poller, &err));
    cv_worker_health_note_failure(&health, 2, "failed", &way);
    cv_failure_history_add(&one, 2, way);
    cv_failure_history_add(&other, 2, way);
    assert_false(cv_worker_health_suspects(&health, 2));
    cv_worker_health_note_retry(&health, &one);
    cv_worker_health_note_retry(&health, &other);
    assert_true(cv_worker_health_suspects(&health, 2));
    assert_false(cv_worker_health_suspects(&health, 1));
    /* The first one fails there as well, and a third domain is to try it. */
    cv_worker_health_note_retried(&health, &one);
    cv_worker_health_note_failure(&health, 1, "failed", &way);
    cv_failure_history_add(&one, 1, way);
    cv_worker_health_note_retry(&health, &one);
    assert_true(cv_worker_health_suspects(&health, 1));
    cv_worker_health_note_retried(&health, &one);
    assert_false(cv_worker_health_suspects(&health, 1));
    assert_true(cv_worker_health_suspects(&health, 2));
    cv_worker_health_note_retried(&health, &other);
    assert_false(cv_worker_health_suspects(&health, 2));
    /* A part of a piece tells nothing. */
    other.family = &family;
    cv_worker_health_note_retry(&health, &other);
    assert_false(cv_worker_health_suspects(&health, 2));
    cv_worker_health_close(&health);
    cv_poller_free(poller);
}

static void failures_of_many_domains_without_a_success_are_not_doubtful(void **state)
{
    struct cv_worker_health health = { .rests = nothing_to_do, .is_back = nothing_to_do };
    const struct cv_failure_history none = { .count = 0 };
    struct cv_poller *poller;
    uint8_t way;

    (void)state;
    assert_ok(cv_poller_new(&poller, &err));
    assert_ok(cv_worker_health_open(&health, 100, poller, &err));
    for (uint32_t domain = 0; domain < 100; domain++) {
        assert_int_equal(cv_worker_health_note_failure(&health, domain, "failed", &way),
                         domain + 1 < CV_TRUST_DOMAINS);
        cv_worker_health_note_failure(&health, 0, "failed", &way); /* one domain is one */
    }
    cv_worker_health_note_success(&health, 7, &none);
    assert_true(cv_worker_health_note_failure(&health, 8, "failed", &way));
    cv_worker_health_close(&health);
    cv_poller_free(poller);
}

/* The sums of the candidates, which change as work is given out, find whom a look at all
 * of them finds. */
static size_t pick(const struct cv_retry *again, const struct cv_candidate *who,
                   size_t count)
{
    struct cv_candidate items[5];
    struct cv_candidates among = { .items = items };
    struct cv_candidates taken = { .items = items };
    size_t picked;

    for (size_t i = 0; i < count; i++)
        cv_candidates_add(&among, who[i]);
    picked = cv_candidates_pick(&among, again);
    /* Those that are busy were idle before. */
    for (size_t i = 0; i < count; i++) {
        struct cv_candidate idle = who[i];

        if (idle.can == CV_CAN_LATER)
            idle.can = CV_CAN_NOW;
        cv_candidates_add(&taken, idle);
    }
    for (size_t i = 0; i < count; i++)
        if (who[i].can == CV_CAN_LATER)
            cv_candidates_take(&taken, i);
    assert_true(cv_candidates_pick(&taken, again) == picked);
    for (size_t i = 0; i < count; i++)
        if (who[i].can == CV_CAN_NOW)
            cv_candidates_take(&taken, i);
    assert_true(cv_candidates_all_busy(&taken));
    return picked;
}

static void others_first(void **state)
{
    struct cv_retry again = { .chunk.past = { .items = { { 1, 0 }, { 0, 0 } },
                                              .count = 2 } };
    struct cv_bisect_group family = { 0 };
    struct cv_candidate who[] = {
        { .domain = 0, .can = CV_CAN_NOW },
        { .domain = 1, .can = CV_CAN_NOW },
        { .domain = 2, .can = CV_CAN_NOW, .suspect = true },
        { .domain = 3, .can = CV_CAN_NOW },
        { .domain = 3, .can = CV_CAN_NOW },
    };

    (void)state;
    assert_int_equal(pick(&again, who, 5), 3);
    /* Who has succeeded before is to be preferred. */
    who[4].proven = true;
    assert_int_equal(pick(&again, who, 5), 4);
    who[4].proven = false;
    /* One of them is busy, the other is not. */
    who[3].can = CV_CAN_LATER;
    assert_int_equal(pick(&again, who, 5), 4);
    /* Who is better is waited for, if he is there. */
    who[4].can = CV_CAN_LATER;
    assert_true(pick(&again, who, 5) == SIZE_MAX);
    again.chunk.past.family = &family;
    assert_int_equal(pick(&again, who, 5), 2);
    again.chunk.past.family = NULL;
    who[3].can = who[4].can = CV_CAN_NOT;
    assert_int_equal(pick(&again, who, 5), 2);
    who[2].can = CV_CAN_NOT;
    assert_int_equal(pick(&again, who, 5), 1);
    who[1].can = CV_CAN_NOT;
    assert_int_equal(pick(&again, who, 5), 0);
    who[0].can = CV_CAN_LATER;
    assert_true(pick(&again, who, 5) == SIZE_MAX);
    assert_true(pick(&again, who, 0) == SIZE_MAX);
}

static void in_and_out(void **state)
{
    struct cv_retry_queue agains = { .count = 0 };
    struct cv_bisect_group family = { 0 };

    (void)state;
    /* Parts of a piece go first. */
    for (uint64_t i = 0; i < 20; i++)
        assert_ok(cv_retry_queue_push(
            &agains,
            &(struct cv_retry){
                .chunk = { .number = i, .past.family = i % 2 == 0 ? &family : NULL } },
            &err));
    assert_int_equal(cv_retry_queue_take(&agains, 0).chunk.number, 18);
    assert_int_equal(cv_retry_queue_take(&agains, agains.count - 1).chunk.number, 19);
    assert_int_equal(cv_retry_queue_take(&agains, 8).chunk.number, 0);
    assert_int_equal(cv_retry_queue_take(&agains, 8).chunk.number, 1);
    assert_int_equal(agains.count, 16);
    cv_retry_queue_done(&agains);
}

/* --- halves ------------------------------------------------------------------------------- */

/* Part until nothing can be parted: all records, each once, after at most so many levels. */
static size_t part_all(struct cv_source *source, const struct cv_piece *piece,
                       uint64_t *at, size_t level)
{
    struct cv_piece head, tail;
    size_t one, other;

    assert_ok(cv_piece_bisect(source, piece, &head, &tail, &err));
    assert_int_equal(head.begin, piece->begin);
    assert_int_equal(head.end, tail.begin);
    assert_int_equal(tail.end, piece->end);
    if (tail.begin == tail.end) {
        assert_int_equal(piece->begin, *at);
        *at = piece->end;
        return level;
    }
    one = part_all(source, &head, at, level + 1);
    other = part_all(source, &tail, at, level + 1);
    return one > other ? one : other;
}

static void halves_end_at_records(void **state)
{
    char path[] = "/tmp/cleave-halves-XXXXXX";
    const int fd = mkstemp(path);
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source = NULL;
    struct cv_piece piece;
    enum cv_take taken;
    uint64_t at = 0;

    (void)state;
    assert_true(fd >= 0);
    for (int i = 0; i < 200; i++)
        assert_true(dprintf(fd, "%d\n", i * i) > 0);
    assert_true(dprintf(fd, "%05000d\nlast\n", 7) > 0);
    close(fd);
    assert_ok(cv_source_open((const char *[]){ path }, 1,
                             &(struct cv_source_options){ .splitter = splitter }, &source,
                             &err));
    assert_ok(cv_source_take(source, 1 << 20, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_true(part_all(source, &piece, &at, 0) <= 14);
    assert_int_equal(at, piece.end);
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(path);
}

static void families_give_up(void **state)
{
    struct cv_bisect_group *groups = NULL, *bad = NULL, *mixed = NULL;

    (void)state;
    assert_false(cv_bisect_group_hopeless(NULL));
    assert_ok(cv_bisect_group_split(&groups, &bad, true, &err));
    assert_ok(cv_bisect_group_split(&groups, &mixed, true, &err));
    assert_true(bad != mixed);
    cv_bisect_group_over(mixed, true, false);
    for (int i = 0; i < CV_FAMILY_BAD; i++) {
        assert_false(cv_bisect_group_hopeless(bad));
        cv_bisect_group_over(bad, false, true);
        cv_bisect_group_over(bad, false, false);
        cv_bisect_group_over(mixed, false, true);
    }
    assert_true(cv_bisect_group_hopeless(bad));
    assert_false(cv_bisect_group_hopeless(mixed));
    for (int i = 2; i < CV_FAMILY_MOST; i += 2)
        assert_ok(cv_bisect_group_split(&groups, &mixed, true, &err));
    assert_true(cv_bisect_group_hopeless(mixed));
    cv_bisect_groups_free(groups);
}

/* --- memory ------------------------------------------------------------------------------- */

static void kills_are_counted(void **state)
{
    char path[200];

    (void)state;
    assert_int_equal(cv_memory_kills_in("low 0\nhigh 1\nmax 2\noom 9\noom_kill 3\n"
                                        "oom_group_kill 8\n"),
                     3);
    assert_int_equal(cv_memory_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
                     5);
    assert_int_equal(cv_memory_kills_in(""), 0);
    assert_int_equal(cv_memory_kills_in("oom 9"), 0);
    cv_memory_kills_file("0::/user.slice/run.scope\n", path, sizeof path);
    assert_string_equal(path, "/sys/fs/cgroup/user.slice/run.scope/memory.events");
    cv_memory_kills_file("8:pids:/\n4:memory:/a/b\n0::/\n", path, sizeof path);
    assert_string_equal(path, "/sys/fs/cgroup/memory/a/b/memory.oom_control");
    cv_memory_kills_file("8:pids:/\n", path, sizeof path);
    assert_string_equal(path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_parties_are_remembered),
        cmocka_unit_test(a_reason_names_the_failure_it_speaks_of),
        cmocka_unit_test(rests_double_until_a_success),
        cmocka_unit_test(a_retry_after_line_tells_seconds),
        cmocka_unit_test(a_suspect_waits_for_the_tries_of_others),
        cmocka_unit_test(failures_of_many_domains_without_a_success_are_not_doubtful),
        cmocka_unit_test(others_first),
        cmocka_unit_test(in_and_out),
        cmocka_unit_test(halves_end_at_records),
        cmocka_unit_test(families_give_up),
        cmocka_unit_test(kills_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
