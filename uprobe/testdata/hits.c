// Calls target as often as its argument says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>

struct big { long a, b, c, d; };

#ifndef MAIN_ONLY
__attribute__((noipa)) long target(int n, const char *name, unsigned char c, double d, struct big b)
{
	return n * 2L + c + (long)d + b.d + strlen(name);
}

__attribute__((noipa)) char *answer(int n)
{
	static char text[32];
	snprintf(text, sizeof text, "answer %d", n);
	return text;
}
#else
struct big;
long target(int n, const char *name, unsigned char c, double d, struct big b);
char *answer(int n);
#endif

#ifndef LIBRARY
static void *calls(void *arg)
{
	const char *names[] = {"zero", "one", "two"};
	long sum = 0;
	for (int i = 0; i < *(int *)arg; i++) {
		struct big b = {i, i, i, i};
		sum += target(i - 1, names[i % 3], i, i, b) + strlen(answer(i));
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t[16];
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], 0, calls, &n);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
	if (threads == 0)
		calls(&n);
	else if (fork() == 0)
		calls(&n);
	else
		wait(0);
	return 0;
}
#endif
