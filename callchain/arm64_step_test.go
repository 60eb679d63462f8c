package callchain

import (
	"encoding/binary"
	"slices"
	"testing"
)

// arm64Shadow follows the calls and returns of an arm64 program.
type arm64Shadow struct{ frames []shadowFrame }

// svc is the system call instruction.
const svc = 0xd4000001

// step takes what one instruction did: from before to the registers after.
func (s *arm64Shadow) step(code uint32, before, after *Regs) {
	pc, newPC, newSP, n := before.PC(), after.PC(), after.SP(), len(s.frames)
	switch {
	case code>>26 == 0b100101 || code&0xfffffc1f == 0xd63f0000: // bl, blr
		s.frames = append(s.frames, shadowFrame{slot: newSP, pc: pc + 4})
	case code == svc && before.v[8] == 139: // rt_sigreturn
		s.frames = s.frames[:n-1]
	case code == svc && newPC-pc > 8: // in a signal handler now
		s.frames = append(s.frames, shadowFrame{pc: pc + 4, exact: true}, shadowFrame{slot: newSP, pc: after.v[arm64.ra]})
	case n > 0 && s.frames[n-1].pc == newPC && s.frames[n-1].slot == newSP:
		s.frames = s.frames[:n-1]
	}
}

func (s *arm64Shadow) truth(space AddressSpace, pc uint64) (frames []Frame) {
	frames = append(frames, shadowFrame{pc: pc, exact: true}.frame(space))
	for _, f := range slices.Backward(s.frames) {
		frames = append(frames, f.frame(space))
	}
	return frames
}

// TestPeerEveryInstructionOfAnArm64ProgramUnwinds steps a static program in
// qemu's emulation from its first instruction on.
func TestPeerEveryInstructionOfAnArm64ProgramUnwinds(t *testing.T) {
	for name, flags := range map[string][]string{
		"plain":             {"-O2"},
		"signed returns":    {"-O2", "-mbranch-protection=standard", "-march=armv8.3-a"},
		"no frame pointers": {"-O2", "-fomit-frame-pointer"},
		"only .debug_frame": {"-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"},
		"not optimized":     {"-O0"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := append(flags, "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector",
				"-Wl,-z,noseparate-code,--build-id=none")
			program := compile(t, "aarch64-linux-gnu-gcc", "bare.c", flags...)
			stops := stepArm64(t, program)
			if *record && name == "plain" {
				save(t, ARM64, program, stops)
			}
		})
	}
}

func TestPeerReturnFromAnArm64SignalHandlerUnwinds(t *testing.T) {
	stepArm64(t, compile(t, "aarch64-linux-gnu-gcc", "signal.c",
		"-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector"))
}

func stepArm64(t *testing.T, program string) (stops []recorded) {
	t.Helper()
	space := fileSpace(t, program)
	e := startEmulated(t, "qemu-aarch64", program)
	u := New(ARM64)
	var shadow arm64Shadow
	var c Capture
	var after Regs
	var top uint64
	right, wrong := 0, 0
	for steps := 0; steps < 50_000; steps++ {
		regs, err := e.registers(33)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Regs.Load(ARM64, ARM64.UserRegsMask(), regs); err != nil {
			t.Fatal(err)
		}
		pc, sp := c.Regs.PC(), c.Regs.SP()
		if top == 0 {
			top = sp + 64
		}
		if c.Stack, err = e.memory(sp, top-sp); err != nil {
			t.Fatal(err)
		}
		frames, end := u.Unwind(nil, space, &c)
		want := shadow.truth(space, pc)
		stops = append(stops, recorded{Registers: regs, Stack: c.Stack, Frames: want})
		if end == Complete && slices.Equal(frames, want) {
			right++
		} else if wrong++; wrong <= 10 {
			t.Errorf("step %d: chain is %v\n got %+v\nwant %+v", steps, end, frames, want)
		}
		code, err := e.memory(pc, 4)
		if err != nil {
			t.Fatal(err)
		}
		instruction := binary.LittleEndian.Uint32(code)
		if instruction == svc && c.Regs.v[8] == 93 { // svc #0: exit
			t.Logf("%d of %d positions right", right, right+wrong)
			return stops
		}
		if _, err := e.ask("s"); err != nil {
			t.Fatal(err)
		}
		if regs, err = e.registers(33); err != nil {
			t.Fatal(err)
		}
		if err := after.Load(ARM64, ARM64.UserRegsMask(), regs); err != nil {
			t.Fatal(err)
		}
		shadow.step(instruction, &c.Regs, &after)
	}
	t.Error("the program did not end")
	return nil
}
