/* map_reduce.c -- a picture of the Mandelbrot set, its rows shared among MPI ranks.
 * SPDX-License-Identifier: MIT
 *
 *     mpicc map_reduce.c -o map_reduce -lcleave-mpi && mpirun -n 5 ./map_reduce 40 100
 *
 * A row of the picture is a unit. Some rows take a hundred times as long as others, and
 * their places are unknown: rank 0 hands out rows as cleave's policy decides, the other
 * ranks compute them. Rows are text, and two pieces of text are combined by
 * concatenation: the order matters, and is kept, although pieces are combined on any rank
 * that has them. Exits with 1 if the picture differs from the picture of one rank
 * alone. */
#include <cleave/mpi_map.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 20000 };

struct picture {
    uint64_t rows, columns;
};

/* How long the point takes to run away. */
static int depth(double x, double y)
{
    double a = 0, b = 0;
    int n = 0;

    for (; n < DEEPEST && a * a + b * b < 4; n++) {
        const double next = a * a - b * b + x;

        b = 2 * a * b + y;
        a = next;
    }
    return n;
}

static enum cleave_status compute(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    static const char shades[] = " .:-=+*#%@";
    const struct picture *picture = context;
    char *at = cleave_mpi_buffer_resize(out, (end - begin) * (picture->columns + 1));

    (void)input; /* all ranks can compute any row: nothing has to be sent */
    (void)err;
    if (at == NULL)
        return CLEAVE_ENOMEM;
    for (uint64_t row = begin; row < end; row++) {
        for (uint64_t column = 0; column < picture->columns; column++) {
            const double x = -2.2 + 3.2 * (double)column / (double)picture->columns;
            const double y = -1.2 + 2.4 * (double)row / (double)picture->rows;
            const int n = depth(x, y);

            *at++ = shades[n == DEEPEST ? 9 : n % 9];
        }
        *at++ = '\n';
    }
    return CLEAVE_OK;
}

static enum cleave_status combine(void *context, const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    char *at = cleave_mpi_buffer_resize(out, left->size + right->size);

    (void)context;
    (void)err;
    if (at == NULL)
        return CLEAVE_ENOMEM;
    memcpy(at, left->bytes, left->size);
    memcpy(at + left->size, right->bytes, right->size);
    return CLEAVE_OK;
}

/* Whether one rank alone comes to the same. */
static int verify(struct picture *picture, const struct cleave_mpi_result *result)
{
    struct cleave_mpi_buffer expected = { 0 };
    struct cleave_error err;
    const enum cleave_status status =
        compute(picture, 0, picture->rows, NULL, &expected, &err);
    const int same = status == CLEAVE_OK && expected.size == result->value.size &&
                     memcmp(expected.bytes, result->value.bytes, expected.size) == 0;

    free(expected.bytes);
    return same;
}

int main(int argc, char **argv)
{
    struct picture picture = { argc > 1 ? strtoull(argv[1], NULL, 10) : 24,
                               argc > 2 ? strtoull(argv[2], NULL, 10) : 72 };
    const struct cleave_mpi_map map = {
        .compute = compute, .combine = combine, .context = &picture, .units = picture.rows
    };
    struct cleave_mpi_result result;
    struct cleave_error err;
    int level, rank, failed = 0;

    /* Callbacks run in parallel with messages if MPI allows threads. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (cleave_mpi_map_reduce(&map, MPI_COMM_WORLD, &result, &err) != CLEAVE_OK) {
        if (rank == 0)
            fprintf(stderr, "map_reduce: %s\n", err.text);
        failed = 1;
    } else if (rank == 0) {
        fwrite(result.value.bytes, 1, result.value.size, stdout);
        fprintf(stderr, "%llu chunks, %llu combinations, %.3f s\n",
                (unsigned long long)result.chunks,
                (unsigned long long)result.combinations, result.seconds);
        failed = !verify(&picture, &result);
    }
    if (!failed)
        cleave_mpi_result_done(&result);
    MPI_Finalize();
    return failed;
}
