package placement

import (
	"debug/elf"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func FuzzFunction(f *testing.F) {
	fuzzing.Bound(f)
	f.Add([]byte{0x48, 0x85, 0xff, 0x74, 1, 0xc3, 0xc3}, false, 3)
	f.Add([]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 1, 0xc3, 0xe8, 0, 1, 0, 0, 0xeb, 0xf2}, false, 1)
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0xc5, 0xf8, 0x77, 0x62, 0xf1, 0x7c, 0x48, 0x0f, 0}, false, 5)
	f.Add([]byte{0x1f, 0, 0, 0xf1, 0x40, 0, 0, 0x54, 0xc0, 3, 0x5f, 0xd6, 0, 0, 0, 0}, true, 4)
	f.Add([]byte{0x90, 0x0b, 0x40, 0xf9, 0xff, 0x63, 0x30, 0xeb, 0x29, 3, 0, 0x54}, true, 2)
	f.Fuzz(func(t *testing.T, code []byte, arm bool, offset int) {
		fn := Function{Machine: elf.EM_X86_64, Code: code, Addr: 0x1000}
		if arm {
			fn.Machine = elf.EM_AARCH64
		}
		skip, _ := fn.Entry()
		if skip < 0 || skip > 0 && skip >= len(code) {
			t.Fatalf("moves by %d of %d bytes", skip, len(code))
		}
		if skip > 0 && (fn.Boundary(skip) != nil || fn.Boundary(0) != nil) {
			t.Fatalf("moves into an instruction: %v", fn.Boundary(skip))
		}
		if skip > 0 && fn.goStackCheck() == 0 && (fn.Stepped(skip) || fn.Probeable(skip) != nil) {
			t.Fatalf("moves to where a probe is no cheaper: %v", fn.Probeable(skip))
		}
		returns, err := fn.Returns()
		if (err == nil) == (returns == nil) {
			t.Fatalf("%v and %v", returns, err)
		}
		last := -1
		for _, r := range returns {
			if r <= last || r >= len(code) {
				t.Fatalf("returns at %d", returns)
			}
			last = r
		}
		if last >= 0 && fn.Boundary(last) != nil {
			t.Fatalf("returns at %d: %v", last, fn.Boundary(last))
		}
		outside := offset < 0 || offset >= len(code)
		if outside && (fn.Boundary(offset) == nil || fn.Probeable(offset) == nil || !fn.Stepped(offset)) {
			t.Fatalf("%d is outside", offset)
		}
		fn.Stepped(offset)
		if fn.Boundary(offset) != nil && fn.Probeable(offset) == nil {
			t.Fatal("a probe may be placed inside an instruction")
		}
	})
}

// FuzzLength compares with x86asm where that knows the instruction.
func FuzzLength(f *testing.F) {
	for _, seed := range []string{"\x48\x85\xff", "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", "\xf3\xc3", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", "\xc8\x01\x02\x03", "\xa0\x01\x02\x03\x04\x05\x06\x07\x08"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, ok := decodeX86(code, 64)
		if ok && (in.length <= 0 || in.length > len(code) || in.length > 15) {
			t.Fatalf("% x: %d bytes", code, in.length)
		}
		inst, err := x86asm.Decode(code, 64)
		if err != nil || !ok || in.vector || in.length == inst.Len {
			return
		}
		switch inst.Op {
		case 0, x86asm.FWAIT:
			return // prefixes alone
		}
		if inst.Prefix[0] != 0 && inst.Len == 1 {
			return
		}
		t.Fatalf("% x %v: %d bytes, x86asm says %d", code, inst, in.length, inst.Len)
	})
}
