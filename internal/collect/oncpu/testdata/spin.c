// The library of sharing.c.
void spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}
