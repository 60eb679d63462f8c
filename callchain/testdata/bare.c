/* A program without a C library, for machines that have none at hand: calls,
 * recursion, a variable-length array, a realigned stack, a tail call. */
static volatile int sink;

__attribute__((noinline)) static int leaf(int n) { return n * sink + 1; }

__attribute__((noinline)) static int recurse(int n)
{
	int r = n ? recurse(n - 1) : leaf(n);
	sink += r;
	return r + 1;
}

__attribute__((noinline)) static int dynamic(int n)
{
	volatile char block[n + sink];
	for (int i = 0; i < n; i++)
		block[i] = i;
	return leaf(block[n / 2]) + recurse(2);
}

__attribute__((noinline)) static int aligned(int n)
{
	_Alignas(64) volatile char block[128];
	block[n] = n;
	sink += leaf(block[n]);
	return dynamic(block[n] + 10) + block[0];
}

__attribute__((noinline)) static int tail(int n) { sink++; return recurse(n & 1); }

__attribute__((noinline, used)) static int run(void)
{
	return recurse(4) + aligned(3) + tail(5);
}

/* _start has no caller: its return address is undefined. */
#if defined(__aarch64__)
__asm__(".globl _start\n.type _start,%function\n_start:\n"
	".cfi_startproc\n.cfi_undefined x30\n"
	"mov x29, #0\nmov x30, #0\nbl run\nmov x0, #0\nmov x8, #93\nsvc #0\n"
	".cfi_endproc\n.size _start,.-_start\n");
#elif defined(__x86_64__)
__asm__(".globl _start\n.type _start,@function\n_start:\n"
	".cfi_startproc\n.cfi_undefined rip\n"
	"xor %ebp, %ebp\ncall run\nxor %edi, %edi\nmov $60, %eax\nsyscall\n"
	".cfi_endproc\n.size _start,.-_start\n");
#endif
