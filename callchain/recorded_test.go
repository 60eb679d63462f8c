package callchain

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// With -record the tests that step bare.c through write what they saw to
// testdata, for the tests that run without a debugger.
var record = flag.Bool("record", false, "write testdata/bare.*.json and the programs they belong to")

// recorded is one stop of a program: what a sample would have carried, and the
// truth.
type recorded struct {
	Registers []uint64 // in the order of perf's mask
	Stack     []byte
	Frames    []Frame
}

// save keeps every eighth stop and the program itself.
func save(t *testing.T, arch Arch, program string, stops []recorded) {
	t.Helper()
	var kept []recorded
	for i := 0; i < len(stops); i += 8 {
		kept = append(kept, stops[i])
	}
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join("testdata", "bare."+arch.String())
	if err := os.WriteFile(base+".json", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".elf", binary, 0o644); err != nil {
		t.Fatal(err)
	}
}

// load reads what save wrote, and makes the address space of the program.
func load(tb testing.TB, arch Arch) (*fixedSpace, []recorded) {
	tb.Helper()
	base := filepath.Join("testdata", "bare."+arch.String())
	text, err := os.ReadFile(base + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	var stops []recorded
	if err := json.Unmarshal(text, &stops); err != nil {
		tb.Fatal(err)
	}
	return fileSpace(tb, base+".elf"), stops
}

func TestRecordedStacksUnwindToTheirTrueChains(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		t.Run(arch.String(), func(t *testing.T) {
			space, stops := load(t, arch)
			u := New(arch)
			for i, stop := range stops {
				c := Capture{Stack: stop.Stack}
				if err := c.Regs.Load(arch, arch.UserRegsMask(), stop.Registers); err != nil {
					t.Fatal(err)
				}
				frames, end := u.Unwind(nil, space, &c)
				if end != Complete || !slices.Equal(frames, stop.Frames) {
					t.Errorf("stop %d: chain is %v\n got %+v\nwant %+v", i, end, frames, stop.Frames)
				}
			}
		})
	}
}

// TestACopyThatEndsEarlyIsCut takes ever more of the recorded stacks away: what
// is left is a begin of the true chain, never something else.
func TestACopyThatEndsEarlyIsCut(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		t.Run(arch.String(), func(t *testing.T) {
			space, stops := load(t, arch)
			u := New(arch)
			cut := 0
			for i, stop := range stops {
				var c Capture
				if err := c.Regs.Load(arch, arch.UserRegsMask(), stop.Registers); err != nil {
					t.Fatal(err)
				}
				for n := range stop.Stack {
					c.Stack = stop.Stack[:n]
					frames, end := u.Unwind(nil, space, &c)
					switch {
					case end == Complete && slices.Equal(frames, stop.Frames):
					case end == Cut && len(frames) < len(stop.Frames) && slices.Equal(frames, stop.Frames[:len(frames)]):
						cut++
					default:
						t.Fatalf("stop %d, %d bytes: chain is %v\n got %+v\nwant %+v", i, n, end, frames, stop.Frames)
					}
				}
			}
			if cut == 0 {
				t.Error("no chain was cut")
			}
		})
	}
}
