/* machine.h -- how many cores this process may use. SPDX-License-Identifier: MIT */
#ifndef CV_MACHINE_H
#define CV_MACHINE_H
#include <cleave/error.h>
#include <cleave/execute.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* The cores that this process may run on (affinity), or fewer if a control group, version
 * 1 or 2, grants less time than they have; rounded up, at least 1. */
unsigned cv_usable_cores(void);

/* The share of time that control groups grant, in cores, read from the proc/self/cgroup,
 * proc/self/mountinfo and mounts below `root` ("" for the real ones). INFINITY: no limit. */
double cv_cgroup_cores(const char *root);

/* For `count` workers, which of the processors `usable` each may run on. CLEAVE_PIN_CORES: a
 * core, with all its hardware threads if there are as many cores as workers, else one thread;
 * CLEAVE_PIN_NODES: all of the NUMA node of that core. The machine is described by the
 * sys/devices below `root` ("" for this one); what is not said there counts as one node, one
 * thread a core, and as fast as the others. */
enum cleave_status cv_cpu_affinity_make(const char *root, const cpu_set_t *usable,
                                        enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);
/* The same on this machine. */
enum cleave_status cv_cpu_affinity_here(enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);

/* How many there are: those that CUDA_VISIBLE_DEVICES lists, where somebody has set it, a batch
 * system for instance; else files nvidia0, nvidia1, .. in `folder` ("/dev"); else what
 * nvidia-smi lists. */
uint32_t cv_gpus_count(const char *folder);
/* What CUDA_VISIBLE_DEVICES has to be for one of them, from 0. Refused if it is set and lists
 * fewer. */
enum cleave_status cv_gpu_name(uint32_t index, char *out, size_t size,
                               struct cleave_error *err);

#endif
