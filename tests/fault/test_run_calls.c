/* test_run_calls.c -- the n-th system call of a real run fails, or moves fewer bytes.
 * SPDX-License-Identifier: MIT
 *
 * run_fault.h describes the required result. The functions below precede the C library's
 * for everything in this program, SQLite too. Fault n is call n / 6; by the rest, it
 * fails once or from then on, with one of three errors that the call may have.
 * CLEAVE_FAULTS=all tries each of them, and CLEAVE_FAULT_CALL=epoll_ctl only one
 * function. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "fault/run_fault.h"

#if !defined(__GLIBC__)
int main(void)
{
    fprintf(stderr, "skipped: stands before the functions of glibc\n");
    return 77;
}
#else

enum { VARIANTS = 6, SHORT = -1, NEVER = -2 };

#ifdef __SANITIZE_ADDRESS__
enum { SOME = 3 };
#else
enum { SOME = 8 };
#endif

static atomic_long countdown = NEVER; /* until one fails                                */
static atomic_long calls;             /* that were made                                 */
static int variant;
static const char *only_call;   /* NULL: all count                                      */
static const char *failed_call; /* NULL: none yet                                       */
static const char *stays;       /* which one fails from now on; NULL: none              */
static char *told; /* shared between processes: the name of the failed call */

static void arm(long n)
{
    failed_call = stays = NULL;
    countdown = n / VARIANTS;
    variant = (int)(n % VARIANTS);
    calls = 0;
}

static bool disarm(void)
{
    countdown = NEVER;
    stays = NULL;
    return failed_call != NULL;
}

static const char *fault(void)
{
    return told;
}

static long kept_blocks(void)
{
    return 0;
}

/* Result for this call: 0, an error, or SHORT. */
static int fails(const char *name, int first, int second, int third)
{
    const int errors[] = { first, second, third };
    const int error = errors[variant % 3];

    if (countdown == NEVER || (only_call != NULL && strcmp(only_call, name) != 0))
        return 0;
    calls++;
    if (stays != NULL && strcmp(stays, name) == 0)
        return errno = error;
    if (countdown < 0 || atomic_fetch_sub(&countdown, 1) != 0)
        return 0;
    failed_call = name;
    snprintf(told, 32, "%s", name);
    /* SQLite waits long for locks that it cannot have. */
    if (variant >= 3 && error != EINTR && error != SHORT && strcmp(name, "fcntl64") != 0)
        stays = name;
    return errno = error;
}

/* --- the functions ---------------------------------------------------------------------- */

/* REAL(read)(...) comes from the C library. */
#define REAL(name) ((__typeof__(&(name)))real(#name))

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (function == NULL)
        abort();
    return function;
}

/* A call that moves bytes: the error, or fewer of them. */
#define MOVE(name, n, ...)                           \
    do {                                             \
        const int error = fails(#name, __VA_ARGS__); \
        if (error > 0)                               \
            return -1;                               \
        if (error == SHORT && (n) > 1)               \
            (n) /= 2;                                \
    } while (0)

#define FAIL(name, value, ...)              \
    do {                                    \
        if (fails(#name, __VA_ARGS__) != 0) \
            return value;                   \
    } while (0)

ssize_t read(int fd, void *bytes, size_t n)
{
    MOVE(read, n, EIO, EINTR, SHORT);
    return REAL(read)(fd, bytes, n);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    MOVE(write, n, EIO, EINTR, SHORT);
    return REAL(write)(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    MOVE(pread, n, EIO, EINTR, SHORT);
    return REAL(pread)(fd, bytes, n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    MOVE(pwrite, n, ENOSPC, EINTR, SHORT);
    return REAL(pwrite)(fd, bytes, n, at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at)
{
    MOVE(pread64, n, EIO, EINTR, SHORT);
    return REAL(pread64)(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    MOVE(pwrite64, n, ENOSPC, EINTR, SHORT);
    return REAL(pwrite64)(fd, bytes, n, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    MOVE(writev, n, EIO, EINTR, SHORT);
    return REAL(writev)(fd, parts, n);
}

ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
    MOVE(send, n, ECONNRESET, ENOMEM, SHORT);
    return REAL(send)(fd, bytes, n, flags);
}

ssize_t recv(int fd, void *bytes, size_t n, int flags)
{
    MOVE(recv, n, ECONNRESET, ENOMEM, SHORT);
    return REAL(recv)(fd, bytes, n, flags);
}

ssize_t splice(int from, off64_t *at, int to, off64_t *there, size_t n, unsigned flags)
{
    MOVE(splice, n, ENOMEM, EINVAL, SHORT);
    return REAL(splice)(from, at, to, there, n, flags);
}

ssize_t vmsplice(int fd, const struct iovec *parts, size_t n, unsigned flags)
{
    MOVE(vmsplice, n, ENOMEM, EINTR, SHORT);
    return REAL(vmsplice)(fd, parts, n, flags);
}

ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
    MOVE(sendfile, n, EIO, EINTR, SHORT);
    return REAL(sendfile)(to, from, at, n);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t n,
                        unsigned flags)
{
    MOVE(copy_file_range, n, EIO, ENOSPC, SHORT);
    return REAL(copy_file_range)(from, at, to, there, n, flags);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    FAIL(open, -1, EMFILE, EACCES, EIO);
    return REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    FAIL(open64, -1, EMFILE, EACCES, EIO);
    return REAL(open64)(path, flags, mode);
}

/* It is closed in any case. */
int close(int fd)
{
    const int closed = REAL(close)(fd);

    FAIL(close, -1, EIO, EINTR, ENOSPC);
    return closed;
}

int pipe2(int ends[2], int flags)
{
    FAIL(pipe2, -1, EMFILE, ENFILE, EMFILE);
    return REAL(pipe2)(ends, flags);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    FAIL(socketpair, -1, EMFILE, ENFILE, ENOMEM);
    return REAL(socketpair)(domain, type, protocol, ends);
}

int memfd_create(const char *name, unsigned flags)
{
    FAIL(memfd_create, -1, EMFILE, ENOMEM, ENFILE);
    return REAL(memfd_create)(name, flags);
}

int mkostemp(char *pattern, int flags)
{
    FAIL(mkostemp, -1, EMFILE, EACCES, ENOSPC);
    return REAL(mkostemp)(pattern, flags);
}

int epoll_create1(int flags)
{
    FAIL(epoll_create1, -1, EMFILE, ENFILE, ENOMEM);
    return REAL(epoll_create1)(flags);
}

int epoll_ctl(int poller, int what, int fd, struct epoll_event *event)
{
    if (what == EPOLL_CTL_ADD) /* no other call can run out of anything */
        FAIL(epoll_ctl, -1, ENOMEM, ENOSPC, ENOMEM);
    return REAL(epoll_ctl)(poller, what, fd, event);
}

int epoll_wait(int poller, struct epoll_event *events, int max, int timeout)
{
    FAIL(epoll_wait, -1, EINTR, EINVAL, EINTR);
    return REAL(epoll_wait)(poller, events, max, timeout);
}

int epoll_pwait2(int poller, struct epoll_event *events, int max,
                 const struct timespec *timeout, const sigset_t *mask)
{
    FAIL(epoll_pwait2, -1, EINTR, EINVAL, ENOSYS);
    return REAL(epoll_pwait2)(poller, events, max, timeout, mask);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    FAIL(poll, -1, EINTR, ENOMEM, EINVAL);
    return REAL(poll)(fds, n, timeout);
}

int eventfd(unsigned count, int flags)
{
    FAIL(eventfd, -1, EMFILE, ENFILE, ENOMEM);
    return REAL(eventfd)(count, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*work)(void *context), void *context)
{
    FAIL(pthread_create, EAGAIN, EAGAIN, EAGAIN, EAGAIN);
    return REAL(pthread_create)(thread, attributes, work, context);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
    FAIL(signalfd, -1, EMFILE, ENFILE, ENOMEM);
    return REAL(signalfd)(fd, mask, flags);
}

void *mmap(void *at, size_t n, int rights, int flags, int fd, off_t offset)
{
    FAIL(mmap, MAP_FAILED, ENOMEM, EACCES, EAGAIN);
    return REAL(mmap)(at, n, rights, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int rights, int flags, int fd, off64_t offset)
{
    FAIL(mmap64, MAP_FAILED, ENOMEM, EACCES, EAGAIN);
    return REAL(mmap64)(at, n, rights, flags, fd, offset);
}

int ftruncate(int fd, off_t size)
{
    FAIL(ftruncate, -1, EIO, ENOSPC, EINTR);
    return REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    FAIL(ftruncate64, -1, EIO, ENOSPC, EINTR);
    return REAL(ftruncate64)(fd, size);
}

int fsync(int fd)
{
    FAIL(fsync, -1, EIO, ENOSPC, EIO);
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    FAIL(fdatasync, -1, EIO, ENOSPC, EIO);
    return REAL(fdatasync)(fd);
}

int unlink(const char *path)
{
    FAIL(unlink, -1, EACCES, EIO, EBUSY);
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to)
{
    FAIL(rename, -1, EACCES, ENOSPC, EIO);
    return REAL(rename)(from, to);
}

int fstat(int fd, struct stat *facts)
{
    FAIL(fstat, -1, EIO, ENOMEM, EIO);
    return REAL(fstat)(fd, facts);
}

int stat(const char *path, struct stat *facts)
{
    FAIL(stat, -1, EACCES, ENOMEM, EIO);
    return REAL(stat)(path, facts);
}

off_t lseek(int fd, off_t at, int from)
{
    FAIL(lseek, -1, EIO, EINVAL, EIO);
    return REAL(lseek)(fd, at, from);
}

int fcntl(int fd, int what, ...)
{
    va_list more;
    void *argument;

    va_start(more, what);
    argument = va_arg(more, void *);
    va_end(more);
    if (what == F_SETPIPE_SZ)
        FAIL(fcntl, -1, EPERM, ENOMEM, EBUSY);
    else if (what == F_DUPFD_CLOEXEC)
        FAIL(fcntl, -1, EMFILE, EMFILE, EMFILE);
    else if (what == F_OFD_SETLK)
        FAIL(fcntl, -1, ENOLCK, EIO, EAGAIN);
    return REAL(fcntl)(fd, what, argument);
}

int fcntl64(int fd, int what, ...)
{
    va_list more;
    void *argument;

    va_start(more, what);
    argument = va_arg(more, void *);
    va_end(more);
    /* Only locks on the file itself: SQLite waits for the locks of its log for 10 s. */
    if (what == F_SETLK && ((const struct flock *)argument)->l_type != F_UNLCK &&
        ((const struct flock *)argument)->l_start > 1000)
        FAIL(fcntl64, -1, ENOLCK, EIO, EAGAIN);
    return REAL(fcntl64)(fd, what, argument);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[],
                char *const environment[])
{
    FAIL(posix_spawn, errno, EAGAIN, ENOMEM, EMFILE);
    return REAL(posix_spawn)(pid, path, actions, attributes, words, environment);
}

/* As pidfd_open and the like, which have no function. */
long syscall(long number, ...)
{
    va_list more;
    long a[6];

    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long); // NOLINT(clang-analyzer-valist.Uninitialized): it is
    va_end(more);
    if (number == SYS_pidfd_open)
        FAIL(pidfd_open, -1, EMFILE, ENOMEM, ENFILE);
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --- trials ----------------------------------------------------------------------------- */

static long how_many(const struct scenario *scenario)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;

    if (scenario->there)
        return 150L * VARIANTS;
    if (scenario->stream)
        writer();
    remove_journal();
    if (scenario->resume)
        copy_file(paths[IMAGE], paths[JOURNAL]);
    (void)execute(scenario, scenario->resume, (1L << 40) * VARIANTS, &result, &err);
    disarm();
    cleave_execution_free(result);
    return calls * VARIANTS;
}

static void try_known(const struct scenario *scenario, int *out_bad)
{
    static const struct {
        const char *name, *call;
        long n;
    } known[] = { { "hosts", "epoll_ctl", 3L * VARIANTS },
                  { "persistent", "read", 3 },
                  { "persistent", "read", VARIANTS + 3 } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(scenario->name, known[i].name) == 0) {
            only_call = known[i].call;
            (void)try_one(scenario, known[i].n, out_bad);
            only_call = NULL;
        }
}

int main(int argc, char **argv)
{
    (void)argv;
    only_call = getenv("CLEAVE_FAULT_CALL");
    told = mmap(NULL, 32, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return argc > 1 ? serve() : try_all(SOME);
}

#endif
