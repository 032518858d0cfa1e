/* test_run_persistent.c -- commands that stay and get many chunks.
 * SPDX-License-Identifier: MIT
 *
 * The program is its own command: called with the name of a behaviour, it speaks frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include <cleave/execute.h>
#include "plumbing_check.h"

/* --- the command -------------------------------------------------------------------------- */

static void put_all(const void *bytes, size_t length)
{
    const char *from = bytes;

    while (length > 0) {
        const ssize_t put = write(1, from, length);

        if (put <= 0)
            _exit(9);
        from += put;
        length -= (size_t)put;
    }
}

static void put_length(uint64_t length)
{
    unsigned char head[8];

    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)(length >> (56 - 8 * i));
    put_all(head, 8);
}

/* False at the end of the input. */
static bool get_all(int fd, void *bytes, size_t length)
{
    char *to = bytes;

    for (size_t done = 0; done < length;) {
        const ssize_t got = read(fd, to + done, length - done);

        if (got == 0 && done == 0)
            return false;
        if (got <= 0)
            _exit(8);
        done += (size_t)got;
    }
    return true;
}

static bool get_length(int fd, uint64_t *out)
{
    unsigned char head[8];

    if (!get_all(fd, head, 8))
        return false;
    *out = 0;
    for (int i = 0; i < 8; i++)
        *out = *out << 8 | head[i];
    return true;
}

/* Ten bytes for each, written before the next is read. */
static void multiply(uint64_t length)
{
    char some[1000], many[10 * sizeof some];

    put_length(10 * length);
    while (length > 0) {
        const size_t now = length < sizeof some ? (size_t)length : sizeof some;

        get_all(0, some, now);
        for (size_t i = 0; i < 10 * now; i++)
            many[i] = some[i / 10];
        put_all(many, 10 * now);
        length -= now;
    }
}

/* The whole answer comes before the chunk is read. */
static void answer_first(uint64_t length)
{
    char *bytes = calloc(1, length + 1);

    put_length(3000000);
    for (int i = 0; i < 3000; i++) {
        char some[1000];

        memset(some, 'x', sizeof some);
        put_all(some, sizeof some);
    }
    get_all(0, bytes, length);
    free(bytes);
}

/* Reaction to a chunk with "bad", before the answer. */
static void misbehave(const char *how, const char *marker)
{
    if (strcmp(how, "exit") == 0)
        _exit(3);
    if (strcmp(how, "leave") == 0)
        _exit(0);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "close") == 0) {
        close(1);
        pause();
    }
    if (strcmp(how, "half") == 0) {
        put_length(1000);
        put_all("half of it", 10);
        _exit(0);
    }
    if (strcmp(how, "text") == 0)
        put_all("hello, world\n", 13);
    if (strcmp(how, "once") == 0 && access(marker, F_OK) != 0) {
        close(open(marker, O_CREAT | O_WRONLY, 0600));
        _exit(4);
    }
}

static void answer(const char *how, const char *marker, const char *chunk,
                   uint64_t length, uint64_t mates)
{
    const bool bad = strstr(chunk, "bad") != NULL;
    char text[64];

    if (bad)
        misbehave(how, marker);
    if (bad && strcmp(how, "refuse") == 0) {
        put_length(UINT64_MAX);
    } else if (strcmp(how, "mates") == 0) {
        snprintf(text, sizeof text, "%llu %llu\n", (unsigned long long)length,
                 (unsigned long long)mates);
        put_length(strlen(text));
        put_all(text, strlen(text));
    } else if (strcmp(how, "none") == 0) {
        put_length(0);
    } else {
        put_length(length);
        put_all(chunk, length);
    }
    if (bad && strcmp(how, "more") == 0)
        put_all("more", 4);
}

/* `marker` is a file to leave a trace in; a byte is added to `marker`.starts first. */
static int be_command(const char *how, const char *marker)
{
    uint64_t length, mates = 0;
    char starts[PATH_MAX];
    int fd;

    snprintf(starts, sizeof starts, "%s.starts", marker);
    fd = open(starts, O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (fd < 0 || write(fd, "+", 1) != 1)
        return 7;
    close(fd);
    for (int answers = 0; get_length(0, &length); answers++) {
        char *chunk;

        if (strcmp(how, "multiply") == 0 || strcmp(how, "first") == 0) {
            (how[0] == 'm' ? multiply : answer_first)(length);
            continue;
        }
        chunk = calloc(1, length + 1);
        get_all(0, chunk, length);
        if (strcmp(how, "mates") == 0) {
            char *mate;

            get_length(3, &mates);
            mate = malloc(mates + 1);
            get_all(3, mate, mates);
            free(mate);
        }
        answer(how, marker, chunk, length, mates);
        free(chunk);
        if (strcmp(how, "three") == 0 && answers == 2)
            return 0;
    }
    return strcmp(how, "end") == 0 ? 5 : 0;
}

/* --- running it --------------------------------------------------------------------------- */

static char program[PATH_MAX], folder[] = "/tmp/cleave-persistent-XXXXXX";

struct ran {
    enum cleave_status status;
    struct cleave_error err;
    struct cleave_execution_result *result; /* owned */
    char *output;                           /* owned */
    size_t length;
    char notes[4000];
    size_t starts;
};

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void keep_note(void *context, const char *text)
{
    struct ran *ran = context;
    const size_t length = strlen(ran->notes);

    snprintf(ran->notes + length, sizeof ran->notes - length, "%s\n", text);
}

static void write_input(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Run behaviour `how` over `input`; `asked` says the rest. */
static struct ran run(const char *how, const char *bytes, size_t length,
                      struct cleave_execution request)
{
    const size_t before = open_descriptors();
    struct ran ran = { .status = CLEAVE_OK };
    char input[PATH_MAX], marker[PATH_MAX];
    const char *const command[] = { program, how, marker, NULL };
    const char *const inputs[] = { input };
    const int sink = memfd_create("sink", MFD_CLOEXEC);
    struct stat info;

    write_input("input", bytes, length);
    snprintf(input, sizeof input, "%s", path_of("input"));
    snprintf(marker, sizeof marker, "%s", path_of("marker"));
    unlink(marker);
    unlink(path_of("marker.starts"));
    request.command = command;
    request.input.files = inputs;
    request.input.count = 1;
    request.output.descriptor = sink;
    request.output.name = "the sink";
    request.persistent = true;
    request.workers.count = request.workers.count == 0 ? 2 : request.workers.count;
    request.listener.note = keep_note;
    request.listener.context = &ran;
    ran.status = cleave_execute(&request, &ran.result, &ran.err);
    ran.length = (size_t)lseek(sink, 0, SEEK_END);
    ran.output = calloc(1, ran.length + 1);
    assert_int_equal(pread(sink, ran.output, ran.length, 0), ran.length);
    close(sink);
    ran.starts = stat(path_of("marker.starts"), &info) == 0 ? (size_t)info.st_size : 0;
    assert_int_equal(open_descriptors(), before);
    return ran;
}

static void forget(struct ran *ran)
{
    cleave_execution_free(ran->result);
    free(ran->output);
}

static void assert_ran(const struct ran *ran)
{
    if (ran->status != CLEAVE_OK)
        fail_msg("%s", ran->err.text);
    assert_non_null(ran->result);
}

/* Lines "1\n" ... except line `bad`. */
static char *make_lines(int count, int bad, size_t *length)
{
    char *text = malloc((size_t)count * 20 + 1);

    assert_non_null(text);
    *length = 0;
    for (int i = 1; i <= count; i++)
        *length +=
            (size_t)sprintf(text + *length, i == bad ? "bad %d\n" : "line %d\n", i);
    return text;
}

/* `lines` without line `bad` must be the output. */
static void assert_all_but(const struct ran *ran, int count, int bad)
{
    size_t length = 0;
    char *lines = make_lines(count, bad, &length), *at = strstr(lines, "bad");

    if (at != NULL) {
        char *end = strchr(at, '\n') + 1;

        memmove(at, end, strlen(end) + 1);
    }
    assert_string_equal(ran->output, lines);
    free(lines);
}

/* --- tests -------------------------------------------------------------------------------- */

static void test_order(void **state)
{
    size_t length;
    char *lines = make_lines(5000, 0, &length);
    struct ran ran =
        run("echo", lines, length, (struct cleave_execution){ .policy.block = 1 });

    (void)state;
    assert_ran(&ran);
    assert_string_equal(ran.output, lines);
    assert_int_equal(ran.result->chunks, 5000);
    assert_int_equal(ran.starts, 2);
    assert_int_equal(ran.result->failed + ran.result->bad_ends, 0);
    forget(&ran);
    free(lines);
}

/* Chunks and answers of all sizes around those at which the way they take changes. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = { 1,     100,   16383, 16384,  16385,  32760,
                                    32768, 40000, 65536, 100000, 3000000 };
    size_t length = 0, room = 8000000;
    char *lines = malloc(room + 1);

    (void)state;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            memset(lines + length, 'a' + (int)i, sizes[i]);
            length += sizes[i];
            lines[length - 1] = '\n';
        }
    lines[length] = '\0';
    assert_true(length < room);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct ran ran =
            run("echo", lines, length,
                (struct cleave_execution){ .policy.block = 1, .workers.count = workers });

        assert_ran(&ran);
        assert_int_equal(ran.length, length);
        assert_memory_equal(ran.output, lines, length);
        forget(&ran);
    }
    free(lines);
}

/* Neither waits for the other when pipes are full both ways. */
static void test_full_pipes(void **state)
{
    size_t length;
    char *lines = make_lines(100000, 0, &length);
    struct ran ran = run("multiply", lines, length,
                         (struct cleave_execution){ .policy.block = 300000 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.length, 10 * length);
    for (size_t i = 0; i < ran.length; i++)
        assert_int_equal(ran.output[i], lines[i / 10]);
    forget(&ran);
    ran =
        run("first", lines, length, (struct cleave_execution){ .policy.block = 300000 });
    assert_ran(&ran);
    assert_int_equal(ran.length, 3000000 * ran.result->chunks);
    forget(&ran);
    free(lines);
}

static void test_no_output(void **state)
{
    size_t length;
    char *lines = make_lines(100, 0, &length);
    struct ran ran =
        run("none", lines, length, (struct cleave_execution){ .policy.block = 1 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.length, 0);
    assert_int_equal(ran.result->chunks, 100);
    forget(&ran);
    /* Nothing to do, so nothing is started. */
    ran = run("none", "", 0, (struct cleave_execution){ .policy.block = 1 });
    assert_ran(&ran);
    assert_int_equal(ran.starts, 0);
    forget(&ran);
    free(lines);
}

/* A chunk that fails takes nothing with it but itself. */
static void test_failures(void **state)
{
    static const struct {
        const char *how, *note;
        size_t starts; /* processes, with one worker and one retry  */
    } cases[] = {
        { "refuse", "the command said that it failed", 1 },
        { "exit", "the command exited with status 3", 3 },
        { "kill", "the command was ended by SIGKILL (killed)", 3 },
        { "half", "the command exited before it answered", 3 },
        { "text", "the command answered with an invalid length", 3 },
        { "hang", "the command took longer than 4 s", 3 },
        { "close", "the command was ended by SIGTERM (terminated)", 3 },
    };
    size_t length;
    char *lines = make_lines(60, 30, &length);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool hangs = strcmp(cases[i].how, "hang") == 0;
        struct ran ran =
            run(cases[i].how, lines, length,
                (struct cleave_execution){ .policy.block = 1,
                                           .workers.count = 1,
                                           .failures.retries = 1,
                                           .failures.timeout_s = hangs ? 4 : 0 });

        assert_ran(&ran);
        if (strstr(ran.notes, cases[i].note) == NULL ||
            strstr(ran.notes, "also when tried again") == NULL ||
            strstr(ran.notes, "(records 30 to 30)") == NULL)
            fail_msg("%s: expected '%s', got '%s'", cases[i].how, cases[i].note,
                     ran.notes);
        assert_int_equal(ran.result->failed, 1);
        assert_int_equal(ran.result->retries, 1);
        assert_int_equal(ran.result->bad_ends, 0);
        assert_int_equal(ran.starts, cases[i].starts);
        assert_all_but(&ran, 60, 30);
        forget(&ran);
    }
    free(lines);
}

/* A command that exits with 0 instead of answering is not started for ever. */
static void test_exit_instead(void **state)
{
    size_t length;
    char *lines = make_lines(60, 30, &length);
    struct ran ran =
        run("leave", lines, length,
            (struct cleave_execution){ .policy.block = 1, .workers.count = 1 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.result->failed, 1);
    assert_non_null(strstr(ran.notes, "the command exited before it answered"));
    assert_all_but(&ran, 60, 30);
    forget(&ran);
    free(lines);
}

static void test_second_try(void **state)
{
    size_t length;
    char *lines = make_lines(60, 30, &length);
    struct ran ran =
        run("once", lines, length,
            (struct cleave_execution){ .policy.block = 1, .failures.retries = 1 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.result->failed, 0);
    assert_int_equal(ran.result->retries, 1);
    assert_string_equal(ran.output, lines);
    /* The ended command restarts only if the other one leaves it work. */
    assert_in_range(ran.starts, 2, 3);
    forget(&ran);
    free(lines);
}

/* A command may end between chunks: another takes its place and nothing is lost. */
static void test_three_each(void **state)
{
    size_t length;
    char *lines = make_lines(60, 0, &length);
    struct ran ran =
        run("three", lines, length,
            (struct cleave_execution){ .policy.block = 1, .workers.count = 1 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.result->failed + ran.result->retries + ran.result->bad_ends, 0);
    assert_string_equal(ran.output, lines);
    assert_int_equal(ran.starts, 20);
    forget(&ran);
    free(lines);
}

/* Output after an answer makes that chunk fail, or the end of the command. */
static void test_stray_output(void **state)
{
    size_t length;
    char *lines = make_lines(60, 30, &length);
    struct ran ran =
        run("more", lines, length,
            (struct cleave_execution){ .policy.block = 1, .workers.count = 1 });

    (void)state;
    assert_ran(&ran);
    assert_int_equal(ran.result->failed + ran.result->bad_ends, 1);
    if (strstr(ran.notes, "wrote") == NULL &&
        strstr(ran.notes, "an invalid length") == NULL)
        fail_msg("notes: %s", ran.notes);
    forget(&ran);
    free(lines);
}

static void test_bad_end(void **state)
{
    size_t length;
    char *lines = make_lines(60, 0, &length);
    struct ran ran =
        run("end", lines, length, (struct cleave_execution){ .policy.block = 1 });

    (void)state;
    assert_ran(&ran);
    assert_string_equal(ran.output, lines);
    assert_int_equal(ran.result->failed, 0);
    assert_int_equal(ran.result->bad_ends, 2);
    assert_non_null(
        strstr(ran.notes, "the command exited with status 5 after its last chunk"));
    forget(&ran);
    free(lines);
}

/* A command without frames is reported at once. */
static void test_no_frames(void **state)
{
    struct ran ran = run("text", "bad\nbad\nbad\n", 12,
                         (struct cleave_execution){ .policy.block = 1 });

    (void)state;
    assert_int_equal(ran.status, CLEAVE_EINPUT);
    assert_non_null(
        strstr(ran.err.text, "expected the length of an answer, got 'hello, w'"));
    forget(&ran);
}

static void test_halt(void **state)
{
    size_t length;
    char *lines = make_lines(1000, 30, &length);
    const enum cleave_halt halts[] = { CLEAVE_HALT_SOON, CLEAVE_HALT_NOW };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ran ran = run("refuse", lines, length,
                             (struct cleave_execution){ .policy.block = 1,
                                                        .failures.halt = halts[i],
                                                        .failures.halt_fails = 1 });

        assert_int_not_equal(ran.status, CLEAVE_OK);
        assert_true(ran.result->halted);
        assert_int_equal(ran.result->failed, 1);
        assert_int_equal(ran.result->bad_ends, 0);
        forget(&ran);
    }
    free(lines);
}

/* The policy that takes back what late workers have not read gets nothing, and copes. */
static void test_learn(void **state)
{
    size_t length;
    char *lines = make_lines(200000, 0, &length);
    struct ran ran =
        run("echo", lines, length, (struct cleave_execution){ .workers.count = 2 });

    (void)state;
    assert_ran(&ran);
    assert_string_equal(ran.output, lines);
    assert_int_equal(ran.starts, 2);
    forget(&ran);
    free(lines);
}

/* Mates come in separate frames. */
static void test_mates(void **state)
{
    char *first = NULL, *second = NULL, mates[PATH_MAX], *line;
    size_t nfirst, nsecond, sum_first = 0, sum_second = 0;
    FILE *one = open_memstream(&first, &nfirst), *two = open_memstream(&second, &nsecond);
    struct ran ran;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        fprintf(one, "@r%d/1\nACGT\n+\nIIII\n", i);
        fprintf(two, "@r%d/2\nACGTACGT%.*s\n+\nIIIIIIII%.*s\n", i, i % 7, "CCCCCCC",
                i % 7, "IIIIIII");
    }
    fclose(one);
    fclose(two);
    write_input("mates", second, nsecond);
    snprintf(mates, sizeof mates, "%s", path_of("mates"));
    ran = run("mates", first, nfirst,
              (struct cleave_execution){
                  .policy.block = 9000, .input.split = "fastq", .input.pairs = mates });
    assert_ran(&ran);
    for (line = strtok(ran.output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *rest;

        sum_first += strtoull(line, &rest, 10);
        assert_int_equal(*rest, ' ');
        sum_second += strtoull(rest, &rest, 10);
        assert_int_equal(*rest, '\0');
    }
    assert_int_equal(sum_first, nfirst);
    assert_int_equal(sum_second, nsecond);
    assert_true(ran.result->chunks > 3);
    forget(&ran);
    free(first);
    free(second);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const names[] = { "input", "mates", "marker", "marker.starts" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_full_pipes),   cmocka_unit_test(test_no_output),
        cmocka_unit_test(test_failures),     cmocka_unit_test(test_exit_instead),
        cmocka_unit_test(test_second_try),   cmocka_unit_test(test_three_each),
        cmocka_unit_test(test_stray_output), cmocka_unit_test(test_bad_end),
        cmocka_unit_test(test_no_frames),    cmocka_unit_test(test_halt),
        cmocka_unit_test(test_learn),        cmocka_unit_test(test_mates),
    };
    ssize_t length;

    if (argc == 3)
        _exit(be_command(argv[1], argv[2])); /* it has no time to look for leaks */
    length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return 1;
    program[length] = '\0';
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
