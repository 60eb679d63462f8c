// A loop whose instructions have a function each, which jumps by a table to that of the
// next one; the unknown ones share one. BROKEN has an entry that is no function.
typedef int (*handler)(unsigned *next, int sum);
STORAGE const handler table[256];

#define HANDLER(n) int handler_##n(unsigned *next, int sum) { return table[*next & 255](next + 1, sum * 3 ^ 0x##n); }
#define ROW(n) HANDLER(n##0) HANDLER(n##1) HANDLER(n##2) HANDLER(n##3) HANDLER(n##4) HANDLER(n##5) HANDLER(n##6) HANDLER(n##7) \
	HANDLER(n##8) HANDLER(n##9) HANDLER(n##a) HANDLER(n##b) HANDLER(n##c) HANDLER(n##d) HANDLER(n##e) HANDLER(n##f)
ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)

int handler_unknown(unsigned *next, int sum) { return sum; }

#define NAME(n) handler_##n,
#define NAMES(n) NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7) \
	NAME(n##8) NAME(n##9) NAME(n##a) NAME(n##b) NAME(n##c) NAME(n##d) NAME(n##e) NAME(n##f)
STORAGE const handler table[256] = {
	NAMES(0) NAMES(1) NAMES(2) NAMES(3) NAMES(4) NAMES(5) NAMES(6) NAMES(7)
#ifdef BROKEN
	(handler)table,
#endif
	[129 ... 255] = handler_unknown,
#ifndef BROKEN
	[128] = handler_unknown,
#endif
};

__attribute__((noinline)) int start(unsigned *next) { return table[*next & 255](next + 1, 0); }

int other[256] = {1};

int loop(unsigned *next)
{
	return start(next) + other[*next & 255];
}

void _start(void) { loop((unsigned *)other); }
