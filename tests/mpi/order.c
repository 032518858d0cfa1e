/* order.c -- operators that do not commute, datatypes with gaps, long vectors, late ranks.
 * SPDX-License-Identifier: MIT
 *
 * Usage: order ROUNDS [MOST_LATE_US [SETTINGS]]. Each round has as many ranks as chance
 * will have it, and its own root, size and policy. Results are compared with a serial
 * fold. */
#include "mpi_check.h"

#include <dlfcn.h>

enum { TEXT_SIZE = 48, MOST_COUNT = 9000 };

struct text {
    int length;
    char bytes[TEXT_SIZE];
};

/* 2 x 2, modulo 2^64. */
struct matrix {
    uint64_t a[4];
};

static void join_texts(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct text *left = in;
    struct text *right = inout;

    (void)type;
    for (int i = 0; i < *count; i++) {
        struct text joined = left[i];

        memcpy(joined.bytes + joined.length, right[i].bytes, (size_t)right[i].length);
        joined.length += right[i].length;
        right[i] = joined;
    }
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct matrix *left = in;
    struct matrix *right = inout;

    (void)type;
    for (int i = 0; i < *count; i++) {
        const uint64_t *x = left[i].a, *y = right[i].a;
        struct matrix z = { { x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3],
                              x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3] } };

        right[i] = z;
    }
}

struct scene {
    struct check check;
    MPI_Comm *comms; /* of the first 1, 2, ... ranks */
    MPI_Datatype text_type, matrix_type;
    MPI_Op join, product;
    char *own, *result, *fold, *other;
    unsigned late_us;
};

/* Policies that keep the order. */
static const char *ordered_policy(uint64_t x)
{
    static const char *const names[] = {
        "ordered-tree-dyn", "greedy",          "binomial", "fibonacci", "fixed", "auto",
        "ordered-tree-dyn", "ordered-tree-dyn"
    };

    return names[x % (sizeof names / sizeof *names)];
}

static void set_text(struct text *text, int rank, int i)
{
    memset(text, 0, sizeof *text);
    text->length = 1 + (rank + i) % 2;
    text->bytes[0] = (char)('a' + rank);
    text->bytes[1] = (char)('0' + i % 10);
}

static void texts_round(struct scene *scene, MPI_Comm comm, uint64_t round, int root)
{
    struct text *own = (struct text *)scene->own, *sum = (struct text *)scene->result;
    const char *policy = ordered_policy(round);
    int rank, n, count = 1 + (int)(mixed(round, 1, 2) % 5);

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < count; i++)
        set_text(&own[i], rank, i);
    come_late(rank, round, scene->late_us);
    cleave_mpi_reduce(own, sum, count, scene->text_type, scene->join, root, comm, policy);
    for (int i = 0; i < count && rank == root; i++) {
        struct text whole, part;

        set_text(&whole, n - 1, i);
        for (int from = n - 2; from >= 0; from--) {
            int one = 1;

            set_text(&part, from, i);
            join_texts(&part, &whole, &one, NULL);
        }
        CHECK(&scene->check,
              sum[i].length == whole.length &&
                  memcmp(sum[i].bytes, whole.bytes, (size_t)whole.length) == 0,
              "%s, %d ranks, root %d: not '%.*s'", policy, n, root, whole.length,
              whole.bytes);
    }
}

static void set_matrices(struct matrix *to, int count, int rank, uint64_t round)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 4; k++)
            to[i].a[k] = mixed((uint64_t)rank, round, 4 * (uint64_t)i + (uint64_t)k);
}

static void matrices_round(struct scene *scene, MPI_Comm comm, uint64_t round, int root)
{
    struct matrix *own = (struct matrix *)scene->own,
                  *sum = (struct matrix *)scene->result;
    struct matrix *fold = (struct matrix *)scene->fold,
                  *other = (struct matrix *)scene->other;
    const char *policy = ordered_policy(round / 3);
    uint64_t x = mixed(round, 3, 4);
    /* Seldom long enough for several segments. */
    int rank, n, count = x % 16 == 0 ? MOST_COUNT : 1 + (int)(x / 16 % 40);
    bool in_place = x / 1024 % 2 != 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    set_matrices(own, count, rank, round);
    set_matrices(sum, count, rank, round);
    come_late(rank, round, scene->late_us);
    cleave_mpi_reduce(in_place && rank == root ? MPI_IN_PLACE : (void *)own, sum, count,
                      scene->matrix_type, scene->product, root, comm, policy);
    if (rank != root)
        return;
    set_matrices(fold, count, n - 1, round);
    for (int from = n - 2; from >= 0; from--) {
        set_matrices(other, count, from, round);
        multiply(other, fold, &count, NULL);
    }
    CHECK(&scene->check, memcmp(fold, sum, (size_t)count * sizeof *fold) == 0,
          "%s, %d ranks, root %d, %d matrices, in place %d", policy, n, root, count,
          in_place);
}

static void add_gapped(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const int *from = in;
    int *to = inout;

    (void)type;
    /* Values at places -1 and 1 of five. */
    for (int i = 0; i < *count; i++) {
        to[5 * i - 1] += from[5 * i - 1];
        to[5 * i + 1] += from[5 * i + 1];
    }
}

/* An element is two ints with a gap between and around, the first before its address. */
static MPI_Datatype gapped_type(void)
{
    const int lengths[2] = { 1, 1 };
    const MPI_Aint places[2] = { -(MPI_Aint)sizeof(int), sizeof(int) };
    const MPI_Datatype types[2] = { MPI_INT, MPI_INT };
    MPI_Datatype pair, type;

    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, -(MPI_Aint)sizeof(int), 5 * sizeof(int), &type);
    MPI_Type_free(&pair);
    MPI_Type_commit(&type);
    return type;
}

static void gaps_round(struct scene *scene, MPI_Comm comm, uint64_t round, int root)
{
    int *own = (int *)scene->own + 1, *sum = (int *)scene->result + 1;
    const char *policy = nth_policy(round);
    int rank, n, count = 1 + (int)(mixed(round, 5, 6) % 400);
    bool commutes = round % 3 != 0, in_place = round % 5 == 0;
    MPI_Datatype type = gapped_type();
    MPI_Op op;

    if (!commutes &&
        (strcmp(policy, "tree-dyn") == 0 || strcmp(policy, "tree-replan") == 0))
        policy = "ordered-tree-dyn";
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    MPI_Op_create(add_gapped, commutes, &op);
    for (int i = -1; i < 5 * count; i++) {
        own[i] = i + rank;
        sum[i] = in_place ? i + rank : -7;
    }
    come_late(rank, round, scene->late_us);
    cleave_mpi_reduce(in_place && rank == root ? MPI_IN_PLACE : (void *)own, sum, count,
                      type, op, root, comm, policy);
    for (int i = -1; i < 5 * count - 1 && rank == root; i++) {
        bool used = (i + 5) % 5 == 4 || (i + 5) % 5 == 1;
        int expected = in_place ? i + rank : -7;

        if (used)
            expected = n * i + n * (n - 1) / 2;
        CHECK(&scene->check, sum[i] == expected, "%s, %d ranks, place %d: %d, not %d",
              policy, n, i, sum[i], expected);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/* Sums of doubles that depend on the order: "fixed" gives the same bits each time. */
static void fixed_round(struct scene *scene, MPI_Comm comm, uint64_t round, int root)
{
    double *own = (void *)scene->own, *sum = (void *)scene->result;
    double *before = (void *)scene->fold;
    const int count = 50;
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++)
        own[i] = (double)mixed((uint64_t)rank, round, (uint64_t)i) * 1e-19 - 0.9;
    for (uint64_t again = 0; again < 3; again++) {
        come_late(rank, round * 8 + again, scene->late_us);
        cleave_mpi_reduce(own, sum, count, MPI_DOUBLE, MPI_SUM, root, comm, "fixed");
        if (rank == root && again > 0)
            CHECK(&scene->check,
                  memcmp(scene->fold, scene->result, (size_t)count * sizeof *sum) == 0,
                  "other bits in repetition %d", (int)again);
        memcpy(before, sum, (size_t)count * sizeof *sum);
    }
}

static void all_round(struct scene *scene, MPI_Comm comm, uint64_t round)
{
    int own[3], sum[3], rank, n;
    const char *policy = nth_policy(round);

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < 3; i++)
        own[i] = sum[i] = rank + i;
    come_late(rank, round, scene->late_us);
    cleave_mpi_allreduce(round % 2 ? MPI_IN_PLACE : (void *)own, sum, 3, MPI_INT, MPI_SUM,
                         comm, policy);
    for (int i = 0; i < 3; i++)
        CHECK(&scene->check, sum[i] == n * (n - 1) / 2 + n * i, "%s, %d ranks: %d",
              policy, n, sum[i]);
}

static void play(struct scene *scene, uint64_t round)
{
    uint64_t x = mixed(round, 7, 8);
    int n = 1 + (int)(x % (uint64_t)scene->check.world_size);
    int root = (int)(x / 64 % (uint64_t)n);
    MPI_Comm comm = scene->comms[n - 1];

    if (comm == MPI_COMM_NULL)
        return;
    switch (round % 8) {
    case 0:
    case 1:
    case 2:
        texts_round(scene, comm, round / 8, root);
        break;
    case 3:
    case 4:
        matrices_round(scene, comm, round / 8, root);
        break;
    case 5:
        gaps_round(scene, comm, round / 8, root);
        break;
    case 6:
        all_round(scene, comm, round / 8);
        break;
    default:
        fixed_round(scene, comm, round / 8, root);
    }
}

static void open_scene(struct scene *scene, const char *settings)
{
    const size_t room = MOST_COUNT * sizeof(struct matrix);
    int size = scene->check.world_size;

    scene->comms = malloc((size_t)size * sizeof *scene->comms);
    scene->own = calloc(4, room);
    if (scene->comms == NULL || scene->own == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    scene->result = scene->own + room;
    scene->fold = scene->result + room;
    scene->other = scene->fold + room;
    MPI_Type_contiguous(sizeof(struct text), MPI_BYTE, &scene->text_type);
    MPI_Type_contiguous(4, MPI_UINT64_T, &scene->matrix_type);
    MPI_Type_commit(&scene->text_type);
    MPI_Type_commit(&scene->matrix_type);
    MPI_Op_create(join_texts, 0, &scene->join);
    MPI_Op_create(multiply, 0, &scene->product);
    for (int n = 1; n <= size; n++) {
        scene->comms[n - 1] = first_ranks(n);
        if (scene->comms[n - 1] != MPI_COMM_NULL && settings != NULL)
            cleave_mpi_tune(scene->comms[n - 1], settings);
    }
}

static void close_scene(struct scene *scene)
{
    for (int n = 1; n <= scene->check.world_size; n++)
        /* MPI_Finalize frees the last one. */
        if (scene->comms[n - 1] != MPI_COMM_NULL && n < scene->check.world_size)
            MPI_Comm_free(&scene->comms[n - 1]);
    MPI_Op_free(&scene->join);
    MPI_Op_free(&scene->product);
    MPI_Type_free(&scene->text_type);
    MPI_Type_free(&scene->matrix_type);
    free(scene->comms);
    free(scene->own);
}

/* Windows are dear to make: on one machine memory is shared without. The library calls this
 * one, since programs come first. */
static int windows;

int PMPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                      MPI_Win *win)
{
    union {
        void *object;
        int (*call)(MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *);
    } next = { dlsym(RTLD_NEXT, "PMPI_Win_allocate") };

    windows++;
    return next.call(size, unit, info, comm, base, win);
}

/* So is this, and that all are on one machine is known without. */
static int splits;

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    union {
        void *object;
        int (*call)(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
    } next = { dlsym(RTLD_NEXT, "PMPI_Comm_split_type") };

    splits++;
    return next.call(comm, type, key, info, out);
}

/* On a separate communicator; the choice of "auto" asks for other reasons. */
static void check_splits(struct scene *scene)
{
    MPI_Comm comm;
    int one = 1, sum = 0, rank;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    cleave_mpi_reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm, "tree-dyn");
    CHECK(&scene->check, splits == 0, "%d times it was asked who shares memory", splits);
    CHECK(&scene->check, rank > 0 || sum == scene->check.world_size, "%d", sum);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const bool by_window = argc > 3 && strstr(argv[3], "board=window") != NULL;
    struct scene scene = { .late_us = 0 };
    uint64_t rounds;
    int ranks;

    check_begin(&scene.check, &argc, &argv);
    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    scene.late_us = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    open_scene(&scene, argc > 3 ? argv[3] : NULL);
    check_splits(&scene);
    for (uint64_t round = 0; round < rounds; round++)
        play(&scene, round);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if ((windows > 0) != (by_window && ranks > 1)) {
        fprintf(stderr, "order: %d windows were made\n", windows);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close_scene(&scene);
    return check_end(&scene.check, "order");
}
