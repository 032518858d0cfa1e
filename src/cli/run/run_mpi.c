/* run_mpi.c -- cleave run among the ranks of an MPI job. SPDX-License-Identifier: MIT */
#include "cli/run/run_parts.h"

#include <dlfcn.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/run/lead_command.h"
#include "model/platform/generate.h"
#include "run/common/process.h"
#include "run/hosts/leader_spec.h"
#include "run/worker/worker_fold.h"

/* The hash is FNV-1a with 64 bits. */
static void mpi_words_make(struct cv_mpi_words *out, char *const *words, size_t count)
{
    memset(out, 0, sizeof *out); /* it is sent as bytes */
    out->count = count;
    out->hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(words[i]) + 1;
        const size_t left = sizeof out->text - (size_t)out->length;
        const size_t some = length < left ? length : left;

        for (size_t k = 0; k < length; k++)
            out->hash =
                (out->hash ^ (unsigned char)words[i][k]) * UINT64_C(0x100000001B3);
        memcpy(out->text + out->length, words[i], some);
        out->length += some;
    }
}

/* The next word of a text that may be cut; false: none. */
static bool next_word(const struct cv_mpi_words *words, size_t *at, const char **out,
                      size_t *out_length)
{
    const size_t left = (size_t)words->length - *at;
    const char *end;

    if (left == 0)
        return false;
    *out = words->text + *at;
    end = memchr(*out, '\0', left);
    *out_length = end != NULL ? (size_t)(end - *out) : left;
    *at += end != NULL ? *out_length + 1 : left;
    return true;
}

/* Compare words by their hash; `out` describes the first difference. */
static bool mpi_words_differ(const struct cv_mpi_words *first,
                             const struct cv_mpi_words *other, char *out, size_t size)
{
    size_t at[2] = { 0, 0 }, lengths[2], number = 1;
    const char *words[2];
    char shown[2][80];

    if (first->count == other->count && first->hash == other->hash)
        return false;
    while (next_word(first, &at[0], &words[0], &lengths[0]) &&
           next_word(other, &at[1], &words[1], &lengths[1])) {
        if (lengths[0] != lengths[1] || memcmp(words[0], words[1], lengths[0]) != 0) {
            snprintf(out, size, "word %zu after 'run' is '%s' and not '%s'", number,
                     cv_shown(words[1], lengths[1], shown[1], sizeof shown[1]),
                     cv_shown(words[0], lengths[0], shown[0], sizeof shown[0]));
            return true;
        }
        number++;
    }
    if (first->count != other->count)
        snprintf(out, size, "there are %llu words after 'run' and not %llu",
                 (unsigned long long)other->count, (unsigned long long)first->count);
    else
        snprintf(out, size, "the words after 'run' are equal up to word %zu", number - 1);
    return true;
}

/* An MPI library, and the package to install. */
struct flavour {
    const char *name, *title;
    const char *rank; /* variable of its mpirun with the rank */
    const char *package;
};

static const struct flavour flavours[] = {
    { "openmpi", "Open MPI", "OMPI_COMM_WORLD_RANK", "libopenmpi-dev" },
    { "mpich", "MPICH", "PMI_RANK", "libmpich-dev" },
    { "openmpi", "Open MPI", "PMIX_RANK", "libopenmpi-dev" }, /* srun --mpi=pmix */
};

enum { NFLAVOURS = sizeof flavours / sizeof *flavours };

/* Libraries relative to this program: in a build, and installed. */
static const char *const places[] = {
    "lib/%s/libcleave-mpi.so",
    "../lib/cleave/%s/libcleave-mpi.so",
    "../lib/*/cleave/%s/libcleave-mpi.so",
    "../lib64/cleave/%s/libcleave-mpi.so",
};

/* The number that mpirun has given to this process; -1: it was not started by one. */
static int rank_by_name(void)
{
    for (size_t i = 0; i < NFLAVOURS; i++) {
        const char *text = getenv(flavours[i].rank);

        if (text != NULL && text[0] >= '0' && text[0] <= '9')
            return (int)strtol(text, NULL, 10);
    }
    return -1;
}

static const struct flavour *find_flavour(const char *library)
{
    for (size_t i = 0; i < NFLAVOURS; i++)
        if (library != NULL ? strcmp(library, flavours[i].name) == 0
                            : getenv(flavours[i].rank) != NULL)
            return &flavours[i];
    return NULL;
}

/* The first file that matches a place; "": none. */
static void find_library(const char *name, char *out, size_t size)
{
    const char *given = getenv("CLEAVE_MPI_LIBRARY");
    char program[3072] = "", pattern[4096];
    char *slash;

    snprintf(out, size, "%s", given != NULL ? given : "");
    if (given != NULL || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        glob_t found;
        int length =
            snprintf(pattern, sizeof pattern, "%.*s/", (int)(slash - program), program);

        snprintf(pattern + length, sizeof pattern - (size_t)length, places[i], name);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        snprintf(out, size, "%s", found.gl_pathv[0]);
        globfree(&found);
        return;
    }
}

enum {
    ALONE_MS = 1000, /* for rank 0 to print an error of all ranks */
    READ_MS = 100,   /* for mpirun to read a message */
};

/* An error that all ranks meet is printed by rank 0. */
#define TELL(rank, code, ...) ((rank) == 0 ? cv_print_error(code, __VA_ARGS__) : (code))

static enum cleave_status load(const struct flavour *flavour, struct cv_run_mpi *out,
                               struct cleave_error *err)
{
    char path[4096];

    find_library(flavour->name, path, sizeof path);
    if (path[0] == '\0')
        return cv_fail(err, CLEAVE_EENGINE,
                       "this cleave was built without %s: install %s and build it again, "
                       "or set CLEAVE_MPI_LIBRARY to the path of lib/%s/libcleave-mpi.so",
                       flavour->title, flavour->package, flavour->name);
    /* MPI loads parts later that need its symbols. */
    out->module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (out->module == NULL)
        return cv_fail(err, CLEAVE_EENGINE, "cannot load the library for %s: %s",
                       flavour->title, dlerror());
    out->calls = dlsym(out->module, CV_MPI_BRIDGE_SYMBOL);
    if (out->calls == NULL || out->calls->version != CV_MPI_BRIDGE_VERSION)
        return cv_fail(err, CLEAVE_EENGINE, "%.200s is of another version of cleave",
                       path);
    return CLEAVE_OK;
}

/* A rank with other words would do other work. All ranks come to the same result. */
static int check_words(const struct cv_mpi_bridge *bridge)
{
    char what[250];

    for (uint32_t r = 1; r < bridge->size; r++)
        if (mpi_words_differ(&bridge->ranks[0].words, &bridge->ranks[r].words, what,
                             sizeof what))
            return TELL(
                bridge->rank, CV_EXIT_USAGE,
                "--mpi: expected the same words on all ranks, got others on rank %u: %s",
                r, what);
    return CV_EXIT_DONE;
}

/* A rank that exits before MPI_Init is not noticed by the mpirun of MPICH, and the
 * others wait forever: abort them by PMI. The mpirun of Open MPI uses the exit status. */
static void end_all(const struct flavour *flavour, int status)
{
    const char *text = getenv("PMI_FD");
    char word[64];
    ssize_t put;
    int length;

    if (strcmp(flavour->name, "mpich") != 0 || text == NULL || text[0] < '0' ||
        text[0] > '9')
        return;
    (void)poll(NULL, 0, READ_MS);
    length = snprintf(word, sizeof word, "cmd=abort exitcode=%d\n", status);
    put = write((int)strtol(text, NULL, 10), word, (size_t)length);
    (void)put;
}

void cv_run_mpi_refused(int count, char *const *words, int status)
{
    const struct flavour *flavour = find_flavour(NULL);
    int i = 0;

    while (i < count && strcmp(words[i], "--mpi") != 0 && strcmp(words[i], "--") != 0)
        i++;
    if (flavour != NULL && i < count && strcmp(words[i], "--mpi") == 0)
        end_all(flavour, status);
}

/* Print why MPI does not work. mpirun ends the other ranks with rank 0: a rank that is
 * left after a moment has its own error. */
static int tell_why(const struct flavour *flavour, int rank,
                    const struct cleave_error *err)
{
    if (rank == 0) {
        cv_print_note("--mpi: %s", err->text);
    } else {
        (void)poll(NULL, 0, ALONE_MS);
        cv_print_note("--mpi: rank %d: %s", rank, err->text);
    }
    end_all(flavour, CV_EXIT_ENGINE);
    return CV_EXIT_ENGINE;
}

/* Commands end with a rank that is killed. fork() is safe only before MPI_Init. */
static struct cv_guard *make_guard(int rank)
{
    struct cv_guard *guard = NULL;
    struct cleave_error err;
    enum cleave_status status = cv_guard_new(&guard, &err);

    if (status == CLEAVE_OK)
        status = cv_guard_begin(guard, &err);
    if (status == CLEAVE_OK)
        return guard;
    cv_guard_free(guard);
    cv_print_note("--mpi: commands of rank %d will continue if it is killed: %s", rank,
                  err.text);
    return NULL;
}

int cv_run_mpi_open(const struct cv_call *call, const char *library,
                    struct cv_run_mpi *out)
{
    const int rank = rank_by_name();
    const struct flavour *flavour = find_flavour(library);
    struct cv_mpi_words own;
    struct cleave_error err;

    *out = (struct cv_run_mpi){ .module = NULL };
    if (library != NULL && flavour == NULL)
        return TELL(rank > 0 ? rank : 0, CV_EXIT_USAGE,
                    "--mpi-library: expected openmpi or mpich, got '%s'", library);
    if (rank < 0 || flavour == NULL)
        return TELL(cv_run_slurm_task(), CV_EXIT_USAGE,
                    "--mpi: this process was not started by mpirun: expected mpirun -n 9 "
                    "cleave run --mpi ... -- COMMAND; under Slurm, srun --mpi=pmix (Open "
                    "MPI) or srun --mpi=pmi2 (MPICH), or without MPI cleave run --slurm");
    out->guard = rank > 0 ? make_guard(rank) : NULL;
    if (load(flavour, out, &err) != CLEAVE_OK)
        return tell_why(flavour, rank, &err);
    mpi_words_make(&own, call->words, (size_t)call->nwords);
    if (out->calls->open(&own, &out->bridge, &err) != CLEAVE_OK)
        return tell_why(flavour, rank, &err);
    if (out->bridge->size > 1)
        return check_words(out->bridge);
    /* Two MPIs that do not know each other start jobs of one rank. */
    return cv_refuse("--mpi: expected 2 ranks or more, got 1%s",
                     rank == 0 ? ""
                               : ": was it started by the mpirun of another MPI? Select "
                                 "with --mpi-library openmpi or mpich");
}

int cv_run_mpi_close(struct cv_run_mpi *mpi, int status)
{
    struct cleave_error err;
    struct cv_mpi_bridge *bridge = mpi->bridge;
    uint32_t rank;

    cv_guard_free(mpi->guard); /* no command runs now */
    if (bridge == NULL)
        return status;
    rank = bridge->rank;
    for (uint32_t r = 0; r < bridge->size; r++)
        if (bridge->links[r] != NULL)
            bridge->links[r]->calls->end(bridge->links[r]);
    if (bridge->peers >= 0)
        close(bridge->peers);
    fflush(stdout);
    if (mpi->calls->close(bridge, status, &err) == CLEAVE_OK)
        return rank == 0 ? status : CV_EXIT_DONE;
    /* mpirun may end rank 0 before it can print why. */
    if (rank > 0)
        return cv_print_error(CV_EXIT_FAILED, "--mpi: rank %u: %s", rank, err.text);
    return status == CV_EXIT_DONE ? cv_print_error(CV_EXIT_FAILED, "--mpi: %s", err.text)
                                  : status;
}

/* The leader of each rank: itself, unless --leaders is given. */
static int find_leaders(const struct cv_mpi_bridge *bridge, const char *leaders,
                        struct cv_arena *arena, uint32_t **out)
{
    struct cleave_error err;
    uint32_t max = 1;

    *out = cv_array(arena, bridge->size, sizeof **out);
    if (*out == NULL)
        return cv_no_memory("the workers");
    if ((leaders != NULL && cv_rank_groups_read(leaders, &max, &err) != CLEAVE_OK) ||
        cv_rank_groups_make(bridge->machine, bridge->size, max, *out, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

/* A leader uses the processors of the ranks it leads: a launcher may have bound each
 * rank to some. */
static void take_processors(const struct cv_mpi_bridge *bridge, const uint32_t *leader)
{
    cpu_set_t all;
    unsigned char *bits = (unsigned char *)&all;

    CPU_ZERO(&all);
    for (uint32_t r = 1; r < bridge->size; r++)
        for (size_t i = 0; leader[r] == bridge->rank && i < sizeof all; i++)
            bits[i] |= bridge->ranks[r].cpus.bits[i];
    if (CPU_COUNT(&all) > 0)
        (void)sched_setaffinity(0, sizeof all, &all); /* on failure it keeps its own */
}

/* Words for the run of a leader: its name, and its number of workers. */
static const char *const *lead_words(const struct cv_call *call, uint32_t rank,
                                     uint32_t slots)
{
    struct cv_reach reach = { .ssh = NULL };
    struct cv_words words = { .arena = call->arena };

    if (cv_reach_lead(&reach, call) != CV_EXIT_DONE)
        return NULL;
    cv_words_add(&words, "--as");
    cv_words_add(&words, cv_arena_print(call->arena, "rank%u", rank));
    cv_words_add(&words, "--sshlogin");
    cv_words_add(&words, cv_arena_print(call->arena, "%u/rank%u", slots, rank));
    for (size_t i = 0; reach.lead[i] != NULL; i++)
        cv_words_add(&words, reach.lead[i]);
    return cv_words_done(&words);
}

/* Wait until rank 0 ends the run. */
static void await_end(struct cleave_channel *link)
{
    struct pollfd events = { .fd = link->fd, .events = POLLIN };
    bool ended = false;
    size_t length;

    while (!ended) {
        const unsigned char *bytes = link->calls->peek(link, &length, &ended);

        if (bytes != NULL)
            link->calls->done(link);
        else if (!ended && poll(&events, 1, -1) > 0)
            link->calls->heed(link);
    }
}

static void serve(const struct cv_run_mpi *mpi, const char *const *lead)
{
    struct cv_worker_options options = {
        .in = -1, .out = -1, .channel = mpi->bridge->links[0], .lent = mpi->guard
    };
    struct cleave_error err;

    cv_lead_by(&options, lead);
    /* The status of rank 0 counts, and it prints the error. */
    (void)cv_worker_fold_serve(&options, mpi->bridge->peers, &err);
}

int cv_run_mpi_serve(const struct cv_run_mpi *mpi, const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    const struct cv_mpi_bridge *bridge = mpi->bridge;
    const char *const *lead = NULL;
    uint32_t *leader, slots;

    /* Rank 0 prints the error. */
    if (values->leaders != NULL &&
        cv_rank_groups_read(values->leaders, &slots, NULL) != CLEAVE_OK)
        return CV_EXIT_DONE;
    if (find_leaders(bridge, values->leaders, call->arena, &leader) != CV_EXIT_DONE)
        return CV_EXIT_DONE;
    slots = cv_rank_group_size(leader, bridge->size, bridge->rank);
    if (slots == 0) {
        await_end(bridge->links[0]);
        return CV_EXIT_DONE;
    }
    if (slots > 1) {
        take_processors(bridge, leader);
        lead = lead_words(call, bridge->rank, slots);
        if (lead == NULL)
            return CV_EXIT_DONE;
    }
    serve(mpi, lead);
    return CV_EXIT_DONE;
}

static const char *name_rank(const struct cv_mpi_bridge *bridge, uint32_t rank,
                             struct cv_arena *arena)
{
    return cv_arena_print(arena, "%s:%u", bridge->ranks[rank].host, rank);
}

/* The names of the ranks that `rank` leads; NULL: no memory. */
static const char *const *name_led(const struct cv_mpi_bridge *bridge,
                                   const uint32_t *leader, uint32_t rank,
                                   struct cv_arena *arena)
{
    struct cv_words names = { .arena = arena };

    for (uint32_t r = rank + 1; r < bridge->size; r++)
        if (leader[r] == rank)
            cv_words_add(&names, name_rank(bridge, r, arena));
    return cv_words_done(&names);
}

int cv_run_mpi_crew(const struct cv_run_mpi *mpi, const char *leaders,
                    struct cv_arena *arena, struct cv_worker_list *out)
{
    const struct cv_mpi_bridge *bridge = mpi->bridge;
    struct cv_words names = { .arena = arena };
    uint32_t *leader;
    const int status = find_leaders(bridge, leaders, arena, &leader);

    *out = (struct cv_worker_list){ 0 };
    if (status != CV_EXIT_DONE)
        return status;
    for (uint32_t r = 1; r < bridge->size; r++)
        if (leader[r] == r)
            cv_words_add(&names, name_rank(bridge, r, arena));
    out->hosts = cv_array(arena, names.count, sizeof *out->hosts);
    out->behind = cv_array(arena, names.count, sizeof *out->behind);
    if (out->hosts == NULL || out->behind == NULL || names.failed)
        return cv_no_memory("the workers");
    CV_CALL(cv_nominal_platform(CV_NOMINAL_RANK, names.items, (uint32_t)names.count,
                                &out->platform, &err));
    for (uint32_t r = 1; r < bridge->size; r++) {
        const uint32_t i = (uint32_t)out->nhosts;

        if (leader[r] != r)
            continue;
        out->behind[i] = name_led(bridge, leader, r, arena);
        if (out->behind[i] == NULL)
            return cv_no_memory("the workers");
        out->hosts[out->nhosts++] = (struct cleave_host){
            .name = cleave_platform_worker_name(out->platform, i),
            .link = -1,
            .channel = bridge->links[r],
            .first = i,
            .slots = 1,
            .shared_input = bridge->machine[r] == 0,
            .leads = out->behind[i][0] != NULL,
            .peer = r,
        };
    }
    return CV_EXIT_DONE;
}
