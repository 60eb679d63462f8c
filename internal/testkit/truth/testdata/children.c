/* Children one after another, each busy for 20 ms and then gone. */
#include <sys/wait.h>

#include "truth.h"

KEEP long leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return count;
}

KEEP long child(long n)
{
	volatile long local = n;

	spin_timer(0.02);
	return leaf() + local;
}

KEEP long spawn(long n)
{
	volatile long local = n;
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid == 0) {
		sink = child(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return local;
}

int main(int argc, char **argv)
{
	double seconds = announce(argc, argv, "main\nspawn\nchild\nleaf\n");

	for (long n = 0; n < seconds / 0.02; n++)
		sink += spawn(n);
	return 0;
}
