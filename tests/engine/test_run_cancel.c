/* test_run_cancel.c -- runs that their caller stops. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cleave/execute.h>

static char input[64];
static const char line[] = "one line\n";
enum { LENGTH = sizeof line - 1 };

/* Runs of several threads, each with its own request to stop. */
struct thread {
    pthread_t id;
    struct cleave_cancel *cancel;
    enum cleave_status status;
    bool same_mask;
};

static void *sleep_for_long(void *context)
{
    static const char *const command[] = { "sleep", "600", NULL };
    const char *const files[] = { input };
    struct thread *thread = context;
    const struct cleave_execution request = { .command = command,
                                              .input = { .files = files, .count = 1 },
                                              .output = { .descriptor = 1,
                                                          .name = "out" },
                                              .workers.count = 2,
                                              .cancel = thread->cancel };
    struct cleave_execution_result *result = NULL;
    sigset_t before, after;

    pthread_sigmask(SIG_BLOCK, NULL, &before);
    thread->status = cleave_execute(&request, &result, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    thread->same_mask = true;
    for (int s = 1; s < SIGRTMIN; s++)
        thread->same_mask &= sigismember(&before, s) == sigismember(&after, s);
    cleave_execution_free(result);
    return NULL;
}

static struct thread threads[3];

static void cancel_second(int signal)
{
    (void)signal;
    /* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c): cleave_cancel is made for it. */
    errno = 7;
    cleave_cancel(threads[1].cancel);
    threads[1].same_mask = errno == 7;
    /* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */
}

static void runs_of_threads_are_stopped_one_by_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        threads[i] = (struct thread){ .status = CLEAVE_OK };
        assert_int_equal(cleave_cancel_new(&threads[i].cancel, NULL), CLEAVE_OK);
        assert_int_equal(pthread_create(&threads[i].id, NULL, sleep_for_long,
                                        &threads[i]),
                         0);
    }
    usleep(20000); /* some of them have begun, or not: no matter */
    cleave_cancel(threads[2].cancel);
    pthread_join(threads[2].id, NULL);
    assert_int_equal(threads[2].status, CLEAVE_ESTOPPED);
    assert_int_equal(pthread_tryjoin_np(threads[0].id, NULL), EBUSY);
    assert_int_equal(pthread_tryjoin_np(threads[1].id, NULL), EBUSY);
    signal(SIGUSR2, cancel_second);
    raise(SIGUSR2);
    signal(SIGUSR2, SIG_DFL);
    assert_true(threads[1].same_mask);
    pthread_join(threads[1].id, NULL);
    assert_int_equal(pthread_tryjoin_np(threads[0].id, NULL), EBUSY);
    cleave_cancel(threads[0].cancel);
    pthread_join(threads[0].id, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(threads[i].status, CLEAVE_ESTOPPED);
        assert_true(threads[i].same_mask);
        cleave_cancel_free(threads[i].cancel);
    }
}

static void a_cancelled_request_stops_later_runs(void **state)
{
    struct thread thread = { .status = CLEAVE_OK };

    (void)state;
    assert_int_equal(cleave_cancel_new(&thread.cancel, NULL), CLEAVE_OK);
    cleave_cancel(thread.cancel);
    for (int i = 0; i < 2; i++) {
        sleep_for_long(&thread);
        assert_int_equal(thread.status, CLEAVE_ESTOPPED);
    }
    cleave_cancel_free(thread.cancel);
    cleave_cancel_free(NULL);
    cleave_cancel(NULL);
}

/* A signal of the caller is neither read nor taken for a reason to stop. */
static void signals_are_the_callers(void **state)
{
    static const char *const command[] = { "cat", NULL };
    const char *const files[] = { input };
    const int sink = memfd_create("sink", MFD_CLOEXEC);
    const struct cleave_execution request = { .command = command,
                                              .input = { .files = files, .count = 1 },
                                              .output = { .descriptor = sink,
                                                          .name = "sink" },
                                              .workers.count = 2 };
    struct cleave_execution_result *result = NULL;
    sigset_t set, before, pending;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    raise(SIGTERM);
    assert_int_equal(cleave_execute(&request, &result, NULL), CLEAVE_OK);
    assert_int_equal(lseek(sink, 0, SEEK_END), LENGTH);
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGTERM), 1);
    assert_int_equal(sigwaitinfo(&set, NULL), SIGTERM);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    cleave_execution_free(result);
    close(sink);
}

/* --- a program that is killed ------------------------------------------------------------- */

static bool is_child(pid_t parent, const char *name)
{
    char path[64], children[256] = "", comm[32];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    file = fopen(path, "r");
    if (file == NULL || fgets(children, sizeof children, file) == NULL)
        children[0] = '\0';
    if (file != NULL)
        fclose(file);
    for (char *child = strtok(children, " "); child != NULL; child = strtok(NULL, " ")) {
        snprintf(path, sizeof path, "/proc/%.20s/comm", child);
        file = fopen(path, "r");
        if (file != NULL && fgets(comm, sizeof comm, file) != NULL &&
            strncmp(comm, name, strlen(name)) == 0) {
            fclose(file);
            return true;
        }
        if (file != NULL)
            fclose(file);
    }
    return false;
}

/* The command holds the pipe as long as it runs. */
static void commands_end_with_the_program(void **state)
{
    enum { TRIES = 4000, WAIT_MS = 20000 };
    struct thread thread = { .cancel = NULL };
    struct pollfd end;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        sleep_for_long(&thread);
        _exit(0);
    }
    close(ends[1]);
    for (int i = 0;
         i < TRIES && !(is_child(child, "cleave-guard") && is_child(child, "sleep")); i++)
        usleep(5000);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    end = (struct pollfd){ .fd = ends[0], .events = POLLIN };
    assert_int_equal(poll(&end, 1, WAIT_MS), 1);
    assert_true((end.revents & POLLHUP) != 0);
    close(ends[0]);
}

static int write_input(void **state)
{
    int fd;

    (void)state;
    snprintf(input, sizeof input, "/tmp/cleave-cancel-XXXXXX");
    fd = mkstemp(input);
    if (fd < 0 || write(fd, line, LENGTH) != LENGTH)
        return 1;
    return close(fd);
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_threads_are_stopped_one_by_one),
        cmocka_unit_test(a_cancelled_request_stops_later_runs),
        cmocka_unit_test(signals_are_the_callers),
        cmocka_unit_test(commands_end_with_the_program),
    };

    return cmocka_run_group_tests(tests, write_input, remove_input);
}
