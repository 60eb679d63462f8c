package helper

import (
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// nextSwitch says what comes after a visited sample in its CPU's ring.
type nextSwitch uint8

const (
	noSwitch       nextSwitch = iota // no switch away from the thread, or another record before it
	otherRegisters                   // a switch away from the thread, with other registers
	sameRegisters                    // a switch away from the thread, with the registers of the sample
)

// sampleContext says where an event's samples are taken.
type sampleContext uint8

const (
	anyContext  sampleContext = iota
	inKernel                  // in the kernel, even if the registers are user mode's, as at a system call's entry
	atUserProbe               // at an instruction that the kernel emulates or single-steps
)

// sampleContextOf returns the context of an event's samples.
func sampleContextOf(isTracepoint, isUserProbe bool) sampleContext {
	switch {
	case isUserProbe:
		return atUserProbe
	case isTracepoint:
		return inKernel
	}
	return anyContext
}

// compareRegisters compares the user registers of a sample and of the next switch away from its
// thread. If they are the same, no user code ran between the two. The switch must have at least
// the sample's registers.
//
// Some registers may differ although no user code ran. If the sample was taken in the kernel, it
// may belong to a system call, and the kernel may have written the result by the time of the
// switch. At a user probe, the kernel handles the probed instruction; see probeEffect.
func compareRegisters(sample, switchOut *perfevent.Sample, context sampleContext) nextSwitch {
	a, b := &sample.Regs, &switchOut.Regs
	if a.ABI == 0 || a.ABI != b.ABI || a.Mask&^b.Mask != 0 ||
		len(a.Values) != bits.OnesCount64(a.Mask) || len(b.Values) != bits.OnesCount64(b.Mask) {
		return otherRegisters
	}
	probe := context == atUserProbe
	inSyscall := !probe && (context == inKernel || sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK != unix.PERF_RECORD_MISC_USER)
	var effect probeEffect
	if probe {
		effect = probeEffectOf(a, b)
	}
	bit := uint8(0)
	for i := range a.Values {
		for a.Mask>>bit&1 == 0 {
			bit++
		}
		register := bit
		bit++
		after, _ := b.Value(int(register))
		switch {
		case a.Values[i] == after:
		case register == arch.Here.C.Results[0].Perf && inSyscall:
		case probe && effect.explains(register, a.Values[i], after):
		default:
			return otherRegisters
		}
	}
	return sameRegisters
}
