package plan

import (
	"fmt"
	"strings"
	"testing"
)

// regions describes what events fetch for reads of their own hits, and what a helper reads for them.
func regions(events []*Event) string {
	var s strings.Builder
	for _, e := range events {
		fmt.Fprintln(&s, e)
		for _, p := range e.Here {
			fmt.Fprintf(&s, " %s%+d is %s\n", p.Base, p.Offset, p.Field)
		}
		for _, w := range e.Walks {
			fmt.Fprintf(&s, " helper: %d bytes at %s, next %v", w.Size, w.Field, w.Next)
			if len(w.Leaves) > 0 {
				fmt.Fprintf(&s, ", %d bytes behind %v", w.LeafSize, w.Leaves)
			}
			fmt.Fprintln(&s)
		}
		if e.Reads {
			fmt.Fprintln(&s, " reads")
		}
	}
	return s.String()
}

func TestWhatAClauseReadsBehindItsArgumentsIsReadAtTheHit(t *testing.T) {
	const node = "struct a { int x; struct a *left; struct a *right; }; "
	for _, test := range []struct{ name, text, want string }{
		{"a buffer with a length", `config = { max_strlen = 40 } uprobe:/bin/a:f { print(buf(arg0, arg1)); }`,
			"p:/bin/a:f v0=$arg1:u64 v1=$arg2:u64 v2=+0($arg1):u8[40]\n v0+0 is v2\n"},
		{"a long buffer", `uprobe:/bin/a:f { print(buf(arg0 + 8, arg1)); }`,
			"p:/bin/a:f v0=$arg1:u64 v1=$arg2:u64 v2=+8($arg1):x64[64]\n v0+8 is v2\n helper: 1032 bytes at v0, next []\n reads\n"},
		{"a buffer behind a pointer", node + `uprobe:/bin/a:f { $a = (struct a *)arg0; print(buf($a->left, arg1)); }`,
			"p:/bin/a:f v0=+8($arg1):u64 v1=$arg2:u64 v2=+0(+8($arg1)):x64[64]\n v0+0 is v2\n helper: 1024 bytes at v0, next []\n reads\n"},
		{"a buffer at a return", `config = { max_strlen = 40 } uretprobe:/bin/a:f { print(buf(retval, rand % 8)); }`,
			"r:/bin/a:f v0=$retval:u64 v1=+0($retval):u8[40]\n v0+0 is v1\n"},
		{"a buffer of the kernel", `config = { max_strlen = 40 } kprobe:f { print(buf(arg0, arg1)); }`,
			"p:f v0=$arg1:u64 v1=$arg2:u64 v2=+0($arg1):u8[40]\n v0+0 is v2\n"},
		{"elements of an array", `uprobe:/bin/a:f { $i = 0; while ($i < 3) { print(((int32 *)arg0)[$i]); $i++; } }`,
			"p:/bin/a:f v0=$arg1:u64 v1=+0($arg1):x64[64]\n v0+0 is v1\n helper: 512 bytes at v0, next []\n reads\n"},
		{"an array, by a pointer that moves on", node + `uprobe:/bin/a:f { $a = (struct a *)arg0; $i = 3; while (($i--) > 0) { print($a->x); print(($a++)->left); } }`,
			"p:/bin/a:f v0=$arg1:u64 v1=+0($arg1):x64[64] v2=+8($arg1):x64[64]\n v0+0 is v1\n v0+8 is v2\n helper: 520 bytes at v0, next []\n reads\n"},
		{"an array, by an address that is added to", `uprobe:/bin/a:f { $a = (int32 *)arg0; $i = 3; while (($i--) > 0) { print(*$a); $a = $a + arg1; } }`,
			"p:/bin/a:f v0=$arg1:u64 v1=$arg2:u64 v2=+0($arg1):x64[64]\n v0+0 is v2\n helper: 512 bytes at v0, next []\n reads\n"},
		{"an address that starts nowhere", `uprobe:/bin/a:f { let $a: uint64; $a++; print(*(int32 *)$a); print(arg0); }`,
			"p:/bin/a:f v0=$arg1:u64\n reads\n"},
		{"a list", node + `uprobe:/bin/a:f { $a = (struct a *)arg0; while ((uint64)$a != 0) { print($a->x); $a = $a->left; } }`,
			"p:/bin/a:f v0=$arg1:u64\n helper: 16 bytes at v0, next [8]\n reads\n"},
		{"texts of a list", "struct b { struct b *next; char *name; char *value; }; " + `config = { max_strlen = 40 } uprobe:/bin/a:f {
			$b = (struct b *)arg0; while ((uint64)$b != 0) { $v = $b->value; print((str($b->name), buf($v, 50))); $b = $b->next; } }`,
			"p:/bin/a:f v0=$arg1:u64\n helper: 24 bytes at v0, next [0], 40 bytes behind [8 16]\n reads\n"},
		{"a tree, by another variable", node + `uprobe:/bin/a:f { $a = (struct a *)arg0; while ((uint64)$a != 0) {
			$next = $a->right; if ($a->x > 5) { $a = $a->left; } else { $a = $next; } } }`,
			"p:/bin/a:f v0=$arg1:u64\n helper: 24 bytes at v0, next [8 16]\n reads\n"},
		{"a pointer that nothing tells", node + `uprobe:/bin/a:f { $a = (struct a *)@p; while ((uint64)$a != 0) { $a = $a->left; } @p = arg0; }`,
			"p:/bin/a:f v0=$arg1:u64\n reads\n"},
	} {
		events, errs := planned(t, test.text)
		if got := regions(events); len(errs) > 0 || got != test.want {
			t.Errorf("%s: %v\n%swant\n%s", test.name, errs, got, test.want)
		}
	}
}
