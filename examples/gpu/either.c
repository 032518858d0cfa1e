/* either.c -- one source for a core and for a GPU. SPDX-License-Identifier: MIT
 *
 *     cc -O2 -o either either.c                        for cores
 *     nvcc -O3 -arch=native -x cu -o either either.c   for both
 *
 *     either ROUNDS [stay]
 *
 * Each line of the input is a number. It is mixed so often as ROUNDS says and written in
 * hexadecimal digits; the result is the same on a core and on a GPU. With stay it is a command
 * for cleave run --persistent. A program made by nvcc computes on the first visible GPU
 * (CUDA_VISIBLE_DEVICES), or on a core.
 *
 * Without a GPU, a core can replace one, to show how the load is shared: with
 * EITHER_PACE=N it answers N numbers in a second, asleep for the rest of the time, in
 * batches of a sixteenth of a second, and with EITHER_START=S its start takes S
 * seconds. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __CUDACC__
#define EITHER __host__ __device__
#else
#define EITHER
#endif

enum {
    LANES = 8,            /* numbers that a core mixes side by side      */
    BATCH_CORE = 64,      /* numbers that are read before they are mixed */
    BATCH_GPU = 256 << 10 /* as many as a large GPU has threads          */
};

/* --- what is computed --------------------------------------------------------------------- */

static EITHER uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) + UINT64_C(0x9e3779b97f4a7c15);
}

static void mix_on_core(uint64_t *numbers, size_t count, uint32_t rounds)
{
    for (size_t at = 0; at < count; at += LANES) {
        const size_t n = count - at < LANES ? count - at : LANES;
        uint64_t lanes[LANES] = { 0 };

        memcpy(lanes, numbers + at, n * sizeof *lanes);
        for (uint32_t r = 0; r < rounds; r++)
            for (size_t i = 0; i < LANES; i++)
                lanes[i] = mix(lanes[i]);
        memcpy(numbers + at, lanes, n * sizeof *lanes);
    }
}

#ifdef __CUDACC__
static uint64_t
    *there; /* BATCH_GPU numbers in the memory of the GPU; NULL: there is none */

static __global__ void mix_each(uint64_t *numbers, size_t count, uint32_t rounds)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    uint64_t x = numbers[i];
    for (uint32_t r = 0; r < rounds; r++)
        x = mix(x);
    numbers[i] = x;
}

static bool find_gpu(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;

    if (visible != NULL && visible[0] == '\0')
        return false;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 &&
           cudaMalloc((void **)&there, BATCH_GPU * sizeof *there) == cudaSuccess;
}

static bool mix_on_gpu(uint64_t *numbers, size_t count, uint32_t rounds)
{
    const size_t bytes = count * sizeof *numbers;
    const unsigned threads = 256, blocks = (unsigned)((count + threads - 1) / threads);

    if (cudaMemcpy(there, numbers, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
        return false;
    mix_each<<<blocks, threads>>>(there, count, rounds);
    return cudaMemcpy(numbers, there, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}
#else
static const void *const there = NULL;

static bool find_gpu(void)
{
    return false;
}

static bool mix_on_gpu(uint64_t *numbers, size_t count, uint32_t rounds)
{
    (void)numbers;
    (void)count;
    (void)rounds;
    return false;
}
#endif

/* --- a core that stands in ---------------------------------------------------------------- */

static double pace; /* numbers in a second; 0: as many as can be */

static double number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL ? strtod(text, NULL) : 0;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sleep_s(double seconds)
{
    struct timespec rest;

    if (seconds <= 0)
        return;
    rest.tv_sec = (time_t)seconds;
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

/* --- in and out --------------------------------------------------------------------------- */

/* Mix some numbers, at most a batch, and write them. */
static bool answer(uint64_t *numbers, size_t count, uint32_t rounds)
{
    static const char digits[] = "0123456789abcdef";
    const double from_s = pace > 0 ? now_s() : 0;

    if (there == NULL)
        mix_on_core(numbers, count, rounds);
    else if (!mix_on_gpu(numbers, count, rounds))
        return false;
    if (pace > 0)
        sleep_s((double)count / pace - (now_s() - from_s));
    for (size_t i = 0; i < count; i++) {
        char line[17];

        for (int k = 0; k < 16; k++)
            line[k] = digits[numbers[i] >> (60 - 4 * k) & 15];
        line[16] = '\n';
        if (fwrite(line, 1, sizeof line, stdout) != sizeof line)
            return false;
    }
    return true;
}

/* A command for one chunk: works as it reads, so that other workers can take its unread
 * input. */
static bool work_once(uint64_t *numbers, size_t batch, uint32_t rounds)
{
    char line[64];
    size_t count = 0;

    while (fgets(line, sizeof line, stdin) != NULL) {
        numbers[count++] = strtoull(line, NULL, 10);
        if (count == batch) {
            if (!answer(numbers, count, rounds))
                return false;
            count = 0;
        }
    }
    return answer(numbers, count, rounds) && fflush(stdout) == 0;
}

/* The answer to one chunk, as long as it says before. */
static bool answer_chunk(const char *chunk, uint64_t *numbers, size_t batch,
                         uint32_t rounds)
{
    unsigned char head[8];
    uint64_t length = 0;
    size_t count = 0;

    for (const char *at = chunk; *at != '\0'; at++)
        length += *at == '\n' ? 17 : 0;
    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)(length >> (56 - 8 * i));
    if (fwrite(head, 1, 8, stdout) != 8)
        return false;
    for (const char *at = chunk; *at != '\0'; at = strchr(at, '\n') + 1) {
        numbers[count++] = strtoull(at, NULL, 10);
        if (count < batch)
            continue;
        if (!answer(numbers, count, rounds))
            return false;
        count = 0;
    }
    return answer(numbers, count, rounds) && fflush(stdout) == 0;
}

/* A command that stays: lengths have 8 bytes, the highest first. Every line of a chunk ends in
 * a newline, or the last one gets it here. */
static bool work_on(uint64_t *numbers, size_t batch, uint32_t rounds)
{
    unsigned char head[8];
    bool good = true;

    while (good && fread(head, 1, 8, stdin) == 8) {
        uint64_t length = 0;
        char *chunk;

        for (int i = 0; i < 8; i++)
            length = length << 8 | head[i];
        chunk = (char *)malloc(length + 2);
        good = chunk != NULL && fread(chunk, 1, length, stdin) == length;
        if (good) {
            if (length > 0 && chunk[length - 1] != '\n')
                chunk[length++] = '\n';
            chunk[length] = '\0';
            good = answer_chunk(chunk, numbers, batch, rounds);
        }
        free(chunk);
    }
    return good;
}

/* How many numbers are read before they are mixed. */
static size_t find_batch(void)
{
    if (pace <= 0)
        return find_gpu() ? BATCH_GPU : BATCH_CORE;
    return pace / 16 < 1 ? 1 : pace / 16 < BATCH_GPU ? (size_t)(pace / 16) : BATCH_GPU;
}

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    const bool stay = argc > 2 && strcmp(argv[2], "stay") == 0;
    uint64_t *numbers;
    size_t batch;
    bool good;

    if (rounds == 0 || (argc > 2 && !stay)) {
        fputs("usage: either ROUNDS [stay]\n", stderr);
        return 2;
    }
    pace = number_of("EITHER_PACE");
    sleep_s(number_of("EITHER_START"));
    batch = find_batch();
    numbers = (uint64_t *)malloc(batch * sizeof *numbers);
    good = numbers != NULL &&
           (stay ? work_on(numbers, batch, rounds) : work_once(numbers, batch, rounds));
    free(numbers);
    return good ? 0 : 1;
}
