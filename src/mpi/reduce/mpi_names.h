/* mpi_names.h -- policies by name, and settings as text. SPDX-License-Identifier: MIT */
#ifndef CV_MPI_NAMES_H
#define CV_MPI_NAMES_H
#include <stdbool.h>
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

/* Policies whose tree is the same in every run. */
bool cv_mpi_policy_is_fixed(enum cv_mpi_policy policy);
const char *cv_mpi_policy_text(enum cv_mpi_policy policy);
/* NULL means auto. */
enum cleave_status cv_mpi_policy_read(const char *text, enum cv_mpi_policy *out,
                                      struct cleave_error *err);

/* 0: automatic. */
struct cv_mpi_settings {
    double transfer_s, combine_s; /* costs; 0: measure */
    double segment_bytes;
    double least_bytes; /* shorter vectors are left to MPI, except by fixed policies */
    double share_bytes; /* shared memory of tree-dyn on one machine */
    bool window;        /* use a window even if ranks share memory */
    int slices;         /* slices of tree-replan; 1: none */
    int machine_ranks;  /* neighbouring ranks that share a machine; 1: no machines */
};

/* Read words separated by commas: settings of cleave_mpi_tune and, if `policy` is not
 * NULL, the name of a policy and "verbose". On failure outputs are unchanged. */
enum cleave_status cv_mpi_settings_read(const char *text,
                                        struct cv_mpi_settings *settings,
                                        enum cv_mpi_policy *policy, bool *verbose,
                                        struct cleave_error *err);

#endif
