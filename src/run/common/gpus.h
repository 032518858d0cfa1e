/* gpus.h -- the GPUs that commands may use. SPDX-License-Identifier: MIT */
#ifndef CV_GPUS_H
#define CV_GPUS_H
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

/* How many there are: those that CUDA_VISIBLE_DEVICES lists, where somebody has set it, a batch
 * system for instance; else files nvidia0, nvidia1, .. in `folder` ("/dev"); else what
 * nvidia-smi lists. */
uint32_t cv_gpus_count(const char *folder);
/* What CUDA_VISIBLE_DEVICES has to be for one of them, from 0. Refused if it is set and lists
 * fewer. */
enum cleave_status cv_gpu_name(uint32_t index, char *out, size_t size,
                               struct cleave_error *err);

#endif
