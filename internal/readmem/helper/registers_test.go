package helper

import (
	"math/bits"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// sampleOf returns a sample in user mode. Each register has 1000 times its number, except those in
// set.
func sampleOf(set map[int]uint64) *perfevent.Sample {
	s := &perfevent.Sample{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER, TID: 1}}
	s.Regs = perfevent.Registers{ABI: 2, Mask: Registers}
	for m := Registers; m != 0; m &= m - 1 {
		n := bits.TrailingZeros64(m)
		value, ok := set[n]
		if !ok {
			value = uint64(n) * 1000
		}
		s.Regs.Values = append(s.Regs.Values, value)
	}
	return s
}

func TestRegistersAreTheSameIfNoUserCodeRan(t *testing.T) {
	const other = 2 // neither the result's register nor the instruction pointer
	result, ip := int(arch.Here.C.Results[0].Perf), int(arch.Here.PC.Perf)
	ipValue := uint64(ip) * 1000
	tests := []struct {
		name   string
		place  sampleContext
		kernel bool
		from   map[int]uint64
		to     map[int]uint64
		want   nextSwitch
	}{
		{"the same registers", anyContext, false, nil, nil, sameRegisters},
		{"another register", anyContext, false, nil, map[int]uint64{other: 7}, otherRegisters},
		{"another result in user mode", anyContext, false, nil, map[int]uint64{result: 7}, otherRegisters},
		{"the result of a system call that was sampled", anyContext, true, nil, map[int]uint64{result: 7}, sameRegisters},
		{"the result of a system call at its entry", inKernel, false, nil, map[int]uint64{result: 7}, sameRegisters},
		{"another register after a system call", inKernel, true, nil, map[int]uint64{other: 7}, otherRegisters},
		{"the next instruction", anyContext, false, nil, map[int]uint64{ip: ipValue + 4}, otherRegisters},
		{"past a probed instruction", atUserProbe, false, nil, map[int]uint64{ip: ipValue + 4}, sameRegisters},
		{"far from a probed instruction", atUserProbe, false, nil, map[int]uint64{ip: ipValue + 400}, otherRegisters},
		{"another result at a probe", atUserProbe, true, nil, map[int]uint64{result: 7}, otherRegisters},
	}
	for _, tt := range tests {
		from, to := sampleOf(tt.from), sampleOf(tt.to)
		if tt.kernel {
			from.Misc = unix.PERF_RECORD_MISC_KERNEL
		}
		if got := compareRegisters(from, to, tt.place); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	fewer := sampleOf(nil)
	fewer.Regs.Mask, fewer.Regs.Values = 1<<ip|1<<other, []uint64{other * 1000, ipValue}
	for _, tt := range []struct {
		name string
		to   *perfevent.Sample
		want nextSwitch
	}{
		{"with more registers", sampleOf(map[int]uint64{result: 7}), sameRegisters},
		{"with another value and more registers", sampleOf(map[int]uint64{other: 7}), otherRegisters},
	} {
		if got := compareRegisters(fewer, tt.to, anyContext); got != tt.want {
			t.Errorf("a switch %s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := compareRegisters(sampleOf(nil), fewer, anyContext); got != otherRegisters {
		t.Errorf("a switch with fewer registers than the sample: %d", got)
	}
	kernelThread := sampleOf(nil)
	kernelThread.Regs = perfevent.Registers{}
	if got := compareRegisters(kernelThread, kernelThread, anyContext); got != otherRegisters {
		t.Errorf("without registers: %d", got)
	}
	code32 := sampleOf(nil)
	code32.Regs.ABI = 1
	if got := compareRegisters(sampleOf(nil), code32, anyContext); got != otherRegisters {
		t.Errorf("registers of 32-bit code: %d", got)
	}
}

func TestTheKernelsHandlingOfAProbeIsNoChange(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the registers of arm64 do not show a step")
	}
	const (
		ax, bx, cx, si, di, sp, ip, flags, r11 = 0, 1, 2, 4, 5, 7, 8, 9, 19

		plain, trap = 9000 &^ (1 << 8), 9000 | 1<<8
		slot, page  = 0x7fff0080, 0x7fff000d
	)
	for _, tt := range []struct {
		name string
		to   map[int]uint64
		want nextSwitch
	}{
		{"push", map[int]uint64{sp: 7000 - 8, ip: 8001}, sameRegisters},
		{"pop", map[int]uint64{sp: 7000 + 8, ip: 8001}, otherRegisters},
		{"a step elsewhere", map[int]uint64{ip: 0x7fff0000, flags: trap}, sameRegisters},
		{"a step that is over", map[int]uint64{ip: 0x7fff0003, flags: trap}, otherRegisters},
		{"a step of a push", map[int]uint64{ip: slot, flags: trap, sp: 7000 - 8}, otherRegisters},
		{"elsewhere", map[int]uint64{ip: 0x7fff0000}, otherRegisters},
		{"a step with an address in si", map[int]uint64{ip: slot, flags: trap, si: 8006}, sameRegisters},
		{"a step with an address in di", map[int]uint64{ip: slot, flags: trap, di: 8007}, sameRegisters},
		{"a step with an address in bx", map[int]uint64{ip: slot, flags: trap, bx: 8015}, sameRegisters},
		{"a step with an address in cx", map[int]uint64{ip: slot, flags: trap, cx: 8007}, otherRegisters},
		{"a step with an address in two registers", map[int]uint64{ip: slot, flags: trap, si: 8007, bx: 8007}, otherRegisters},
		{"a step with an address and another register", map[int]uint64{ip: slot, flags: trap, si: 8007, cx: 7}, otherRegisters},
		{"a step with the address of another instruction", map[int]uint64{ip: slot, flags: trap, si: 8016}, otherRegisters},
		{"a step with an address that is too near", map[int]uint64{ip: slot, flags: trap, si: 8005}, otherRegisters},
		{"a step with an address that is over", map[int]uint64{ip: slot + 7, flags: trap, si: 8007}, otherRegisters},
		{"an address and no step", map[int]uint64{ip: 8007, si: 8007}, otherRegisters},
		{"a return", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain}, sameRegisters},
		{"a return with another result", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain, ax: 7}, otherRegisters},
		{"a return with other flags", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: trap, flags: trap}, otherRegisters},
		{"a return that has gone on", map[int]uint64{sp: 7000 - 16, ip: page, cx: page, r11: plain}, otherRegisters},
		{"another system call", map[int]uint64{sp: 7000 - 24, ip: 0x7fff00dd, cx: 0x7fff00dd, r11: plain}, otherRegisters},
		{"a return by another page", map[int]uint64{sp: 7000 - 24, ip: page, cx: page + 1, r11: plain}, otherRegisters},
		{"a nop that became a call", map[int]uint64{sp: 7000 - 32, ip: page, cx: page, r11: plain, ax: 0}, sameRegisters},
		{"a nop that became a call, and a result", map[int]uint64{sp: 7000 - 32, ip: page, cx: page, r11: plain, ax: 7}, otherRegisters},
		{"a nop that became a call and has gone on", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain, ax: 0}, otherRegisters},
	} {
		from := sampleOf(map[int]uint64{flags: plain, ax: 5})
		for register, value := range map[int]uint64{flags: plain, ax: 5} {
			if _, ok := tt.to[register]; !ok {
				tt.to[register] = value
			}
		}
		if got := compareRegisters(from, sampleOf(tt.to), atUserProbe); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
