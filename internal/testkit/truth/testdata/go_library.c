/* A C program that is busy in a library written in Go: go_library.go. It calls Go on its main
 * thread or, with THREAD, on another one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void goSpin(void);

static volatile long calls;

/* Go's runtime has signals of its own, so that the clock ends it. ask has values to keep while
 * Go runs, so that without frame pointers the compiler has no register left for one. */
__attribute__((noipa)) void ask(double seconds)
{
	long a = calls, b = a * 3, c = a * 5, d = a * 7, e = a * 9, f = a * 11;

	while (clock() < seconds * CLOCKS_PER_SEC) {
		goSpin();
		calls += a ^ b ^ c ^ d ^ e ^ f;
	}
}

#ifdef THREAD
__attribute__((noipa)) void *thread(void *seconds)
{
	ask(*(double *)seconds);
	calls++;
	return 0;
}
#endif

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;

#ifdef THREAD
	pthread_t other;

	puts("thread\nask\n...\nmain.goSpin\nmain.spin");
	fflush(stdout);
	pthread_create(&other, 0, thread, &seconds);
	pthread_join(other, 0);
#else
	puts("main\nask\n...\nmain.goSpin\nmain.spin");
	fflush(stdout);
	ask(seconds);
#endif
	calls++;
	return 0;
}
