/* chaos_kit.c -- chance, bytes, files, time. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "chaos/chaos.h"

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t chance_below(struct chance *chance, uint64_t max)
{
    return max > 0 ? chance_next(chance) % max : 0;
}

bool chance_one_in(struct chance *chance, uint64_t many)
{
    return chance_below(chance, many) == 0;
}

void give_up(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fputs("chaos: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(2);
}

void bytes_add(struct bytes *bytes, const void *more, size_t length)
{
    if (bytes->length + length + 1 > bytes->room) {
        bytes->room = 2 * (bytes->length + length + 64);
        bytes->at = realloc(bytes->at, bytes->room);
        if (bytes->at == NULL)
            give_up("out of memory");
    }
    if (length > 0)
        memcpy(bytes->at + bytes->length, more, length);
    bytes->length += length;
    bytes->at[bytes->length] = '\0';
}

void bytes_print(struct bytes *bytes, const char *format, ...)
{
    char text[2 * WORD];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof text)
        give_up("a text is too long");
    bytes_add(bytes, text, (size_t)length);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){ 0 };
}

bool bytes_read(struct bytes *bytes, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char part[65536];
    ssize_t got;

    bytes->length = 0;
    bytes_add(bytes, "", 0);
    if (fd < 0)
        return false;
    while ((got = read(fd, part, sizeof part)) > 0)
        bytes_add(bytes, part, (size_t)got);
    close(fd);
    return got == 0;
}

void bytes_write(const struct bytes *bytes, const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    for (size_t done = 0; done < bytes->length;) {
        const ssize_t put = write(fd, bytes->at + done, bytes->length - done);

        if (put <= 0)
            give_up("%s: %s", path, strerror(errno));
        done += (size_t)put;
    }
    close(fd);
}

double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void sleep_s(double seconds)
{
    const struct timespec time = { (time_t)seconds,
                                   (long)(1e9 * (seconds - (double)(time_t)seconds)) };

    nanosleep(&time, NULL);
}
