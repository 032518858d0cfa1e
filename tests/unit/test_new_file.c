/* test_new_file.c -- files that get their name when they are complete.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file_target.h"
#include "base/new_file.h"

static char folder[] = "/tmp/cleave-new-file-XXXXXX";

/* Every test has an empty folder, and is in it. */
static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/cleave-new-file-XXXXXX");
    umask(022);
    return mkdtemp(folder) != NULL ? chdir(folder) : -1;
}

static int leave(void **state)
{
    char command[80];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 ? system(command) : -1; /* NOLINT(cert-env33-c) */
}

static void put(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(name, mode), 0);
}

static void holds(const char *name, const char *text)
{
    char bytes[64] = "";
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(bytes, text);
}

static mode_t mode_of(const char *name)
{
    struct stat info;

    assert_int_equal(lstat(name, &info), 0);
    return info.st_mode & 07777;
}

static void write_text(const struct cv_new_file *file, const char *text)
{
    assert_int_equal(write(file->fd, text, strlen(text)), strlen(text));
}

static void open_ok(const char *path, unsigned how, struct cv_new_file *out)
{
    struct cleave_error err;

    assert_int_equal(cv_new_file_open(path, how, out, &err), CLEAVE_OK);
    assert_true(out->fd >= 0);
}

static void place_and_close(struct cv_new_file *file)
{
    struct cleave_error err;

    assert_int_equal(cv_new_file_place(file, &err), CLEAVE_OK);
    assert_null(file->beside);
    assert_int_equal(cv_new_file_close(file, &err), CLEAVE_OK);
}

static void refused(const char *path, unsigned how, enum cleave_status status,
                    const char *text)
{
    struct cv_new_file file;
    struct cleave_error err;

    assert_int_equal(cv_new_file_open(path, how, &file, &err), status);
    assert_string_equal(err.text, text);
    assert_int_equal(file.fd, -1);
    assert_null(file.beside);
}

static void file_gets_its_name_when_complete(void **state)
{
    struct cv_new_file file;

    (void)state;
    open_ok("new", 0, &file);
    write_text(&file, "whole");
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(strncmp(file.beside, ".new.part-", 10), 0);
    assert_int_equal(mode_of(file.beside), 0600 | S_ISVTX);
    assert_int_equal(cv_new_file_size(&file), 5);
    place_and_close(&file);
    holds("new", "whole");
    assert_int_equal(mode_of("new"), 0644);
}

static void replaces_an_older_one_at_the_end(void **state)
{
    struct cv_new_file file;

    (void)state;
    put("old", "old", 0640);
    open_ok("old", 0, &file);
    write_text(&file, "new");
    holds("old", "old");
    place_and_close(&file);
    holds("old", "new");
    assert_int_equal(mode_of("old"), 0640);
}

static void dropped_leaves_nothing(void **state)
{
    struct cv_new_file file;
    char *beside;

    (void)state;
    put("old", "old", 0644);
    open_ok("old", 0, &file);
    write_text(&file, "half");
    beside = strdup(file.beside);
    cv_new_file_drop(&file);
    assert_int_equal(access(beside, F_OK), -1);
    free(beside);
    holds("old", "old");
}

static void closed_without_a_name_keeps_the_temporary_file(void **state)
{
    struct cv_new_file file;
    char *beside;

    (void)state;
    open_ok("new", 0, &file);
    write_text(&file, "half");
    beside = strdup(file.beside);
    assert_int_equal(cv_new_file_close(&file, NULL), CLEAVE_OK);
    holds(beside, "half");
    assert_int_equal(access("new", F_OK), -1);
    free(beside);
}

static void secret_whatever_existed(void **state)
{
    struct cv_new_file file;

    (void)state;
    put("old", "old", 0666);
    open_ok("old", CV_NEW_FILE_SECRET, &file);
    place_and_close(&file);
    assert_int_equal(mode_of("old"), 0600);
    open_ok("new", CV_NEW_FILE_SECRET, &file);
    place_and_close(&file);
    assert_int_equal(mode_of("new"), 0600);
}

static void only_where_there_is_none(void **state)
{
    struct cv_new_file file;
    struct cleave_error err;

    (void)state;
    put("old", "old", 0644);
    refused("old", CV_NEW_FILE_ONLY, CLEAVE_EREFUSED, "it exists");
    open_ok("new", CV_NEW_FILE_ONLY, &file);
    write_text(&file, "mine");
    put("new", "theirs", 0644);
    assert_int_equal(cv_new_file_place(&file, &err), CLEAVE_EREFUSED);
    assert_string_equal(err.text, "it exists by now");
    holds("new", "theirs");
    cv_new_file_drop(&file);
    open_ok("/dev/null", CV_NEW_FILE_ONLY, &file);
    place_and_close(&file);
}

static void links_stay(void **state)
{
    struct cv_new_file file;
    char target[64];

    (void)state;
    assert_int_equal(mkdir("far", 0755), 0);
    put("far/old", "old", 0644);
    assert_int_equal(symlink("far/old", "link"), 0);
    assert_int_equal(symlink("link", "second"), 0);
    open_ok("second", 0, &file);
    assert_int_equal(strncmp(file.beside, "far/.old.part-", 14), 0);
    write_text(&file, "new");
    place_and_close(&file);
    holds("far/old", "new");
    assert_int_equal(readlink("link", target, sizeof target), 7);
    /* A link without a target. */
    assert_int_equal(symlink("far/none", "early"), 0);
    open_ok("early", 0, &file);
    write_text(&file, "made");
    place_and_close(&file);
    holds("far/none", "made");
    assert_int_equal(symlink("round", "round"), 0);
    refused("round", 0, CLEAVE_EINPUT, strerror(ELOOP));
}

static void other_hard_links_keep_their_content(void **state)
{
    struct cv_new_file file;

    (void)state;
    put("one", "old", 0644);
    assert_int_equal(link("one", "two"), 0);
    open_ok("one", 0, &file);
    write_text(&file, "new");
    place_and_close(&file);
    holds("one", "new");
    holds("two", "old");
}

static void a_name_in_the_way_is_not_touched(void **state)
{
    struct cv_new_file file;
    char trap[64];

    (void)state;
    put("victim", "victim", 0644);
    snprintf(trap, sizeof trap, ".new.part-%ld", (long)getpid());
    assert_int_equal(symlink("victim", trap), 0);
    open_ok("new", 0, &file);
    assert_string_not_equal(file.beside, trap);
    write_text(&file, "new");
    place_and_close(&file);
    holds("victim", "victim");
    holds("new", "new");
}

static void descriptors_are_themselves(void **state)
{
    struct cv_new_file file;
    char name[32];
    int fd;

    (void)state;
    put("log", "before\n", 0644);
    fd = open("log", O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    open_ok(name, 0, &file);
    assert_null(file.beside);
    write_text(&file, "behind\n");
    place_and_close(&file);
    holds("log", "before\nbehind\n");
    close(fd);
    fd = open("log", O_RDONLY);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    refused(name, 0, CLEAVE_EINPUT, strerror(EBADF));
    close(fd);
}

static unsigned nremoved;

static void count_removed(const char *name, uint64_t bytes)
{
    assert_string_equal(name, ".file.part-1");
    assert_int_equal(bytes, 4);
    nremoved++;
}

static void files_of_killed_processes_are_removed(void **state)
{
    struct cv_new_file file, other;
    bool busy;

    (void)state;
    put(".file.part-1", "left", 0600 | S_ISVTX);
    put(".file.part-2", "kept on purpose", 0600);
    put(".files.part-1", "of another name", 0600 | S_ISVTX);
    open_ok("file", 0, &file);
    assert_int_equal(cv_new_file_clear(&file, count_removed, &busy, NULL), CLEAVE_OK);
    assert_int_equal(nremoved, 1);
    assert_false(busy);
    /* Another process that writes such a file; later, it has placed it and continues. */
    open_ok("file", 0, &other);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cv_new_file_clear(&file, count_removed, &busy, NULL), CLEAVE_OK);
        assert_true(busy);
        assert_int_equal(cv_new_file_place(&other, NULL), CLEAVE_OK);
    }
    assert_int_equal(cv_new_file_close(&other, NULL), CLEAVE_OK);
    assert_int_equal(cv_new_file_clear(&file, count_removed, &busy, NULL), CLEAVE_OK);
    assert_false(busy);
    assert_int_equal(nremoved, 1);
    /* Files kept on purpose are not removed later. */
    assert_int_equal(cv_new_file_close(&file, NULL), CLEAVE_OK);
    open_ok("file", 0, &file);
    assert_int_equal(cv_new_file_clear(&file, count_removed, &busy, NULL), CLEAVE_OK);
    assert_int_equal(nremoved, 1);
    cv_new_file_drop(&file);
}

static void pipes_are_written_in_place(void **state)
{
    struct cv_new_file file;
    char byte;
    int fd;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    fd = open("pipe", O_RDONLY | O_NONBLOCK);
    open_ok("pipe", 0, &file);
    assert_null(file.beside);
    write_text(&file, "x");
    assert_int_equal(read(fd, &byte, 1), 1);
    cv_new_file_drop(&file);
    assert_int_equal(access("pipe", F_OK), 0);
    close(fd);
}

static void impossible_names_are_reported(void **state)
{
    char name[300];

    (void)state;
    assert_int_equal(mkdir("folder", 0755), 0);
    refused("folder", 0, CLEAVE_EINPUT, strerror(EISDIR));
    refused("none/", 0, CLEAVE_EINPUT, strerror(EISDIR));
    refused("no/such", 0, CLEAVE_EINPUT, strerror(ENOENT));
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refused(name, 0, CLEAVE_EINPUT, strerror(ENAMETOOLONG));
}

static void long_names_are_cut_for_the_temporary_file(void **state)
{
    struct cv_new_file file;
    char name[256];

    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    open_ok(name, 0, &file);
    place_and_close(&file);
    assert_int_equal(access(name, F_OK), 0);
}

static void protected_files_stay(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* nothing is protected from root */
    put("old", "old", 0444);
    refused("old", 0, CLEAVE_EINPUT, strerror(EACCES));
    holds("old", "old");
    assert_int_equal(chmod("old", 0644), 0);
    assert_int_equal(chmod(".", 0555), 0);
    refused(
        "old", 0, CLEAVE_EINPUT,
        "Permission denied in its folder, where a new file is written first; '> FILE' "
        "writes into the old one");
    refused("new", 0, CLEAVE_EINPUT, strerror(EACCES));
    assert_int_equal(chmod(".", 0755), 0);
}

static void files_of_others_in_a_shared_folder_stay(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* cannot make another user's file */
    put("theirs", "theirs", 0666);
    assert_int_equal(chmod(".", 01777), 0);
    assert_int_equal(seteuid(65534), 0);
    refused("theirs", 0, CLEAVE_EINPUT,
            "Operation not permitted in its folder, where a new file is written first; "
            "'> FILE' writes into the old one");
    assert_int_equal(seteuid(0), 0);
    holds("theirs", "theirs");
}

static bool same(const char *a, const char *b)
{
    struct cv_file_identity first, second;

    cv_file_identify(a, &first);
    cv_file_identify(b, &second);
    return cv_file_same(&first, &second);
}

static void the_same_by_any_name(void **state)
{
    struct cv_file_identity open_file, named;
    int fd;

    (void)state;
    put("f", "", 0644);
    put("g", "", 0644);
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_int_equal(symlink("../f", "sub/link"), 0);
    assert_int_equal(link("f", "hard"), 0);
    assert_int_equal(symlink("none", "early"), 0);
    assert_true(same("f", "./sub/../f"));
    assert_true(same("f", "sub/link"));
    assert_true(same("f", "hard"));
    assert_false(same("f", "g"));
    /* Files that are to be made. */
    assert_true(same("none", "./none"));
    assert_true(same("none", "early"));
    assert_true(same("none", "sub/../none"));
    assert_false(same("none", "other"));
    assert_false(same("none", "sub/none"));
    assert_false(same("no/such", "no/such"));
    assert_false(same("/dev/null", "/dev/null"));
    fd = open("f", O_RDONLY);
    cv_descriptor_identify(fd, &open_file);
    cv_file_identify("hard", &named);
    assert_true(cv_file_same(&open_file, &named));
    assert_true(open_file.descriptor && !named.descriptor);
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        T(file_gets_its_name_when_complete),
        T(replaces_an_older_one_at_the_end),
        T(dropped_leaves_nothing),
        T(closed_without_a_name_keeps_the_temporary_file),
        T(secret_whatever_existed),
        T(only_where_there_is_none),
        T(links_stay),
        T(other_hard_links_keep_their_content),
        T(a_name_in_the_way_is_not_touched),
        T(descriptors_are_themselves),
        T(files_of_killed_processes_are_removed),
        T(pipes_are_written_in_place),
        T(impossible_names_are_reported),
        T(long_names_are_cut_for_the_temporary_file),
        T(protected_files_stay),
        T(files_of_others_in_a_shared_folder_stay),
        T(the_same_by_any_name),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
