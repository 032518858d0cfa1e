/* test_run_ends.c -- the end of commands: noticed without pidfds, and forced when this
 * process is killed. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cleave/execute.h>
#include "run/common/process.h"
#include "run/slot/persistent_slot.h"

#include "plumbing_check.h"
#include "refuse_call.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum { SKIP = 77, BAD = 1 };

static bool starts(struct cv_process *process, const char *const *words,
                   struct cv_guard *guard)
{
    const struct cv_process_files files = {
        .in = -1, .out = -1, .errors = -1, .extra = -1, .guard = guard
    };
    struct cv_command command;
    bool good;

    if (cv_command_init(&command, NULL, words, NULL) != CLEAVE_OK)
        return false;
    good = cv_process_start(process, &command, &files, NULL, NULL) == CLEAVE_OK;
    cv_command_done(&command);
    return good;
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, wait_ms) == 1;
}

/* Without pidfds: an end is noticed, a process can be killed before its end, and nothing
 * is left. In a child, which never gets them back. */
static int without_pidfds(int error)
{
    struct cv_process process;
    size_t before;

    if (!refuse_call(SYS_pidfd_open, error))
        return SKIP;
    if (syscall(SYS_pidfd_open, getpid(), 0) >= 0 || errno != error)
        return BAD;
    before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        if (!starts(&process, WORDS("sh", "-c", "exit 7"), NULL) || process.pidfd < 0 ||
            !is_readable(process.pidfd, -1) || !cv_process_failed(&process, NULL) ||
            !cv_process_reap(&process) || process.exit_code != 7 || process.pidfd != -1)
            return BAD;
    }
    if (!starts(&process, WORDS("sleep", "1000"), NULL) ||
        is_readable(process.pidfd, 0) || cv_process_reap(&process))
        return BAD;
    cv_process_kill(&process);
    return process.signal == SIGKILL && open_descriptors() == before ? 0 : BAD;
}

static int result_of(pid_t child)
{
    int status = 0;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ends_are_noticed_without_pidfds(void **state)
{
    static const int errors[] = { ENOSYS, EPERM };

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const pid_t child = fork();
        int result;

        if (child == 0)
            _exit(without_pidfds(errors[i]));
        result = result_of(child);
        if (result == SKIP)
            skip();
        assert_int_equal(result, 0);
    }
}

/* --- the guard ---------------------------------------------------------------------------- */

/* A process that is killed takes its commands with it: the pipe that they hold closes.
 * One of them ignores SIGTERM, and has reported that; another is stopped. An ended
 * process no longer exists. */
static void the_killed_take_their_commands_along(void **state)
{
    int held[2], ready[2];
    char peer_closed[100], byte;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(ready), 0);
    snprintf(peer_closed, sizeof peer_closed,
             "trap '' TERM; echo >&%d; exec %d>&-; sleep 40", ready[1], ready[1]);
    child = fork();
    if (child == 0) {
        struct cv_guard *guard;
        struct cv_process processes[4];

        close(held[0]);
        if (cv_guard_new(&guard, NULL) != CLEAVE_OK ||
            !starts(&processes[0], WORDS("sleep", "1000"), guard) ||
            cv_guard_begin(guard, NULL) != CLEAVE_OK ||
            !starts(&processes[1], WORDS("true"), guard) ||
            !starts(&processes[2], WORDS("sh", "-c", peer_closed), guard) ||
            !starts(&processes[3], WORDS("sleep", "1000"), guard))
            _exit(BAD);
        kill(processes[3].pid, SIGSTOP);
        is_readable(processes[1].pidfd, -1);
        cv_process_reap(&processes[1]);
        if (write(ready[1], "r", 1) != 1)
            _exit(BAD);
        for (;;)
            pause();
    }
    close(held[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(
        is_readable(held[0], 30000)); /* no process continues, long before it would end */
    assert_int_equal(read(held[0], &byte, 1), 0);
    close(held[0]);
    close(ready[0]);
    close(ready[1]);
}

/* A guard that exits kills no process, and leaves no process or file. */
static void a_guard_that_is_not_needed_does_nothing(void **state)
{
    const size_t before = open_descriptors();
    struct cv_process process = { .pidfd = -1 };
    struct cv_guard *guard;

    (void)state;
    must(cv_guard_new(&guard, &err));
    must(cv_guard_begin(guard, &err));
    assert_true(starts(&process, WORDS("sleep", "1000"), guard));
    assert_true(process.guarded > 0);
    cv_guard_remove(guard, process.guarded);
    process.guarded = 0;
    cv_guard_free(guard);
    assert_false(is_readable(process.pidfd, 100));
    cv_process_kill(&process);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(open_descriptors(), before);
    cv_guard_free(NULL);
    assert_int_equal(cv_guard_add(NULL, 5), 0);
}

/* Places are used again. */
static void a_guard_has_room_for_many(void **state)
{
    struct cv_guard *guard;
    size_t first;

    (void)state;
    must(cv_guard_new(&guard, &err));
    first = cv_guard_add(guard, 1 << 22);
    assert_true(first > 0);
    for (int i = 0; i < 100000; i++) {
        const size_t place = cv_guard_add(guard, 1 << 22);

        assert_true(place > 0 && place != first);
        cv_guard_remove(guard, place);
    }
    cv_guard_remove(guard, first);
    cv_guard_free(guard);
}

/* --- nobody is told ----------------------------------------------------------------------- */

static void note_taken(void *context, const char *text)
{
    snprintf(context, 300, "%s", text);
}

/* A program that ignores SIGCHLD cannot see how its commands end, and gets the reason. */
static void ignored_ends_are_failures(void **state)
{
    struct cleave_execution_result *result = NULL;
    char note[300] = "", name[] = "/tmp/cleave-test-XXXXXX";
    const int input = mkstemp(name);

    (void)state;
    assert_true(input >= 0);
    assert_int_equal(write(input, "a\n", 2), 2);
    signal(SIGCHLD, SIG_IGN);
    must(cleave_execute(
        &(struct cleave_execution){ .command = WORDS("cat"),
                                    .input = { .files = WORDS(name), .count = 1 },
                                    .output.descriptor = STDOUT_FILENO,
                                    .workers.count = 1,
                                    .listener = { .note = note_taken, .context = note } },
        &result, &err));
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(result->failed, 1);
    assert_non_null(strstr(note, "has ended, but its status is unknown: is SIGCHLD "));
    cleave_execution_free(result);
    close(input);
    unlink(name);
}

/* --- progress ----------------------------------------------------------------------------- */

enum { LARGE = 8 << 20 };

struct watched {
    const char *go; /* a file that the command waits for */
    double max;
    bool early; /* before any chunk was done */
};

static void progressed(void *context, const struct cleave_progress *progress)
{
    struct watched *watched = context;

    if (progress->read < LARGE / 4.0)
        return;
    watched->early = watched->early || progress->done <= 0;
    watched->max = progress->read;
    close(open(watched->go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Bytes read count before the end of the command: this one reads half, and does not end
 * before that was seen. */
static void reading_counts_as_progress(void **state)
{
    char folder[] = "/tmp/cleave-test-XXXXXX", input[64], go[64], script[200];
    struct watched watched = { .go = go };
    struct cleave_execution_result *result = NULL;
    char *text = make_text(4, LARGE);
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(input, sizeof input, "%s/in", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(script, sizeof script,
             "head -c %d >/dev/null; while [ ! -e %s ]; do sleep 0.02; done", LARGE / 2,
             go);
    file = fopen(input, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, LARGE, file), LARGE);
    fclose(file);
    must(cleave_execute(
        &(struct cleave_execution){
            .command = WORDS("sh", "-c", script),
            .input = { .files = WORDS(input), .count = 1, .split = "fixed:4096" },
            .output.descriptor = STDOUT_FILENO,
            .workers.count = 1,
            .policy.block = LARGE,
            .listener = { .progress = progressed, .context = &watched } },
        &result, &err));
    assert_int_equal(result->chunks, 1);
    assert_true(watched.early);
    assert_true(watched.max <= LARGE);
    cleave_execution_free(result);
    unlink(input);
    unlink(go);
    rmdir(folder);
    free(text);
}

/* --- an input that nobody gives any more -------------------------------------------------- */

/* State of its input when a command was killed. */
static struct {
    const struct cv_slot *slot; /* NULL: no slot is watched */
    unsigned kills, open;
} looked;

int kill(pid_t pid, int signal)
{
    const struct cv_slot *runs = looked.slot != NULL && looked.slot->carrier != NULL
                                     ? looked.slot->carrier
                                     : looked.slot;

    if (runs != NULL && signal == SIGKILL && pid == -runs->process.pid) {
        looked.kills++;
        looked.open += runs->in.fd >= 0 && fcntl(runs->in.fd, F_GETFD) >= 0;
    }
    return (int)syscall(SYS_kill, pid, signal);
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    (void)context;
    fail_msg("%s", err->text);
}

/* A slot is given up while its command has read a part of a record: it is killed before its
 * input ends, or it would take the part for a whole. */
static void an_abandoned_command_keeps_its_input_open(void **state)
{
    enum { SIZE = 1 << 20 };
    char *text = make_text(1, SIZE);
    const int file = make_file(text, SIZE);
    const struct cv_piece piece = {
        .fd = file, .mate_fd = -1, .name = "a file", .end = SIZE, .body = { 0, SIZE }
    };

    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        struct cv_command command;
        struct cv_poller *poller;
        struct cv_ordered_output *outputs;
        struct cv_slot slot;

        must(cv_command_init(&command, NULL, WORDS("sleep", "1000"), &err));
        must(cv_poller_new(&poller, &err));
        must(cv_ordered_output_new(
            &(struct cv_ordered_output_options){ .sink = -1, .memory = 1 << 20 },
            &outputs, &err));
        cv_slot_init(&slot);
        slot.poller = poller;
        if (persistent)
            must(cv_persistent_init(&slot, NULL, 1, &err));
        slot.outputs = outputs;
        slot.command = &command;
        slot.events = &(struct cv_slot_events){ .broke = slot_broke };
        must(cv_slot_start(&slot, &piece, &err));
        looked.slot = &slot;
        looked.kills = looked.open = 0;
        cv_slot_free(&slot);
        looked.slot = NULL;
        assert_true(looked.kills > 0);
        assert_true(looked.open > 0);
        cv_ordered_output_free(outputs);
        cv_poller_free(poller);
        cv_command_done(&command);
    }
    close(file);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_noticed_without_pidfds),
        cmocka_unit_test(the_killed_take_their_commands_along),
        cmocka_unit_test(a_guard_that_is_not_needed_does_nothing),
        cmocka_unit_test(a_guard_has_room_for_many),
        cmocka_unit_test(ignored_ends_are_failures),
        cmocka_unit_test(reading_counts_as_progress),
        cmocka_unit_test(an_abandoned_command_keeps_its_input_open),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
