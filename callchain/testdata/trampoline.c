// The code that a signal handler returns to, as in a vdso: without call frame information.
#if defined __x86_64__
__asm__("nop\n.globl restore\nrestore: mov $15, %rax\nsyscall");
#else
__asm__("nop\n.globl restore\nrestore: mov x8, #139\nsvc #0");
#endif
