/* test_run_prefork.c -- children that wait for the command that they are to become.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "run/common/process.h"
#include "plumbing_check.h"
#include "refuse_call.h"

enum { TRIES = 100000 };

static struct cv_starter *starter;
static int nowhere;               /* /dev/null */
static struct cv_command nothing; /* true */
static struct cv_command patient; /* reads what never comes */
static struct cv_process waits;   /* ... held open as long as a process has to live */
static struct cv_pipe never;

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void begin(struct cv_process *process, const struct cv_command *command, int in,
                  int out, struct cv_start *ahead)
{
    must(cv_process_start(process, command,
                          &(struct cv_process_files){ .in = in,
                                                      .out = out,
                                                      .errors = -1,
                                                      .extra = -1,
                                                      .starter = starter,
                                                      .ahead = ahead },
                          NULL, &err));
}

static void end(struct cv_process *process)
{
    struct pollfd wait = { .fd = process->pidfd, .events = POLLIN };

    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_true(cv_process_reap(process));
}

static void nap(void)
{
    poll(NULL, 0, 1);
}

/* Start commands until one more child is made ahead: on a busy machine they may not come soon
 * enough after one another. */
static bool prepare(int tries)
{
    while (tries-- > 0) {
        struct cv_process process;

        if (cv_starter_prepare(starter, nowhere))
            return true;
        begin(&process, &nothing, nowhere, nowhere, NULL);
        end(&process);
    }
    return false;
}

/* A prestarted process, and the end of its output. */
static struct cv_start *take(int *out)
{
    struct cv_start *start = NULL;

    assert_true(prepare(TRIES));
    for (int i = 0; i < TRIES && (start = cv_starter_take(starter, out)) == NULL; i++)
        nap();
    assert_non_null(start);
    return start;
}

/* One command is running, and no process is made ahead before the first request. */
static void begin_starter(void)
{
    int out;

    starter = cv_starter_new(2);
    begin(&waits, &patient, never.read, nowhere, NULL);
    assert_false(prepare(20));
    assert_null(cv_starter_take(starter, &out));
}

static int set_up(void **state)
{
    (void)state;
    must(cv_pipe_open(&never, &err));
    begin_starter();
    return 0;
}

/* Prestarted processes exit with their starter. */
static int tear_down(void **state)
{
    (void)state;
    cv_process_kill(&waits);
    cv_pipe_close(&never);
    cv_starter_free(starter);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}

static void read_all(int fd, char *out, size_t size)
{
    size_t length = 0;
    ssize_t got;

    while ((got = read(fd, out + length, size - 1 - length)) > 0)
        length += (size_t)got;
    assert_int_equal(got, 0);
    out[length] = '\0';
    close(fd);
}

/* Its descriptors, signals and group, and its input. */
static const char show[] =
    "ls /proc/self/fd; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; cat; echo $0; "
    "set -- $(cat /proc/$$/stat); [ $5 = $$ ] && echo leads; exit 3";

static void it_is_as_any_other(void **state)
{
    const int inherited = dup2(nowhere, 20);
    struct cv_command command;
    struct cv_process process;
    struct cv_start *ahead;
    struct cv_pipe out;
    char direct[1000], waited[1000];
    int end_of_output;

    (void)state;
    assert_int_equal(inherited, 20);
    must(cv_command_init(&command, NULL, WORDS("sh", "-c", show, "given"), &err));
    must(cv_pipe_open(&out, &err));
    begin(&process, &command, nowhere, out.write, NULL);
    cv_close(&out.write);
    read_all(out.read, direct, sizeof direct);
    end(&process);
    assert_non_null(strstr(direct, "\n20\n"));
    assert_non_null(strstr(direct, "given\nleads\n"));

    ahead = take(&end_of_output);
    begin(&process, &command, -1, -1, ahead);
    read_all(end_of_output, waited, sizeof waited);
    end(&process);
    assert_int_equal(process.exit_code, 3);
    assert_string_equal(waited, direct);
    cv_command_done(&command);
    close(inherited);
}

/* A reader of that pipe would wait as long as the child does. */
static void it_holds_nothing_of_others(void **state)
{
    struct cv_start *ahead;
    struct cv_pipe other;
    char byte;
    int out;

    (void)state;
    must(cv_pipe_open(&other, &err));
    assert_true(cv_never_wait(other.read));
    ahead = take(&out);
    cv_close(&other.write);
    assert_int_equal(read(other.read, &byte, 1), 0);
    cv_starter_leave(ahead);
    close(out);
    cv_pipe_close(&other);
}

static void a_failed_exec_reports_its_reason(void **state)
{
    char path[] = "/tmp/cleave-test-XXXXXX";
    const int fd = mkstemp(path);
    struct cv_command command;
    struct cv_process process;
    struct cv_start *ahead;
    int out;

    (void)state;
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    must(cv_command_init(&command, NULL, WORDS(path), &err));
    assert_int_equal(unlink(path), 0);
    ahead = take(&out);
    begin(&process, &command, -1, -1, ahead);
    end(&process);
    assert_int_equal(process.start_error, ENOENT);
    close(out);
    cv_command_done(&command);
}

static void its_standard_error_is_a_pipe_for_the_slot(void **state)
{
    struct cv_pipe errors = { -1, -1 };
    struct cv_command loud;
    struct cv_process process;
    struct cv_start *ahead;
    char got[16];
    int out;

    (void)state;
    must(cv_command_init(&loud, NULL, WORDS("sh", "-c", "echo loud >&2"), &err));
    for (int i = 0; i < 2; i++) {
        ahead = take(&out);
        cv_starter_exchange_errors(ahead, &errors.read, &errors.write);
        begin(&process, &loud, -1, -1, ahead);
        end(&process);
        close(out);
        assert_int_equal(read(errors.read, got, sizeof got), 5);
        assert_memory_equal(got, "loud\n", 5);
        assert_int_equal(read(errors.read, got, sizeof got), -1); /* does not wait */
    }
    cv_pipe_close(&errors);
    cv_command_done(&loud);
}

/* At most one process waits per command, and unneeded ones exit. */
static void prestarted_processes_match_commands_until_unneeded(void **state)
{
    const size_t before = open_descriptors();
    struct cv_process second;

    (void)state;
    assert_true(prepare(TRIES));
    assert_false(cv_starter_prepare(starter, nowhere));
    begin(&second, &patient, never.read, nowhere, NULL);
    assert_true(prepare(TRIES));
    assert_false(cv_starter_prepare(starter, nowhere));
    cv_process_kill(&second);
    while (cv_starter_rest(starter) >= 0)
        nap();
    assert_int_equal(open_descriptors(), before);
}

/* Children of this process except `known`; 0: none, -1: unknown. */
static pid_t find_child(pid_t known)
{
    char path[100], line[200] = "";
    char *at = line;
    FILE *file;
    pid_t found = 0;

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    for (long pid; (pid = strtol(at, &at, 10)) > 0;)
        if (pid != known)
            found = (pid_t)pid;
    return found;
}

static void a_killed_process_is_not_taken(void **state)
{
    siginfo_t info;
    pid_t child;
    int out;

    (void)state;
    assert_true(prepare(TRIES));
    child = find_child(waits.pid);
    if (child < 0)
        skip();
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_null(cv_starter_take(starter, &out));
    cv_starter_leave(take(&out));
    close(out);
}

/* A process that has one waiting and is killed, and with it the other. */
static void it_ends_with_its_parent(void **state)
{
    int ends[2];
    pid_t parent, child = 0;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    parent = fork();
    if (parent == 0) {
        struct cv_start *ahead;
        int out;

        begin_starter();
        ahead = take(&out);
        cv_process_kill(&waits);
        child = find_child(0);
        (void)ahead;
        if (write(ends[1], &child, sizeof child) == (ssize_t)sizeof child)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    if (child > 0) {
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* The child detects it, and everything works without. */
static void without_the_calls_for_it_there_are_none(void **state)
{
    int out;

    (void)state;
    assert_true(prepare(TRIES));
    for (int i = 0; i < 3; i++) {
        const pid_t child = find_child(waits.pid);
        siginfo_t info;

        if (child > 0)
            assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
        assert_null(cv_starter_take(starter, &out));
    }
    if (find_child(waits.pid) == 0)
        assert_false(prepare(20));
}

static void commands_are_started_plainly_if_the_variable_is_set(void **state)
{
    struct cv_starter *none;

    (void)state;
    assert_int_equal(setenv("CLEAVE_PLAIN_START", "1", 1), 0);
    none = cv_starter_new(2);
    assert_int_equal(setenv("CLEAVE_PLAIN_START", "", 1), 0);
    assert_null(none);
    none = cv_starter_new(2);
    assert_int_equal(unsetenv("CLEAVE_PLAIN_START"), 0);
    assert_non_null(none);
    cv_starter_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_started_plainly_if_the_variable_is_set),
        cmocka_unit_test_setup_teardown(it_is_as_any_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_holds_nothing_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_exec_reports_its_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(its_standard_error_is_a_pipe_for_the_slot, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            prestarted_processes_match_commands_until_unneeded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_process_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_ends_with_its_parent, set_up, tear_down),
    };
    const struct CMUnitTest refused[] = {
        cmocka_unit_test_setup_teardown(without_the_calls_for_it_there_are_none, set_up,
                                        tear_down),
    };
    int failed;

    starter = cv_starter_new(2);
    if (starter == NULL) /* this is another machine */
        return 0;
    cv_starter_free(starter);
    nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    must(cv_command_init(&nothing, NULL, WORDS("true"), &err));
    must(cv_command_init(&patient, NULL, WORDS("cat"), &err));
    failed = cmocka_run_group_tests_name("made ahead", tests, NULL, NULL);
    /* The last test, since the filter stays. */
    if (refuse_call(SYS_close_range, ENOSYS))
        failed += cmocka_run_group_tests_name("refused", refused, NULL, NULL);
    cv_command_done(&nothing);
    cv_command_done(&patient);
    return failed;
}
