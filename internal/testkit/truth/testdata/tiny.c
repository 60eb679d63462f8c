/* A function that is mostly its own entry and exit. */
__attribute__((noipa)) long tiny(long n)
{
	volatile long local = n;

	return local + 1;
}
