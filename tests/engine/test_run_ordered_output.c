/* test_run_ordered_output.c -- outputs are kept and written in order. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/random.h"
#include "run/output/ordered_output_internal.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "gather_check.h"

/* Put `length` bytes into the store by way of a pipe. */
static void fill(struct cv_chunk_output *store, const char *bytes, size_t length)
{
    const uint64_t before = cv_chunk_output_size(store);
    enum cv_chunk_output_state state = CV_STORE_EMPTY;
    struct cv_pipe pipe;

    must(cv_pipe_open(&pipe, &err));
    assert_int_equal(fcntl(pipe.write, F_SETFL, O_NONBLOCK), 0);
    must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
    assert_int_equal(state, CV_STORE_EMPTY);
    for (size_t done = 0; done < length;) {
        const ssize_t put = write(pipe.write, bytes + done, length - done);

        assert_true(put > 0);
        done += (size_t)put;
        must(cv_chunk_output_pump(store, pipe.read, 1000, &state, &err));
        if (put >= 1000)
            assert_int_equal(state, CV_STORE_BUSY);
        must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
        assert_int_equal(state, CV_STORE_EMPTY);
    }
    cv_close(&pipe.write);
    must(cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &err));
    assert_int_equal(state, CV_STORE_END);
    assert_int_equal(cv_chunk_output_size(store), before + length);
    cv_pipe_close(&pipe);
}

/* Ends in another order than they begin. */
static void outputs_are_written_in_input_order(void **state)
{
    const size_t before = open_descriptors();
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs =
        new_gather((struct cv_ordered_output_options){ .sink = sink, .memory = 1 << 20 });
    struct cv_chunk_output *stores[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        stores[i] = open_store(outputs);
    fill(stores[2], "three", 5);
    fill(stores[0], "one", 3);
    fill(stores[1], "two", 3);
    must(cv_ordered_output_finish(outputs, stores[2], 25, 30, &err));
    write_all(outputs);
    assert_int_equal(outputs->position, 0);
    assert_true(cv_ordered_output_pending(outputs));
    must(cv_ordered_output_finish(outputs, stores[0], 0, 10, &err));
    write_all(outputs);
    assert_int_equal(outputs->position, 10);
    assert_int_equal(cv_ordered_output_usage(outputs).written, 3);
    must(cv_ordered_output_skip(outputs, 20, 25, &err));
    must(cv_ordered_output_finish(outputs, stores[1], 10, 20, &err));
    write_all(outputs);
    assert_int_equal(outputs->position, 30);
    assert_false(cv_ordered_output_pending(outputs));
    assert_file(sink, 0, 11, "onetwothree");
    cv_ordered_output_free(outputs);
    cv_ordered_output_free(NULL);
    close(sink);
    assert_int_equal(open_descriptors(), before);
}

static void past_the_limit_outputs_go_to_disk(void **state)
{
    enum { SIZE = 1 << 20, LIMIT = 300000 };
    const size_t before = open_descriptors();
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
        .sink = sink, .memory = LIMIT, .directory = "/tmp" });
    struct cv_chunk_output *large = open_store(outputs), *small = open_store(outputs),
                           *lost;
    char *text = make_text(1, SIZE);
    struct cv_taken taken;

    (void)state;
    fill(small, text, 100);
    fill(large, text, SIZE);
    assert_int_equal(cv_ordered_output_usage(outputs).memory, LIMIT);
    assert_int_equal(cv_ordered_output_usage(outputs).disk, SIZE + 100 - LIMIT);
    lost = open_store(outputs);
    fill(lost, text, 5000);
    assert_int_equal(cv_ordered_output_usage(outputs).disk, SIZE + 5100 - LIMIT);
    cv_chunk_output_drop(lost);
    assert_int_equal(cv_ordered_output_usage(outputs).disk, SIZE + 100 - LIMIT);

    /* To be handed over it has to be in one piece. */
    must(cv_ordered_output_take(large, &taken, &err));
    assert_int_equal(taken.end - taken.begin, SIZE);
    assert_file(taken.fd, taken.begin, taken.end, text);
    must(cv_ordered_output_finish(outputs, large, 10, 20, &err));
    must(cv_ordered_output_finish(outputs, small, 0, 10, &err));
    write_all(outputs);
    assert_file(sink, 0, 100, text);
    assert_file(sink, 100, 100 + SIZE, text);

    /* Written output makes room again. */
    assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
    assert_in_range(cv_ordered_output_usage(outputs).memory, 0, LIMIT / 2);
    assert_int_equal(cv_ordered_output_usage(outputs).most_disk, SIZE);
    cv_ordered_output_free(outputs);
    close(sink);
    free(text);
    assert_int_equal(open_descriptors(), before);
}

static void separate_outputs_are_complete_files(void **state)
{
    enum { SIZE = 200000, OUTPUTS = 5 };
    const size_t before = open_descriptors();
    struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
        .sink = -1, .memory = 250000, .directory = "/tmp", .separate = true });
    struct cv_chunk_output *stores[OUTPUTS];
    char *text = make_text(2, SIZE);

    (void)state;
    for (int i = 0; i < OUTPUTS; i++) {
        const size_t size = i == 3 ? 0 : SIZE - (size_t)i;
        struct cv_taken taken;
        struct stat info;
        char path[64];
        int fd;

        stores[i] = open_store(outputs);
        if (i % 2 == 0)
            fill(stores[i], text, size);
        else
            must(cv_chunk_output_write(stores[i], text, size, &err));
        must(cv_ordered_output_take(stores[i], &taken, &err));
        assert_int_equal(taken.begin, 0);
        assert_int_equal(taken.end, size);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), taken.fd);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &info), 0);
        assert_int_equal(info.st_size, size);
        assert_file(fd, 0, size, text);
        close(fd);
    }
    for (int i = 0; i < OUTPUTS; i++)
        cv_chunk_output_drop(stores[i]);
    cv_chunk_output_drop(NULL);
    assert_int_equal(cv_ordered_output_usage(outputs).memory, 0);
    assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
    assert_int_equal(open_descriptors(), before);
    cv_ordered_output_free(outputs);
    free(text);
}

/* --- any order, any sink -------------------------------------------------------------------- */

enum { CHUNKS = 300, OPEN = 4, LARGEST = 400000, SHIFT = 31 };

/* The sink of outputs, and the bytes that arrived there. */
struct sink {
    int fd, reader; /* reader: -1 for a file that is looked at in the end */
    char *got;
    size_t length, capacity;
};

static void read_sink(struct sink *sink, size_t max)
{
    struct pollfd wait = { .fd = sink->reader, .events = POLLIN };

    while (sink->reader >= 0 && max > 0 && poll(&wait, 1, 0) > 0) {
        const size_t room = sink->capacity - sink->length;
        const ssize_t more =
            read(sink->reader, sink->got + sink->length, room < max ? room : max);

        if (more <= 0)
            return;
        sink->length += (size_t)more;
        max -= (size_t)more;
    }
}

/* Fill a chunk's store, perhaps after a failure, and finish it, perhaps after a look. */
static void one_chunk(struct cv_ordered_output *outputs, struct cv_random *random,
                      uint64_t chunk, const char *text, size_t length)
{
    struct cv_chunk_output *store = open_store(outputs);
    const size_t half = length / 2;

    if (cv_random_bits(random) % 4 == 0) {
        fill(store, text, half);
        cv_chunk_output_drop(store);
        store = open_store(outputs);
    }
    if (cv_random_bits(random) % 2 == 0)
        cv_chunk_output_use_blocks(store);
    fill(store, text, half);
    must(cv_chunk_output_write(store, text + half, length - half, &err));
    if (cv_random_bits(random) % 4 == 0) {
        struct cv_taken taken;

        must(cv_ordered_output_take(store, &taken, &err));
        assert_file(taken.fd, taken.begin, taken.end, text);
    }
    must(cv_ordered_output_finish(outputs, store, 10 * chunk, 10 * chunk + 10, &err));
}

/* All chunks, out of order by at most OPEN, into `sink`, which is read now and then. */
static void any_order(struct sink *sink, uint32_t seed, uint64_t memory)
{
    struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
        .sink = sink->fd, .memory = memory, .directory = "/tmp" });
    char *text = make_text(seed, LARGEST + CHUNKS * SHIFT),
         *expected = malloc((size_t)CHUNKS * LARGEST);
    size_t order[CHUNKS], sizes[CHUNKS], total = 0;
    enum cv_ordered_output_state state = CV_GATHER_IDLE;
    struct cv_random random;

    cv_random_at(&random, seed, 0, 0, 0);
    for (size_t i = 0; i < CHUNKS; i++) {
        order[i] = i;
        sizes[i] = cv_random_bits(&random) %
                   (cv_random_bits(&random) % 30 == 0 ? LARGEST : 3000);
        memcpy(expected + total, text + SHIFT * i, sizes[i]);
        total += sizes[i];
    }
    sink->capacity = total + 1;
    sink->got = malloc(total + 1);
    for (size_t i = 0; i + 1 < CHUNKS; i++) {
        const size_t with = i + cv_random_bits(&random) % OPEN;

        if (with < CHUNKS) {
            const size_t kept = order[i];

            order[i] = order[with];
            order[with] = kept;
        }
    }
    for (size_t i = 0; i < CHUNKS; i++) {
        one_chunk(outputs, &random, order[i], text + SHIFT * order[i], sizes[order[i]]);
        must(cv_ordered_output_pump(outputs, cv_random_bits(&random) % 20000, &state,
                                    &err));
        if (cv_random_bits(&random) % 8 == 0)
            read_sink(sink, 30000);
    }
    while (cv_ordered_output_pending(outputs)) {
        must(cv_ordered_output_pump(outputs, 100000, &state, &err));
        read_sink(sink, SIZE_MAX);
    }
    read_sink(sink, SIZE_MAX);
    if (sink->reader < 0)
        assert_file(sink->fd, 0, total, expected);
    else if (sink->length != total || memcmp(sink->got, expected, total) != 0)
        fail_msg("seed %u: %zu bytes of output instead of %zu, or others", seed,
                 sink->length, total);
    assert_int_equal(cv_ordered_output_usage(outputs).written, total);
    assert_int_equal(outputs->position, 10 * CHUNKS);
    cv_ordered_output_free(outputs);
    free(sink->got);
    free(expected);
    free(text);
}

/* An output that ends exactly at the memory limit has reserved room on disk, but has put
 * nothing there: later output on the disk does not touch it. */
static void an_output_that_just_fits_stays_whole(void **state)
{
    char *text = make_text(3, 3000);

    (void)state;
    for (int separate = 0; separate < 2; separate++) {
        const size_t before = open_descriptors();
        struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
            .sink = -1, .memory = 1000, .separate = separate == 1 });
        struct cv_chunk_output *stores[3];
        struct cv_taken taken[3];

        for (size_t i = 0; i < 3; i++) {
            stores[i] = open_store(outputs);
            fill(stores[i], text + 1000 * i, 1000);
            must(cv_ordered_output_take(stores[i], &taken[i], &err));
        }
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(taken[i].end - taken[i].begin, 1000);
            assert_file(taken[i].fd, taken[i].begin, taken[i].end, text + 1000 * i);
            cv_chunk_output_drop(stores[i]);
        }
        assert_int_equal(cv_ordered_output_usage(outputs).disk, 0);
        cv_ordered_output_free(outputs);
        assert_int_equal(open_descriptors(), before);
    }
    free(text);
}

/* A pipe holds pages, not copies: none may change while it is in there. */
static void a_pipe_gets_finished_output(void **state)
{
    static const uint64_t memories[] = { 0, 100000, 1 << 20, 256 << 20 };

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct cv_pipe pipe;
        struct sink sink;

        must(cv_pipe_open(&pipe, &err));
        sink = (struct sink){ .fd = pipe.write, .reader = pipe.read };
        any_order(&sink, 10 + i, memories[i]);
        assert_int_equal(fcntl(pipe.write, F_GETFL) & O_NONBLOCK, 0);
        cv_pipe_close(&pipe);
    }
}

static void a_file_gets_finished_output(void **state)
{
    static const uint64_t memories[] = { 0, 100000, 256 << 20 };

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        char path[] = "/tmp/cleave-test-XXXXXX";
        const int fd = mkstemp(path);
        struct sink sink = { .fd = fd, .reader = -1 };

        unlink(path);
        if (i >= 3)
            assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
        any_order(&sink, 20 + i, memories[i % 3]);
        close(fd);
    }
}

static void a_socket_gets_finished_output(void **state)
{
    int ends[2];
    struct sink sink;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    sink = (struct sink){ .fd = ends[0], .reader = ends[1] };
    any_order(&sink, 30, 100000);
    close(ends[0]);
    close(ends[1]);
}

static void unordered_outputs_are_not_held_up(void **state)
{
    const int sink = make_file("", 0);
    struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
        .sink = sink, .memory = 1000, .unordered = true });

    (void)state;
    for (int i = 9; i >= 0; i--) {
        struct cv_chunk_output *store = open_store(outputs);
        const char digit = (char)('0' + i);

        fill(store, &digit, 1);
        must(
            cv_ordered_output_finish(outputs, store, (uint64_t)i, (uint64_t)i + 1, &err));
        must(cv_ordered_output_skip(outputs, 100, 200, &err));
        write_all(outputs);
        assert_false(cv_ordered_output_pending(outputs));
    }
    assert_file(sink, 0, 10, "9876543210");
    cv_ordered_output_free(outputs);
    close(sink);
}

/* --- with a poller -------------------------------------------------------------------------- */

/* Without a reader at first: filling must continue, and nothing may be lost. */
static void a_slow_reader_blocks_no_worker(void **state)
{
    const size_t size = 1 << 20;
    char *text = make_text(5, size), *got = malloc(3 * size);
    struct cv_ordered_output *outputs;
    struct cv_poller *poller;
    struct cv_pipe pipe;
    size_t length = 0;

    (void)state;
    must(cv_poller_new(&poller, &err));
    must(cv_pipe_open(&pipe, &err));
    outputs = new_gather((struct cv_ordered_output_options){
        .sink = pipe.write, .memory = size, .directory = "/tmp" });
    must(cv_ordered_output_attach(outputs, poller, &err));
    for (uint64_t i = 0; i < 3; i++) {
        struct cv_chunk_output *store = open_store(outputs);

        fill(store, text, size);
        must(cv_ordered_output_finish(outputs, store, i, i + 1, &err));
        must(cv_poller_wait(poller, 0, &err));
    }
    assert_true(cv_ordered_output_pending(outputs));
    while (length < 3 * size) {
        const ssize_t more = read(pipe.read, got + length, 3 * size - length);

        assert_true(more > 0);
        length += (size_t)more;
        if (cv_ordered_output_pending(outputs))
            must(cv_poller_wait(poller, -1, &err));
    }
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(got + i * size, text, size);
    must(cv_poller_wait(poller, 0, &err));
    must(cv_ordered_output_status(outputs, NULL, &err));
    cv_ordered_output_free(outputs);
    cv_poller_free(poller);
    cv_pipe_close(&pipe);
    free(text);
    free(got);
}

static void assert_failed(const struct cv_ordered_output *outputs, int error,
                          const char *text)
{
    struct cleave_error record;
    int got;

    assert_int_equal(cv_ordered_output_status(outputs, &got, &record), CLEAVE_EENGINE);
    assert_int_equal(got, error);
    assert_string_equal(record.text, text);
}

static void an_unread_sink_is_an_error(void **state)
{
    const char *text = "cannot write to stdout: its reader has exited";

    (void)state;
    /* First with something to write, then with nothing. */
    for (int i = 0; i < 2; i++) {
        struct cv_poller *poller;
        struct cv_ordered_output *outputs;
        struct cv_chunk_output *store;
        struct cv_pipe pipe;

        must(cv_poller_new(&poller, &err));
        must(cv_pipe_open(&pipe, &err));
        outputs = new_gather(
            (struct cv_ordered_output_options){ .sink = pipe.write, .memory = 1 << 20 });
        must(cv_ordered_output_attach(outputs, poller, &err));
        store = open_store(outputs);
        fill(store, "text", 4);
        cv_close(&pipe.read);
        if (i == 0) {
            must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
            assert_failed(outputs, EPIPE, text);
        } else {
            must(cv_poller_wait(poller, -1, &err));
            assert_failed(outputs, EPIPE, text);
            must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
        }
        must(cv_poller_wait(poller, 0, &err));
        assert_failed(outputs, EPIPE, text);
        cv_ordered_output_free(outputs);
        cv_poller_free(poller);
        cv_pipe_close(&pipe);
    }
}

static void a_full_sink_is_an_error(void **state)
{
    const int sink = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct cv_ordered_output *outputs;
    struct cv_chunk_output *store;
    struct cleave_error error;
    enum cv_ordered_output_state written;

    (void)state;
    if (sink < 0)
        skip();
    outputs = new_gather((struct cv_ordered_output_options){
        .sink = sink, .sink_name = "'out.txt'", .memory = 1 << 20 });
    store = open_store(outputs);
    fill(store, "text", 4);
    must(cv_ordered_output_finish(outputs, store, 0, 1, &err));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cv_ordered_output_pump(outputs, 100, &written, &error),
                         CLEAVE_EENGINE);
        assert_string_equal(error.text,
                            "cannot write to 'out.txt': No space left on device");
    }
    cv_ordered_output_free(outputs);
    close(sink);
}

/* --- disk full ------------------------------------------------------------------------------ */

static void a_bad_directory_is_named(void **state)
{
    struct cv_ordered_output *outputs = new_gather((struct cv_ordered_output_options){
        .sink = 1, .memory = 0, .directory = "/no/such" });
    struct cv_chunk_output *store = open_store(outputs);
    struct cleave_error error;

    (void)state;
    assert_int_equal(cv_chunk_output_write(store, "x", 1, &error), CLEAVE_EENGINE);
    assert_string_equal(error.text,
                        "cannot keep output in '/no/such': No such file or directory");
    cv_chunk_output_drop(store);
    cv_ordered_output_free(outputs);
}

/* In a child with a separate mount namespace: 77 without permission, 0 on success. */
static int fill_a_small_disk(const char *folder)
{
    struct cleave_error error = { .text = "" };
    enum cv_chunk_output_state state = CV_STORE_EMPTY;
    char block[4096] = "", text[200];
    struct cv_ordered_output *outputs = NULL;
    struct cv_chunk_output *store = NULL;
    struct cv_pipe pipe;
    int status = CLEAVE_OK;

    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=64k") != 0)
        return 77;
    if (cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = 1,
                                                                   .memory = 10000,
                                                                   .directory = folder },
                              &outputs, &error) != CLEAVE_OK ||
        cv_chunk_output_open(outputs, &store, &error) != CLEAVE_OK ||
        cv_pipe_open(&pipe, &error) != CLEAVE_OK)
        return 1;
    for (int i = 0; i < 100 && status == CLEAVE_OK; i++) {
        if (write(pipe.write, block, sizeof block) != (ssize_t)sizeof block)
            return 2;
        status = (int)cv_chunk_output_pump(store, pipe.read, UINT64_MAX, &state, &error);
    }
    snprintf(text, sizeof text, "cannot keep output in '%s': No space left on device",
             folder);
    if (status != CLEAVE_EENGINE || strcmp(error.text, text) != 0)
        return 3;
    /* Dropping it gives the room back to others. */
    cv_chunk_output_drop(store);
    if (cv_ordered_output_usage(outputs).disk != 0 ||
        cv_chunk_output_open(outputs, &store, &error) != CLEAVE_OK)
        return 4;
    for (int i = 0; i < 8; i++)
        if (cv_chunk_output_write(store, block, sizeof block, &error) != CLEAVE_OK)
            return 5;
    cv_ordered_output_free(outputs);
    cv_pipe_close(&pipe);
    return 0;
}

static void a_full_disk_is_an_error(void **state)
{
    char folder[] = "/tmp/cleave-test-XXXXXX";
    int status = -1;
    pid_t pid;

    (void)state;
    assert_non_null(mkdtemp(folder));
    pid = fork();
    if (pid == 0)
        _exit(fill_a_small_disk(folder));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rmdir(folder);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_written_in_input_order),
        cmocka_unit_test(past_the_limit_outputs_go_to_disk),
        cmocka_unit_test(separate_outputs_are_complete_files),
        cmocka_unit_test(an_output_that_just_fits_stays_whole),
        cmocka_unit_test(a_pipe_gets_finished_output),
        cmocka_unit_test(a_file_gets_finished_output),
        cmocka_unit_test(a_socket_gets_finished_output),
        cmocka_unit_test(unordered_outputs_are_not_held_up),
        cmocka_unit_test(a_slow_reader_blocks_no_worker),
        cmocka_unit_test(an_unread_sink_is_an_error),
        cmocka_unit_test(a_full_sink_is_an_error),
        cmocka_unit_test(a_bad_directory_is_named),
        cmocka_unit_test(a_full_disk_is_an_error),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
