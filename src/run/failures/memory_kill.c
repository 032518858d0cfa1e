/* memory_kill.c -- whether the system has killed something for want of memory.
 * SPDX-License-Identifier: MIT */
#include "run/failures/memory_kill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 4096 };

/* The first bytes of a file, as a text; empty if there are none. */
static void read_text(const char *path, char out[ROOM])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, out, ROOM - 1) : 0;

    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* The line that begins with a word, behind it; NULL: there is none. */
static const char *behind(const char *text, const char *word)
{
    const size_t length = strlen(word);

    while (text != NULL && strncmp(text, word, length) != 0) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + length : NULL;
}

uint64_t cv_memory_kills_in(const char *text)
{
    const char *number = behind(text, "oom_kill ");

    return number != NULL ? strtoull(number, NULL, 10) : 0;
}

void cv_memory_kills_file(const char *groups, char *out, size_t size)
{
    const char *old = strstr(groups, ":memory:");
    const char *group = old != NULL ? old + strlen(":memory:") : behind(groups, "0::");

    out[0] = '\0';
    if (group == NULL)
        return;
    snprintf(out, size, "/sys/fs/cgroup%s%.*s%s", old != NULL ? "/memory" : "",
             (int)strcspn(group, "\n"), group,
             old != NULL ? "/memory.oom_control" : "/memory.events");
}

uint64_t cv_memory_kills(void)
{
    char text[ROOM], path[ROOM];

    read_text("/proc/self/cgroup", text);
    cv_memory_kills_file(text, path, sizeof path);
    read_text(path, text);
    return cv_memory_kills_in(text);
}
