/* own_folder.h -- a folder that a test program has to itself. SPDX-License-Identifier: MIT
 *
 * make_folder and remove_folder are for cmocka_run_group_tests; tests leave nothing in it. */
#ifndef OWN_FOLDER_H
#define OWN_FOLDER_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/cleave-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* `buffer` has room for 128 bytes. */
static inline char *path_of(char *buffer, const char *name)
{
    snprintf(buffer, 128, "%s/%s", folder, name);
    return buffer;
}

#endif
