// A program whose waits are known: its first thread sleeps 20 times for 20 ms, and works in between.
// The other one works all the time and ends first.
#include <pthread.h>
#include <time.h>

volatile unsigned long sink;

__attribute__((noinline)) void known_work(long n) { for (long i = 0; i < n; i++) sink += i; }

static void *known_thread(void *unused)
{
	known_work(60000000);
	return unused;
}

int main(void)
{
	struct timespec pause = {0, 20000000};
	pthread_t thread;
	pthread_create(&thread, 0, known_thread, 0);
	for (int i = 0; i < 20; i++) {
		nanosleep(&pause, 0);
		known_work(3000000);
	}
	pthread_join(thread, 0);
	return 0;
}
