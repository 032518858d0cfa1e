/* chaos_disk.c -- a disk that is soon full. SPDX-License-Identifier: MIT
 *
 * A tmpfs over the folder of a trial, in a mount namespace of this process: only root has it,
 * and the rest of the machine does not see it. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "chaos/chaos.h"

enum { PAGE = 4096, SMALL_FILES = 6 };

bool disk_allowed(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static uint64_t pages(size_t length)
{
    return (length + PAGE - 1) / PAGE * PAGE;
}

void disk_begin(const struct trial *trial)
{
    const struct job *job = &trial->job;
    uint64_t size =
        (uint64_t)SMALL_FILES * PAGE + trial->disk_room + pages(job->mates.length);
    char text[64];

    for (uint32_t f = 0; f < job->nfiles; f++)
        size += pages(job->input[f].length);
    snprintf(text, sizeof text, "size=%llu", (unsigned long long)size);
    if (mount("chaos", trial->folder, "tmpfs", 0, text) != 0)
        give_up("%s: no small disk: %s", trial->folder, strerror(errno));
}

void disk_end(const struct trial *trial)
{
    umount2(trial->folder, MNT_DETACH);
}
