/* bridge_start.c -- start MPI, cheaply where all ranks are on one machine.
 * SPDX-License-Identifier: MIT
 *
 * On one machine MPI libraries take far longer to start than there is any need for. MPICH
 * lets ranks meet in shared memory again and again, where each keeps a core busy until all
 * are there: with more ranks than cores that is most of the time. Told to take every rank
 * for a machine of its own, it starts in less than half the time, and bytes still go
 * through shared memory, by way of UCX. Open MPI looks for networks that nobody here uses.
 * Both let hwloc look for graphics cards and other devices, for which it loads half of a
 * desktop. So the environment says what is not needed while MPI starts, and is put back
 * then, as commands see it, too; what the user has set stays as it is. */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_internal.h"

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

enum cleave_status cv_bridge_start(struct cleave_error *err)
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
