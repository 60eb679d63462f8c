// One thread waits for a byte and then for another one, a second thread waits for ever.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) void first_wait(void)
{
	char c;
	read(0, &c, 1);
	puts("woken");
	fflush(stdout);
}

__attribute__((noinline)) void second_wait(void)
{
	char c;
	read(0, &c, 1);
	__asm__ volatile("");
}

static void *wakes(void *x)
{
	first_wait();
	second_wait();
	return x;
}

__attribute__((noinline)) void hangs(void)
{
	pause();
	__asm__ volatile("");
}

static void *stays(void *x)
{
	hangs();
	return x;
}

int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, wakes, NULL);
	pthread_create(&b, NULL, stays, NULL);
	puts("ready");
	fflush(stdout);
	pthread_join(a, NULL);
	return 0;
}
