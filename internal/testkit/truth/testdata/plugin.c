/* A library that is loaded while the program runs. */
#define KEEP __attribute__((noipa))

KEEP long plugin_leaf(volatile int *done)
{
	volatile long count = 0;

	while (!*done)
		count++;
	return count;
}

KEEP long plugin_entry(volatile int *done)
{
	volatile long local = 1;

	return plugin_leaf(done) + local;
}
