/* test_worker_pool.c -- places for workers that join during a run.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "run/master/worker_pool.h"

enum { PLACES = 4, HOSTS = 3 };

/* Two places of a worker here and unused, and two that the first host has taken. */
struct world {
    struct cv_worker_pool pool;
    struct cv_host hosts[HOSTS], *items[HOSTS], *host_of[PLACES];
    const char *names[PLACES];
    bool absent[PLACES];
    struct cv_health_record standing[PLACES];
    struct cv_arena arena;
};

static void set_up(struct world *world)
{
    static const char *const names[HOSTS] = { "join1", "join2", "join3" };

    memset(world, 0, sizeof *world);
    cv_arena_init(&world->arena);
    for (int i = 0; i < HOSTS; i++) {
        world->items[i] = &world->hosts[i];
        world->hosts[i] = (struct cv_host){
            .name = names[i], .slots = 2, .first = CV_HOST_NOWHERE, .state = CV_HOST_READY
        };
    }
    for (int p = 0; p < PLACES; p++)
        world->names[p] = p < 2 ? "here" : "spare";
    world->pool = (struct cv_worker_pool){ .names = world->names,
                                           .host_of = world->host_of,
                                           .absent = world->absent,
                                           .arena = &world->arena,
                                           .nworkers = PLACES,
                                           .first_spare = 2 };
    world->pool.hosts.items = world->items;
    world->pool.hosts.count = HOSTS;
    world->pool.health.items = world->standing;
    world->pool.health.count = PLACES;
}

static void places_of_departed_workers_are_reused(void **state)
{
    struct world world;
    struct cleave_error err;

    (void)state;
    set_up(&world);
    assert_int_equal(cv_worker_pool_bind_slot(&world.pool, &world.hosts[0], &err),
                     CLEAVE_OK);
    assert_int_equal(world.hosts[0].first, 2);
    assert_string_equal(world.names[3], "join1.1");
    /* While it is connected, no other host can have them; nor as long as it may
     * return. */
    assert_int_equal(cv_worker_pool_bind_slot(&world.pool, &world.hosts[1], &err),
                     CLEAVE_EREFUSED);
    assert_string_equal(err.text, "there is no place left for its 2 slots");
    world.hosts[0].state = CV_HOST_DOWN;
    assert_int_equal(cv_worker_pool_bind_slot(&world.pool, &world.hosts[1], &err),
                     CLEAVE_EREFUSED);
    world.hosts[0].state = CV_HOST_OUT;
    assert_int_equal(cv_worker_pool_bind_slot(&world.pool, &world.hosts[1], &err),
                     CLEAVE_OK);
    assert_int_equal(world.hosts[1].first, 2);
    assert_int_equal(world.hosts[0].first, CV_HOST_NOWHERE);
    assert_ptr_equal(world.host_of[3], &world.hosts[1]);
    assert_string_equal(world.names[2], "join2.0");
    assert_int_equal(world.pool.first_spare, PLACES);
    /* Not those of a host that was left out for its failures. */
    world.hosts[1].state = CV_HOST_OUT;
    world.standing[2].out = true;
    assert_int_equal(cv_worker_pool_bind_slot(&world.pool, &world.hosts[2], &err),
                     CLEAVE_EREFUSED);
    cv_arena_done(&world.arena);
}

static void starts_and_speeds_cover_all_workers(void **state)
{
    struct cv_worker_stats tallies[2] = { 0 };
    struct cv_worker_pool pool = { .tallies = tallies, .nworkers = 2 };

    (void)state;
    assert_true(cv_worker_pool_start_s(&pool) == 0 && cv_worker_pool_speed(&pool) == 0);
    cv_worker_pool_started(&pool, 0, 1);
    cv_worker_pool_started(&pool, 1, 3);
    cv_worker_pool_was_busy(&pool, 0, 600, 2);
    cv_worker_pool_was_busy(&pool, 1, 0, 4);
    assert_true(cv_worker_pool_start_s(&pool) == 2);
    assert_true(cv_worker_pool_speed(&pool) == 300);
    assert_true(tallies[1].starts == 1 && tallies[1].starts_s == 3);
    assert_true(tallies[0].units == 600 && tallies[1].busy_s == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_departed_workers_are_reused),
        cmocka_unit_test(starts_and_speeds_cover_all_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
