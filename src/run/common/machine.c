/* machine.c -- cores, processors and GPUs of this machine that may be used.
 * SPDX-License-Identifier: MIT
 *
 * A control group grants q microseconds of processor time per period p to all its processes: q /
 * p cores. Groups are nested, and the smallest share counts. Version 2 has both numbers in
 * cpu.max, version 1 in cpu.cfs_quota_us and cpu.cfs_period_us.
 *
 * Workers get processors in this order: fast before slow (efficiency cores have a lower
 * cpu_capacity, or are listed in /sys/devices/cpu_atom), the first hardware thread of a core
 * before the second, and NUMA nodes in turn. With more workers than processors the order
 * repeats. */
#include "run/common/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/fail.h"

void cv_read_first(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, out, size - 1) : 0;

    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static FILE *open_file(const char *folder, const char *name)
{
    FILE *file = NULL;
    char *path;

    if (asprintf(&path, "%s/%s", folder, name) >= 0) {
        file = fopen(path, "re");
        free(path);
    }
    return file;
}

/* The first line of a file; false: it cannot be read. */
static bool read_line(const char *folder, const char *name, char *line, size_t size)
{
    FILE *file = open_file(folder, name);
    const bool good = file != NULL && fgets(line, (int)size, file) != NULL;

    if (file != NULL)
        fclose(file);
    return good;
}

/* The processor time of a group in cores; INFINITY: no limit, as for "max" and -1. */
static double group_cores(const char *folder, bool unified)
{
    char line[128] = "", *rest;
    double quota, period;

    (void)read_line(folder, unified ? "cpu.max" : "cpu.cfs_quota_us", line, sizeof line);
    quota = strtod(line, &rest);
    if (!unified && !read_line(folder, "cpu.cfs_period_us", rest = line, sizeof line))
        return INFINITY;
    period = strtod(rest, NULL);
    return isfinite(quota) && quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The smallest share of the group in `folder` and of the groups above it, down to `top` bytes of
 * the path. Changes `folder`. */
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

/* Whether the comma-separated `list` has `word`. */
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

/* The path of the group of this process in a line of proc/self/cgroup, "7:cpu,cpuacct:/a" or
 * "0::/a"; NULL: the line is about another controller. Changes `line`. */
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

/* Parse a line of proc/self/mountinfo, "36 35 98:0 ROOT POINT options.. - TYPE source OPTIONS".
 * False: another kind of mount. Changes `line`. */
static bool group_mount(char *line, bool unified, const char **root, const char **point)
{
    char *rest = strstr(line, " - "), type[16], options[1024];

    if (rest == NULL || sscanf(rest, " - %15s %*s %1023s", type, options) != 2 ||
        strcmp(type, unified ? "cgroup2" : "cgroup") != 0 ||
        (!unified && !is_listed(options, "cpu")))
        return false;
    for (int i = 0; i < 3; i++)
        (void)strsep(&line, " ");
    *root = strsep(&line, " ");
    *point = strsep(&line, " ");
    return *point != NULL;
}

/* The share of the group at `path`, over all mounts of its kind. */
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
        /* Only the tree below `from` is mounted. */
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
    FILE *groups = open_file(root, "proc/self/cgroup");
    FILE *mounts = groups != NULL ? open_file(root, "proc/self/mountinfo") : NULL;
    char *line = NULL;
    size_t size = 0;

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

/* The set must be as large as the one of the kernel, which has at most 8,192 processors. */
static int affinity_cores(void)
{
    enum { CORES = 1 << 16 };
    cpu_set_t *set = CPU_ALLOC(CORES);
    const size_t size = CPU_ALLOC_SIZE(CORES);
    const int count = set != NULL && sched_getaffinity(0, size, set) == 0
                          ? CPU_COUNT_S(size, set)
                          : (int)sysconf(_SC_NPROCESSORS_ONLN);

    CPU_FREE(set);
    return count;
}

unsigned cv_usable_cores(void)
{
    const double granted = ceil(cv_cgroup_cores(""));
    const int cores = affinity_cores();

    return (unsigned)fmax(1, fmin(granted, cores));
}

/* --- affinity ------------------------------------------------------------------------ */

/* cpu_capacity of the fastest processors and of efficiency cores. */
enum { CAPACITY = 1024, SLOW = 512 };

struct cpu {
    int number, node;
    int thread;        /* index in the core */
    long capacity;     /* relative to CAPACITY */
    unsigned turn;     /* number of equal processors before it on its node */
    cpu_set_t threads; /* hardware threads of the core */
};

struct cpus {
    struct cpu items[CPU_SETSIZE];
    unsigned count;
};

/* Parse a file such as "0-3,8"; false: it cannot be read. */
static bool read_list(const char *root, const char *path, cpu_set_t *out)
{
    char line[4096], *at = line;

    CPU_ZERO(out);
    if (!read_line(root, path, line, sizeof line))
        return false;
    while (*at >= '0' && *at <= '9') {
        const long first = strtol(at, &at, 10);
        const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, out);
        at += *at == ',';
    }
    return true;
}

static long read_capacity(const char *root, int number, const cpu_set_t *atoms)
{
    char path[64], line[32];
    long capacity = 0;

    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cpu_capacity", number);
    if (read_line(root, path, line, sizeof line))
        capacity = strtol(line, NULL, 10);
    if (capacity > 0)
        return capacity;
    return CPU_ISSET((size_t)number, atoms) ? SLOW : CAPACITY;
}

/* Find the usable hardware threads of the core, and the index of this one. */
static void read_core(const char *root, const cpu_set_t *usable, struct cpu *cpu)
{
    char path[96];

    snprintf(path, sizeof path,
             "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu->number);
    (void)read_list(root, path, &cpu->threads);
    CPU_AND(&cpu->threads, &cpu->threads, usable);
    CPU_SET((size_t)cpu->number, &cpu->threads);
    cpu->thread = 0;
    for (int i = 0; i < cpu->number; i++)
        cpu->thread += CPU_ISSET((size_t)i, &cpu->threads) != 0;
}

static void read_nodes(const char *root, struct cpus *cpus)
{
    cpu_set_t list;
    char path[64];

    for (int node = 0; node < CPU_SETSIZE; node++) {
        snprintf(path, sizeof path, "sys/devices/system/node/node%d/cpulist", node);
        if (!read_list(root, path, &list))
            continue;
        for (unsigned i = 0; i < cpus->count; i++)
            if (CPU_ISSET((size_t)cpus->items[i].number, &list))
                cpus->items[i].node = node;
    }
}

static bool are_alike(const struct cpu *a, const struct cpu *b)
{
    return a->thread == b->thread && a->capacity == b->capacity && a->node == b->node;
}

static int in_order(const void *left, const void *right)
{
    const struct cpu *a = left, *b = right;

    return a->thread != b->thread       ? CV_COMPARE(a->thread, b->thread)
           : a->capacity != b->capacity ? CV_COMPARE(b->capacity, a->capacity)
           : a->turn != b->turn         ? CV_COMPARE(a->turn, b->turn)
           : a->node != b->node         ? CV_COMPARE(a->node, b->node)
                                        : a->number - b->number;
}

static void read_cpus(const char *root, const cpu_set_t *usable, struct cpus *cpus)
{
    cpu_set_t atoms;

    (void)read_list(root, "sys/devices/cpu_atom/cpus", &atoms);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, usable)) {
            struct cpu *cpu = &cpus->items[cpus->count++];

            *cpu =
                (struct cpu){ .number = i, .capacity = read_capacity(root, i, &atoms) };
            read_core(root, usable, cpu);
        }
    read_nodes(root, cpus);
    for (unsigned i = 0; i < cpus->count; i++)
        for (unsigned k = 0; k < i; k++)
            cpus->items[i].turn += are_alike(&cpus->items[k], &cpus->items[i]);
    qsort(cpus->items, cpus->count, sizeof *cpus->items, in_order);
}

enum cleave_status cv_cpu_affinity_make(const char *root, const cpu_set_t *usable,
                                        enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err)
{
    struct cpus *cpus = calloc(1, sizeof *cpus);
    unsigned cores = 0;

    if (cpus == NULL)
        return cv_fail_memory(err, "the processors");
    read_cpus(root, usable, cpus);
    for (unsigned i = 0; i < cpus->count; i++)
        cores += cpus->items[i].thread == 0;
    for (uint32_t w = 0; w < count && cpus->count > 0; w++) {
        const struct cpu *cpu = &cpus->items[w % cpus->count];

        CPU_ZERO(&out[w]);
        CPU_SET((size_t)cpu->number, &out[w]);
        if (how == CLEAVE_PIN_CORES && count <= cores)
            out[w] = cpu->threads;
        for (unsigned i = 0; i < cpus->count && how == CLEAVE_PIN_NODES; i++)
            if (cpus->items[i].node == cpu->node)
                CPU_SET((size_t)cpus->items[i].number, &out[w]);
    }
    free(cpus);
    return CLEAVE_OK;
}

enum cleave_status cv_cpu_affinity_here(enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err)
{
    cpu_set_t usable;

    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return cv_fail_errno(err, errno,
                             "cannot pin commands: the processors of this machine");
    return cv_cpu_affinity_make("", &usable, how, count, out, err);
}

/* --- GPUs ---------------------------------------------------------------------------- */

static const char variable[] = "CUDA_VISIBLE_DEVICES";

/* Entry `index` of the list; NULL: there is none. As in CUDA, -1 hides all that follow. */
static const char *find_entry(const char *list, uint32_t index, size_t *out_length)
{
    for (;;) {
        const size_t length = strcspn(list, ",");

        if (length == 0 || strncmp(list, "-1", 2) == 0)
            return NULL;
        if (index-- == 0) {
            *out_length = length;
            return list;
        }
        if (list[length] == '\0')
            return NULL;
        list += length + 1;
    }
}

static uint32_t count_files(const char *folder)
{
    static const char stem[] = "nvidia";
    DIR *files = opendir(folder);
    const struct dirent *file;
    uint32_t count = 0;

    while (files != NULL && (file = readdir(files)) != NULL) {
        const char *number = file->d_name + sizeof stem - 1;

        if (strncmp(file->d_name, stem, sizeof stem - 1) == 0 && *number != '\0' &&
            number[strspn(number, "0123456789")] == '\0')
            count++;
    }
    if (files != NULL)
        closedir(files);
    return count;
}

/* Count lines such as "GPU 0: NVIDIA H200 (UUID: ..)". */
static uint32_t count_listed(void)
{
    /* NOLINTNEXTLINE(cert-env33-c): a constant command */
    FILE *list = popen("nvidia-smi -L 2>/dev/null", "re");
    char line[512];
    uint32_t count = 0;

    while (list != NULL && fgets(line, sizeof line, list) != NULL)
        count += strncmp(line, "GPU ", 4) == 0;
    if (list != NULL)
        (void)pclose(list);
    return count;
}

uint32_t cv_gpus_count(const char *folder)
{
    const char *visible = getenv(variable);
    size_t length;
    uint32_t count = 0;

    if (visible == NULL) {
        count = count_files(folder);
        return count > 0 ? count : count_listed();
    }
    while (find_entry(visible, count, &length) != NULL)
        count++;
    return count;
}

enum cleave_status cv_gpu_name(uint32_t index, char *out, size_t size,
                               struct cleave_error *err)
{
    const char *visible = getenv(variable), *entry;
    size_t length;

    if (visible == NULL) {
        snprintf(out, size, "%u", index);
        return CLEAVE_OK;
    }
    entry = find_entry(visible, index, &length);
    if (entry == NULL || length >= size)
        return cv_fail(err, CLEAVE_EINPUT, "%s is '%s', which has no GPU number %u",
                       variable, visible, index);
    snprintf(out, size, "%.*s", (int)length, entry);
    return CLEAVE_OK;
}
