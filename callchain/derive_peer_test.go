package callchain

import (
	"bytes"
	"math"
	"os"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// fileCode is the code of one file.
type fileCode struct{ f *os.File }

func (c fileCode) read(offset uint64, b []byte) int {
	n, _ := c.f.ReadAt(b, int64(offset))
	return n
}

// TestPeerRulesDerivedFromCodeAreTheCompilers derives the rule of each instruction of a
// library that compilers have described, and compares it with what they say.
func TestPeerRulesDerivedFromCodeAreTheCompilers(t *testing.T) {
	if Host() != AMD64 {
		t.Skip("rules are derived from amd64 code only")
	}
	for path, isa := range map[string]*isa{
		"/lib/x86_64-linux-gnu/libc.so.6": &isaAMD64,
		"/bin/bash":                       &isaAMD64,
		"/usr/lib32/libstdc++.so.6":       &isaI386, // the libc there has more tables of jumps than compilers make
	} {
		t.Run(path, func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			table, err := Compile(f)
			if err != nil {
				t.Fatal(err)
			}
			image, err := elfimage.New(f, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			functions, err := callframe.EHFrame(image)
			text, _ := image.Section(".text")
			if err != nil || functions == nil || text == nil {
				t.Skip("the file does not say where its functions are")
			}
			var all, right, wrong, unknown int
			for addr := text.Addr; addr < text.Addr+text.Size; addr += 16 * 4096 {
				start, end, ok := functions.FunctionStart(addr)
				if !ok {
					continue
				}
				offset, _ := image.Offset(start)
				decode(fileCode{f}, isa, offset, offset+min(end-start, 4096), func(at uint64) {
					set := table.find(at)
					if set == nil || set.cfa.kind != ruleValOffset || set.ra.kind != ruleOffset || set.flags&flagSignal != 0 {
						return
					}
					all++
					fl := follower{isa: isa, read: fileCode{f}.read}
					r := fl.derive(at)
					switch {
					case !r.known, r.aligned: // how far the frame is aligned no rule of that kind says
						unknown++
					case r.base == set.cfa.reg && r.cfa == int64(set.cfa.val), r.base != set.cfa.reg:
						// By the other register it is as right.
						right++
					default:
						wrong++
						if wrong <= 5 {
							t.Logf("%#x: CFA is column %d%+d, derived %+d", at, set.cfa.reg, set.cfa.val, r.cfa)
						}
					}
				})
			}
			t.Logf("%d instructions: %d right, %d wrong, %d unknown", all, right, wrong, unknown)
			// Where they differ a call does not return, which only a return address on the stack shows.
			if all < 1000 || right*100 < all*92 || wrong*100 > all*2 {
				t.Errorf("of %d instructions %d have the compiler's rule, %d another", all, right, wrong)
			}
		})
	}
}

// decode visits the instructions of a function, as long as they can be decoded.
func decode(code fileCode, isa *isa, from, to uint64, visit func(at uint64)) {
	b := make([]byte, to-from)
	b = b[:code.read(from, b)]
	for at := 0; at < len(b); {
		inst, err := x86asm.Decode(b[at:], isa.mode)
		if err != nil {
			return
		}
		if !doesNothing(&inst) { // what is between functions is in none
			visit(from + uint64(at))
		}
		at += inst.Len
	}
}

// TestCodeThatGoesRoundGivesNoRule derives rules from code that no compiler makes.
func TestCodeThatGoesRoundGivesNoRule(t *testing.T) {
	for name, code := range map[string][]byte{
		"a jump to itself":   {0xeb, 0xfe},
		"ever more branches": bytes.Repeat([]byte{0x74, 0x00}, 1<<14),
		"pushes only":        bytes.Repeat([]byte{0x50}, 1<<14),
		"nothing":            nil,
	} {
		f := follower{isa: &isaAMD64, read: func(offset uint64, b []byte) int {
			if offset >= uint64(len(code)) {
				return 0
			}
			return copy(b, code[offset:])
		}}
		if r := f.derive(0); r.known || r.outermost {
			t.Errorf("%s: %+v", name, r)
		}
		if f.derive(math.MaxUint64 - 3).known {
			t.Errorf("%s: code behind the end of memory has a rule", name)
		}
	}
}

// FuzzDerive derives rules from any bytes: without a panic, and in bounded work.
func FuzzDerive(f *testing.F) {
	fuzzing.Bound(f)
	f.Add([]byte{0x5b, 0x5d, 0xc3})                               // pop %rbx; pop %rbp; ret
	f.Add([]byte{0x48, 0x83, 0xc4, 0x18, 0x74, 0xfa, 0xc3})       // add $0x18,%rsp; je back; ret
	f.Add([]byte{0xc9, 0xc2, 8, 0})                               // leave; ret $8
	f.Add([]byte{0x0f, 0x05, 0xf4})                               // syscall; hlt
	f.Add([]byte{0x8b, 0x4d, 0xfc, 0xc9, 0x8d, 0x61, 0xfc, 0xc3}) // i386: mov -4(%ebp),%ecx; leave; lea -4(%ecx),%esp; ret
	f.Add([]byte{0xe8, 0, 0, 0, 0, 0x5b, 0xcd, 0x80, 0xf4})       // i386: call next; pop %ebx; int $0x80; hlt
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, isa := range []*isa{&isaAMD64, &isaI386} {
			deriveAny(t, isa, code)
		}
	})
}

func deriveAny(t *testing.T, isa *isa, code []byte) {
	reads := 0
	fl := follower{isa: isa, read: func(offset uint64, b []byte) int {
		reads++
		if offset >= uint64(len(code)) {
			return 0
		}
		return copy(b, code[offset:])
	}}
	fl.derive(0)
	if reads > maxFollowed || fl.left < 0 || len(fl.seen) > maxFollowed {
		t.Fatalf("%d reads, %d instructions", reads, len(fl.seen))
	}
}

// TestAFrameThatIsAlignedHasItsRule is of the end of main as compilers for i386 make it.
func TestAFrameThatIsAlignedHasItsRule(t *testing.T) {
	code := []byte{0x8b, 0x4d, 0xfc, 0xc9, 0x8d, 0x61, 0xfc, 0xc3} // mov -4(%ebp),%ecx; leave; lea -4(%ecx),%esp; ret
	f := follower{isa: &isaI386, read: func(offset uint64, b []byte) int { return copy(b, code[min(offset, uint64(len(code))):]) }}
	r := f.derive(0)
	if !r.known || !r.aligned || r.base != i386.fp || r.from != -4 || r.cfa != 0 {
		t.Errorf("%+v", r)
	}
	if r.n != 1 || r.saved[0] != (savedAt{reg: i386.fp}) {
		t.Errorf("it restores %+v", r.saved[:r.n])
	}
}
