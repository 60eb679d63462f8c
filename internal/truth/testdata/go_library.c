/* A C program that is busy in a library written in Go: go_library.go. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void goSpin(void);

static volatile long calls;

/* Go's runtime has signals of its own, so that the clock ends it. */
__attribute__((noipa)) void ask(double seconds)
{
	while (clock() < seconds * CLOCKS_PER_SEC) {
		goSpin();
		calls++;
	}
}

int main(int argc, char **argv)
{
	puts("main\nask\n...\nmain.goSpin\nmain.spin");
	fflush(stdout);
	ask(argc > 1 ? atof(argv[1]) : 0);
	calls++;
	return 0;
}
