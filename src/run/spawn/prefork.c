/* prefork.c -- children that wait for what they are to become. SPDX-License-Identifier: MIT */
#include "run/spawn/starter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/spawn/starter_internal.h"

#ifdef CV_KNOWN_MACHINE

enum {
    ENDED = 8, /* commands that have to end before, each start soon after the last  */
    CORES_TIMES = 2, /* with more commands for each core, cores are never idle anyway */
};

/* Put it where it belongs in the list; false: there are too many. */
static bool keep(struct cv_starter *starter, int fd)
{
    size_t at = starter->nkept;

    if (at == CV_KEPT)
        return false;
    for (; at > 0 && starter->kept[at - 1] > fd; at--)
        starter->kept[at] = starter->kept[at - 1];
    starter->kept[at] = fd;
    starter->nkept++;
    return true;
}

/* Find the descriptors that commands inherit. False: they cannot be told. */
static bool list_kept(struct cv_starter *starter)
{
    DIR *folder = opendir("/proc/self/fd");
    bool ok = folder != NULL;
    struct dirent *entry;

    while (ok && (entry = readdir(folder)) != NULL) {
        const int fd = (int)strtol(entry->d_name, NULL, 10);
        const int flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            ok = keep(starter, fd);
    }
    if (folder != NULL)
        closedir(folder);
    starter->listed = true;
    starter->own = getpid();
    return ok;
}

static bool is_worth_it(const struct cv_starter *starter)
{
    return starter->request && !starter->direct && !starter->refused && !starter->old &&
           starter->nahead < CV_AHEAD && starter->nahead < starter->alive &&
           starter->alive <= (size_t)CORES_TIMES * starter->cores &&
           starter->streak >= starter->alive + ENDED;
}

/* A child with nothing to read and a pipe for its output. NULL: there is no room for it. */
static struct cv_start *begin_ahead(struct cv_starter *starter, int nothing)
{
    struct cv_start *start = cv_starter_find_free(starter);
    int ends[2];

    if (start == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    start->what = (struct cv_starting){ .files = { nothing, ends[1], -1, -1 } };
    start->out = ends[0];
    atomic_store(&start->waits, false);
    atomic_store(&start->told, 0);
    cv_start_clear(start);
    start->pid =
        ends[0] > 2 && ends[1] > 2 ? cv_start_begin(start, cv_child_wait_and_become) : -1;
    close(ends[1]);
    if (start->pid > 0)
        return start;
    close(start->out);
    start->out = -1;
    start->pid = 0;
    atomic_store(&start->shares, 0);
    return NULL;
}

bool cv_starter_prepare(struct cv_starter *starter, int nothing)
{
    struct cv_start *start;

    if (!is_worth_it(starter))
        return false;
    if (!starter->listed && !list_kept(starter)) {
        starter->direct = true;
        return false;
    }
    start = begin_ahead(starter, nothing);
    if (start == NULL) { /* what there is room for is for commands */
        starter->direct = true;
        cv_starter_leave_all(starter);
        return false;
    }
    starter->ahead[starter->nahead++] = start;
    return true;
}

double cv_starter_rest(struct cv_starter *starter)
{
    if (starter->nahead == 0)
        return -1;
    if (cv_starter_now_s() < starter->last_s + CV_SOON_S)
        return CV_SOON_S;
    cv_starter_leave_all(starter);
    starter->streak = 0;
    return -1;
}

/* Those that came to nothing, or were killed. */
static void drop_ended(struct cv_starter *starter)
{
    size_t left = 0;

    for (size_t i = 0; i < starter->nahead; i++) {
        struct cv_start *start = starter->ahead[i];

        if (atomic_load(&start->shares) != 0) {
            starter->ahead[left++] = start;
            continue;
        }
        starter->direct = starter->direct || atomic_load(&start->error) != 0;
        cv_start_reap(start);
    }
    starter->nahead = left;
}

struct cv_start *cv_starter_take(struct cv_starter *starter, int *out)
{
    starter->request = true;
    if (starter->nahead > 0)
        drop_ended(starter);
    for (size_t i = 0; i < starter->nahead; i++) {
        struct cv_start *start = starter->ahead[i];

        if (!atomic_load(&start->waits))
            continue;
        starter->ahead[i] = starter->ahead[--starter->nahead];
        *out = start->out;
        start->out = -1;
        return start;
    }
    return NULL;
}

pid_t cv_starter_go(struct cv_start *start, const struct cv_starting *what)
{
    start->what = *what;
    cv_starter_count(start->starter);
    atomic_store(&start->told, 1);
    syscall(SYS_futex, &start->told, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return start->pid;
}

#else /* another machine */

bool cv_starter_prepare(struct cv_starter *starter, int nothing)
{
    (void)starter;
    (void)nothing;
    return false;
}

double cv_starter_rest(struct cv_starter *starter)
{
    (void)starter;
    return -1;
}

struct cv_start *cv_starter_take(struct cv_starter *starter, int *out)
{
    (void)starter;
    (void)out;
    return NULL;
}

pid_t cv_starter_go(struct cv_start *start, const struct cv_starting *what)
{
    (void)start;
    (void)what;
    return -1;
}

#endif
