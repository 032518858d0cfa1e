/* shared.c -- reductions of ranks that share memory: one call right after the other, of many
 * sizes, for one rank or for all, some ranks late. SPDX-License-Identifier: MIT
 *
 * Usage: shared ROUNDS [MOST_LATE_US [SETTINGS]]. Values are integers, so that sums are the
 * same in any order; nothing but the calls themselves keeps ranks together. */
#include "mpi_check.h"

enum { MOST_COUNT = 70000 };

/* A number and a gap. */
struct spaced {
    int64_t value, gap;
};

struct scene {
    struct check check;
    MPI_Comm comm;
    int rank, n;
    MPI_Datatype spaced;
    MPI_Op add;
    int64_t *own, *sum;
    unsigned late_us;
    const char *policy;
};

static void add_spaced(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct spaced *from = in;
    struct spaced *to = inout;

    (void)type;
    for (int i = 0; i < *count; i++)
        to[i].value += from[i].value;
}

static int64_t value_of(int rank, uint64_t round, int i)
{
    return (int64_t)(mixed((uint64_t)rank, round, (uint64_t)i) % 1000000);
}

static int64_t sum_of(const struct scene *scene, uint64_t round, int i)
{
    int64_t sum = 0;

    for (int rank = 0; rank < scene->n; rank++)
        sum += value_of(rank, round, i);
    return sum;
}

/* Rarely long: but in that case longer than the allocated room. */
static int count_of(uint64_t round)
{
    const uint64_t x = mixed(round, 5, 6);

    return x % 8 == 0 ? 1 + (int)(x / 8 % MOST_COUNT) : 1 + (int)(x / 8 % 200);
}

static void all_round(struct scene *scene, uint64_t round)
{
    const int count = count_of(round);
    const bool in_place = mixed(round, 7, 8) % 2 != 0;

    for (int i = 0; i < count; i++)
        scene->own[i] = value_of(scene->rank, round, i);
    if (in_place)
        memcpy(scene->sum, scene->own, (size_t)count * sizeof *scene->own);
    come_late(scene->rank, round, scene->late_us);
    cleave_mpi_allreduce(in_place ? MPI_IN_PLACE : (void *)scene->own, scene->sum, count,
                         MPI_INT64_T, MPI_SUM, scene->comm, scene->policy);
    for (int i = 0; i < count; i += 1 + count / 50)
        CHECK(&scene->check, scene->sum[i] == sum_of(scene, round, i),
              "%s, round %ld, %d elements, element %d%s", scene->policy, (long)round,
              count, i, in_place ? ", in place" : "");
}

/* Gaps must not be written. */
static void spaced_round(struct scene *scene, uint64_t round)
{
    struct spaced *own = (struct spaced *)scene->own, *sum = (struct spaced *)scene->sum;
    const int count = (count_of(round) + 1) / 2;

    for (int i = 0; i < count; i++) {
        own[i] = (struct spaced){ value_of(scene->rank, round, i), 1 };
        sum[i] = (struct spaced){ 0, 7 };
    }
    come_late(scene->rank, round, scene->late_us);
    cleave_mpi_allreduce(own, sum, count, scene->spaced, scene->add, scene->comm,
                         scene->policy);
    for (int i = 0; i < count; i += 1 + count / 50)
        CHECK(&scene->check, sum[i].value == sum_of(scene, round, i) && sum[i].gap == 7,
              "%s, round %ld, %d elements with gaps, element %d", scene->policy,
              (long)round, count, i);
}

/* For one rank, which arrives before the others: data copied with gaps comes slowly, and
 * must not be taken early. */
static void spaced_root_round(struct scene *scene, uint64_t round)
{
    struct spaced *own = (struct spaced *)scene->own, *sum = (struct spaced *)scene->sum;
    const int count = MOST_COUNT / 2, root = (int)(round % (uint64_t)scene->n);

    for (int i = 0; i < count; i++) {
        own[i] = (struct spaced){ value_of(scene->rank, round, i), 1 };
        sum[i] = (struct spaced){ 0, 7 };
    }
    MPI_Barrier(scene->comm);
    if (scene->rank != root)
        usleep(scene->late_us);
    cleave_mpi_reduce(own, sum, count, scene->spaced, scene->add, root, scene->comm,
                      scene->policy);
    for (int i = 0; i < count && scene->rank == root; i++)
        if (sum[i].value != sum_of(scene, round, i) || sum[i].gap != 7) {
            CHECK(&scene->check, false, "%s, round %ld, with gaps, to %d, element %d",
                  scene->policy, (long)round, root, i);
            break;
        }
}

/* Parts of unequal length, some of them empty. */
static void parts_round(struct scene *scene, uint64_t round)
{
    const bool in_place = mixed(round, 9, 10) % 2 != 0;
    const bool blocks = mixed(round, 11, 12) % 2 != 0;
    const int max = count_of(round) / scene->n + 1;
    int *counts = malloc((size_t)scene->n * sizeof *counts);
    int total = 0, first = 0;

    if (counts == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (int i = 0; i < scene->n; i++) {
        counts[i] = blocks ? max : (int)(mixed(round, (uint64_t)i, 13) % (uint64_t)max);
        first += i < scene->rank ? counts[i] : 0;
        total += counts[i];
    }
    for (int i = 0; i < total; i++) {
        scene->own[i] = value_of(scene->rank, round, i);
        scene->sum[i] = in_place ? scene->own[i] : -1;
    }
    come_late(scene->rank, round, scene->late_us);
    if (blocks)
        cleave_mpi_reduce_scatter_block(in_place ? MPI_IN_PLACE : (void *)scene->own,
                                        scene->sum, max, MPI_INT64_T, MPI_SUM,
                                        scene->comm, scene->policy);
    else
        cleave_mpi_reduce_scatter(in_place ? MPI_IN_PLACE : (void *)scene->own,
                                  scene->sum, counts, MPI_INT64_T, MPI_SUM, scene->comm,
                                  scene->policy);
    for (int i = 0; i < counts[scene->rank]; i += 1 + counts[scene->rank] / 50)
        CHECK(&scene->check, scene->sum[i] == sum_of(scene, round, first + i),
              "%s, round %ld, part of %d elements, element %d%s", scene->policy,
              (long)round, counts[scene->rank], i, in_place ? ", in place" : "");
    free(counts);
}

/* Only one rank wants the result, and all others start the next call: memory must not be
 * used again before the late rank has taken it. */
static void root_round(struct scene *scene, uint64_t round)
{
    enum { IN_A_ROW = 5 };
    const int late = (int)(round % (uint64_t)scene->n), count = count_of(round / 4 * 4);

    for (int k = 0; k < IN_A_ROW; k++) {
        const int root = k % 2 == 0 ? late : (late + k) % scene->n;
        const bool in_place = k % 3 == 0 && scene->rank == root;
        const uint64_t call = round + 1000 * (uint64_t)k;

        for (int i = 0; i < count; i++) {
            scene->own[i] = value_of(scene->rank, call, i);
            scene->sum[i] = in_place ? scene->own[i] : -1;
        }
        if (scene->rank == late && k % 2 == 0)
            usleep(scene->late_us);
        cleave_mpi_reduce(in_place ? MPI_IN_PLACE : (void *)scene->own, scene->sum, count,
                          MPI_INT64_T, MPI_SUM, root, scene->comm, scene->policy);
        for (int i = 0; i < count && scene->rank == root; i += 1 + count / 50)
            CHECK(&scene->check, scene->sum[i] == sum_of(scene, call, i),
                  "%s, round %ld, call %d of %d elements, to %d, element %d%s",
                  scene->policy, (long)round, k, count, root, i,
                  in_place ? ", in place" : "");
    }
}

/* A nonblocking call comes first, and is not overtaken. */
static void begun_round(struct scene *scene, uint64_t round)
{
    struct cleave_mpi_request *request;
    const int root = (int)(round % (uint64_t)scene->n);
    int64_t own = value_of(scene->rank, round, 0), before = 0;

    cleave_mpi_ireduce(&own, &before, 1, MPI_INT64_T, MPI_SUM, root, scene->comm,
                       scene->policy, &request);
    all_round(scene, round + 1);
    cleave_mpi_wait(&request);
    CHECK(&scene->check, scene->rank != root || before == sum_of(scene, round, 0),
          "%s, round %ld: the one begun before", scene->policy, (long)round);
}

static void rounds_of(struct scene *scene, uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++) {
        scene->policy = round % 16 == 0 ? "greedy" : "tree-dyn";
        switch (mixed(round, 1, 2) % 8) {
        case 0:
        case 1:
            parts_round(scene, round);
            break;
        case 2:
            spaced_round(scene, round);
            if (round % 4 == 0)
                spaced_root_round(scene, round);
            break;
        case 3:
            begun_round(scene, round);
            break;
        case 4:
        case 5:
            root_round(scene, round);
            break;
        default:
            all_round(scene, round);
        }
    }
}

int main(int argc, char **argv)
{
    struct scene scene;

    check_begin(&scene.check, &argc, &argv);
    scene.comm = MPI_COMM_WORLD;
    scene.rank = scene.check.world_rank;
    scene.n = scene.check.world_size;
    scene.late_us = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    MPI_Type_create_resized(MPI_INT64_T, 0, sizeof(struct spaced), &scene.spaced);
    MPI_Type_commit(&scene.spaced);
    MPI_Op_create(add_spaced, 1, &scene.add);
    scene.own = calloc(MOST_COUNT + 100, sizeof *scene.own);
    scene.sum = calloc(MOST_COUNT + 100, sizeof *scene.sum);
    if (scene.own == NULL || scene.sum == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    cleave_mpi_tune(scene.comm, argc > 3 ? argv[3] : "least=1");
    rounds_of(&scene, argc > 1 ? strtoul(argv[1], NULL, 10) : 100);
    free(scene.own);
    free(scene.sum);
    MPI_Type_free(&scene.spaced);
    MPI_Op_free(&scene.add);
    return check_end(&scene.check, "shared");
}
