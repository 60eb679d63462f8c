//go:build amd64

package callchain

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// positions counts where a program was compared.
type positions struct {
	right, wrong int
	// bare: code without any unwind information is on the stack, as the C
	// library's start-up code has none.
	bare int
	// moving: the program is replacing its stack, as longjmp and a C++ throw
	// do in their last instructions. The truth is then neither the old chain
	// nor the new one.
	moving int
}

// stepThrough compares the unwound chain with the truth before every
// instruction of a program.
func stepThrough(t *testing.T, program string, fromTrap bool) {
	t.Helper()
	const maxSteps = 400_000
	tr := startTracee(t, nil, program)
	u := New(AMD64)
	top := uint64(1<<64 - 1)
	if fromTrap {
		tr.runToTrap(t, u, 3) // two functions of libc, _start
		top = tr.regs.Rsp
	}
	var c Capture
	var got, want []Frame
	var signal unix.Signal
	var n positions
	steps := 0
	for ; !tr.done && tr.regs.Rsp <= top && steps < maxSteps; steps++ {
		var end End
		tr.capture(t, &c, 1<<20)
		got, end = u.Unwind(got[:0], tr.space, &c)
		want = tr.truth(want[:0])
		switch {
		case end == Complete && slices.Equal(got, want):
			n.right++
		case tr.moving():
			n.moving++
		case tr.bare(want):
			n.bare++
		default:
			if n.wrong++; n.wrong <= 10 {
				t.Errorf("step %d: chain is %v\n got%s\nwant%s", steps, end, tr.where(got), tr.where(want))
			}
		}
		signal = tr.step(t, signal)
	}
	t.Logf("%+v", n)
	if steps == maxSteps {
		t.Errorf("the program did not end within %d instructions", maxSteps)
	}
	if n.bare*100 > n.right || n.moving*100 > n.right {
		t.Errorf("too many positions are excused: %+v", n)
	}
}

// bare says whether a frame is in code that its object's table does not cover.
func (tr *tracee) bare(frames []Frame) bool {
	for _, f := range frames {
		for _, o := range tr.space.objects {
			if o.id != f.Object || o.table == nil {
				continue
			}
			if set := o.table.find(f.Offset); set == nil || set.flags&flagUnknown != 0 {
				return true
			}
		}
	}
	return false
}

// moving says whether the program has overwritten a return address, or is at
// an instruction whose row describes another stack than the one it is on.
func (tr *tracee) moving() bool {
	for _, f := range tr.shadow {
		if !f.exact && tr.word(f.slot) != f.pc {
			return true
		}
	}
	m, _ := tr.space.Find(tr.regs.Rip)
	if m.Table == nil {
		return false
	}
	set := m.Table.find(tr.regs.Rip - m.Start + m.Offset)
	return set != nil && (set.flags&(flagOwnSP|flagSignal) == flagOwnSP || set.ra.kind == ruleRegister)
}

// TestLiveEveryInstructionOfACProgramUnwinds includes the dynamic linker's work
// once, from the program's very first instruction, and libc's in all variants.
func TestLiveEveryInstructionOfACProgramUnwinds(t *testing.T) {
	noTables := []string{"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,-z,lazy", "-O2", "-g"}
	for _, test := range []struct {
		name     string
		flags    []string
		fromTrap bool
	}{
		{"without frame pointers", []string{"-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"}, false},
		{"static", []string{"-O2", "-static"}, false},
		{"with frame pointers", []string{"-O2", "-fno-omit-frame-pointer", "-Wl,-z,lazy"}, true},
		{"linkage table without information", []string{"-O2", "-Wl,-z,lazy", "-Wl,--no-ld-generated-unwind-info"}, true},
		{"marked linkage table without information", []string{"-O2", "-Wl,-z,lazy", "-Wl,-z,ibtplt", "-Wl,--no-ld-generated-unwind-info"}, true},
		{"not optimized", []string{"-O0", "-Wl,-z,now"}, true},
		{"not relocatable", []string{"-O2", "-no-pie", "-Wl,-z,lazy"}, true},
		{"stripped", []string{"-O2", "-s", "-Wl,-z,lazy"}, true},
		{"only .debug_frame", noTables, true},
		{"compressed .debug_frame", append(noTables, "-gz"), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.fromTrap {
				test.flags = append(test.flags, "-DTRAP")
			}
			stepThrough(t, compile(t, "gcc", "chains.c", test.flags...), test.fromTrap)
		})
	}
}

func TestLiveReturnFromASignalHandlerUnwindsWithoutCallFrameInformation(t *testing.T) {
	stepThrough(t, compile(t, "gcc", "signal.c", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"), false)
}

// kernelChain walks the frame pointers as the kernel does
// (perf_callchain_user in arch/x86/events/core.c): no check but that the
// memory can be read.
func (tr *tracee) kernelChain(dst []uint64) []uint64 {
	dst = append(dst, tr.regs.Rip)
	for fp := tr.regs.Rbp; len(dst) < 127 && fp >= tr.regs.Rsp && fp < tr.stackTop(); fp = tr.word(fp) {
		dst = append(dst, tr.word(fp+8))
	}
	return dst
}

func TestLiveEveryInstructionsKernelChainIsRepaired(t *testing.T) {
	for name, flags := range map[string][]string{
		"every function has a frame": {"-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"},
		"leaves have no frame":       {"-O2", "-fno-omit-frame-pointer", "-momit-leaf-frame-pointer"},
		"not optimized":              {"-O0"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := append(flags, "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
				"-fno-pie", "-no-pie", "-Wl,-z,noseparate-code,--build-id=none")
			program := compile(t, "gcc", "bare.c", flags...)
			tr := startTracee(t, nil, program)
			tr.top = tr.regs.Rsp + 64
			var stops []recorded
			u := New(AMD64)
			var c Capture
			right, repaired := 0, 0
			for !tr.done {
				tr.capture(t, &c, 64)
				c.Chain = tr.kernelChain(c.Chain[:0])
				got, end := u.FromCallchain(nil, tr.space, &c)
				want := tr.truth(nil)
				stops = append(stops, tr.stop(t, want))
				if end != Complete || !slices.Equal(got, want) {
					t.Errorf("chain is %v\n got%s\nwant%s", end, tr.where(got), tr.where(want))
				}
				right++
				if len(got) > len(c.Chain) {
					repaired++
				}
				tr.step(t, 0)
			}
			t.Logf("%d positions, %d of them repaired", right, repaired)
			if repaired == 0 {
				t.Error("no position needed a repair")
			}
			if *record && name == "leaves have no frame" {
				save(t, AMD64, program, stops)
			}
		})
	}
}

func TestLiveEveryInstructionOfExceptionsUnwinds(t *testing.T) {
	stepThrough(t, compile(t, "g++", "exceptions.cc", "-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"), true)
}
