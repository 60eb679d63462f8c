package session

import (
	"fmt"
	"strings"
	"testing"
)

// behindArguments is a program whose functions are given memory of the heap, which changes as soon as they have returned:
// a text with its length, a long text, an array, a list, and a list that is a ring.
var behindArguments = fmt.Sprintf(`#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { int number; struct node *next; char name[16]; char *text; };
#define PROBED __attribute__((noinline)) void
PROBED text(char *b, int n) { __asm__ volatile("" :: "r"(b), "r"(n) : "memory"); }
PROBED array(int *a, int n) { __asm__ volatile("" :: "r"(a), "r"(n) : "memory"); }
PROBED list(struct node *n) { __asm__ volatile("" :: "r"(n) : "memory"); }
PROBED names(struct node *n) { __asm__ volatile("" :: "r"(n) : "memory"); }
PROBED ring(struct node *n) { __asm__ volatile("" :: "r"(n) : "memory"); }
int main(void) {
	struct node *nodes[10];
	getchar();
	for (int i = 0; i < %d; i++) {
		char *b = malloc(2000);
		int n = sprintf(b, "text %%d", i), *a = malloc(10 * sizeof *a);
		text(b, n);
		memset(b + n, '.', 900);
		text(b, n + 900);
		memset(b, '?', 2000);
		for (int j = 0; j < 10; j++) {
			a[j] = i + j;
			nodes[j] = malloc(sizeof **nodes);
			nodes[j]->number = i + j;
			sprintf(nodes[j]->text = nodes[j]->name, "%%d.%%d", i, j);
			nodes[j]->next = j ? nodes[j-1] : 0;
		}
		array(a, 10);
		list(nodes[9]);
		names(nodes[2]);
		nodes[0]->next = nodes[2];
		ring(nodes[1]);
		for (int j = 0; j < 10; j++) {
			nodes[j]->number = a[j] = -1;
			nodes[j]->next = 0;
			memset(nodes[j]->name, '?', sizeof nodes[j]->name);
			free(nodes[j]);
		}
		free(a);
		free(b);
	}
}
`, rounds)

func TestLiveMemoryBehindArgumentsIsThatOfTheHit(t *testing.T) {
	lines := linesBeside(t, behindArguments, `struct node { int number; struct node *next; char name[16]; char *text; };
uprobe:PROGRAM:text { printf("%r\n", buf(arg0, arg1)); }
uprobe:PROGRAM:array { $i = (uint64)0; $s = (int64)0; while ($i < arg1) { $s += ((int32 *)arg0)[$i]; $i++; } printf("%d\n", $s); }
uprobe:PROGRAM:array { $p = (int32 *)arg0; $i = 10; $s = (int64)0; while (($i--) > 0) { $s += *$p; $p++; } printf("%d\n", $s); }
uprobe:PROGRAM:list { $n = (struct node *)arg0; $s = (int64)0; while ((uint64)$n != 0) { $s += $n->number; $n = $n->next; } printf("%d\n", $s); }
uprobe:PROGRAM:names { $n = (struct node *)arg0; $i = 0; while ($i < 3) { printf("%s%s", str($n->text), $i < 2 ? " " : "\n"); $n = $n->next; $i++; } }
uprobe:PROGRAM:ring { $n = (struct node *)arg0; $s = (int64)0; $i = 0; while ($i < 7) { $s += $n->number; $n = $n->next; $i++; } printf("%d\n", $s); }`,
		true, 7*rounds)
	for _, test := range []struct {
		name   string
		line   int
		kernel bool // reads all of it
		want   func(round int) string
	}{
		{"a text", 0, true, func(i int) string { return fmt.Sprintf("text %d", i) }},
		{"a long text", 1, false, func(i int) string { return fmt.Sprintf("text %d%s", i, strings.Repeat(".", 900)) }},
		{"an array", 2, true, func(i int) string { return fmt.Sprint(10*i + 45) }},
		{"an array, by a pointer that moves on", 3, true, func(i int) string { return fmt.Sprint(10*i + 45) }},
		{"a list", 4, false, func(i int) string { return fmt.Sprint(10*i + 45) }},
		{"texts of a list", 5, false, func(i int) string { return fmt.Sprintf("%d.2 %d.1 %d.0", i, i, i) }},
		{"a ring", 6, false, func(i int) string { return fmt.Sprint(7*i + 1 + 0 + 2 + 1 + 0 + 2 + 1) }},
	} {
		exact := 0
		for i := range rounds {
			switch found := lines[7*i+test.line]; {
			case found == test.want(i):
				exact++
			case test.kernel || !strings.Contains(found, "~"):
				t.Errorf("%s of round %d: %q, want %q", test.name, i, found, test.want(i))
			}
		}
		if least := leastExact(rounds); exact < least {
			t.Errorf("%s: %d are exact, want at least %d", test.name, exact, least)
		}
		t.Logf("%s: %d of %d are exact", test.name, exact, rounds)
	}
}
