/* mpi_names.h -- policies by name, and settings as text. SPDX-License-Identifier: MIT */
#ifndef CV_MPI_NAMES_H
#define CV_MPI_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

#define CV_MPI_POLICY_MAP(X)       \
    X(AUTO, "auto")                \
    X(TREE_DYN, "tree-dyn")        \
    X(ORDERED, "ordered-tree-dyn") \
    X(TREE_REPLAN, "tree-replan")  \
    X(GREEDY, "greedy")            \
    X(BINOMIAL, "binomial")        \
    X(FIBONACCI, "fibonacci")      \
    X(MPI, "mpi")                  \
    X(FIXED, "fixed")

enum cv_mpi_policy {
#define X(name, text) CV_MPI_##name,
    CV_MPI_POLICY_MAP(X)
#undef X
        CV_MPI_POLICIES
};

/* Whether a policy stands for a tree that is the same in every run. */
bool cv_mpi_policy_is_fixed(enum cv_mpi_policy policy);
const char *cv_mpi_policy_text(enum cv_mpi_policy policy);
/* NULL means auto. */
enum cleave_status cv_mpi_policy_read(const char *text, enum cv_mpi_policy *out,
                                      struct cleave_error *err);

/* All zero: as seems best. */
struct cv_mpi_settings {
    double transfer_s, combine_s; /* 0: measure             */
    double segment_bytes;
    double
        least_bytes; /* shorter vectors are left to the MPI library, but by a policy that
                           promises a certain tree                                      */
    double share_bytes; /* of memory, for tree-dyn on one machine: 0: as seems best */
    bool window;        /* meet there in any case                                  */
    int slices; /* that tree-replan cuts vectors into; 1: never; 0: as seems best */
    int machine_ranks; /* so many ranks in a row share a machine; 1: none do; 0: ask */
};

/* Read words separated by commas: those of cleave_mpi_tune, and, if `policy` is not NULL,
 * the name of a policy and "verbose". On failure outputs are unchanged. */
enum cleave_status cv_mpi_settings_read(const char *text,
                                        struct cv_mpi_settings *settings,
                                        enum cv_mpi_policy *policy, bool *verbose,
                                        struct cleave_error *err);

#endif
