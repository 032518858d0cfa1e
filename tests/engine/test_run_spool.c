/* test_run_spool.c -- a stream in laps of memory that is used again.
 * SPDX-License-Identifier: MIT
 *
 * A model beside it knows what every byte of the stream was: whatever is needed still must
 * be where the spool says, whatever was given back in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/spool.h"

enum { KEEP = 64 * 1024, LEAP = 8 * 1024, PIECES = 64 };

static unsigned char byte_at(uint64_t offset)
{
    return (unsigned char)((offset * 2654435761u) >> 13);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct piece {
    uint64_t begin, end;
};

struct scene {
    struct cv_spool spool;
    uint64_t settled, received;
    struct piece pieces[PIECES]; /* settled, and still needed */
    size_t npieces;
    uint32_t random;
};

static void write_some(struct scene *scene, uint64_t length)
{
    while (length > 0) {
        unsigned char bytes[512];
        uint64_t at, room;
        size_t some = length < sizeof bytes ? (size_t)length : sizeof bytes;

        assert_int_equal(cv_spool_room(&scene->spool, scene->settled, scene->received,
                                       &at, &room, NULL),
                         CLEAVE_OK);
        assert_true(room > 0);
        some = some < room ? some : (size_t)room;
        for (size_t i = 0; i < some; i++)
            bytes[i] = byte_at(scene->received + i);
        if (at < KEEP)
            memcpy(scene->spool.bytes + at, bytes, some);
        else
            assert_int_equal(pwrite(scene->spool.fd, bytes, some, (off_t)at), some);
        scene->received += some;
        length -= some;
    }
}

static void settle(struct scene *scene, uint64_t boundary)
{
    struct piece *last = scene->npieces > 0 ? &scene->pieces[scene->npieces - 1] : NULL;
    uint64_t lap_end;

    /* What follows a lap is a piece of its own. */
    assert_true(boundary <= scene->received);
    if (boundary == scene->settled)
        return;
    cv_spool_at(&scene->spool, scene->settled, &lap_end);
    assert_true(boundary <= lap_end);
    if (last != NULL && scene->npieces == PIECES && last->end == scene->settled) {
        cv_spool_at(&scene->spool, last->begin, &lap_end);
        if (boundary <= lap_end) {
            last->end = boundary;
            scene->settled = boundary;
        }
        return;
    }
    if (scene->npieces == PIECES)
        return;
    scene->pieces[scene->npieces++] = (struct piece){ scene->settled, boundary };
    scene->settled = boundary;
}

static void compare(const struct scene *scene, uint64_t begin, uint64_t end)
{
    uint64_t lap_end;
    const uint64_t at = cv_spool_at(&scene->spool, begin, &lap_end);
    const char *view;

    if (begin == end)
        return;
    assert_true(end <= lap_end);
    assert_int_equal(cv_spool_view(&scene->spool, begin, end, &view, NULL), CLEAVE_OK);
    for (uint64_t i = begin; i < end; i++) {
        unsigned char byte;

        assert_int_equal((unsigned char)view[i - begin], byte_at(i));
        if (i % 97 == 0) {
            assert_int_equal(pread(scene->spool.fd, &byte, 1, (off_t)(at + (i - begin))),
                             1);
            assert_int_equal(byte, byte_at(i));
        }
    }
    cv_spool_close_view(&scene->spool, view, end - begin);
}

static void give_back(struct scene *scene, size_t index)
{
    const struct piece piece = scene->pieces[index];

    compare(scene, piece.begin, piece.end);
    assert_int_equal(cv_spool_give_back(&scene->spool, piece.begin, piece.end, NULL),
                     CLEAVE_OK);
    memmove(scene->pieces + index, scene->pieces + index + 1,
            (scene->npieces - index - 1) * sizeof *scene->pieces);
    scene->npieces--;
}

static uint64_t held(const struct scene *scene)
{
    uint64_t sum = scene->received - scene->settled;

    for (size_t i = 0; i < scene->npieces; i++)
        sum += scene->pieces[i].end - scene->pieces[i].begin;
    return sum;
}

static void play(uint32_t seed, bool straight, bool in_order)
{
    struct scene scene = { .random = seed };
    struct stat now;

    assert_int_equal(cv_spool_init(&scene.spool, KEEP, LEAP, NULL), CLEAVE_OK);
    if (straight)
        cv_spool_straight(&scene.spool);
    for (int turn = 0; turn < 3000; turn++) {
        const uint32_t random = next_random(&scene.random);

        if (held(&scene) < KEEP - LEAP)
            write_some(&scene, random % 4096);
        /* Now and then a record that is long. */
        if (turn % 400 < 380)
            settle(&scene,
                   scene.received - random % (scene.received - scene.settled + 1));
        while (scene.npieces > 0 && (held(&scene) >= KEEP - LEAP || random % 3 == 0)) {
            give_back(&scene, in_order ? 0 : next_random(&scene.random) % scene.npieces);
            if (random % 3 == 0)
                break;
        }
        if (held(&scene) >= KEEP - LEAP) /* the long record ends */
            settle(&scene, scene.received);
    }
    for (size_t i = 0; i < scene.npieces; i++)
        compare(&scene, scene.pieces[i].begin, scene.pieces[i].end);
    compare(&scene, scene.settled, scene.received);
    /* The memory does not grow with the stream. */
    assert_true(scene.received > 20 * KEEP);
    assert_int_equal(fstat(scene.spool.fd, &now), 0);
    assert_true((uint64_t)now.st_blocks * 512 <= 3 * KEEP);
    cv_spool_done(&scene.spool);
}

static void bytes_stay_while_they_are_needed(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        play(seed, false, false);
        play(seed, false, true);
        play(seed, true, false);
    }
}

static void memory_is_used_again(void **state)
{
    struct scene scene = { .random = 1 };

    (void)state;
    assert_int_equal(cv_spool_init(&scene.spool, KEEP, LEAP, NULL), CLEAVE_OK);
    for (int turn = 0; turn < 1000; turn++) {
        write_some(&scene, LEAP / 4);
        settle(&scene, scene.received);
        if (scene.npieces > 2)
            give_back(&scene, 0);
    }
    /* Three pieces of 2 KiB at a time: no need to go far. */
    assert_true(scene.spool.size <= 3 * LEAP);
    cv_spool_done(&scene.spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_stay_while_they_are_needed),
        cmocka_unit_test(memory_is_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
