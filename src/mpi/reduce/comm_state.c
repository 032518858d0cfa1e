/* comm_state.c -- state of a communicator between reductions, and of the process.
 * SPDX-License-Identifier: MIT
 *
 * MPI gives out a key once per process, so this file has global state; preload.c has the
 * only other. It is made at the first use and freed when MPI deletes the attributes of
 * MPI_COMM_SELF, the first thing that MPI_Finalize does. States that exist then are freed
 * in the order of their creation: that is collective, and in this order creation did not
 * block. */
#include "mpi/reduce/comm_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out)
{
    struct cv_comm_state *state = calloc(1, sizeof *state);
    int code;

    if (state == NULL)
        return MPI_ERR_NO_MEM;
    state->settings = *settings;
    state->users = comm;
    state->comm = MPI_COMM_NULL;
    state->broken = MPI_SUCCESS;
    state->costs.agreeing = state->chooser.agreeing = MPI_REQUEST_NULL;
    state->checked_op = MPI_OP_NULL;
    state->checked_type = MPI_DATATYPE_NULL;
    code = PMPI_Comm_rank(comm, &state->rank);
    if (code == MPI_SUCCESS)
        code = PMPI_Comm_size(comm, &state->size);
    if (code != MPI_SUCCESS) {
        cv_comm_state_free(state);
        return code;
    }
    *out = state;
    return MPI_SUCCESS;
}

/* MPI_Comm_dup would call the copy functions of the program's attributes. */
static int copy_comm(MPI_Comm users, MPI_Comm *out)
{
    MPI_Group group;
    int code;

    CV_MPI_TRY(PMPI_Comm_group(users, &group));
    code = PMPI_Comm_create(users, group, out);
    PMPI_Group_free(&group);
    return code;
}

/* The error handler of the program must not see that no communicator is left. */
int cv_comm_state_open(struct cv_comm_state *state)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler theirs;
    int code;

    if (state->comm != MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_get_errhandler(state->users, &theirs));
    CV_MPI_TRY(PMPI_Comm_set_errhandler(state->users, MPI_ERRORS_RETURN));
    code = copy_comm(state->users, &copy);
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

int cv_comm_state_make_words(struct cv_comm_state *state)
{
    if (state->atomics.made)
        return MPI_SUCCESS;
    return cv_atomic_words_make(&state->atomics, state->comm, state->size + 1,
                                !state->settings.window);
}

void cv_shared_vectors_free(struct cv_shared_vectors *vectors)
{
    if (vectors->memory != NULL)
        cv_shared_memory_free(vectors->memory, vectors->bytes);
    *vectors = (struct cv_shared_vectors){ .number = vectors->number };
}

static void free_cluster(struct cv_cluster *cluster)
{
    if (cluster == NULL)
        return;
    cv_comm_state_free(cluster->inside);
    cv_comm_state_free(cluster->across);
    if (cluster->machine != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->machine);
    if (cluster->leaders != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->leaders);
    cv_scratch_free(&cluster->held);
    free(cluster->leader);
    free(cluster);
}

/* Collective, as windows are. */
void cv_comm_state_free(struct cv_comm_state *state)
{
    if (state == NULL)
        return;
    if (state->costs.agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&state->costs.agreeing, MPI_STATUS_IGNORE);
    cv_replanning_free(state->replanning);
    free_cluster(state->cluster);
    cv_chooser_free(&state->chooser);
    cv_atomic_words_free(&state->atomics);
    cv_shared_vectors_free(&state->vectors);
    cv_tree_plan_free(&state->plan);
    free(state->costs.rank_s);
    cv_scratch_free(&state->whole);
    cv_scratch_free(&state->recv_buffers);
    cv_scratch_free(&state->parted);
    cv_comm_state_close(state);
    free(state);
}

/* --- the process -------------------------------------------------------------------- */

enum { MOST_PLACES = 128 };

struct cv_mpi_process cv_mpi_process;

static struct {
    pthread_mutex_t lock;
    atomic_bool open; /* set last: if true, key and self can be read */
    int key, closing_key;
    MPI_Comm self;                /* a copy of MPI_COMM_SELF that returns errors     */
    struct cv_comm_state *oldest; /* owned; linked by their `next`                   */
    int error_class;              /* 0: not made                                     */
    atomic_int places;            /* states that may have a communicator             */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The last result of cv_mpi_process_find in this thread: finding an attribute takes
 * longer than all other work of a call of auto that is left to the MPI library. Valid
 * while no state has been freed: the handle of its communicator may be used again. */
static _Thread_local struct {
    MPI_Comm comm;
    struct cv_comm_state *state; /* NULL: none yet */
    unsigned closed;
} recent;

/* False: it is not in the list. */
static bool unlink_state(const struct cv_comm_state *state)
{
    bool found = false;

    pthread_mutex_lock(&process.lock);
    for (struct cv_comm_state **at = &process.oldest; *at != NULL; at = &(*at)->next)
        if (*at == state) {
            *at = state->next;
            found = true;
            atomic_fetch_sub(&process.places, state->placed ? 1 : 0);
            atomic_fetch_add(&cv_mpi_process.closed, 1);
            break;
        }
    pthread_mutex_unlock(&process.lock);
    return found;
}

/* MPI_Comm_free calls this on all ranks of the communicator. */
static int delete_state(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    if (!unlink_state(value))
        return MPI_SUCCESS;
    if (cv_mpi_process.report != NULL)
        cv_mpi_process.report(value);
    cv_comm_state_free(value);
    return MPI_SUCCESS;
}

static int close_process(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    while (process.oldest != NULL) {
        struct cv_comm_state *state = process.oldest;

        /* Not every MPI library calls delete_state. */
        PMPI_Comm_delete_attr(state->users, process.key);
        if (process.oldest == state)
            delete_state(state->users, process.key, state, NULL);
    }
    PMPI_Comm_free_keyval(&process.key);
    PMPI_Comm_free(&process.self);
    atomic_store_explicit(&process.open, false, memory_order_release);
    process.error_class = 0;
    return MPI_SUCCESS;
}

static int make_process(void)
{
    CV_MPI_TRY(
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_state, &process.key, NULL));
    CV_MPI_TRY(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_process,
                                       &process.closing_key, NULL));
    CV_MPI_TRY(PMPI_Comm_dup(MPI_COMM_SELF, &process.self));
    CV_MPI_TRY(PMPI_Comm_set_errhandler(process.self, MPI_ERRORS_RETURN));
    CV_MPI_TRY(PMPI_Comm_set_attr(MPI_COMM_SELF, process.closing_key, NULL));
    /* The attribute keeps the key alive until it is deleted. */
    PMPI_Comm_free_keyval(&process.closing_key);
    atomic_store_explicit(&process.open, true, memory_order_release);
    return MPI_SUCCESS;
}

static int open_process(void)
{
    int code = MPI_SUCCESS;

    pthread_mutex_lock(&process.lock);
    if (!atomic_load_explicit(&process.open, memory_order_relaxed))
        code = make_process();
    pthread_mutex_unlock(&process.lock);
    return code;
}

bool cv_mpi_process_has_world(void)
{
    int begun = 0, over = 0;

    return PMPI_Initialized(&begun) == MPI_SUCCESS && begun &&
           PMPI_Finalized(&over) == MPI_SUCCESS && !over;
}

struct cv_comm_state *cv_mpi_process_find(MPI_Comm comm)
{
    unsigned closed = atomic_load_explicit(&cv_mpi_process.closed, memory_order_acquire);
    void *state = NULL;
    int found = 0;

    if (recent.state != NULL && recent.comm == comm && recent.closed == closed)
        return recent.state;
    /* If another thread is opening it, this communicator has no state yet. */
    if (!atomic_load_explicit(&process.open, memory_order_acquire) ||
        PMPI_Comm_get_attr(comm, process.key, &state, &found) != MPI_SUCCESS || !found)
        return NULL;
    recent.comm = comm;
    recent.state = state;
    recent.closed = closed;
    return state;
}

/* Attach a state to its communicator. */
static int keep(struct cv_comm_state *state)
{
    int code = open_process();

    if (code == MPI_SUCCESS)
        code = PMPI_Comm_set_attr(state->users, process.key, state);
    if (code != MPI_SUCCESS)
        return code;
    pthread_mutex_lock(&process.lock);
    struct cv_comm_state **at = &process.oldest;
    while (*at != NULL)
        at = &(*at)->next;
    *at = state;
    pthread_mutex_unlock(&process.lock);
    return MPI_SUCCESS;
}

int cv_mpi_process_meet(MPI_Comm comm, struct cv_comm_state **out)
{
    struct cv_comm_state *state = cv_mpi_process_find(comm);

    if (state == NULL) {
        CV_MPI_TRY(cv_comm_state_new(comm, &cv_mpi_process.defaults, &state));
        int code = keep(state);

        if (code != MPI_SUCCESS) {
            cv_comm_state_free(state);
            return code;
        }
    }
    *out = state;
    return MPI_SUCCESS;
}

int cv_mpi_process_place(struct cv_comm_state *state, bool *out)
{
    int mine = atomic_load(&process.places) < MOST_PLACES, all = 0;

    if (state->comm == MPI_COMM_NULL && !state->request) {
        CV_MPI_TRY(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, state->users));
        state->request = true;
        state->placed = all != 0;
        if (state->placed)
            atomic_fetch_add(&process.places, 1);
    }
    *out = state->comm != MPI_COMM_NULL || state->placed;
    return MPI_SUCCESS;
}

/* MPI_Reduce checks this before it looks at the count. */
bool cv_mpi_process_allows(MPI_Op op, MPI_Datatype type)
{
    char in[1] = { 0 }, out[1] = { 0 };

    return open_process() == MPI_SUCCESS &&
           PMPI_Reduce(in, out, 0, type, op, 0, process.self) == MPI_SUCCESS;
}

int cv_mpi_process_error(const char *text)
{
    int code = MPI_ERR_OTHER;

    pthread_mutex_lock(&process.lock);
    if (process.error_class == 0 &&
        PMPI_Add_error_class(&process.error_class) != MPI_SUCCESS)
        process.error_class = 0;
    if (process.error_class != 0 &&
        PMPI_Add_error_string(process.error_class, (char *)text) == MPI_SUCCESS)
        code = process.error_class;
    pthread_mutex_unlock(&process.lock);
    return code;
}

int cv_mpi_process_raise(MPI_Comm comm, int code)
{
    if (code != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, code);
    return code;
}
