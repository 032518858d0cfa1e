/* bridge.c -- links between the ranks of an MPI job, as channels.
 * SPDX-License-Identifier: MIT
 *
 * One thread makes all calls of MPI. The caller gets channels of links, and a socket for
 * frames between workers.
 *
 * If all ranks are on one machine, MPI libraries take longer to start than necessary.
 * MPICH lets ranks meet in shared memory, where each keeps a core busy until all have
 * arrived; told that every rank is on a separate machine, it starts in less than half the
 * time, and bytes still go through shared memory, by UCX. Open MPI looks for networks
 * that are not used. Both let hwloc look for graphics cards, for which it loads many
 * libraries. So environment variables are set while MPI starts and removed afterwards;
 * variables that the user has set are not changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/bridge/bridge_internal.h"
#include "run/common/threads.h"

/* --- starting MPI ------------------------------------------------------------------- */

struct setting {
    const char *name, *value;
    const char *device; /* only if the version of the library names this; NULL: always */
    const char *other;  /* another variable for the same; NULL: none                   */
};

#ifdef OPEN_MPI
static const char *const counts[] = { "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE" };
static const struct setting settings[] = {
    { "OMPI_MCA_pml", "ob1", NULL, NULL },
    { "OMPI_MCA_btl", "self,vader", NULL, NULL },
    { "OMPI_MCA_coll", "self,basic,libnbc", NULL, NULL },
    { "HWLOC_PLUGINS_PATH", "/nowhere", NULL, NULL },
    { "HWLOC_COMPONENTS", "no_os,stop", NULL, NULL },
};
#else
static const char *const counts[] = { "PMI_SIZE", "MPI_LOCALNRANKS" };
static const struct setting settings[] = {
    { "MPIR_CVAR_NOLOCAL", "1", "ch4:ucx", "MPICH_NOLOCAL" },
    { "UCX_TLS", "self,sm", "ch4:ucx", NULL },
    { "HWLOC_PLUGINS_PATH", "/nowhere", NULL, NULL },
    { "HWLOC_COMPONENTS", "no_os,stop", NULL, NULL },
};
#endif

enum { NSETTINGS = sizeof settings / sizeof *settings };

/* By variables that mpirun sets, the same on all ranks. */
static bool on_one_machine(void)
{
    const char *all = getenv(counts[0]), *here = getenv(counts[1]);

    return all != NULL && here != NULL && strcmp(all, here) == 0;
}

/* Set variables that are not set; out[i]: setting i was set here. */
static void set_environment(bool out[NSETTINGS])
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    const bool one = on_one_machine();

    MPI_Get_library_version(library, &length);
    for (int i = 0; i < NSETTINGS; i++) {
        const struct setting *s = &settings[i];

        out[i] = one && getenv(s->name) == NULL &&
                 (s->other == NULL || getenv(s->other) == NULL) &&
                 (s->device == NULL || strstr(library, s->device) != NULL) &&
                 setenv(s->name, s->value, 1) == 0;
    }
}

static void restore_environment(const bool set[NSETTINGS])
{
    for (int i = 0; i < NSETTINGS; i++)
        if (set[i])
            unsetenv(settings[i].name);
}

/* Commands that are started later must not inherit descriptors of MPI. And messages
 * between MPI and mpirun are short: over TCP they would wait for each other, 40 ms each
 * time, at the end. */
static void settle_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    const int on = 1;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd <= STDERR_FILENO)
            continue;
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (folder != NULL)
        closedir(folder);
}

static enum cleave_status start_mpi(struct cleave_error *err)
{
    bool set[NSETTINGS];
    int given, code;

    set_environment(set);
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    restore_environment(set);
    if (code != MPI_SUCCESS)
        return cv_fail(err, CLEAVE_EENGINE, "MPI could not be started");
    if (given < MPI_THREAD_FUNNELED)
        return cv_fail(err, CLEAVE_EENGINE,
                       "this MPI library does not let a program have threads");
    settle_descriptors();
    return CLEAVE_OK;
}

/* All buffers of links together; with few ranks they are larger. */
static const size_t MEMORY = (size_t)64 << 20;
static const size_t LARGEST = (size_t)256 << 10, SMALLEST = (size_t)16 << 10;
enum { SOCKET_BUFFER = 1 << 20 };

/* --- the ranks ---------------------------------------------------------------------- */

/* Errors of MPI are returned, not fatal (begin_mpi). */
static enum cleave_status check(int code, const char *what, struct cleave_error *err)
{
    return code == MPI_SUCCESS ? CLEAVE_OK
                               : cv_fail(err, CLEAVE_EENGINE, "MPI: cannot %s", what);
}

static enum cleave_status share(void *all, const void *own, int bytes, MPI_Comm comm,
                                struct cleave_error *err)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Iallgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, &request);
    int given_back;

    if (code == MPI_SUCCESS)
        code = cv_idle_wait_reset(&request);
    if (code != MPI_SUCCESS)
        request = MPI_REQUEST_NULL;                     /* may never complete */
    given_back = MPI_Wait(&request, MPI_STATUS_IGNORE); /* returns at once */
    return check(code == MPI_SUCCESS ? given_back : code,
                 "let ranks tell each other where they are", err);
}

_Static_assert(sizeof(cpu_set_t) == sizeof(struct cv_mpi_cpus), "as many processors");
_Static_assert(MPI_MAX_PROCESSOR_NAME <= sizeof((struct cv_mpi_rank *)NULL)->host,
               "room for the name");

static enum cleave_status describe_rank(struct cv_mpi_rank *out, struct cleave_error *err)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    cpu_set_t cpus;
    int length;

    memset(out, 0, sizeof *out);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        memcpy(out->cpus.bits, &cpus, sizeof cpus);
    if (fd >= 0) {
        if (read(fd, out->boot, sizeof out->boot - 1) < 0)
            out->boot[0] = '\0';
        close(fd);
    }
    return check(MPI_Get_processor_name(out->host, &length), "name this machine", err);
}

/* Find the machines of all ranks. MPI_Comm_split_type would keep cores busy while ranks
 * wait for each other. */
static enum cleave_status learn_places(struct cv_bridge *bridge, struct cleave_error *err)
{
    const uint32_t size = bridge->open.size;
    struct cv_mpi_rank own, *ranks;
    uint32_t *first;

    if (!CV_NEW(&bridge->arena, ranks, size) || !CV_NEW(&bridge->arena, first, size))
        return cv_fail_memory(err, "the names of hosts");
    CV_TRY(describe_rank(&own, err));
    own.words = bridge->own;
    CV_TRY(share(ranks, &own, (int)sizeof own, bridge->comm, err));
    for (uint32_t r = 0; r < size; r++) {
        uint32_t i = 0;

        while (i < r && (first[i] != i || strcmp(ranks[i].host, ranks[r].host) != 0 ||
                         strcmp(ranks[i].boot, ranks[r].boot) != 0))
            i++;
        first[r] = i;
    }
    bridge->open.ranks = ranks;
    bridge->open.machine = first;
    return CLEAVE_OK;
}

/* --- lines -------------------------------------------------------------------------- */

/* One end is for the line, the other for the caller. */
static enum cleave_status open_pair(struct cv_bridge_line *line, int *out,
                                    struct cleave_error *err)
{
    const int bytes = SOCKET_BUFFER;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot open a socket: %s", strerror(errno));
    for (int i = 0; i < 2; i++)
        (void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    line->fd = pair[0];
    *out = pair[1];
    return CLEAVE_OK;
}

static enum cleave_status open_lines(struct cv_bridge *bridge, struct cleave_error *err)
{
    for (uint32_t i = 0; i < bridge->nlines; i++) {
        struct cv_bridge_line *line = &bridge->lines[i];

        line->peers = bridge->open.rank > 0 && i == 1;
        line->rank = line->peers              ? MPI_ANY_SOURCE
                     : bridge->open.rank == 0 ? (int)i + 1
                                              : 0;
        if (line->peers) {
            CV_TRY(open_pair(line, &bridge->open.peers, err));
        } else {
            CV_TRY(cv_bridge_end_open(&line->end, &line->out, &line->in, line->room,
                                      bridge->bell, err));
            bridge->links[line->rank] = &line->end.channel;
        }
        CV_TRY(cv_bridge_line_listen(bridge, line, err));
    }
    return CLEAVE_OK;
}

/* Bytes of a buffer: the same on all ranks, or messages would be too long for the
 * receiver. */
static size_t buffer_room(uint32_t size)
{
    const size_t room = MEMORY / ((size_t)size * 2 * CV_BRIDGE_BUFFERS);

    return room > LARGEST ? LARGEST : room < SMALLEST ? SMALLEST : room;
}

static enum cleave_status make_lines(struct cv_bridge *bridge, struct cleave_error *err)
{
    const uint32_t rank = bridge->open.rank, size = bridge->open.size;
    const uint32_t n = rank == 0 ? size - 1 : 2;
    const size_t requests = (size_t)n * 2 * CV_BRIDGE_BUFFERS, room = buffer_room(size);
    size_t total = 0;
    unsigned char *next;

    bridge->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bridge->bell < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot open a link: %s", strerror(errno));
    if (!CV_NEW(&bridge->arena, bridge->lines, n) ||
        !CV_NEW(&bridge->arena, bridge->requests, requests) ||
        !CV_NEW(&bridge->arena, bridge->statuses, requests) ||
        !CV_NEW(&bridge->arena, bridge->done, requests) ||
        !CV_NEW(&bridge->arena, bridge->sent, size) ||
        !CV_NEW(&bridge->arena, bridge->links, size))
        return cv_fail_memory(err, "links");
    for (uint32_t i = 0; i < n; i++) {
        bridge->lines[i].fd = -1;
        bridge->lines[i].room =
            rank > 0 && i == 1 ? CV_BRIDGE_HEAD + CV_BRIDGE_MOST : room;
        total += (size_t)2 * CV_BRIDGE_BUFFERS * bridge->lines[i].room;
    }
    bridge->open.links = bridge->links;
    for (size_t i = 0; i < requests; i++)
        bridge->requests[i] = MPI_REQUEST_NULL;
    bridge->nlines = n;
    bridge->nrequests = (int)requests;
    bridge->memory = malloc(total + 1);
    if (bridge->memory == NULL)
        return cv_fail_memory(err, "links");
    next = bridge->memory;
    for (uint32_t i = 0; i < n; i++) {
        struct cv_bridge_line *line = &bridge->lines[i];
        struct cv_ring *rings[] = { &line->out, &line->in };

        for (unsigned k = 0; k < 2 * CV_BRIDGE_BUFFERS; k++) {
            rings[k / CV_BRIDGE_BUFFERS]->buffers[k % CV_BRIDGE_BUFFERS].bytes = next;
            next += line->room;
        }
        line->out.requests = bridge->requests + (size_t)i * 2 * CV_BRIDGE_BUFFERS;
        line->in.requests = line->out.requests + CV_BRIDGE_BUFFERS;
    }
    return CLEAVE_OK;
}

/* --- the thread --------------------------------------------------------------------- */

static enum cleave_status begin_mpi(struct cv_bridge *bridge, struct cleave_error *err)
{
    int rank, size;

    CV_TRY(start_mpi(err));
    /* Only the bridge uses it, and a copy would be collective. */
    bridge->comm = MPI_COMM_WORLD;
    CV_TRY(check(MPI_Comm_set_errhandler(bridge->comm, MPI_ERRORS_RETURN),
                 "keep its errors from ending the program", err));
    CV_TRY(check(MPI_Comm_rank(bridge->comm, &rank), "tell the number of a rank", err));
    CV_TRY(check(MPI_Comm_size(bridge->comm, &size), "print the number of ranks", err));
    bridge->open.rank = (uint32_t)rank;
    bridge->open.size = (uint32_t)size;
    bridge->open.peers = -1;
    CV_TRY(learn_places(bridge, err));
    CV_TRY(make_lines(bridge, err));
    return open_lines(bridge, err);
}

static void tell_started(struct cv_bridge *bridge, enum cleave_status status)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->started = true;
    bridge->refused = status != CLEAVE_OK;
    pthread_cond_signal(&bridge->changed);
    pthread_mutex_unlock(&bridge->lock);
}

/* Abort all ranks when the exit status is known. */
static void abandon(struct cv_bridge *bridge)
{
    int status;

    pthread_mutex_lock(&bridge->lock);
    while (!bridge->closing)
        pthread_cond_wait(&bridge->changed, &bridge->lock);
    status = bridge->exit_status;
    pthread_mutex_unlock(&bridge->lock);
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void *run(void *context)
{
    struct cv_bridge *bridge = context;
    enum cleave_status status = begin_mpi(bridge, &bridge->err);

    tell_started(bridge, status);
    if (status != CLEAVE_OK)
        return NULL;
    status = cv_bridge_move(bridge, &bridge->err);
    bridge->failed = status != CLEAVE_OK;
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (bridge->lines[i].fd >= 0)
            close(bridge->lines[i].fd);
    if (status != CLEAVE_OK) {
        /* MPI_Finalize would wait for a rank that has exited. */
        if (bridge->open.rank == 0)
            abandon(bridge);
        return NULL;
    }
    MPI_Finalize();
    return NULL;
}

static void free_bridge(struct cv_bridge *bridge)
{
    pthread_mutex_destroy(&bridge->lock);
    pthread_cond_destroy(&bridge->changed);
    for (uint32_t i = 0; i < bridge->nlines; i++)
        cv_bridge_end_close(&bridge->lines[i].end);
    if (bridge->bell >= 0)
        close(bridge->bell);
    free(bridge->memory);
    cv_arena_done(&bridge->arena);
    free(bridge);
}

/* --- calls -------------------------------------------------------------------------- */

static enum cleave_status open_bridge(const struct cv_mpi_words *own,
                                      struct cv_mpi_bridge **out,
                                      struct cleave_error *err)
{
    struct cv_bridge *bridge = calloc(1, sizeof *bridge);
    enum cleave_status status;
    bool failed;
    int code;

    if (bridge == NULL)
        return cv_fail_memory(err, "the bridge to MPI");
    bridge->bell = -1;
    bridge->own = *own;
    cv_arena_init(&bridge->arena);
    pthread_mutex_init(&bridge->lock, NULL);
    pthread_cond_init(&bridge->changed, NULL);
    code = cv_nosignal_thread_create(&bridge->thread, run, bridge);
    if (code != 0) {
        free_bridge(bridge);
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread: %s", strerror(code));
    }
    pthread_mutex_lock(&bridge->lock);
    while (!bridge->started)
        pthread_cond_wait(&bridge->changed, &bridge->lock);
    failed = bridge->refused;
    pthread_mutex_unlock(&bridge->lock);
    if (!failed) {
        *out = &bridge->open;
        return CLEAVE_OK;
    }
    pthread_join(bridge->thread, NULL);
    if (err != NULL)
        *err = bridge->err;
    status = bridge->err.status;
    free_bridge(bridge);
    return status;
}

static enum cleave_status close_bridge(struct cv_mpi_bridge *open, int exit_status,
                                       struct cleave_error *err)
{
    struct cv_bridge *bridge = (struct cv_bridge *)open;
    enum cleave_status status = CLEAVE_OK;

    pthread_mutex_lock(&bridge->lock);
    bridge->closing = true;
    bridge->exit_status = exit_status;
    pthread_cond_signal(&bridge->changed);
    pthread_mutex_unlock(&bridge->lock);
    pthread_join(bridge->thread, NULL);
    if (bridge->failed) {
        if (err != NULL)
            *err = bridge->err;
        status = bridge->err.status;
    }
    free_bridge(bridge);
    return status;
}

__attribute__((visibility(
    "default"))) extern const struct cv_mpi_bridge_calls cleave_mpi_bridge_calls;
const struct cv_mpi_bridge_calls cleave_mpi_bridge_calls = {
    .version = CV_MPI_BRIDGE_VERSION,
    .open = open_bridge,
    .close = close_bridge,
};
