/* comm_state.c -- what is kept with a communicator between reductions.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/comm_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "mpi/memory/mpi_try.h"

static int fill(struct cv_comm_state *state, MPI_Comm comm)
{
    state->users = comm;
    state->comm = MPI_COMM_NULL;
    state->broken = MPI_SUCCESS;
    state->costs.agreeing = state->chooser.agreeing = MPI_REQUEST_NULL;
    state->checked_op = MPI_OP_NULL;
    state->checked_type = MPI_DATATYPE_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &state->rank));
    return PMPI_Comm_size(comm, &state->size);
}

int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out)
{
    struct cv_comm_state *state = calloc(1, sizeof *state);
    int code;

    if (state == NULL)
        return MPI_ERR_NO_MEM;
    state->settings = *settings;
    code = fill(state, comm);
    if (code != MPI_SUCCESS) {
        cv_comm_state_free(state);
        return code;
    }
    *out = state;
    return MPI_SUCCESS;
}

/* MPI_Comm_dup would call the functions that programs keep with their attributes, each time. */
static int copy_of(MPI_Comm users, MPI_Comm *out)
{
    MPI_Group group;
    int code;

    CV_MPI_TRY(PMPI_Comm_group(users, &group));
    code = PMPI_Comm_create(users, group, out);
    PMPI_Group_free(&group);
    return code;
}

/* That none is left is not the program's error, which its handler would take it for. */
int cv_comm_state_open(struct cv_comm_state *state)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler theirs;
    int code;

    if (state->comm != MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_get_errhandler(state->users, &theirs));
    CV_MPI_TRY(PMPI_Comm_set_errhandler(state->users, MPI_ERRORS_RETURN));
    code = copy_of(state->users, &copy);
    PMPI_Comm_set_errhandler(state->users, theirs);
    PMPI_Errhandler_free(&theirs);
    if (code != MPI_SUCCESS)
        return code;
    state->comm = copy;
    return PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
}

void cv_comm_state_close(struct cv_comm_state *state)
{
    if (state->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&state->comm);
}

int cv_comm_state_board(struct cv_comm_state *state)
{
    if (state->atomics.made)
        return MPI_SUCCESS;
    return cv_atomic_words_make(&state->atomics, state->comm, state->size + 1,
                                !state->settings.window);
}

/* Collective, since windows are: MPI calls it where the communicator is freed. */
void cv_comm_state_free(struct cv_comm_state *state)
{
    if (state->costs.agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&state->costs.agreeing, MPI_STATUS_IGNORE);
    if (state->replanning != NULL)
        state->free_replanning(state->replanning);
    if (state->cluster != NULL)
        state->free_cluster(state->cluster);
    cv_chooser_free(&state->chooser);
    cv_atomic_words_free(&state->atomics);
    cv_shared_vectors_free(&state->vectors);
    cv_tree_plan_free(&state->plan);
    free(state->costs.rank_s);
    cv_scratch_free(&state->whole);
    cv_scratch_free(&state->berths);
    cv_scratch_free(&state->parted);
    cv_comm_state_close(state);
    free(state);
}

/* --- what a process keeps for all its communicators -------------------------------- */

/* MPI hands out a key once per process, so this is state that is not reached through a
 * communicator; but for what preload.c is told at the start, there is no other. It is made
 * at the first use and given back when MPI deletes the attributes of MPI_COMM_SELF, the
 * first thing MPI_Finalize does. Teams that are left then are closed in the order in which
 * they were made: closing is collective, and the order that did not block when they were
 * made does not block then. */

enum { MOST_PLACES = 128 };

static struct {
    pthread_mutex_t lock;
    atomic_bool open; /* set last: who sees it may read key and self */
    int key, closing_key;
    MPI_Comm self;                /* a copy of MPI_COMM_SELF that returns its errors */
    struct cv_comm_state *oldest; /* owned; linked by their `next`                   */
    int error_class;              /* our own; 0: not made                            */
    atomic_uint closed;           /* teams, so far                                   */
    atomic_int pending;           /* reductions that have begun and not ended        */
    atomic_int places;            /* of teams that may have a communicator           */
    struct cv_mpi_settings defaults;
    void (*told)(const struct cv_comm_state *state);
} home = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The team that this thread asked for last: looking up an attribute takes longer than all
 * else that a call of "auto" does before it is handed on. Good as long as no team has
 * been closed since, because the name of its communicator may be given to another one. */
static _Thread_local struct {
    MPI_Comm comm;
    struct cv_comm_state *state; /* NULL: none yet */
    unsigned closed;
} recent;

/* Whether it was there. */
static bool unlink_team(const struct cv_comm_state *state)
{
    bool found = false;

    pthread_mutex_lock(&home.lock);
    for (struct cv_comm_state **at = &home.oldest; *at != NULL; at = &(*at)->next)
        if (*at == state) {
            *at = state->next;
            found = true;
            atomic_fetch_sub(&home.places, state->placed ? 1 : 0);
            atomic_fetch_add(&home.closed, 1);
            break;
        }
    pthread_mutex_unlock(&home.lock);
    return found;
}

/* MPI_Comm_free calls this on all ranks of the communicator. */
static int forget_team(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    if (!unlink_team(value))
        return MPI_SUCCESS;
    if (home.told != NULL)
        home.told(value);
    cv_comm_state_free(value);
    return MPI_SUCCESS;
}

static int close_home(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    while (home.oldest != NULL) {
        struct cv_comm_state *state = home.oldest;

        /* Not every MPI library calls back here. */
        PMPI_Comm_delete_attr(state->users, home.key);
        if (home.oldest == state)
            forget_team(state->users, home.key, state, NULL);
    }
    PMPI_Comm_free_keyval(&home.key);
    PMPI_Comm_free(&home.self);
    atomic_store_explicit(&home.open, false, memory_order_release);
    home.error_class = 0;
    return MPI_SUCCESS;
}

static int open_home(void)
{
    int code = MPI_SUCCESS;

    pthread_mutex_lock(&home.lock);
    if (atomic_load_explicit(&home.open, memory_order_relaxed))
        goto out;
    code = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_team, &home.key, NULL);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_home,
                                       &home.closing_key, NULL);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_dup(MPI_COMM_SELF, &home.self);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_set_errhandler(home.self, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_set_attr(MPI_COMM_SELF, home.closing_key, NULL);
    if (code == MPI_SUCCESS) {
        /* The attribute keeps the key alive until it is deleted. */
        PMPI_Comm_free_keyval(&home.closing_key);
        atomic_store_explicit(&home.open, true, memory_order_release);
    }
out:
    pthread_mutex_unlock(&home.lock);
    return code;
}

bool cv_mpi_process_has_world(void)
{
    int begun = 0, over = 0;

    return PMPI_Initialized(&begun) == MPI_SUCCESS && begun &&
           PMPI_Finalized(&over) == MPI_SUCCESS && !over;
}

unsigned cv_mpi_process_closed(void)
{
    return atomic_load_explicit(&home.closed, memory_order_acquire);
}

struct cv_comm_state *cv_mpi_process_find(MPI_Comm comm)
{
    unsigned closed = cv_mpi_process_closed();
    void *state = NULL;
    int found = 0;

    if (recent.state != NULL && recent.comm == comm && recent.closed == closed)
        return recent.state;
    /* Another thread may be opening it: then this communicator has no team yet. */
    if (!atomic_load_explicit(&home.open, memory_order_acquire) ||
        PMPI_Comm_get_attr(comm, home.key, &state, &found) != MPI_SUCCESS || !found)
        return NULL;
    recent.comm = comm;
    recent.state = state;
    recent.closed = closed;
    return state;
}

/* Keep a team with its communicator, to be closed when that one is freed or, at the
 * latest, when MPI is finalized. */
static int keep(struct cv_comm_state *state)
{
    int code = open_home();

    if (code == MPI_SUCCESS)
        code = PMPI_Comm_set_attr(state->users, home.key, state);
    if (code != MPI_SUCCESS)
        return code;
    pthread_mutex_lock(&home.lock);
    struct cv_comm_state **at = &home.oldest;
    while (*at != NULL)
        at = &(*at)->next;
    *at = state;
    pthread_mutex_unlock(&home.lock);
    return MPI_SUCCESS;
}

int cv_mpi_process_meet(MPI_Comm comm, struct cv_comm_state **out)
{
    struct cv_comm_state *state = cv_mpi_process_find(comm);

    if (state == NULL) {
        CV_MPI_TRY(cv_comm_state_new(comm, &home.defaults, &state));
        int code = keep(state);

        if (code != MPI_SUCCESS) {
            cv_comm_state_free(state);
            return code;
        }
    }
    *out = state;
    return MPI_SUCCESS;
}

void cv_mpi_process_pend(int change)
{
    atomic_fetch_add_explicit(&home.pending, change, memory_order_relaxed);
}

bool cv_mpi_process_pending(void)
{
    return atomic_load_explicit(&home.pending, memory_order_relaxed) != 0;
}

int cv_mpi_process_place(struct cv_comm_state *state, bool *out)
{
    int mine = atomic_load(&home.places) < MOST_PLACES, all = 0;

    if (state->comm == MPI_COMM_NULL && !state->request) {
        CV_MPI_TRY(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, state->users));
        state->request = true;
        state->placed = all != 0;
        if (state->placed)
            atomic_fetch_add(&home.places, 1);
    }
    *out = state->comm != MPI_COMM_NULL || state->placed;
    return MPI_SUCCESS;
}

struct cv_mpi_settings *cv_mpi_process_defaults(void)
{
    return &home.defaults;
}

void cv_mpi_process_on_close(void (*told)(const struct cv_comm_state *state))
{
    home.told = told;
}

/* The check comes before MPI_Reduce looks at the count. */
bool cv_mpi_process_allows(MPI_Op op, MPI_Datatype type)
{
    char in[1] = { 0 }, out[1] = { 0 };

    return open_home() == MPI_SUCCESS &&
           PMPI_Reduce(in, out, 0, type, op, 0, home.self) == MPI_SUCCESS;
}

int cv_mpi_process_error(const char *text)
{
    int code = MPI_ERR_OTHER;

    pthread_mutex_lock(&home.lock);
    if (home.error_class == 0 && PMPI_Add_error_class(&home.error_class) != MPI_SUCCESS)
        home.error_class = 0;
    if (home.error_class != 0 &&
        PMPI_Add_error_string(home.error_class, (char *)text) == MPI_SUCCESS)
        code = home.error_class;
    pthread_mutex_unlock(&home.lock);
    return code;
}

int cv_mpi_process_raise(MPI_Comm comm, int code)
{
    if (code != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, code);
    return code;
}
