/* errors.c -- mistakes reach the communicator's error handler, with a text.
 * SPDX-License-Identifier: MIT */
#include "mpi_check.h"

static int told, told_code; /* a handler has no other way to say that it was called */

static void note_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    told++;
    told_code = *code;
}

static void do_nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* Our own errors are recognized by the text: Open MPI 4.1 does not know the class of a
 * class that was added. */
enum { OURS = -1, ANY = -1 };

/* The call returned an error of that class, and the handler was called once. */
static void expect(struct check *check, int code, int class, const char *text,
                   const char *what)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0, found = -1;

    MPI_Error_class(code, &found);
    MPI_Error_string(code, words, &length);
    CHECK(check, code != MPI_SUCCESS, "%s: no error", what);
    if (class != ANY)
        CHECK(check, found == class, "%s: class %d: %s", what, found, words);
    CHECK(check, told == 1 && told_code == code, "%s: told %d times", what, told);
    CHECK(check, strstr(words, text) != NULL, "%s: '%s'", what, words);
    told = 0;
}

static void check_reduce(struct check *check, MPI_Comm comm, MPI_Op in_order)
{
    double own = 1, sum = 0;
    struct cleave_mpi_request *request = NULL;

    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm, "tre-dyn"),
           OURS, "got 'tre-dyn'; did you mean 'tree-dyn'", "unknown policy");
    expect(check,
           cleave_mpi_ireduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm, "", &request),
           OURS, "expected a reduction policy", "no policy");
    CHECK(check, request == NULL, "a request was made");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, in_order, 0, comm, "tree-dyn"),
           OURS, "tree-dyn needs an operator that commutes", "order");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, in_order, 0, comm, "tree-replan"),
           OURS, "tree-replan needs an operator that commutes", "order");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_BAND, 0, comm, "greedy"),
           MPI_ERR_OP, "", "operator and type");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 99, comm, "greedy"),
           MPI_ERR_ROOT, "", "root");
    expect(check, cleave_mpi_reduce(&own, &sum, -1, MPI_DOUBLE, MPI_SUM, 0, comm, NULL),
           MPI_ERR_COUNT, "", "count");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, comm, NULL),
           ANY, "", "type");
    expect(check,
           cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_OP_NULL, 0, comm, NULL),
           MPI_ERR_OP, "", "operator");
    expect(check, cleave_mpi_tune(comm, "segment=64KiB,boart=window"), OURS,
           "did you mean 'board=window'", "setting");
    expect(check, cleave_mpi_tune(comm, "segment=-5"), OURS, "segment=-5", "size");
    /* Later calls work. */
    CHECK(check,
          cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm, "tree-dyn") ==
              MPI_SUCCESS,
          "after mistakes");
    if (check->world_rank == 0)
        CHECK(check, sum == check->world_size, "%g", sum);
    CHECK(check, told == 0, "told %d times", told);
}

/* An empty reduction touches nothing, and no rank waits. */
static void check_nothing(struct check *check, MPI_Comm comm)
{
    double sum = 7;

    if (check->world_rank != 0)
        return;
    for (int p = 0; cleave_mpi_policy_name(p) != NULL; p++)
        CHECK(check,
              cleave_mpi_reduce(NULL, &sum, 0, MPI_DOUBLE, MPI_SUM, 0, comm,
                                cleave_mpi_policy_name(p)) == MPI_SUCCESS,
              "%s", cleave_mpi_policy_name(p));
    CHECK(check, sum == 7, "%g", sum);
}

/* Between two groups it is MPI_Reduce. */
static void check_groups(struct check *check)
{
    int rank = check->world_rank, sum = -1, low = rank < check->world_size / 2;
    int root = low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int first = check->world_size / 2;
    MPI_Comm half, both;

    if (check->world_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? first : 0, 3, &both);
    cleave_mpi_reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, both, "tree-dyn");
    if (rank == 0)
        CHECK(check,
              2 * sum == (first + check->world_size - 1) * (check->world_size - first),
              "%d", sum);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    struct check check;
    MPI_Errhandler handler;
    MPI_Op in_order;
    MPI_Comm comm;

    check_begin(&check, &argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Op_create(do_nothing, 0, &in_order);
    cleave_mpi_prepare(comm);
    check_reduce(&check, comm, in_order);
    check_nothing(&check, comm);
    check_groups(&check);
    MPI_Op_free(&in_order);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return check_end(&check, "errors");
}
