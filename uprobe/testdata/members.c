// Calls handle with structs whose members follow from i = 0, 1, 2.
#include <string.h>

enum color { RED = 1, GREEN = -2 };

struct pos { int x, y; };

struct req {
	int id;
	const char *name;
	struct pos p;
	struct req *next;
	char tag[8];
	short v[4];
	unsigned a:3, b:7, c:22;
	int d:5;
	enum color col;
	union { long u1; char u2; };
	struct pos arr[3];
	unsigned char flag;
};

static int counter;
int global_n = 40;

__attribute__((noinline)) int handle(struct req *r, struct pos by, int k)
{
	int msec = r->id * 2 + k;
	static int calls;
	calls++;
	counter += msec;
	for (int i = 0; i < 2; i++) {
		int inner = i * 10 + r->id;
		counter += inner; /* LINE A */
		global_n += inner;
	}
	return msec + by.x; /* LINE B */
}
int main(void)
{
	struct req last = { .id = 99, .name = "last" };
	for (int i = 0; i < 3; i++) {
		struct req r = { .id = i + 1, .name = i & 1 ? "odd" : "even", .p = { i * 3, -i }, .next = &last, .v = { 1, 2, i, -4 },
			.a = i, .b = 100 + i, .c = 1000 + i, .d = i, .col = i & 1 ? RED : GREEN, .u1 = 5000 + i, .flag = 200 + i };
		strcpy(r.tag, "tag0"); r.tag[3] += i; r.arr[2].y = 70 + i;
		handle(&r, r.p, i + 7);
	}
	return 0;
}
