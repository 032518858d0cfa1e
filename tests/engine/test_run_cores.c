/* test_run_cores.c -- cores that a process may use. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <sched.h>
#include <sys/stat.h>

#include "run/common/machine.h"
#include "plumbing_check.h"

static char root[] = "/tmp/cleave-test-XXXXXX";

/* Write a file below the root, and the folders that lead there. */
static void put(const char *path, const char *text)
{
    char whole[300];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/cleave-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    return 0;
}

static int remove_root(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command); // NOLINT(cert-env33-c): a name made here
}

static void assert_cores(double cores)
{
    const double got = cv_cgroup_cores(root);

    if (isinf(cores))
        assert_true(isinf(got));
    else
        assert_true(fabs(got - cores) < 1e-9);
}

static void without_groups_there_is_no_limit(void **state)
{
    (void)state;
    assert_cores(INFINITY);
    put("proc/self/cgroup", "0::/\n");
    assert_cores(INFINITY);
    put("proc/self/mountinfo", "no mount\n1 2 - cgroup2\n\n - cgroup2 cgroup2 rw\n");
    assert_cores(INFINITY);
}

static void version_2_has_one_file(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user/job\n");
    put("proc/self/mountinfo",
        "22 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n"
        "35 22 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    assert_cores(INFINITY);
    put("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    assert_cores(INFINITY);
    put("sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
    assert_cores(2.5);
    /* The groups above count as well. */
    put("sys/fs/cgroup/user/cpu.max", "50000 100000\n");
    assert_cores(0.5);
    put("sys/fs/cgroup/user/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/cpu.max", "20000 10000\n");
    assert_cores(2);
}

static void version_1_has_two(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:cpuset:/\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n");
    put("proc/self/mountinfo",
        "40 35 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup "
        "rw,cpu,cpuacct\n"
        "41 35 0:32 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_cores(INFINITY);
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    assert_cores(1.5);
    /* For a group that is not below the mount, only the mount is visible. */
    put("proc/self/cgroup", "4:cpu,cpuacct:/../other\n");
    assert_cores(1.5);
}

static void affinity_counts(void **state)
{
    const unsigned all = cv_usable_cores();
    cpu_set_t before, one;
    size_t first = 0;

    (void)state;
    assert_true(all >= 1);
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        skip();
    assert_in_range(all, 1, CPU_COUNT(&before));
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cv_usable_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cv_usable_cores(), all);
}

static void gpus_are_files(void **state)
{
    struct cleave_error err;
    char name[8];

    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    put("nvidia0", "");
    put("nvidia12", "");
    put("nvidiactl", "");
    put("nvidia-uvm", "");
    put("nvidia", "");
    assert_int_equal(cv_gpus_count(root), 2);
    assert_int_equal(cv_gpu_name(1, name, sizeof name, &err), CLEAVE_OK);
    assert_string_equal(name, "1");
    setenv("CUDA_VISIBLE_DEVICES", "3,5,7", 1);
    assert_int_equal(cv_gpus_count(root), 3);
    assert_int_equal(cv_gpu_name(2, name, sizeof name, &err), CLEAVE_OK);
    assert_string_equal(name, "7");
    assert_int_equal(cv_gpu_name(3, name, sizeof name, &err), CLEAVE_EINPUT);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* --- pins --------------------------------------------------------------------------------- */

/* The processors of every worker, as letters: 0 is 'a'; a space separates workers. */
static const char *pins(unsigned ncpus, enum cleave_pin how, uint32_t count)
{
    static char text[256];
    cpu_set_t usable, made[16];
    char *at = text;

    CPU_ZERO(&usable);
    for (unsigned i = 0; i < ncpus; i++)
        CPU_SET(i, &usable);
    assert_true(count <= 16);
    assert_int_equal(cv_cpu_affinity_make(root, &usable, how, count, made, NULL),
                     CLEAVE_OK);
    for (uint32_t w = 0; w < count; w++) {
        if (w > 0)
            *at++ = ' ';
        for (unsigned i = 0; i < 26; i++)
            if (CPU_ISSET(i, &made[w]))
                *at++ = (char)('a' + i);
    }
    *at = '\0';
    return text;
}

/* Two nodes with two cores each of two threads: 0 to 3 are first ones, 4 to 7 second ones. */
static void threads_and_nodes_are_distinguished(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        char path[96], list[16];

        snprintf(path, sizeof path,
                 "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
        snprintf(list, sizeof list, "%d,%d\n", i % 4, i % 4 + 4);
        put(path, list);
    }
    put("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
    put("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
    assert_string_equal(pins(8, CLEAVE_PIN_CORES, 4), "ae cg bf dh");
    assert_string_equal(pins(8, CLEAVE_PIN_CORES, 6), "a c b d e g");
    assert_string_equal(pins(8, CLEAVE_PIN_CORES, 9), "a c b d e g f h a");
    assert_string_equal(pins(8, CLEAVE_PIN_NODES, 3), "abef cdgh abef");
    assert_string_equal(pins(6, CLEAVE_PIN_CORES, 2), "ae c");
    assert_string_equal(pins(3, CLEAVE_PIN_NODES, 3), "ab c ab");
}

static void slow_cores_come_last(void **state)
{
    (void)state;
    assert_string_equal(pins(4, CLEAVE_PIN_CORES, 5), "a b c d a");
    assert_string_equal(pins(2, CLEAVE_PIN_NODES, 2), "ab ab");
    put("sys/devices/cpu_atom/cpus", "0-1\n");
    assert_string_equal(pins(4, CLEAVE_PIN_CORES, 4), "c d a b");
    put("sys/devices/cpu_atom/cpus", "");
    put("sys/devices/system/cpu/cpu0/cpu_capacity", "446\n");
    put("sys/devices/system/cpu/cpu1/cpu_capacity", "1024\n");
    put("sys/devices/system/cpu/cpu2/cpu_capacity", "446\n");
    put("sys/devices/system/cpu/cpu3/cpu_capacity", "871\n");
    assert_string_equal(pins(4, CLEAVE_PIN_CORES, 4), "b d a c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups_there_is_no_limit, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(version_2_has_one_file, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1_has_two, make_root, remove_root),
        cmocka_unit_test_setup_teardown(gpus_are_files, make_root, remove_root),
        cmocka_unit_test_setup_teardown(threads_and_nodes_are_distinguished, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(slow_cores_come_last, make_root, remove_root),
        cmocka_unit_test(affinity_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
