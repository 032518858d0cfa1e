/* test_run_process.c -- start, watch and stop commands. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "run/common/process.h"
#include "plumbing_check.h"
#include "refuse_call.h"

/* All of it is tried three times: commands are waited for until they have begun, or not, or not on
 * a system without clone3. */
static struct cv_starter *starter; /* NULL: they are */
static int nowhere;                /* /dev/null */

static struct cv_process_files with_output(int out)
{
    return (struct cv_process_files){
        .in = nowhere, .out = out, .errors = -1, .extra = -1, .starter = starter
    };
}

/* A command with its output in a pipe. */
struct started {
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe out;
};

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void start(struct started *started, const char *const *words)
{
    struct cv_process_files files;

    must(cv_command_init(&started->command, NULL, words, &err));
    must(cv_pipe_open(&started->out, &err));
    files = with_output(started->out.write);
    must(cv_process_start(&started->process, &started->command, &files, NULL, &err));
    cv_close(&started->out.write);
}

/* Read until all writers have exited. */
static void read_output(struct started *started, char *out, size_t size)
{
    size_t length = 0;
    ssize_t got;

    while ((got = read(started->out.read, out + length, size - 1 - length)) > 0)
        length += (size_t)got;
    assert_int_equal(got, 0);
    out[length] = '\0';
}

static void wait_end(struct started *started)
{
    struct pollfd wait = { .fd = started->process.pidfd, .events = POLLIN };

    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_true(has_ended(started->process.pid));
}

static void finish(struct started *started)
{
    wait_end(started);
    assert_true(cv_process_reap(&started->process));
    assert_int_equal(started->process.pid, 0);
    assert_int_equal(started->process.pidfd, -1);
    cv_pipe_close(&started->out);
    cv_command_done(&started->command);
}

static void output_and_exit_code_come_back(void **state)
{
    const size_t before = open_descriptors();
    struct started started;
    char output[100];

    (void)state;
    start(&started, WORDS("sh", "-c", "cat; echo out; exit 7"));
    read_output(&started, output, sizeof output);
    assert_string_equal(output, "out\n");
    finish(&started);
    assert_int_equal(started.process.exit_code, 7);
    assert_int_equal(started.process.signal, 0);
    assert_true(started.process.usage.ru_maxrss > 0);
    assert_int_equal(open_descriptors(), before);
}

static void a_prefix_and_variables_reach_the_command(void **state)
{
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe out, in, extra;
    char output[200] = "";

    (void)state;
    must(cv_command_init(
        &command, WORDS("env", "FROM_PREFIX=1"),
        WORDS("sh", "-c", "echo $FROM_PREFIX $FIRST $SECOND; cat; cat <&3; echo e >&2"),
        &err));
    must(cv_command_set(&command, "FIRST", "old", &err));
    must(cv_command_set(&command, "SECOND", "b", &err));
    must(cv_command_set(&command, "FIRST", "a", &err));
    for (int i = 0; i < 40; i++) {
        char name[20];

        snprintf(name, sizeof name, "MANY_%d", i);
        must(cv_command_set(&command, name, name, &err));
    }
    must(cv_pipe_open(&in, &err));
    must(cv_pipe_open(&out, &err));
    must(cv_pipe_open(&extra, &err));
    assert_int_equal(write(in.write, "in\n", 3), 3);
    assert_int_equal(write(extra.write, "extra\n", 6), 6);
    cv_close(&in.write);
    cv_close(&extra.write);
    must(cv_process_start(&process, &command,
                          &(struct cv_process_files){ .in = in.read,
                                                      .out = out.write,
                                                      .errors = out.write,
                                                      .extra = extra.read,
                                                      .starter = starter },
                          NULL, &err));
    cv_close(&out.write);
    read_output(&(struct started){ .out = out }, output, sizeof output);
    assert_string_equal(output, "1 a b\nin\nextra\ne\n");
    cv_process_kill(&process);
    cv_pipe_close(&in);
    cv_pipe_close(&out);
    cv_pipe_close(&extra);
    cv_command_done(&command);
    assert_null(getenv("FIRST"));
}

static void assert_refused(const char *const *words, const char *text)
{
    struct cv_command command;
    struct cleave_error error;

    assert_int_equal(cv_command_init(&command, NULL, words, &error), CLEAVE_EINPUT);
    assert_string_equal(error.text, text);
    cv_command_done(&command);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    struct cv_command command;
    struct cv_process process;
    struct cleave_error error;
    char path[] = "/tmp/cleave-test-XXXXXX", text[200];
    const struct cv_process_files files = with_output(nowhere);
    const int fd = mkstemp(path);
    const size_t before = open_descriptors();

    (void)state;
    assert_refused(WORDS("no-such-program"),
                   "cannot run 'no-such-program': not found in PATH");
    assert_refused(WORDS("/no/such/program"),
                   "cannot run '/no/such/program': No such file or directory");
    assert_refused(WORDS("/tmp"), "cannot run '/tmp': Is a directory");
    assert_refused(WORDS(""), "cannot run '': the name is empty");
    assert_refused((const char *const[]){ NULL }, "expected a command, got none");
    snprintf(text, sizeof text,
             "cannot run '%s': Permission denied; if it is a script, chmod +x %s", path,
             path);
    assert_refused(WORDS(path), text);

    /* A program that disappears after it was found. */
    assert_int_equal(fchmod(fd, 0700), 0);
    must(cv_command_init(&command, NULL, WORDS(path), &err));
    assert_int_equal(unlink(path), 0);
    snprintf(text, sizeof text, "cannot run '%s': No such file or directory", path);
    if (starter == NULL) {
        assert_int_equal(cv_process_start(&process, &command, &files, NULL, &error),
                         CLEAVE_EINPUT);
    } else { /* it is known in the end */
        must(cv_process_start(&process, &command, &files, NULL, &err));
        wait_end(&(struct started){ .process = process });
        assert_true(cv_process_failed(&process, NULL));
        assert_true(cv_process_reap(&process));
        assert_int_equal(process.start_error, ENOENT);
        cv_command_fail_start(&command, process.start_error, &error);
    }
    assert_string_equal(error.text, text);
    assert_int_equal(process.pid, 0);
    cv_process_kill(&process);
    cv_command_done(&command);
    assert_int_equal(open_descriptors(), before);
    close(fd);
}

static void a_file_without_a_first_line_is_a_script(void **state)
{
    char path[] = "/tmp/cleave-test-XXXXXX", output[100];
    int fd = mkstemp(path);
    struct started started;

    (void)state;
    assert_int_equal(write(fd, "echo script $1\n", 15), 15);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    start(&started, WORDS(path, "word"));
    read_output(&started, output, sizeof output);
    assert_string_equal(output, "script word\n");
    finish(&started);
    assert_int_equal(started.process.exit_code, 0);
    unlink(path);
}

static void a_signal_differs_from_an_exit(void **state)
{
    struct started started;

    (void)state;
    start(&started, WORDS("sh", "-c", "kill -USR1 $$"));
    finish(&started);
    assert_int_equal(started.process.exit_code, -1);
    assert_int_equal(started.process.signal, SIGUSR1);
}

/* A write to a pipe without readers must end a command as in a shell, though SIGPIPE is
 * blocked and ignored here. */
static void a_command_dies_of_a_broken_pipe(void **state)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
    sigset_t broken, old;
    struct started started;

    (void)state;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigprocmask(SIG_BLOCK, &broken, &old);
    sigaction(SIGPIPE, &ignore, &before);
    start(&started, WORDS("yes"));
    cv_close(&started.out.read);
    finish(&started);
    assert_int_equal(started.process.signal, SIGPIPE);
    sigaction(SIGPIPE, &before, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void a_process_that_ignores_sigterm_is_killed(void **state)
{
    struct started started;
    char byte;

    (void)state;
    start(&started, WORDS("sh", "-c", "trap 'echo t' TERM; echo r; while :; do :; done"));
    assert_int_equal(read(started.out.read, &byte, 1), 1);
    assert_int_equal(read(started.out.read, &byte, 1), 1);
    cv_process_signal(&started.process, SIGTERM);
    assert_int_equal(read(started.out.read, &byte, 1), 1);
    assert_int_equal(byte, 't');
    assert_false(has_ended(started.process.pid));
    assert_false(cv_process_reap(&started.process));
    cv_process_signal(&started.process, SIGKILL);
    finish(&started);
    assert_int_equal(started.process.signal, SIGKILL);
}

static void a_stopped_command_can_be_ended(void **state)
{
    struct started started;
    char byte;

    (void)state;
    start(&started, WORDS("sh", "-c", "echo r; kill -STOP $$; sleep 1000"));
    assert_int_equal(read(started.out.read, &byte, 1), 1);
    cv_process_signal(&started.process, SIGTERM);
    finish(&started);
    assert_int_equal(started.process.signal, SIGTERM);
}

/* The command ends and leaves a child that keeps its output open. */
static void children_left_behind_are_stopped_too(void **state)
{
    struct started started;
    struct pollfd wait;
    char output[100];

    (void)state;
    start(&started, WORDS("sh", "-c", "sleep 1000 & echo out"));
    wait_end(&started);
    wait = (struct pollfd){ .fd = started.out.read, .events = POLLIN };
    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_int_equal(wait.revents & POLLHUP, 0);
    cv_process_signal(&started.process, SIGKILL);
    read_output(&started, output, sizeof output); /* ends: no writer is left */
    assert_string_equal(output, "out\n");
    finish(&started);
    assert_int_equal(started.process.exit_code, 0);
}

/* One is not listened to before that is asked for; its status is seen anyway. */
static void an_end_may_be_looked_for_instead(void **state)
{
    const size_t before = open_descriptors();

    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const ENDS[] = { "exit 0", "exit 3", "kill -9 $$", "read x" };
        static const int CODES[] = { 0, 3, -1, 1 };
        struct cv_pipe in, out;
        struct cv_process_files files;
        struct cv_command command;
        struct cv_process process;
        char byte;

        must(cv_pipe_open(&in, &err));
        must(cv_pipe_open(&out, &err));
        must(cv_command_init(&command, NULL, WORDS("sh", "-c", ENDS[i]), &err));
        files = with_output(out.write);
        files.in = in.read;
        files.late = true;
        must(cv_process_start(&process, &command, &files, NULL, &err));
        assert_int_equal(process.pidfd, -1);
        cv_close(&out.write);
        if (i == 3) {
            assert_false(cv_process_is_over(&process));
            assert_false(cv_process_failed(&process, NULL));
            cv_close(&in.write);
        }
        assert_int_equal(read(out.read, &byte, 1), 0);
        if (!cv_process_is_over(&process)) {
            struct pollfd wait = { .events = POLLIN };

            must(cv_process_listen(&process, &err));
            wait.fd = process.pidfd;
            assert_int_equal(poll(&wait, 1, -1), 1);
        }
        assert_true(cv_process_is_over(&process));
        assert_int_equal(cv_process_failed(&process, NULL), i > 0);
        assert_true(cv_process_reap(&process));
        assert_int_equal(process.exit_code, CODES[i]);
        cv_pipe_close(&in);
        cv_pipe_close(&out);
        cv_command_done(&command);
    }
    assert_int_equal(open_descriptors(), before);
}

static void killing_leaves_nothing(void **state)
{
    const size_t before = open_descriptors();
    struct started started;
    char output[100];

    (void)state;
    start(&started, WORDS("sh", "-c", "sleep 1000 & sleep 1000 | cat & wait"));
    cv_process_kill(&started.process); /* perhaps before it leads a group */
    assert_int_equal(started.process.signal, SIGKILL);
    read_output(&started, output, sizeof output);
    assert_string_equal(output, "");
    cv_process_kill(&started.process);
    cv_process_signal(&started.process, SIGTERM); /* no process: no effect */
    cv_pipe_close(&started.out);
    cv_command_done(&started.command);
    assert_int_equal(open_descriptors(), before);
}

/* Without 0, 1 and 2, pipes take their numbers; the command gets the right ends. */
static void standard_descriptors_may_be_closed(void **state)
{
    int kept[3];
    struct cv_pipe pipe;

    (void)state;
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
        close(i);
    }
    (void)cv_pipe_open(&pipe, NULL);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    assert_true(pipe.read > 2 && pipe.write > 2);
    assert_int_equal(fcntl(pipe.read, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(pipe.write, "x", 1), 1);
    cv_pipe_close(&pipe);
}

static void a_thousand_processes_leave_no_descriptors(void **state)
{
    const size_t before = open_descriptors();
    const struct cv_process_files files = with_output(nowhere);
    struct cv_command command;
    struct cv_process running[2] = { { .pid = 0 }, { .pid = 0 } };

    (void)state;
    must(cv_command_init(&command, NULL, WORDS("true"), &err));
    for (int i = 0; i < 1000; i++) {
        struct cv_process *process = &running[i % 2];

        if (process->pid > 0) {
            struct pollfd wait = { .fd = process->pidfd, .events = POLLIN };

            assert_int_equal(poll(&wait, 1, -1), 1);
            assert_true(cv_process_reap(process));
            assert_int_equal(process->exit_code, 0);
        }
        must(cv_process_start(process, &command, &files, NULL, &err));
    }
    cv_process_kill(&running[0]);
    cv_process_kill(&running[1]);
    cv_command_done(&command);
    assert_int_equal(open_descriptors(), before);
}

/* Table entries of children whose exec failed are reused after their result was queried,
 * and no sooner. */
static void a_thousand_failed_starts_are_all_told(void **state)
{
    const struct cv_process_files files = with_output(nowhere);
    struct cv_command command;
    struct cv_process many[100];
    char path[] = "/tmp/cleave-test-XXXXXX";
    const int fd = mkstemp(path);

    (void)state;
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    must(cv_command_init(&command, NULL, WORDS(path), &err));
    assert_int_equal(unlink(path), 0);
    for (int i = 0; starter != NULL && i < 1000; i++) {
        struct cv_process *process = &many[i % 40];

        if (i >= 40) {
            wait_end(&(struct started){ .process = *process });
            assert_true(cv_process_reap(process));
            assert_int_equal(process->start_error, ENOENT);
        }
        must(cv_process_start(process, &command, &files, NULL, &err));
    }
    for (int i = 0; starter != NULL && i < 40; i++)
        cv_process_kill(&many[i]);
    cv_command_done(&command);
}

/* More failures than may be in progress: none is forgotten before its query. */
static void unqueried_failed_starts_are_kept(void **state)
{
    enum { MANY = 100 };
    const struct cv_process_files files = with_output(nowhere);
    struct cv_command command;
    struct cv_process many[MANY];
    char path[] = "/tmp/cleave-test-XXXXXX";
    const int fd = mkstemp(path);
    int begun = 0, told = 0;

    (void)state;
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    must(cv_command_init(&command, NULL, WORDS(path), &err));
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < MANY; i++)
        if (cv_process_start(&many[begun], &command, &files, NULL, NULL) == CLEAVE_OK)
            begun++;
        else
            told++;
    for (int i = 0; i < begun; i++) {
        wait_end(&(struct started){ .process = many[i] });
        assert_true(cv_process_reap(&many[i]));
        told += many[i].start_error == ENOENT;
    }
    assert_int_equal(told, MANY);
    cv_command_done(&command);
}

static void no_handler(int signal)
{
    (void)signal;
}

/* Trace the process, tell so, and keep its result for a while when it has ended. */
static void trace(pid_t pid, int told)
{
    const struct timespec moment = { .tv_nsec = 100000000 };
    siginfo_t info;
    char answer = 'n';

    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
        answer = 'y';
    if (write(told, &answer, 1) != 1 || answer == 'n')
        _exit(1);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    nanosleep(&moment, NULL);
    _exit(waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

/* A debugger is notified of an end before us, and the owner of the descriptor has to
 * wait. */
static void a_traced_process_has_its_result_later(void **state)
{
    struct started started;
    struct cv_pipe told, go;
    struct pollfd end = { .events = POLLIN };
    char answer = 'n';
    pid_t tracer;
    int status;

    (void)state;
    must(cv_pipe_open(&told, &err));
    must(cv_pipe_open(&go, &err));
    must(cv_command_init(&started.command, NULL, WORDS("sh", "-c", "read x; exit 7"),
                         &err));
    must(cv_process_start(&started.process, &started.command,
                          &(struct cv_process_files){ .in = go.read,
                                                      .out = nowhere,
                                                      .errors = -1,
                                                      .extra = -1,
                                                      .starter = starter },
                          NULL, &err));
    tracer = fork();
    assert_true(tracer >= 0);
    if (tracer == 0) {
        cv_pipe_close(&go);
        trace(started.process.pid, told.write);
    }
    assert_int_equal(read(told.read, &answer, 1), 1);
    cv_pipe_close(&go); /* its end */
    end.fd = started.process.pidfd;
    assert_int_equal(poll(&end, 1, -1), 1);
    assert_true(cv_process_failed(&started.process, NULL));
    assert_true(cv_process_reap(&started.process));
    assert_int_equal(started.process.exit_code, 7);
    assert_int_equal(waitpid(tracer, &status, 0), tracer);
    assert_int_equal(status, answer == 'y' ? 0 : 256);
    if (answer == 'n')
        print_message("skipped: nobody may be traced here\n");
    cv_pipe_close(&told);
    cv_command_done(&started.command);
}

/* Handlers do not reach it; ignored signals and the mask do. */
static void signals_are_as_they_should_be(void **state)
{
    static const char SHOW[] = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/$$/status | tr -d '\\n'";
    struct sigaction handle = { .sa_handler = no_handler }, before, ignored;
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct started started;
    unsigned long long was_ignored;
    char output[200];

    (void)state;
    sigaction(SIGUSR2, &handle, &before);
    sigaction(SIGWINCH, &ignore, &ignored);
    /* sh itself catches nothing when it is not interactive */
    start(&started, WORDS("sh", "-c", SHOW));
    read_output(&started, output, sizeof output);
    finish(&started);
    sigaction(SIGUSR2, &before, NULL);
    sigaction(SIGWINCH, &ignored, NULL);
    assert_non_null(strstr(output, "SigBlk:\t0000000000000000"));
    assert_non_null(strstr(output, "SigIgn:\t"));
    was_ignored = strtoull(strstr(output, "SigIgn:\t") + 8, NULL, 16);
    assert_true((was_ignored >> (SIGWINCH - 1) & 1) == 1);
    assert_true((was_ignored >> (SIGPIPE - 1) & 1) == 0);
    /* A terminal does not stop it; and us as before. */
    assert_true((was_ignored >> (SIGTTIN - 1) & 1) == 1);
    assert_true((was_ignored >> (SIGTTOU - 1) & 1) == 1);
    sigaction(SIGTTIN, NULL, &ignored);
    assert_true(ignored.sa_handler == SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_code_come_back),
        cmocka_unit_test(a_prefix_and_variables_reach_the_command),
        cmocka_unit_test(a_command_that_is_not_there_is_named),
        cmocka_unit_test(a_file_without_a_first_line_is_a_script),
        cmocka_unit_test(a_signal_differs_from_an_exit),
        cmocka_unit_test(a_command_dies_of_a_broken_pipe),
        cmocka_unit_test(a_process_that_ignores_sigterm_is_killed),
        cmocka_unit_test(a_stopped_command_can_be_ended),
        cmocka_unit_test(children_left_behind_are_stopped_too),
        cmocka_unit_test(an_end_may_be_looked_for_instead),
        cmocka_unit_test(killing_leaves_nothing),
        cmocka_unit_test(standard_descriptors_may_be_closed),
        cmocka_unit_test(a_thousand_processes_leave_no_descriptors),
        cmocka_unit_test(a_thousand_failed_starts_are_all_told),
        cmocka_unit_test(unqueried_failed_starts_are_kept),
        cmocka_unit_test(a_traced_process_has_its_result_later),
        cmocka_unit_test(signals_are_as_they_should_be),
    };
    int failed;

    nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    failed = cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
    starter = cv_starter_new(2);
    if (starter != NULL)
        failed += cmocka_run_group_tests_name("not waiting", tests, NULL, NULL);
    cv_starter_free(starter);
    /* The last test, since the filter stays. */
    starter = cv_starter_new(2);
    if (starter != NULL && refuse_call(SYS_clone3, ENOSYS))
        failed +=
            cmocka_run_group_tests_name("not waiting, without clone3", tests, NULL, NULL);
    cv_starter_free(starter);
    return failed;
}
