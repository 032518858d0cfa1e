/* kernel_calls.h -- calls of the kernel that leave errno alone. SPDX-License-Identifier: MIT
 *
 * A child that shares our memory must not touch errno, or anything else of ours. CV_KNOWN_MACHINE:
 * there are such calls on this machine. */
#ifndef CV_KERNEL_CALLS_H
#define CV_KERNEL_CALLS_H
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CV_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CV_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__LP64__) && !defined(CV_SANITIZED)
#define CV_KNOWN_MACHINE 1
static inline long cv_call(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__) && !defined(CV_SANITIZED)
#define CV_KNOWN_MACHINE 1
static inline long cv_call(long number, long a, long b, long c, long d)
{
    register long which __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;

    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth)
                     : "memory");
    return result;
}
#endif

#ifdef CV_KNOWN_MACHINE

#ifndef SYS_clone3
#define SYS_clone3 435 /* on all machines */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* What clone3 is told: the first version of it, which all kernels that have it know. */
struct cv_clone_words {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

/* As clone of the C library, which clone3 has no function for: the child calls
 * enter(context) on its own stack, and ends with what that returns. */
static inline long cv_call_clone3(const struct cv_clone_words *words,
                                  int (*enter)(void *), void *context)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "movq %[context], %%rdi\n\t"
                     "callq *%[enter]\n\t"
                     "movl %%eax, %%edi\n\t"
                     "movl %[end], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone3), "D"(words), "S"(sizeof *words),
                       [enter] "r"(enter), [context] "r"(context), [end] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
#else
    register long which __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)words;
    register long size __asm__("x1") = sizeof *words;

    __asm__ volatile(
        "svc 0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x0, %[context]\n\t"
        "blr %[enter]\n\t"
        "mov x8, %[end]\n\t"
        "svc 0\n"
        "1:"
        : "+r"(result)
        : "r"(which),
          "r"(size), [enter] "r"(enter), [context] "r"(context), [end] "i"(SYS_exit)
        : "memory");
#endif
    return result;
}

#endif
#endif
