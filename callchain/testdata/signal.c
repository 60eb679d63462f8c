/* A program without a C library whose signal handler returns to code that has
 * no call frame information, as musl's does. */
#define SIGUSR1 10
#define SA_RESTORER 0x04000000

static volatile int sink;

#if defined(__aarch64__)
enum { nr_kill = 129, nr_getpid = 172, nr_sigaction = 134 };
static long call(long n, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
	/* The emulator's debugger steps over two instructions here. */
	__asm__ volatile("svc #0\nnop" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
__asm__("nop\nnop\nrestorer:\nmov x8, #139\nsvc #0\n"
	".globl _start\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
	"mov x29, #0\nmov x30, #0\nbl run\nmov x0, #0\nmov x8, #93\nsvc #0\n.cfi_endproc\n");
#else
enum { nr_kill = 62, nr_getpid = 39, nr_sigaction = 13 };
static long call(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return n;
}
__asm__("nop\nnop\nrestorer:\nmov $15, %rax\nsyscall\nnop\nnop\n"
	".globl _start\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
	"xor %ebp, %ebp\ncall run\nxor %edi, %edi\nmov $60, %eax\nsyscall\n.cfi_endproc\n");
#endif

void restorer(void);

__attribute__((noinline)) static int leaf(int n) { return n * sink + 1; }

static void handler(int signal) { sink += leaf(signal); }

__attribute__((noinline)) static void interrupted(int n)
{
	sink += n;
	call(nr_kill, call(nr_getpid, 0, 0, 0, 0), SIGUSR1, 0, 0);
	sink += leaf(n);
}

__attribute__((noinline, used)) static void run(void)
{
	struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; }
		action = {handler, SA_RESTORER, restorer, 0};
	call(nr_sigaction, SIGUSR1, (long)&action, 0, 8);
	interrupted(3);
	sink++;
}
