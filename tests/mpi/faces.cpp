/* faces.cpp -- the calls from C++. SPDX-License-Identifier: MIT */
#include <cleave/mpi.hpp>

#include <cstdio>
#include <cstring>

struct both {
    int low, high;
};

static MPI_Datatype both_type;

template <> MPI_Datatype cleave::mpi_type<both>()
{
    return both_type;
}

static void widen(void *in, void *inout, int *count, MPI_Datatype *)
{
    const both *left = static_cast<both *>(in);
    both *right = static_cast<both *>(inout);

    for (int i = 0; i < *count; i++) {
        right[i].low = left[i].low < right[i].low ? left[i].low : right[i].low;
        right[i].high = left[i].high > right[i].high ? left[i].high : right[i].high;
    }
}

static int wrong;

static void expect(bool what)
{
    wrong += !what;
}

int main(int argc, char **argv)
{
    int rank, n, all;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Type_contiguous(2, MPI_INT, &both_type);
    MPI_Type_commit(&both_type);
    MPI_Op_create(widen, 1, &op);

    const std::vector<double> own(3000, rank + 0.5);
    const std::vector<double> sum =
        cleave::reduce(own, MPI_SUM, n - 1, MPI_COMM_WORLD, "tree-dyn");
    expect(sum.size() == (rank == n - 1 ? own.size() : 0));
    for (double value : sum)
        expect(value == n * (n - 1) / 2 + 0.5 * n);
    const std::vector<both> range =
        cleave::allreduce(std::vector<both>(5, both{ rank, rank }), op, MPI_COMM_WORLD,
                          "binomial");
    for (const both &value : range)
        expect(value.low == 0 && value.high == n - 1);
    expect(cleave::allreduce(rank, MPI_MAX, MPI_COMM_WORLD) == n - 1);
    std::vector<double> later(own.size());
    {
        cleave::pending_reduce pending(own, later, MPI_SUM, 0, MPI_COMM_WORLD,
                                       "tree-dyn");

        while (!pending.test())
            ;
    }
    expect(rank != 0 || later == std::vector<double>(3000, n * (n - 1) / 2 + 0.5 * n));

    std::vector<int> mine(static_cast<std::size_t>(3 * n), rank), part(3),
        counts(static_cast<std::size_t>(n), 3);
    for (const char *policy : { "tree-dyn", "mpi", "auto" }) {
        part.assign(3, -1);
        expect(cleave_mpi_reduce_scatter_block(mine.data(), part.data(), 3, MPI_INT,
                                               MPI_SUM, MPI_COMM_WORLD,
                                               policy) == MPI_SUCCESS);
        expect(part == std::vector<int>(3, n * (n - 1) / 2));
        part.assign(3, -1);
        expect(cleave_mpi_reduce_scatter(mine.data(), part.data(), counts.data(), MPI_INT,
                                         MPI_MAX, MPI_COMM_WORLD, policy) == MPI_SUCCESS);
        expect(part == std::vector<int>(3, n - 1));
    }

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    try {
        cleave::allreduce(1, MPI_SUM, MPI_COMM_WORLD, "tree-din");
        expect(false);
    } catch (const cleave::mpi_error &error) {
        expect(std::strstr(error.what(), "tree-din") != nullptr);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0)
        std::puts("the face is right");
    MPI_Op_free(&op);
    MPI_Type_free(&both_type);
    MPI_Finalize();
    return all != 0;
}
