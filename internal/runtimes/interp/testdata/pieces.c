// loop has a piece that runs seldom, for which compilers have another place: it comes
// back. It also jumps to a function, which jumps to the beginning of loop.

__attribute__((cold, noinline)) void seldom(int *x)
{
	*x += 7;
}

int loop(int n, int *x);

__attribute__((noinline)) int other(int n, int *x)
{
	if (n > 1000)
		return *x;
	return loop(n + 1, x + 1);
}

__attribute__((noinline)) int loop(int n, int *x)
{
	for (int i = 0; i < n; i++) {
		if (x[i] < 0) {
			seldom(&x[i]);
			if (x[i] == 3)
				i++;
			seldom(&x[i]);
		}
		for (int j = 0; j < x[i]; j++) {
			x[i] = x[i] * 3 ^ x[j] / 7;
			x[j] = x[j] % 11 - (x[i] >> 3);
			x[i + j] ^= x[i] * x[j] + j * 5;
		}
	}
	return other(n, x);
}
