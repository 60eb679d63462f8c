package allocator

import "testing"

func TestTheRegisterThatAnAddressIsLeftIn(t *testing.T) {
	const (
		storeDX = "\x49\x89\x14\x24" // mov %rdx,(%r12)
		storeR8 = "\x4c\x89\x03"     // mov %r8,(%rbx)
		zero    = "\x31\xc0"         // xor %eax,%eax
		loadDX  = "\x89\xc2"         // mov %eax,%edx
		pop     = "\x41\x5c"         // pop %r12
		ret     = "\xc3"
		jump    = "\xeb\x10"
	)
	for _, test := range []struct {
		name, code string
		want       uint8
	}{
		{"glibc's", zero + storeDX + zero + pop + ret, 1 + 3},
		{"a register of a high number", storeR8 + zero + ret, 1 + 16},
		{"the register is loaded over", storeDX + loadDX + ret, 0},
		{"two stores", storeDX + ret + storeDX + ret, 0},
		{"it goes on elsewhere", storeDX + jump, 0},
		{"no return", storeDX, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := written([]byte(test.code)); got != test.want {
				t.Errorf("register %d, want %d", got, test.want)
			}
		})
	}
}
