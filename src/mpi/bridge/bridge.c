/* bridge.c -- links between the ranks of an MPI job, as channels.
 * SPDX-License-Identifier: MIT
 *
 * One thread owns all that is MPI, from the first call to the last. The caller gets the
 * other ends: channels of links, and of a socket pair for frames between workers. */
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
#include "run/common/nosignal_thread.h"

/* --- start MPI, cheaply where all ranks are on one machine ------------------------- */

/* On one machine MPI libraries take far longer to start than there is any need for. MPICH
 * lets ranks meet in shared memory again and again, where each keeps a core busy until all
 * are there: with more ranks than cores that is most of the time. Told to take every rank
 * for a machine of its own, it starts in less than half the time, and bytes still go
 * through shared memory, by way of UCX. Open MPI looks for networks that nobody here uses.
 * Both let hwloc look for graphics cards and other devices, for which it loads half of a
 * desktop. So the environment says what is not needed while MPI starts, and is put back
 * then, as commands see it, too; what the user has set stays as it is. */

/* --- the environment ---------------------------------------------------------------------- */

struct setting {
    const char *name, *value;
    const char *device; /* only if the name of the library has this; NULL: always       */
    const char *other;  /* another name by which the user may have set it; NULL: none   */
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

/* Whether the mpirun that has started the ranks says that all of them are on this machine;
 * it says the same to all. */
static bool on_one_machine(void)
{
    const char *all = getenv(counts[0]), *here = getenv(counts[1]);

    return all != NULL && here != NULL && strcmp(all, here) == 0;
}

/* Set what is not set; out[i] says whether setting i was. */
static void settle_environment(bool out[NSETTINGS])
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

/* --- what MPI has opened ------------------------------------------------------------------ */

/* Commands that are started later should not have it. And the words between MPI and its
 * mpirun are short: those over TCP would wait for each other, 40 ms each time, at the
 * end. */
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

/* Start MPI for the thread that calls, and see to what it has opened. */
static enum cleave_status bridge_start(struct cleave_error *err)
{
    bool set[NSETTINGS];
    int given, code;

    settle_environment(set);
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

/* --- links between the ranks of an MPI job, as channels ---------------------------- */

/* All slabs of links together; few ranks get large ones, many get smaller ones. */
static const size_t MEMORY = (size_t)64 << 20;
static const size_t LARGEST = (size_t)256 << 10, SMALLEST = (size_t)16 << 10;
enum { SOCKET_BUFFER = 1 << 20 };

/* --- what is known of the ranks ----------------------------------------------------------- */

/* What MPI says of a call: errors are returned, not fatal (begin_mpi). */
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
        request = MPI_REQUEST_NULL; /* nobody knows when it would end */
    given_back = MPI_Wait(&request, MPI_STATUS_IGNORE); /* at once: it is settled */
    return check(code == MPI_SUCCESS ? given_back : code,
                 "let ranks tell each other where they are", err);
}

_Static_assert(sizeof(cpu_set_t) == sizeof(struct cv_mpi_cpus), "as many processors");

static enum cleave_status describe_machine(struct cv_machine *out,
                                           struct cleave_error *err)
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
    return check(MPI_Get_processor_name(out->name, &length), "name this machine", err);
}

/* The first rank on the machine of rank r, of which all before it are known. */
static uint32_t first_there(const struct cv_bridge *bridge, uint32_t r)
{
    const struct cv_machine *own = &bridge->machines[r];

    for (uint32_t i = 0; i < r; i++)
        if (bridge->machine[i] == i && strcmp(bridge->machines[i].name, own->name) == 0 &&
            strcmp(bridge->machines[i].boot, own->boot) == 0)
            return i;
    return r;
}

/* Where every rank is. MPI would tell as well which ranks share memory, but by means that
 * keep cores busy while ranks wait for each other. */
static enum cleave_status learn_places(struct cv_bridge *bridge, struct cleave_error *err)
{
    const uint32_t size = bridge->open.size;
    struct cv_machine own;

    bridge->machines = calloc(size, sizeof *bridge->machines);
    bridge->hosts = calloc(size, sizeof *bridge->hosts);
    bridge->near = calloc(size, sizeof *bridge->near);
    bridge->machine = calloc(size, sizeof *bridge->machine);
    bridge->words = calloc(size, sizeof(const struct cv_mpi_words *));
    bridge->cpus = calloc(size, sizeof(const struct cv_mpi_cpus *));
    if (bridge->machines == NULL || bridge->hosts == NULL || bridge->near == NULL ||
        bridge->machine == NULL || bridge->words == NULL || bridge->cpus == NULL)
        return cv_fail_memory(err, "the names of hosts");
    CV_TRY(describe_machine(&own, err));
    own.words = bridge->own;
    CV_TRY(share(bridge->machines, &own, (int)sizeof own, bridge->comm, err));
    for (uint32_t r = 0; r < size; r++) {
        const struct cv_machine *other = &bridge->machines[r];

        bridge->hosts[r] = other->name;
        bridge->words[r] = &other->words;
        bridge->cpus[r] = &other->cpus;
        bridge->machine[r] = first_there(bridge, r);
        bridge->near[r] = bridge->machine[r] == 0;
    }
    bridge->open.machine = bridge->machine;
    bridge->open.cpus = bridge->cpus;
    bridge->open.hosts = bridge->hosts;
    bridge->open.near = bridge->near;
    bridge->open.words = bridge->words;
    return CLEAVE_OK;
}

/* --- lines -------------------------------------------------------------------------------- */

/* A socket pair: one end for the line, the other one for the caller. */
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

/* Bytes of a slab: the same on all ranks, or what one sends is too long for another. */
static size_t slab_room(uint32_t size)
{
    const size_t room = MEMORY / ((size_t)size * 2 * CV_BRIDGE_SLABS);

    return room > LARGEST ? LARGEST : room < SMALLEST ? SMALLEST : room;
}

/* Memory for all lines: slabs one behind the other. */
static enum cleave_status make_lines(struct cv_bridge *bridge, struct cleave_error *err)
{
    const uint32_t rank = bridge->open.rank, size = bridge->open.size;
    const uint32_t n = rank == 0 ? size - 1 : 2;
    const size_t requests = (size_t)n * 2 * CV_BRIDGE_SLABS, room = slab_room(size);
    size_t total = 0;
    unsigned char *next;

    bridge->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bridge->bell < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot open a link: %s", strerror(errno));
    bridge->lines = calloc(n + 1u, sizeof *bridge->lines);
    bridge->requests = calloc(requests + 1, sizeof *bridge->requests);
    bridge->statuses = calloc(requests + 1, sizeof *bridge->statuses);
    bridge->done = calloc(requests + 1, sizeof *bridge->done);
    bridge->sent = calloc(size, sizeof *bridge->sent);
    bridge->links = calloc(size, sizeof(struct cleave_channel *));
    if (bridge->lines == NULL || bridge->requests == NULL || bridge->statuses == NULL ||
        bridge->done == NULL || bridge->sent == NULL || bridge->links == NULL)
        return cv_fail_memory(err, "links");
    for (uint32_t i = 0; i < n; i++) {
        bridge->lines[i].fd = -1;
        bridge->lines[i].room =
            rank > 0 && i == 1 ? CV_BRIDGE_HEAD + CV_BRIDGE_MOST : room;
        total += (size_t)2 * CV_BRIDGE_SLABS * bridge->lines[i].room;
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

        for (unsigned k = 0; k < 2 * CV_BRIDGE_SLABS; k++) {
            rings[k / CV_BRIDGE_SLABS]->slabs[k % CV_BRIDGE_SLABS].bytes = next;
            next += line->room;
        }
        line->out.requests = bridge->requests + (size_t)i * 2 * CV_BRIDGE_SLABS;
        line->in.requests = line->out.requests + CV_BRIDGE_SLABS;
    }
    return CLEAVE_OK;
}

/* --- the thread --------------------------------------------------------------------------- */

static enum cleave_status begin_mpi(struct cv_bridge *bridge, struct cleave_error *err)
{
    int rank, size;

    CV_TRY(bridge_start(err));
    /* Nobody else in this process uses it, and a copy would have to be agreed on. */
    bridge->comm = MPI_COMM_WORLD;
    CV_TRY(check(MPI_Comm_set_errhandler(bridge->comm, MPI_ERRORS_RETURN),
                 "keep its errors from ending the program", err));
    CV_TRY(check(MPI_Comm_rank(bridge->comm, &rank), "tell the number of a rank", err));
    CV_TRY(
        check(MPI_Comm_size(bridge->comm, &size), "tell how many ranks there are", err));
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

/* End all ranks, once it is known how. */
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
        /* To end MPI in order would mean to wait for a rank that is not there. */
        if (bridge->open.rank == 0)
            abandon(bridge);
        return NULL;
    }
    MPI_Finalize();
    return NULL;
}

static void forget(struct cv_bridge *bridge)
{
    pthread_mutex_destroy(&bridge->lock);
    pthread_cond_destroy(&bridge->changed);
    for (uint32_t i = 0; i < bridge->nlines; i++)
        cv_bridge_end_close(&bridge->lines[i].end);
    if (bridge->bell >= 0)
        close(bridge->bell);
    free(bridge->lines);
    free(bridge->requests);
    free(bridge->statuses);
    free(bridge->done);
    free(bridge->sent);
    free(bridge->links);
    free(bridge->memory);
    free(bridge->machines);
    free(bridge->hosts);
    free(bridge->near);
    free(bridge->words);
    free(bridge->cpus);
    free(bridge->machine);
    free(bridge);
}

/* --- the calls ---------------------------------------------------------------------------- */

static enum cleave_status start_thread(struct cv_bridge *bridge, struct cleave_error *err)
{
    /* Signals are for the program that uses the bridge, and not for MPI's threads. */
    const int code = cv_nosignal_thread_create(&bridge->thread, NULL, run, bridge);

    if (code != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread: %s", strerror(code));
    return CLEAVE_OK;
}

static enum cleave_status open_bridge(const struct cv_mpi_words *own,
                                      struct cv_mpi_bridge **out,
                                      struct cleave_error *err)
{
    struct cv_bridge *bridge = calloc(1, sizeof *bridge);
    enum cleave_status status;
    bool failed;

    if (bridge == NULL)
        return cv_fail_memory(err, "the bridge to MPI");
    bridge->bell = -1;
    bridge->own = *own;
    pthread_mutex_init(&bridge->lock, NULL);
    pthread_cond_init(&bridge->changed, NULL);
    status = start_thread(bridge, err);
    if (status != CLEAVE_OK) {
        forget(bridge);
        return status;
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
    forget(bridge);
    return status;
}

static enum cleave_status close_bridge(struct cv_mpi_bridge *open, int exit_status,
                                       struct cleave_error *err)
{
    struct cv_bridge *bridge = (struct cv_bridge *)open; /* its first part */
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
    forget(bridge);
    return status;
}

__attribute__((visibility(
    "default"))) extern const struct cv_mpi_bridge_calls cleave_mpi_bridge_calls;
const struct cv_mpi_bridge_calls cleave_mpi_bridge_calls = {
    .version = CV_MPI_BRIDGE_VERSION,
    .open = open_bridge,
    .close = close_bridge,
};
