/* test_run_spool.c -- a stream in segments of memory. SPDX-License-Identifier: MIT
 *
 * A model knows the state of every byte of the stream: needed bytes must be at the
 * spool's address, for any bytes given back in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/input/spool.h"

enum { BLOCK = 2 << 20, STRETCH = 8 * BLOCK, HOLD = 6 << 20, PIECES = 64 };

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
        char *at;
        size_t room;

        assert_int_equal(cv_spool_room(&scene->spool, scene->settled, scene->received,
                                       &at, &room, NULL),
                         CLEAVE_OK);
        assert_true(room > 0);
        room = room < length ? room : (size_t)length;
        for (size_t i = 0; i < room; i++)
            at[i] = (char)byte_at(scene->received + i);
        scene->received += room;
        length -= room;
    }
}

static void settle(struct scene *scene, uint64_t boundary)
{
    struct piece *last = scene->npieces > 0 ? &scene->pieces[scene->npieces - 1] : NULL;
    uint64_t segment_end;

    /* Input after a segment is a separate piece. */
    assert_true(boundary <= scene->received);
    if (boundary == scene->settled)
        return;
    cv_spool_at(&scene->spool, scene->settled, &segment_end);
    assert_true(boundary <= segment_end);
    if (last != NULL && scene->npieces == PIECES && last->end == scene->settled) {
        cv_spool_at(&scene->spool, last->begin, &segment_end);
        if (boundary <= segment_end) {
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
    uint64_t segment_end;
    const char *bytes = cv_spool_at(&scene->spool, begin, &segment_end);

    assert_true(end <= segment_end);
    for (uint64_t i = begin; i < end; i++)
        if ((unsigned char)bytes[i - begin] != byte_at(i))
            fail_msg("byte %llu is not what it was", (unsigned long long)i);
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

/* Bytes of resident memory at all addresses. */
static uint64_t resident(const struct cv_spool *spool)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t sum = 0;

    for (size_t i = 0; i < spool->count; i++) {
        const size_t pages = spool->segments[i].size / page;
        unsigned char *there = malloc(pages);

        assert_non_null(there);
        assert_int_equal(mincore(spool->segments[i].bytes, spool->segments[i].size,
                                 there),
                         0);
        for (size_t p = 0; p < pages; p++)
            sum += there[p] & 1 ? page : 0;
        free(there);
    }
    return sum;
}

static void play(uint32_t seed, bool in_order)
{
    struct scene scene = { .random = seed };

    assert_int_equal(cv_spool_init(&scene.spool, STRETCH, NULL), CLEAVE_OK);
    for (int turn = 0; turn < 400; turn++) {
        const uint32_t random = next_random(&scene.random);

        if (held(&scene) < HOLD)
            write_some(&scene, random % 400000);
        /* Now and then a record that is long. */
        if (turn % 100 < 80)
            settle(&scene,
                   scene.received - random % (scene.received - scene.settled + 1));
        while (scene.npieces > 0 && (held(&scene) >= HOLD || random % 3 == 0)) {
            give_back(&scene, in_order ? 0 : next_random(&scene.random) % scene.npieces);
            if (random % 3 == 0)
                break;
        }
        if (held(&scene) >= HOLD) /* the long record ends */
            settle(&scene, scene.received);
    }
    for (size_t i = 0; i < scene.npieces; i++)
        compare(&scene, scene.pieces[i].begin, scene.pieces[i].end);
    compare(&scene, scene.settled, scene.received);
    /* There was more than fits into a segment. */
    assert_true(scene.received > 2 * (uint64_t)STRETCH);
    cv_spool_done(&scene.spool);
}

static void bytes_stay_while_they_are_needed(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        play(seed, false);
        play(seed, true);
    }
}

static void memory_does_not_grow_with_the_stream(void **state)
{
    struct scene scene = { .random = 1 };
    uint64_t max = 0;

    (void)state;
    assert_int_equal(cv_spool_init(&scene.spool, STRETCH, NULL), CLEAVE_OK);
    for (int turn = 0; turn < 200; turn++) {
        write_some(&scene, 300000);
        settle(&scene, scene.received);
        if (scene.npieces > 2)
            give_back(&scene, 0);
        max = resident(&scene.spool) > max ? resident(&scene.spool) : max;
    }
    /* Three pieces of 300 kB at a time, and the rest of a block on either side; two blocks
     * more while a segment ends. */
    assert_true(max <= 4 * (uint64_t)BLOCK);
    assert_true(scene.spool.count <= 2);
    cv_spool_done(&scene.spool);
}

/* One record longer than any segment, and bytes lent to a pipe that are given back. */
static void long_records_and_lent_bytes(void **state)
{
    struct scene scene = { .random = 1 };
    uint64_t segment_end;
    int ends[2];
    char got[4096];

    (void)state;
    assert_int_equal(cv_spool_init(&scene.spool, STRETCH, NULL), CLEAVE_OK);
    write_some(&scene, 3 * STRETCH + 5);
    compare(&scene, 0, scene.received);
    settle(&scene, scene.received);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(vmsplice(ends[1],
                              &(struct iovec){
                                  (char *)cv_spool_at(&scene.spool, 0, &segment_end),
                                  sizeof got },
                              1, 0),
                     sizeof got);
    give_back(&scene, 0);
    for (int turn = 0; turn < 20; turn++) {
        write_some(&scene, BLOCK);
        settle(&scene, scene.received);
        give_back(&scene, 0);
    }
    assert_int_equal(read(ends[0], got, sizeof got), sizeof got);
    for (size_t i = 0; i < sizeof got; i++)
        assert_int_equal((unsigned char)got[i], byte_at(i));
    close(ends[0]);
    close(ends[1]);
    cv_spool_done(&scene.spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_stay_while_they_are_needed),
        cmocka_unit_test(memory_does_not_grow_with_the_stream),
        cmocka_unit_test(long_records_and_lent_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
