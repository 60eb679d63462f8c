package callchain

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/fuzzing"
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
	paths, _ := filepath.Glob("/lib/x86_64-linux-gnu/libc.so.6")
	paths = append(paths, "/bin/bash")
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
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
				decode(fileCode{f}, offset, offset+min(end-start, 4096), func(at uint64) {
					set := table.find(at)
					if set == nil || set.cfa.kind != ruleValOffset || set.ra.kind != ruleOffset || set.flags&flagSignal != 0 {
						return
					}
					all++
					fl := follower{isa: &isaAMD64, read: fileCode{f}.read}
					r := fl.derive(at)
					switch {
					case !r.known:
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
func decode(code fileCode, from, to uint64, visit func(at uint64)) {
	b := make([]byte, to-from)
	b = b[:code.read(from, b)]
	for at := 0; at < len(b); {
		inst, err := x86asm.Decode(b[at:], 64)
		if err != nil {
			return
		}
		visit(from + uint64(at))
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
	f.Add([]byte{0x5b, 0x5d, 0xc3})                         // pop %rbx; pop %rbp; ret
	f.Add([]byte{0x48, 0x83, 0xc4, 0x18, 0x74, 0xfa, 0xc3}) // add $0x18,%rsp; je back; ret
	f.Add([]byte{0xc9, 0xc2, 8, 0})                         // leave; ret $8
	f.Add([]byte{0x0f, 0x05, 0xf4})                         // syscall; hlt
	f.Fuzz(func(t *testing.T, code []byte) {
		reads := 0
		fl := follower{isa: &isaAMD64, read: func(offset uint64, b []byte) int {
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
	})
}
