/* machine.h -- cores, processors and GPUs of this machine that may be used.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MACHINE_H
#define CV_MACHINE_H
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/execute.h>

/* The first bytes of a file as a string; "" if it cannot be read. */
void cv_read_first(const char *path, char *out, size_t size);

/* The cores of the affinity mask, or fewer if a control group (version 1 or 2) grants less
 * processor time; rounded up, at least 1. */
unsigned cv_usable_cores(void);
/* The processor time that control groups grant, in cores, from the files below `root` ("" for
 * this machine). INFINITY: no limit. */
double cv_cgroup_cores(const char *root);

/* Choose among the processors `usable` for each of `count` workers. CLEAVE_PIN_CORES: one core
 * with all its hardware threads if there are enough cores, else one thread; CLEAVE_PIN_NODES: the
 * NUMA node of that core. The processors are described in sys/devices below `root` ("" for this
 * machine); the default is one node, one thread per core, equal speeds. */
enum cleave_status cv_cpu_affinity_make(const char *root, const cpu_set_t *usable,
                                        enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);
/* cv_cpu_affinity_make for this machine. */
enum cleave_status cv_cpu_affinity_here(enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);

/* The number of GPUs: the entries of CUDA_VISIBLE_DEVICES if it is set; else the files nvidia0,
 * nvidia1, .. in `folder` ("/dev"); else the lines of nvidia-smi. */
uint32_t cv_gpus_count(const char *folder);
/* The value of CUDA_VISIBLE_DEVICES for GPU `index`, from 0. Fails if the variable is set and has
 * fewer entries. */
enum cleave_status cv_gpu_name(uint32_t index, char *out, size_t size,
                               struct cleave_error *err);

#endif
