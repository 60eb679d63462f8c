// Usage: hits CALLS MICROSECONDS
//
// The program waits for input, then calls the function hit CALLS times and sleeps for
// MICROSECONDS after each call. Each call gets a text of 3000 letters and a list of 1000 nodes.
// Both are different at each call, and are overwritten as soon as hit has returned. The text of the
// n-th call is the letters n, n+1, ... (mod 26), and node i holds n*1000+i.
//
// n is also an argument of hit, so that a hit of a probe shows which call it belongs to. A kernel
// that is interrupted while it single-steps a probed instruction reports the call twice.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Because of the alignment, a node never crosses a page boundary.
struct node { uint64_t value; struct node *next; } __attribute__((aligned(16)));

__attribute__((noinline)) uint64_t hit(const char *text, struct node *list, uint64_t n) {
	uint64_t sum = text[0] + n;
	for (struct node *at = list; at; at = at->next)
		sum += at->value;
	return sum;
}

int main(int argc, char **argv) {
	static char text[3001];
	static struct node nodes[1000];
	uint64_t sum = 0;
	if (argc != 3)
		return 2;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (uint64_t n = 0; n < strtoull(argv[1], 0, 10); n++) {
		for (int i = 0; i < 3000; i++)
			text[i] = 'a' + (n + i) % 26;
		// The list is not in order of addresses.
		for (int i = 0; i < 1000; i++) {
			nodes[i * 7 % 1000].value = n * 1000 + i;
			nodes[i * 7 % 1000].next = i == 999 ? 0 : &nodes[(i + 1) * 7 % 1000];
		}
		sum += hit(text, &nodes[0], n);
		memset(text, '#', 3000);
		memset(nodes, 0, sizeof nodes);
		if (atoi(argv[2]))
			usleep(atoi(argv[2]));
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
