package placement_test

import (
	"debug/elf"
	"fmt"

	"github.com/ringtap/ringtap/uprobe/placement"
)

// The beginning of free in the C library, cut to its shape.
func Example() {
	free := placement.Function{
		Machine: elf.EM_X86_64,
		Addr:    0x98440,
		Code: []byte{
			0x48, 0x85, 0xff, // test %rdi,%rdi
			0x74, 0x02, // je: nothing to free
			0x55, // push %rbp
			0x5d, // pop %rbp
			0xc3, // ret
		},
	}
	skip, why := free.Entry()
	fmt.Println(skip)
	fmt.Println(why)
	fmt.Println(free.Boundary(4))
	fmt.Println(free.Returns())
	// Output:
	// 3
	// 0x3 bytes past "test %rdi,%rdi", which the kernel would single-step, to "je 0x98447"
	// +0x4 is inside the instruction "je 0x98447", which starts at +0x3 and has 2 bytes
	// [7] <nil>
}
