/* resume_check.h -- a run with a journal, and a changed journal afterwards.
 * SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef RESUME_CHECK_H
#define RESUME_CHECK_H
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cleave/execute.h>
#include "run_check.h"

/* In memory where that can be: every journal that is opened waits for its disk. */
static char folder[64] = "/dev/shm/cleave-damage-XXXXXX";
static char input[80], database[80]; /* paths in it */

enum { LINES = 400, BLOCK = 700, ROOM = 4 << 20 };

/* Result of the last run. */
static struct {
    char bytes[ROOM];
    size_t n;
    char note[1024]; /* the last note */
    size_t notes;
    uint64_t chunks, resumed;
} got;

static inline int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/cleave-damage-XXXXXX");
        if (mkdtemp(folder) == NULL)
            return 1;
    }
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(database, sizeof database, "%s/journal.db", folder);
    write_lines(input, LINES);
    return 0;
}

static inline void remove_journal(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    char path[100];

    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", database, suffixes[i]);
        unlink(path);
    }
}

static inline int remove_folder(void **state)
{
    (void)state;
    remove_journal();
    unlink(input);
    return rmdir(folder);
}

static inline void hear_note(void *context, const char *text)
{
    (void)context;
    snprintf(got.note, sizeof got.note, "%s", text);
    got.notes++;
}

/* Run `command` over the input, with the journal. */
static inline enum cleave_status run_command(const char *command, bool resume,
                                             struct cleave_error *err)
{
    const char *const words[] = { "sh", "-c", command, NULL };
    const char *const files[] = { input };
    struct cleave_execution_result *result = NULL;
    const int fd = memfd_create("output", MFD_CLOEXEC);
    const struct cleave_execution execution = {
        .command = words,
        .input = { .files = files, .count = 1 },
        .output = { .descriptor = fd, .name = "output" },
        .workers.count = 2,
        .policy.block = BLOCK,
        .journal = { .path = database, .resume = resume },
        .listener.note = hear_note,
    };
    enum cleave_status status;

    got.n = got.notes = 0;
    got.note[0] = '\0';
    err->text[0] = '\0';
    status = cleave_execute(&execution, &result, err);
    got.chunks = result != NULL ? result->chunks : 0;
    got.resumed = result != NULL ? result->resumed : 0;
    cleave_execution_free(result);
    got.n = (size_t)pread(fd, got.bytes, sizeof got.bytes, 0);
    close(fd);
    return status;
}

/* A file in memory. */
struct image {
    char *bytes;
    size_t n;
};

static inline struct image read_image(const char *path)
{
    struct image image = { NULL, 0 };
    struct stat facts = { .st_size = 0 };
    const int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && fstat(fd, &facts) == 0);
    image.n = (size_t)facts.st_size;
    image.bytes = malloc(image.n);
    assert_non_null(image.bytes);
    assert_int_equal(read(fd, image.bytes, image.n), image.n);
    close(fd);
    return image;
}

static inline void write_image(const struct image *image)
{
    remove_journal();
    write_file(database, image->bytes, image->n);
}

static inline void change(const char *sql)
{
    char *why = NULL;
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(db);
}

#endif
