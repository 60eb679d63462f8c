/* Says what it does: each function's comment has the numbers that the tests expect. It
 * is without a C library, so that a capture has all code that its stacks lie in. Functions
 * are called from loops and do something after the call, so that no call is a jump. */

#define KEEP __attribute__((noipa))

#if defined __x86_64__
enum { sys_write = 1, sys_nanosleep = 35, sys_exit = 231 };

static long system_call(long number, long a, long b, long c)
{
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

asm(".globl _start\n_start:\n\t.cfi_startproc\n\t.cfi_undefined rip\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n\thlt\n\t.cfi_endproc\n");
#else
enum { sys_write = 64, sys_nanosleep = 101, sys_exit = 94 };

static long system_call(long number, long a, long b, long c)
{
	register long x8 asm("x8") = number, x0 asm("x0") = a, x1 asm("x1") = b, x2 asm("x2") = c;

	asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

asm(".globl _start\n_start:\n\t.cfi_startproc\n\t.cfi_undefined x30\n\tmov x29, 0\n\tbl begin\n\tbrk 0\n\t.cfi_endproc\n");
#endif

static volatile long sink;
static char buffer[1000];

/* Is busy. */
KEEP void spin(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}

/* Uses nearly all the CPU time, by spin. */
KEEP void busy(void)
{
	for (int i = 0; i < 40; i++) {
		spin(20000000);
		sink++;
	}
}

/* Waits 5 times for 20 ms. */
KEEP void wait(void)
{
	long time[2] = {0, 20000000};

	for (int i = 0; i < 5; i++) {
		system_call(sys_nanosleep, (long)time, 0, 0);
		sink++;
	}
}

/* Writes 20 times 1000 bytes, and fails 3 times. */
KEEP void writes(void)
{
	for (int i = 0; i < 20; i++) {
		system_call(sys_write, 1, (long)buffer, sizeof buffer);
		sink++;
	}
	for (int i = 0; i < 3; i++) {
		system_call(sys_write, -1, (long)buffer, sizeof buffer);
		sink++;
	}
}

static char heap[1 << 16];
static long used;

KEEP void *malloc(unsigned long size)
{
	void *p = heap + used;

	used += (size + 15) & -16;
	return p;
}

KEEP void free(void *p)
{
	sink += (long)p;
}

/* Keeps 30 times 100 bytes. */
KEEP void keeps(void)
{
	for (int i = 0; i < 30; i++)
		sink += (long)malloc(100);
}

/* Allocates 20 times 50 bytes, and frees them. */
KEEP void frees(void)
{
	for (int i = 0; i < 20; i++) {
		free(malloc(50));
		sink++;
	}
}

/* Is called with 0 to 39, by calls. */
KEEP long work(long n)
{
	for (long i = 0; i < 100 * n; i++)
		sink += i;
	return n;
}

KEEP void calls(void)
{
	for (long i = 0; i < 40; i++)
		sink += work(i);
}

KEEP void begin(void)
{
	busy();
	wait();
	writes();
	keeps();
	frees();
	calls();
	system_call(sys_exit, 0, 0, 0);
	sink++;
}
