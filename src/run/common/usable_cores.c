/* usable_cores.c -- how many cores this process may use. SPDX-License-Identifier: MIT
 *
 * A control group may grant q microseconds of processor time per period p, to all its
 * processes: q / p cores. Groups are nested and the smallest share counts. Version 2 has
 * both numbers in cpu.max, version 1 in cpu.cfs_quota_us and cpu.cfs_period_us. */
#include "run/common/usable_cores.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- files of the kernel ------------------------------------------------------------------ */

/* Read at most two words of a small file; false if there is none. */
static bool read_words(const char *folder, const char *name, char words[2][32])
{
    char *path;
    FILE *file = NULL;
    int count;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return false;
    file = fopen(path, "re");
    free(path);
    if (file == NULL)
        return false;
    words[1][0] = '\0';
    count = fscanf(file, "%31s %31s", words[0], words[1]);
    fclose(file);
    return count >= 1;
}

/* quota / period in cores; INFINITY for "max", -1 or anything else that is no limit. */
static double share(const char *quota, const char *period)
{
    const double part = strtod(quota, NULL), whole = strtod(period, NULL);

    return isfinite(part) && part > 0 && whole > 0 ? part / whole : INFINITY;
}

static double group_cores(const char *folder, bool unified)
{
    char quota[2][32], period[2][32];

    if (unified)
        return read_words(folder, "cpu.max", quota) ? share(quota[0], quota[1])
                                                    : INFINITY;
    return read_words(folder, "cpu.cfs_quota_us", quota) &&
                   read_words(folder, "cpu.cfs_period_us", period)
               ? share(quota[0], period[0])
               : INFINITY;
}

/* The least share of the group in `folder`, which is changed, and those above it up to the
 * first `top` bytes of the path. */
static double least_cores(char *folder, size_t top, bool unified)
{
    double min = INFINITY;
    size_t length = strlen(folder);

    for (;;) {
        min = fmin(min, group_cores(folder, unified));
        if (length <= top)
            return min;
        while (length > top && folder[length - 1] != '/')
            length--;
        while (length > top && folder[length - 1] == '/')
            length--;
        folder[length] = '\0';
    }
}

/* --- where the group is ------------------------------------------------------------------- */

/* Whether `word` is among the words of `list`, which commas separate. */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);

    while (*list != '\0') {
        const size_t next = strcspn(list, ",\n");

        if (next == length && memcmp(list, word, length) == 0)
            return true;
        list += next + (list[next] != '\0');
    }
    return false;
}

/* The path of this process's group from a line of proc/self/cgroup, "7:cpu,cpuacct:/a" or
 * "0::/a", or NULL if the line is about something else. `line` is changed. */
static const char *group_path(char *line, bool *unified)
{
    char *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(++controllers, ':');

    if (path == NULL)
        return NULL;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    *unified = controllers[0] == '\0';
    return *unified || is_listed(controllers, "cpu") ? path : NULL;
}

/* Split a line of proc/self/mountinfo, "36 35 98:0 ROOT POINT options.. - TYPE source
 * OPTIONS". Returns whether groups of this kind are there. */
static bool group_mount(char *line, bool unified, const char **root, const char **point)
{
    char *rest = strstr(line, " - "), *words[3], *save = NULL, *word;
    size_t count = 0;

    if (rest == NULL)
        return false;
    *rest = '\0';
    rest += 3;
    for (word = strtok_r(rest, " \n", &save); word != NULL && count < 3;
         word = strtok_r(NULL, " \n", &save))
        words[count++] = word;
    if (count < 3 || strcmp(words[0], unified ? "cgroup2" : "cgroup") != 0 ||
        (!unified && !is_listed(words[2], "cpu")))
        return false;
    *root = *point = NULL;
    count = 0;
    for (word = strtok_r(line, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        *root = count == 3 ? word : *root;
        *point = count == 4 ? word : *point;
        count++;
    }
    return *point != NULL;
}

/* The share of the group at `path`, wherever its kind is mounted. */
static double path_cores(const char *root, FILE *mounts, const char *path, bool unified)
{
    double min = INFINITY;
    char *line = NULL, *folder;
    size_t size = 0;

    rewind(mounts);
    while (getline(&line, &size, mounts) > 0) {
        const char *from, *point, *below = path;
        size_t length;

        if (!group_mount(line, unified, &from, &point))
            continue;
        /* Only the part of the tree below `from` is seen here. */
        length = strcmp(from, "/") == 0 ? 0 : strlen(from);
        below = strncmp(path, from, length) == 0 ? path + length : "";
        if (strcmp(below, "/") == 0 || strstr(below, "/..") != NULL)
            below = "";
        if (asprintf(&folder, "%s%s%s", root, point, below) < 0)
            break;
        min = fmin(min, least_cores(folder, strlen(root) + strlen(point), unified));
        free(folder);
    }
    free(line);
    return min;
}

double cv_cgroup_cores(const char *root)
{
    double min = INFINITY;
    char *path = NULL, *line = NULL;
    FILE *groups = NULL, *mounts = NULL;
    size_t size = 0;

    if (asprintf(&path, "%s/proc/self/cgroup", root) >= 0) {
        groups = fopen(path, "re");
        free(path);
    }
    if (groups != NULL && asprintf(&path, "%s/proc/self/mountinfo", root) >= 0) {
        mounts = fopen(path, "re");
        free(path);
    }
    while (mounts != NULL && getline(&line, &size, groups) > 0) {
        bool unified;
        const char *group = group_path(line, &unified);

        if (group != NULL)
            min = fmin(min, path_cores(root, mounts, group, unified));
    }
    free(line);
    if (groups != NULL)
        fclose(groups);
    if (mounts != NULL)
        fclose(mounts);
    return min;
}

/* --- affinity ----------------------------------------------------------------------------- */

/* Cores that this process may run on; the kernel wants a set as large as its own. */
static int affinity_cores(void)
{
    for (int cores = 1024; cores <= 1 << 20; cores *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cores);
        const size_t size = CPU_ALLOC_SIZE((size_t)cores);
        int count = 0, failed;

        if (set == NULL)
            break;
        failed = sched_getaffinity(0, size, set) != 0 ? errno : 0;
        if (failed == 0)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (failed == 0)
            return count;
        if (failed != EINVAL)
            break;
    }
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

unsigned cv_usable_cores(void)
{
    const double granted = ceil(cv_cgroup_cores(""));
    const int cores = affinity_cores();

    return (unsigned)fmax(1, fmin(granted, cores));
}
