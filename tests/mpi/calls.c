/* calls.c -- an MPI program that calls reductions in all the ways there are, and knows
 * nothing of cleave, for the preload. SPDX-License-Identifier: MIT
 *
 * Usage: calls. Prints the number of wrong results. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONG = 6000, GAP = -7 };

static int rank, ranks;
static long wrong;

static void check(bool right, const char *what)
{
    if (right)
        return;
    if (wrong++ == 0)
        fprintf(stderr, "calls: rank %d of %d: %s\n", rank, ranks, what);
}

/* --- operators of our own ----------------------------------------------------------------- */

/* Matrices of 2 x 2, from left to right: the order matters. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const unsigned *a = in;
    unsigned *b = inout;

    (void)type;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        const unsigned c[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3] };

        memcpy(b, c, sizeof c);
    }
}

static void matrix_of(int of, int index, unsigned out[4])
{
    out[0] = 1u + (unsigned)of, out[1] = 2u + (unsigned)index % 5;
    out[2] = 1, out[3] = 3u * (unsigned)of;
}

/* The first of every two numbers; the other one is a gap. */
static void add_spaced(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const int *a = in;
    int *b = inout;

    (void)type;
    for (size_t i = 0; i < (size_t)*count; i++)
        b[2 * i] += a[2 * i];
}

/* --- the ways ----------------------------------------------------------------------------- */

static void in_order(MPI_Comm comm, int root, bool in_place)
{
    static unsigned own[4 * LONG], product[4 * LONG];
    MPI_Datatype matrix;
    MPI_Op op;
    const int count = root % 2 == 0 ? LONG : 3;

    MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    for (size_t i = 0; i < (size_t)count; i++)
        matrix_of(rank, (int)i, own + 4 * i);
    memcpy(product, own, sizeof own);
    MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : own, product, count, matrix, op,
               root, comm);
    for (size_t i = 0; i < (size_t)count && rank == root; i++) {
        unsigned next[4], all[4];

        matrix_of(ranks - 1, (int)i, all);
        for (int r = ranks - 2, one = 1; r >= 0; r--) {
            matrix_of(r, (int)i, next);
            multiply(next, all, &one, &matrix);
        }
        check(memcmp(all, product + 4 * i, sizeof all) == 0, "matrices in order");
    }
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

static void with_gaps(MPI_Comm comm)
{
    static int own[2 * LONG], sum[2 * LONG];
    MPI_Datatype spaced;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(add_spaced, 1, &op);
    for (size_t i = 0; i < LONG; i++) {
        own[2 * i] = rank + (int)i;
        own[2 * i + 1] = sum[2 * i] = sum[2 * i + 1] = GAP;
    }
    MPI_Allreduce(own, sum, LONG, spaced, op, comm);
    for (size_t i = 0; i < LONG; i++)
        check(sum[2 * i] == ranks * (ranks - 1) / 2 + ranks * (int)i &&
                  sum[2 * i + 1] == GAP,
              "a type with gaps");
    MPI_Op_free(&op);
    MPI_Type_free(&spaced);
}

static void with_places(MPI_Comm comm)
{
    static struct {
        double value;
        int at;
    } own[LONG], min[LONG];

    for (int i = 0; i < LONG; i++) {
        own[i].value = (rank + i) % ranks;
        own[i].at = rank;
    }
    MPI_Allreduce(own, min, LONG, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    for (int i = 0; i < LONG; i++)
        check(min[i].value == 0 && (min[i].at + i) % ranks == 0, "the least, where");
}

/* The product of all matrices at `index`, in the order of the ranks. */
static void product_of(int index, unsigned out[4])
{
    const int one = 1;

    matrix_of(ranks - 1, index, out);
    for (int r = ranks - 2; r >= 0; r--) {
        unsigned next[4];
        int count = one;

        matrix_of(r, index, next);
        multiply(next, out, &count, NULL);
    }
}

/* Parts of unequal lengths, some of them empty, or all equal; matrices, in order. */
static void in_parts(MPI_Comm comm, int how)
{
    static unsigned own[4 * LONG], part[4 * LONG];
    const int block = how % 2 == 0 ? LONG / ranks : 3;
    const bool alike = how % 4 < 2, in_place = how % 3 == 1;
    int counts[64], first = 0, total = 0;
    MPI_Datatype matrix;
    MPI_Op op;

    for (int r = 0; r < ranks; r++) {
        counts[r] = alike ? block : r == how % ranks ? 0 : block - r % 2;
        first += r < rank ? counts[r] : 0;
        total += counts[r];
    }
    MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    for (int i = 0; i < total; i++)
        matrix_of(rank, i, own + 4 * (size_t)i);
    memset(part, 0xff, sizeof part);
    if (in_place)
        memcpy(part, own, sizeof own);
    if (alike)
        MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : own, part, block, matrix, op,
                                 comm);
    else
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : own, part, counts, matrix, op, comm);
    for (int i = 0; i < counts[rank]; i++) {
        unsigned all[4];

        product_of(first + i, all);
        check(memcmp(all, part + 4 * (size_t)i, sizeof all) == 0, "matrices in parts");
    }
    check(in_place || part[4 * (size_t)counts[rank]] == ~0u, "no more than the part");
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

/* Parts of a type with gaps, which stay unchanged. */
static void parts_with_gaps(MPI_Comm comm)
{
    static int own[2 * LONG], sum[2 * LONG];
    const int block = LONG / ranks;
    MPI_Datatype spaced;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(add_spaced, 1, &op);
    for (size_t i = 0; i < LONG; i++) {
        own[2 * i] = rank + (int)i;
        own[2 * i + 1] = sum[2 * i] = sum[2 * i + 1] = GAP;
    }
    MPI_Reduce_scatter_block(own, sum, block, spaced, op, comm);
    for (size_t i = 0; i < (size_t)block; i++)
        check(sum[2 * i] == ranks * (ranks - 1) / 2 + ranks * (rank * block + (int)i) &&
                  sum[2 * i + 1] == GAP,
              "parts of a type with gaps");
    MPI_Op_free(&op);
    MPI_Type_free(&spaced);
}

/* Nonblocking calls run together with blocking ones. */
static void without_waiting(MPI_Comm comm)
{
    static int own[LONG], one[LONG], two[LONG], three[LONG];
    MPI_Request requests[2];

    for (int i = 0; i < LONG; i++)
        own[i] = rank + i;
    MPI_Ireduce(own, one, LONG, MPI_INT, MPI_SUM, 0, comm, &requests[0]);
    MPI_Iallreduce(own, two, LONG, MPI_INT, MPI_MAX, comm, &requests[1]);
    MPI_Allreduce(own, three, LONG, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < 2; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++)
        check((rank != 0 || one[i] == three[i]) && two[i] == ranks - 1 + i,
              "some that do not wait");
}

static void of_nothing(MPI_Comm comm)
{
    int own = 5, sum = 9;
    int none[64] = { 0 };

    MPI_Reduce_scatter(&own, &sum, none, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(&own, &sum, 0, MPI_INT, MPI_SUM, comm);

    MPI_Reduce(&own, &sum, 0, MPI_INT, MPI_SUM, 0, comm);
    MPI_Allreduce(&own, &sum, 0, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, NULL, 0, MPI_INT, MPI_SUM, comm);
    check(own == 5 && sum == 9, "no elements");
}

static void of_oneself(void)
{
    static int own[LONG], sum[LONG];
    MPI_Comm alone;

    for (int i = 0; i < LONG; i++)
        own[i] = i;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Allreduce(own, sum, LONG, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    check(memcmp(own, sum, sizeof own) == 0, "MPI_COMM_SELF");
    memset(sum, 0, sizeof sum);
    MPI_Reduce(own, sum, LONG, MPI_INT, MPI_MAX, 0, alone);
    check(memcmp(own, sum, sizeof own) == 0, "a communicator of one rank");
    MPI_Reduce(MPI_IN_PLACE, sum, LONG, MPI_INT, MPI_MAX, 0, alone);
    check(memcmp(own, sum, sizeof own) == 0, "one rank, in place");
    MPI_Comm_free(&alone);
}

/* Two groups, each of which gets what the other one has. */
static void between_groups(void)
{
    static int own[LONG], sum[LONG];
    const int low = ranks / 2, is_low = rank < low;
    const int others = is_low ? ranks - low : low, first = is_low ? low : 0;
    MPI_Comm half, both;

    MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? low : 0, 17, &both);
    for (int i = 0; i < LONG; i++)
        own[i] = rank + i;
    MPI_Allreduce(own, sum, LONG, MPI_INT, MPI_SUM, both);
    for (int i = 0; i < LONG; i++)
        check(sum[i] == others * first + others * (others - 1) / 2 + others * i,
              "all, between groups");
    memset(sum, 0, sizeof sum);
    MPI_Reduce(own, sum, LONG, MPI_INT, MPI_SUM,
               !is_low     ? 0
               : rank == 0 ? MPI_ROOT
                           : MPI_PROC_NULL,
               both);
    for (int i = 0; i < LONG && rank == 0; i++)
        check(sum[i] == others * first + others * (others - 1) / 2 + others * i,
              "to one, between groups");
    if (others ==
        ranks - others) { /* which each group has the same number of elements for */
        MPI_Reduce_scatter_block(own, sum, LONG / others, MPI_INT, MPI_SUM, both);
        check(sum[0] == others * first + others * (others - 1) / 2 +
                            others * (rank % low) * (LONG / others),
              "parts, between groups");
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* Calls that MPI refuses are refused, by a handler of the communicator, and the next call
 * works. */
static void of_mistakes(MPI_Comm comm)
{
    static double own[LONG], sum[LONG];
    int code, class;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(own, sum, LONG, MPI_DOUBLE, MPI_BAND, comm);
    MPI_Error_class(code, &class);
    check(class == MPI_ERR_OP, "an operator that the type does not allow");
    code = MPI_Reduce(own, sum, LONG, MPI_DOUBLE, MPI_SUM, ranks, comm);
    MPI_Error_class(code, &class);
    check(class == MPI_ERR_ROOT, "a root that is not there");
    for (int i = 0; i < LONG; i++)
        own[i] = 1;
    MPI_Allreduce(own, sum, LONG, MPI_DOUBLE, MPI_SUM, comm);
    check(sum[0] == ranks && sum[LONG - 1] == ranks, "after a mistake");
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    long all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int k = 0; k < 12; k++) { /* "auto" thinks about it only after some calls */
        in_order(comm, k % ranks, k % 3 == 0);
        with_gaps(comm);
        with_places(comm);
        in_parts(comm, k);
        of_nothing(comm);
    }
    parts_with_gaps(comm);
    without_waiting(comm);
    of_oneself();
    if (ranks > 1)
        between_groups();
    of_mistakes(comm);
    MPI_Comm_free(&comm);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld wrong\n", all);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
