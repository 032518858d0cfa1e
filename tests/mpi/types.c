/* types.c -- every predefined datatype with every operator that it allows, for 1 .. N
 * ranks, under every policy, against a fold one after the other.
 * SPDX-License-Identifier: MIT
 *
 * Usage: types [MOST_RANKS [FIRST_RANKS]]. Values are small whole numbers, so that no sum
 * or product depends on the order. */
#include <complex.h>

#include "mpi_check.h"

enum { MOST_COUNT = 7, VALUE_SIZE = 64 };

/* A group of types has the same operators. */
enum group { WHOLE, REAL, COMPLEX, LOGICAL, BYTES, PAIR };

static void fill_padding(void *to)
{
    memset(to, 0x5a, VALUE_SIZE);
}

struct kind {
    const char *name;
    MPI_Datatype type;
    enum group group;
    size_t size;
    void (*set)(void *to, uint64_t x);
    bool (*same)(const void *a, const void *b);
};

#define NUMBER(id, ctype)                               \
    static void set_##id(void *to, uint64_t x)          \
    {                                                   \
        ctype value = (ctype)(1 + x % 2);               \
        memcpy(to, &value, sizeof value);               \
    }                                                   \
    static bool same_##id(const void *a, const void *b) \
    {                                                   \
        ctype x, y;                                     \
        memcpy(&x, a, sizeof x);                        \
        memcpy(&y, b, sizeof y);                        \
        return x == y;                                  \
    }

#define PAIRED(id, ctype)                                \
    struct id {                                          \
        ctype value;                                     \
        int index;                                       \
    };                                                   \
    static void set_##id(void *to, uint64_t x)           \
    {                                                    \
        struct id pair;                                  \
        memset(&pair, 0, sizeof pair);                   \
        pair.value = (ctype)(x % 3);                     \
        pair.index = (int)(x / 3 % 1000);                \
        memcpy(to, &pair, sizeof pair);                  \
    }                                                    \
    static bool same_##id(const void *a, const void *b)  \
    {                                                    \
        struct id x, y;                                  \
        memcpy(&x, a, sizeof x);                         \
        memcpy(&y, b, sizeof y);                         \
        return x.value == y.value && x.index == y.index; \
    }

#define KINDS(X)                                                         \
    X(schar, signed char, MPI_SIGNED_CHAR, WHOLE)                        \
    X(uchar, unsigned char, MPI_UNSIGNED_CHAR, WHOLE)                    \
    X(short_, short, MPI_SHORT, WHOLE)                                   \
    X(ushort_, unsigned short, MPI_UNSIGNED_SHORT, WHOLE)                \
    X(int_, int, MPI_INT, WHOLE)                                         \
    X(uint_, unsigned, MPI_UNSIGNED, WHOLE)                              \
    X(long_, long, MPI_LONG, WHOLE)                                      \
    X(ulong_, unsigned long, MPI_UNSIGNED_LONG, WHOLE)                   \
    X(llong, long long, MPI_LONG_LONG, WHOLE)                            \
    X(ullong, unsigned long long, MPI_UNSIGNED_LONG_LONG, WHOLE)         \
    X(i8, int8_t, MPI_INT8_T, WHOLE)                                     \
    X(u8, uint8_t, MPI_UINT8_T, WHOLE)                                   \
    X(i16, int16_t, MPI_INT16_T, WHOLE)                                  \
    X(u16, uint16_t, MPI_UINT16_T, WHOLE)                                \
    X(i32, int32_t, MPI_INT32_T, WHOLE)                                  \
    X(u32, uint32_t, MPI_UINT32_T, WHOLE)                                \
    X(i64, int64_t, MPI_INT64_T, WHOLE)                                  \
    X(u64, uint64_t, MPI_UINT64_T, WHOLE)                                \
    X(aint, MPI_Aint, MPI_AINT, WHOLE)                                   \
    X(offset, MPI_Offset, MPI_OFFSET, WHOLE)                             \
    X(count, MPI_Count, MPI_COUNT, WHOLE)                                \
    X(float_, float, MPI_FLOAT, REAL)                                    \
    X(double_, double, MPI_DOUBLE, REAL)                                 \
    X(ldouble, long double, MPI_LONG_DOUBLE, REAL)                       \
    X(cfloat, float complex, MPI_C_FLOAT_COMPLEX, COMPLEX)               \
    X(cdouble, double complex, MPI_C_DOUBLE_COMPLEX, COMPLEX)            \
    X(cldouble, long double complex, MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX) \
    X(bool_, bool, MPI_C_BOOL, LOGICAL)                                  \
    X(byte_, unsigned char, MPI_BYTE, BYTES)

#define PAIRS(X)                          \
    X(float_int, float, MPI_FLOAT_INT)    \
    X(double_int, double, MPI_DOUBLE_INT) \
    X(long_int, long, MPI_LONG_INT)       \
    X(two_int, int, MPI_2INT)             \
    X(short_int, short, MPI_SHORT_INT)    \
    X(ldouble_int, long double, MPI_LONG_DOUBLE_INT)

#define X(id, ctype, type, group) NUMBER(id, ctype)
KINDS(X)
#undef X
#define X(id, ctype, type) PAIRED(id, ctype)
PAIRS(X)
#undef X

struct operation {
    const char *name;
    MPI_Op op;
    unsigned groups;
};

struct grid {
    struct check check;
    char *own, *sum, *fold, *other; /* MOST_COUNT values each */
    uint64_t round;
    unsigned turn;
};

static void set_values(const struct kind *kind, char *to, int count, int rank,
                       uint64_t round)
{
    for (int i = 0; i < count; i++) {
        fill_padding(to + (size_t)i * kind->size);
        kind->set(to + (size_t)i * kind->size, mixed((uint64_t)rank, round, (uint64_t)i));
    }
}

static void expect(struct grid *grid, const struct kind *kind, const struct operation *op,
                   int count, int n, const char *policy)
{
    set_values(kind, grid->fold, count, n - 1, grid->round);
    for (int rank = n - 2; rank >= 0; rank--) {
        set_values(kind, grid->other, count, rank, grid->round);
        MPI_Reduce_local(grid->other, grid->fold, count, kind->type, op->op);
    }
    for (int i = 0; i < count; i++)
        CHECK(&grid->check,
              kind->same(grid->fold + (size_t)i * kind->size,
                         grid->sum + (size_t)i * kind->size),
              "%s %s, %d ranks, %s, value %d of %d", kind->name, op->name, n, policy, i,
              count);
}

static void one(struct grid *grid, const struct kind *kind, const struct operation *op,
                MPI_Comm comm, const char *policy)
{
    uint64_t x = mixed(++grid->round, 5, 9);
    int rank, n, count = (int)(x % (MOST_COUNT + 1)), root;
    bool in_place = x / 8 % 2 != 0;
    int code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    root = (int)(x / 16 % (uint64_t)n);
    set_values(kind, grid->own, count, rank, grid->round);
    set_values(kind, grid->sum, count, in_place ? rank : 1000, grid->round);
    code = cleave_mpi_reduce(in_place && rank == root ? MPI_IN_PLACE : grid->own,
                             grid->sum, count, kind->type, op->op, root, comm, policy);
    CHECK(&grid->check, code == MPI_SUCCESS, "%s %s %s", kind->name, op->name, policy);
    if (rank == root)
        expect(grid, kind, op, count, n, policy);
}

static void all_of_kind(struct grid *grid, const struct kind *kind, MPI_Comm comm)
{
    const struct operation operations[] = {
        { "max", MPI_MAX, 1u << WHOLE | 1u << REAL },
        { "min", MPI_MIN, 1u << WHOLE | 1u << REAL },
        { "sum", MPI_SUM, 1u << WHOLE | 1u << REAL | 1u << COMPLEX },
        { "prod", MPI_PROD, 1u << WHOLE | 1u << REAL | 1u << COMPLEX },
        { "land", MPI_LAND, 1u << WHOLE | 1u << LOGICAL },
        { "lor", MPI_LOR, 1u << WHOLE | 1u << LOGICAL },
        { "lxor", MPI_LXOR, 1u << WHOLE | 1u << LOGICAL },
        { "band", MPI_BAND, 1u << WHOLE | 1u << BYTES },
        { "bor", MPI_BOR, 1u << WHOLE | 1u << BYTES },
        { "bxor", MPI_BXOR, 1u << WHOLE | 1u << BYTES },
        { "maxloc", MPI_MAXLOC, 1u << PAIR },
        { "minloc", MPI_MINLOC, 1u << PAIR },
    };
    int n;

    MPI_Comm_size(comm, &n);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].groups >> kind->group & 1)
            for (int p = 0; cleave_mpi_policy_name(p) != NULL; p++)
                /* With many ranks, which take long on few processors, the policies take
                 * turns. */
                if (n <= 6 || grid->turn++ % 3 == 0)
                    one(grid, kind, &operations[i], comm, cleave_mpi_policy_name(p));
}

static void all_kinds(struct grid *grid, MPI_Comm comm)
{
    const struct kind kinds[] = {
#define X(id, ctype, mpi, group) { #id, mpi, group, sizeof(ctype), set_##id, same_##id },
        KINDS(X)
#undef X
#define X(id, ctype, mpi) { #id, mpi, PAIR, sizeof(struct id), set_##id, same_##id },
            PAIRS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        all_of_kind(grid, &kinds[i], comm);
}

int main(int argc, char **argv)
{
    const size_t room = (size_t)VALUE_SIZE * (MOST_COUNT + 1);
    struct grid grid = { .round = 0 };
    int max, min;

    check_begin(&grid.check, &argc, &argv);
    max = argc > 1 ? (int)strtol(argv[1], NULL, 10) : grid.check.world_size;
    min = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    grid.own = malloc(4 * room);
    if (grid.own == NULL)
        return MPI_Abort(MPI_COMM_WORLD, 1);
    grid.sum = grid.own + room;
    grid.fold = grid.sum + room;
    grid.other = grid.fold + room;
    for (int n = min; n <= max && n <= grid.check.world_size; n++) {
        MPI_Comm comm = first_ranks(n);

        if (comm == MPI_COMM_NULL)
            continue;
        grid.round = (uint64_t)n << 32; /* the same on ranks that come in later */
        grid.turn = (unsigned)n;
        all_kinds(&grid, comm);
        MPI_Comm_free(&comm);
    }
    free(grid.own);
    return check_end(&grid.check, "types");
}
