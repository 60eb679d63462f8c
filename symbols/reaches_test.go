package symbols

import (
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// unsized has functions without sizes, as hand-written code does. Behind first there is
// code that has no name where only exported names are left.
const unsized = `
	.text
	.globl first, last, marked, vector
	.type first, @function
	.type last, @function
	.type hidden, @function
	.type marked, @function
	.type vector, @function
	.type behind, @function
	.type after, @function
first:	test %edi, %edi
	jne 1f
	ret
1:	dec %edi
	jmp first
	.p2align 4
hidden:	mov $60, %eax
	syscall
	ret
	.p2align 4
last:	lea table(%rip), %rax
	movslq (%rax,%rdi,4), %rdi
	add %rdi, %rax
	jmp *%rax
one:	xor %eax, %eax
	ret
two:	mov $2, %eax
	ret
	.p2align 4
marked:	endbr64
	ret
behind:	ret
	.p2align 4
vector:	vpaddd %ymm0, %ymm1, %ymm2
after:	ret
	.section .rodata
table:	.long one-table, two-table
`

func TestASymbolWithoutASizeEndsWhereItsCodeDoes(t *testing.T) {
	build := func(flags ...string) string {
		return compiled.Program(t, map[string]string{"unsized.s": unsized}, append([]string{"gcc", "-shared", "-nostdlib", "-o", "unsized.so", "unsized.s"}, flags...)...)
	}
	full, stripped := openFile(t, build(), Options{}), openFile(t, build("-s"), Options{})
	functions, err := full.Functions()
	if err != nil {
		t.Fatal(err)
	}
	places := make(map[string]uint64)
	for _, f := range functions {
		places[f.Name] = f.Offset
	}
	for _, test := range []struct {
		place   string
		into    uint64
		start   string
		reached bool
	}{
		{"first", 4, "first", true},
		{"first", 6, "first", true}, // behind the return, where the branch goes
		{"hidden", 0, "first", false},
		{"hidden", 7, "first", false},
		{"last", 12, "last", true},
		{"one", 2, "last", true}, // a case of the switch
		{"two", 5, "last", true},
		{"marked", 4, "marked", true},
		{"behind", 0, "marked", false},
		{"after", 0, "vector", true}, // not decoded
	} {
		offset := places[test.place] + test.into
		symbol, ok := stripped.Lookup(offset)
		if !ok || symbol.Name != test.start || !symbol.Guessed {
			t.Fatalf("%s+%d is in %+v, %v; want %s, with a guess of its size", test.place, test.into, symbol, ok, test.start)
		}
		if got := stripped.Reaches(symbol.Start, offset); got != test.reached {
			t.Errorf("%s+%d is reached from %s: %v", test.place, test.into, test.start, got)
		}
	}
}
