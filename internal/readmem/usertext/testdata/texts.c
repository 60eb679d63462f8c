// texts calls hit CALLS times, once it has read a line. Each call has two texts, in the same
// memory every time: one of 3,000 letters, and one of 6,000 behind two structures. The letter at
// place i of the n-th call is 'a' + (n + i) % 26. Every tenth call has no first text.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct inner { long pad; char *text; };
struct outer { long pad[2]; struct inner *inner; };

// Where the kernel has the thread step over a copy of an instruction, nothing on arm64 tells that the thread
// has not gone on. A branch the kernel carries out itself.
#ifdef __aarch64__
#define FIRST "b 1f\n1:"
#else
#define FIRST "nop"
#endif

__attribute__((noinline)) void hit(char *text, struct outer *outer, int n) {
	asm volatile(FIRST :: "r"(text), "r"(outer), "r"(n) : "memory");
}

static void fill(char *text, int length, int n) {
	for (int i = 0; i < length; i++)
		text[i] = 'a' + (n + i) % 26;
	text[length] = 0;
}

int main(int argc, char **argv) {
	static char first[3001], second[6001];
	struct inner inner = {0, second};
	struct outer outer = {{0, 0}, &inner};
	int calls = atoi(argv[1]), sleep = atoi(argv[2]);
	char line[16];
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (int n = 0; n < calls; n++) {
		fill(first, 3000, n);
		fill(second, 6000, n);
		hit(n % 10 == 9 ? 0 : first, &outer, n);
		if (sleep)
			usleep(sleep);
	}
	printf("done\n");
	fflush(stdout);
	return fgets(line, sizeof line, stdin) == 0;
}
