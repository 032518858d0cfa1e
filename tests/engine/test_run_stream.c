/* test_run_stream.c -- inputs from streams, and their memory. SPDX-License-Identifier:
 * MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "run/input/cut_file.h"
#include "run/input/source.h"
#include "own_folder.h"
#include "run_check.h"

/* Bytes of memory that this process has. ThreadSanitizer keeps notes about all writes,
 * which makes this number useless. */
static uint64_t resident(void)
{
#ifdef __SANITIZE_THREAD__
    return 0;
#endif
    FILE *file = fopen("/proc/self/statm", "r");
    char line[256] = "", *pages;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    pages = strchr(line, ' '); /* the first number counts all addresses */
    assert_non_null(pages);
    return strtoull(pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Much input goes through; little is kept, also while one piece keeps running; a record
 * larger than the limit comes through complete. */
static void bounded_memory(void **state)
{
    enum { LINE = 100, LONG = 9 << 20, TOTAL = 48 << 20, HOLD = 1 << 20 };
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter,
                                               .hold = HOLD,
                                               .numbers = true };
    char *bytes = malloc(TOTAL), path[128];
    const char *name = path;
    struct cv_source *source = NULL;
    struct cv_piece piece, first = { .end = 0 };
    uint64_t before, max = 0, longest = 0, at = 0, number, count;
    size_t fed = 0;
    enum cv_take taken = CV_TAKE_WAIT;
    int pipes[2];

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < TOTAL; i++)
        bytes[i] = i % LINE == LINE - 1 ? '\n' : 'x';
    memset(bytes + TOTAL / 2, 'y', LONG);
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    before = resident();
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    close(pipes[0]);
    assert_true(cv_source_poll_fd(source) >= 0 && isinf(cv_source_left(source)));
    while (taken != CV_TAKE_END) {
        const ssize_t put = fed < TOTAL ? write(pipes[1], bytes + fed, TOTAL - fed) : 0;

        fed += put > 0 ? (size_t)put : 0;
        if (fed == TOTAL && pipes[1] >= 0) {
            close(pipes[1]);
            pipes[1] = -1;
        }
        assert_ok(cv_source_pump(source, &err));
        assert_ok(cv_source_take(source, HOLD / 4, &taken, &piece, &err));
        if (taken != CV_TAKE_PIECE)
            continue;
        assert_int_equal(piece.begin, at);
        at = piece.end;
        if (piece.end - piece.begin > longest)
            longest = piece.end - piece.begin;
        if (resident() - before > max)
            max = resident() - before;
        if (first.end == 0) {
            first = piece;
            continue;
        }
        assert_ok(cv_source_records(source, &piece, &number, &count, &err));
        assert_ok(cv_source_finish(source, &piece, &err));
    }
    assert_int_equal(at, TOTAL);
    assert_true(longest > LONG && longest < LONG + 2 * HOLD);
    assert_true(max < LONG + 2 * HOLD + (8 << 20));
    for (at = 0, longest = bytes[TOTAL - 1] != '\n'; at < TOTAL; at++)
        longest += bytes[at] == '\n';
    assert_int_equal(number + count - 1, longest);
    assert_ok(cv_source_records(source, &first, &number, &count, &err));
    assert_int_equal(number, 1);
    /* All except the first piece was given back, apart from partial blocks. */
    assert_true(resident() < before + first.end + (8 << 20));
    cv_source_free(source);
    cv_splitter_free(splitter);
    free(bytes);
}

/* Requeued input is given without a wait, as nothing can be added to it; at the end of
 * arrived input, a piece waits for its requested size, unless the limit is reached. */
static void waiting(void **state)
{
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter,
                                               .hold = 40,
                                               .shares = 2 };
    struct cv_source *source = NULL;
    static const char rest[] = "\n50000000000000000000000000000000\n6\n";
    struct cv_piece one, two, piece;
    enum cv_take taken;
    char path[128];
    const char *name = path;
    int pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_int_equal(write(pipes[1], "1\n2\n3\n4", 7), 7);
    assert_ok(cv_source_pump(source, &err));
    assert_int_equal(cv_source_ready(source), 6);
    assert_ok(cv_source_take(source, 1, &taken, &one, &err));
    assert_ok(cv_source_take(source, 2, &taken, &two, &err));
    assert_int_equal(two.begin, 2);
    assert_ok(cv_source_put_back(source, &one, &err));
    assert_ok(cv_source_take(source, 10, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_true(piece.begin == 0 && piece.end == 2);
    assert_ok(cv_source_take(source, 10, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_WAIT);
    assert_int_equal(write(pipes[1], rest, strlen(rest)), strlen(rest));
    assert_ok(cv_source_pump(source, &err));
    assert_int_equal(cv_source_extent(source), 43);
    assert_false(cv_source_wants(source));
    assert_ok(cv_source_take(source, 1000, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_true(piece.begin == 4 && piece.end == 41);
    assert_ok(cv_source_take(source, 1000, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_true(piece.begin == 41 && piece.end == 43);
    assert_ok(cv_source_take(source, 1, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_WAIT);
    assert_ok(cv_source_finish(source, &two, &err));
    assert_false(cv_source_wants(source)); /* 41 bytes are in use */
    assert_ok(cv_source_finish(source, &piece, &err));
    assert_true(cv_source_wants(source));
    close(pipes[1]);
    assert_ok(cv_source_pump(source, &err));
    assert_ok(cv_source_take(source, 1, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_END);
    cv_source_free(source);
    close(pipes[0]);
    cv_splitter_free(splitter);
}

/* A stream that needs a walk has marks to begin a cut from; the cuts equal the file's. */
static void long_walks(const char *how, bool header, const char *bytes, size_t n)
{
    struct cv_splitter *splitter = parse(how);
    const struct cv_source_options options = { .splitter = splitter,
                                               .header = header,
                                               .hold = 4 * (uint64_t)n };
    struct cv_source *source = NULL;
    struct cv_cut_file file;
    struct cv_random random;
    struct cv_piece piece, head, tail;
    enum cv_take taken;
    char path[128];
    const char *name = path_of(path, "fifo");
    const int fd = memfd_create("same", MFD_CLOEXEC);
    size_t fed = 0;
    uint64_t cut, min, header_end = 0, at = 0;
    char first[64];
    int writer;

    cv_random_at(&random, 8, 0, 0, 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(mkfifo(path, 0666), 0);
    writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    cv_cut_file_init(&file, splitter, "same", fd, n);
    if (header)
        assert_ok(cv_cut_file_header(&file, &header_end, &err));
    assert_true(header_end < sizeof first);
    while (fed < n) {
        const size_t max = 1 + below(&random, 100000);
        const ssize_t put = write(writer, bytes + fed, n - fed < max ? n - fed : max);

        fed += put > 0 ? (size_t)put : 0;
        assert_ok(cv_source_pump(source, &err));
    }
    close(writer);
    while (at < n) {
        const uint64_t wanted = 1 + below(&random, 300000);

        assert_ok(cv_source_pump(source, &err));
        assert_ok(cv_source_take(source, wanted, &taken, &piece, &err));
        assert_int_equal(taken, CV_TAKE_PIECE);
        /* The first piece is more than the header. */
        min = at == 0 ? header_end + 1 : at + 1;
        assert_ok(
            cv_cut_file_at(&file, at + wanted > min ? at + wanted : min, &cut, &err));
        assert_int_equal(piece.begin, at);
        assert_int_equal(piece.end, cut);
        assert_int_equal(piece.header.end, at == 0 ? 0 : header_end);
        assert_memory_equal(piece.header_bytes, bytes, header_end);
        assert_ok(cv_source_part(source, &piece, at + wanted / 3, &head, &tail, &err));
        assert_ok(cv_cut_file_at(&file, at + wanted / 3 > min ? at + wanted / 3 : min,
                                 &cut, &err));
        assert_int_equal(tail.begin, cut);
        assert_ok(cv_source_put_back(source, &tail, &err));
        assert_ok(cv_source_finish(source, &head, &err));
        at = head.end;
    }
    cv_cut_file_done(&file);
    cv_source_free(source);
    cv_splitter_free(splitter);
    close(fd);
    unlink(path);
}

static void marks(void **state)
{
    enum { SIZE = 1500000 };
    struct cv_random random;
    char *bytes = malloc(SIZE);
    size_t n = 0;

    (void)state;
    assert_non_null(bytes);
    cv_random_at(&random, 2, 0, 0, 0);
    while (n < SIZE - 200000) {
        /* Now and then a record that is longer than the way between marks. */
        const size_t width = below(&random, 2000) == 0 ? 150000 : below(&random, 90);

        n += (size_t)sprintf(bytes + n, "%zu,\"a \"\"b\n", n);
        for (size_t i = 0; i < width; i++)
            bytes[n++] = "x\n,"[below(&random, 3)];
        n += (size_t)sprintf(bytes + n, "\",5\" x\n");
    }
    long_walks("csv", true, bytes, n);
    for (n = 0; n < SIZE - 500000;) {
        const size_t width = below(&random, 2000) == 0 ? 100000 : below(&random, 90);

        n += (size_t)sprintf(bytes + n, "@r\n");
        memset(bytes + n, 'A', width);
        n += width;
        n += (size_t)sprintf(bytes + n, "\n+\n");
        memset(bytes + n, '@', width);
        n += width;
        bytes[n++] = '\n';
    }
    long_walks("fastq", false, bytes, n);
    free(bytes);
}

/* Standard input from a file is used as a file; in its middle, and /dev/zero, it is a
 * stream, and waiting is impossible. */
static void standard_input(void **state)
{
    struct cv_splitter *splitter = parse("lines"), *fixed = parse("fixed:1000");
    struct cv_source_options options = { .splitter = splitter, .hold = 100000 };
    struct cv_source *source = NULL;
    struct cv_piece piece;
    enum cv_take taken;
    char path[128], bytes[8];
    const char *zero = "/dev/zero";
    const int saved = dup(STDIN_FILENO);

    (void)state;
    write_file(path_of(path, "in"), "one\ntwo\nthree\n", 14);
    close(STDIN_FILENO);
    assert_int_equal(open(path, O_RDONLY), STDIN_FILENO);
    assert_ok(cv_source_open(NULL, 0, &options, &source, &err));
    assert_true(cv_source_left(source) == 14);
    assert_string_equal(cv_source_input(source, 0).path, "-");
    cv_source_free(source);
    assert_int_equal(read(STDIN_FILENO, bytes, 4), 4);
    assert_ok(cv_source_open(NULL, 0, &options, &source, &err));
    assert_true(isinf(cv_source_total(source)) && cv_source_poll_fd(source) == -1);
    assert_ok(cv_source_take(source, 100, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_int_equal(piece.end, 10);
    assert_memory_equal(piece.body_bytes, "two\n", 4);
    cv_source_free(source);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), 0); /* still open */
    dup2(saved, STDIN_FILENO);
    close(saved);
    unlink(path);

    options.splitter = fixed;
    assert_ok(cv_source_open(&zero, 1, &options, &source, &err));
    for (int i = 0; i < 20; i++) {
        assert_ok(cv_source_take(source, 20500, &taken, &piece, &err));
        assert_int_equal(taken, CV_TAKE_PIECE);
        assert_int_equal(piece.end - piece.begin, 21000);
        assert_ok(cv_source_finish(source, &piece, &err));
    }
    cv_source_free(source);
    cv_splitter_free(fixed);
    cv_splitter_free(splitter);
}

/* Bytes that violate the format are reported with the name of the stream. */
static void bad_stream(void **state)
{
    struct cv_splitter *splitter = parse("fastq");
    const struct cv_source_options options = { .splitter = splitter };
    struct cv_source *source = NULL;
    struct cleave_error why;
    char path[128];
    const char *name = path;
    int pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_int_equal(write(pipes[1], "hello\nworld\n", 12), 12);
    assert_int_equal(cv_source_pump(source, &why), CLEAVE_EINPUT);
    assert_string_equal(why.file, path);
    cv_source_free(source);
    close(pipes[0]);
    close(pipes[1]);
    cv_splitter_free(splitter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounded_memory), cmocka_unit_test(waiting),
        cmocka_unit_test(marks),          cmocka_unit_test(standard_input),
        cmocka_unit_test(bad_stream),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
