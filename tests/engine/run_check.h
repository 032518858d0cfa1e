/* run_check.h -- helpers of the tests of real runs. SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/platform.h>
#include "base/random.h"
#include "run/split/split.h"

/* A call whose last argument is &err must succeed. */
#define assert_ok(call)                                        \
    do {                                                       \
        struct cleave_error err = { .text = "" };              \
        if ((call) != CLEAVE_OK)                               \
            fail_msg("%s: %s: %s", #call, err.file, err.text); \
    } while (0)

static inline void write_file(const char *path, const char *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* "0 of the lines", "1 of the lines", ... */
static inline void write_lines(const char *path, int count)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < count; i++)
        fprintf(file, "%d of the lines\n", i);
    fclose(file);
}

/* w0 to w3, all equal, with separate links. */
static inline struct cleave_platform *four_workers(void)
{
    static const char text[] =
        "port: multi\nworkers:\n  - {name: w, count: 4, speed: 1e8, bandwidth: 1e9}\n";
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_parse("p", text, sizeof text - 1, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

static inline struct cv_splitter *parse(const char *text)
{
    struct cv_splitter *splitter = NULL;

    assert_int_equal(cv_splitter_parse(text, &splitter, NULL), CLEAVE_OK);
    return splitter;
}

static inline size_t below(struct cv_random *random, size_t max)
{
    return (size_t)(cv_random_bits(random) % max);
}

/* Gathers an output. */
struct text {
    char *bytes;
    size_t n, room;
};

static inline enum cleave_status outputs(void *context, const void *bytes, size_t length,
                                         struct cleave_error *err)
{
    struct text *text = context;

    (void)err;
    assert_true(length > 0 && length <= text->room - text->n);
    memcpy(text->bytes + text->n, bytes, length);
    text->n += length;
    return CLEAVE_OK;
}

static inline size_t open_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

#endif
