package stack

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// What a machine has recorded is unwound by its own rules, wherever that is done.
func TestStacksAreOfTheHostsMachine(t *testing.T) {
	const code, sp, caller = 1 << 20, 0x7000, 1<<20 + 0x20
	for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64, callchain.I386} {
		host, abi := process.Host{Proc: t.TempDir(), Machine: arch}, uint64(ABI64)
		if arch == callchain.I386 { // whose registers come as those of a 64-bit kernel
			host.Machine, abi = callchain.AMD64, ABI32
		}
		processes := process.NewTable(process.Options{Host: host})
		t.Cleanup(processes.Close)
		processes.Handle(&perfevent.Fork{Header: perfevent.Header{Time: 1}, PID: 5, TID: 5})
		processes.Handle(&perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: code, Len: 4096, Prot: 5, Filename: []byte("//anon")})

		// A function that keeps a frame pointer, which leads to its caller's and to the
		// return address (asm/perf_regs.h has the numbers of the registers).
		registers := map[int]uint64{6: sp, 7: sp, 8: code + 0x10} // BP, SP, IP
		if arch == callchain.ARM64 {
			registers = map[int]uint64{29: sp, 30: 0, 31: sp, 32: code + 0x10} // FP, LR, SP, PC
		}
		mask := host.Machine.UserRegsMask()
		var values []uint64
		for rest := mask; rest != 0; rest &= rest - 1 {
			values = append(values, registers[bits.TrailingZeros64(rest)])
		}
		sample := &perfevent.Sample{Header: perfevent.Header{PID: 5, TID: 5, Time: 3},
			Regs:  perfevent.Registers{ABI: abi, Mask: mask, Values: values},
			Stack: appendWord(make([]byte, arch.WordSize()), arch, caller)}
		store := NewStore(processes, nil)
		stacker := store.Stacker(Stacks{User: true, Unwind: DWARF})
		for _, how := range []string{"unwound", "known by its words"} {
			user := store.User(stacker, processes.Process(5), sample)
			if !user.Kept {
				t.Errorf("%s: no stack", arch)
				continue
			}
			frames := store.Stack(user.ID).Frames
			if len(frames) != 2 || frames[0].Offset != code+0x10 || frames[1].Offset != caller-1 {
				t.Errorf("%s, %s: frames %+v", arch, how, frames)
			}
		}
		p := processes.Process(5)
		if n := testing.AllocsPerRun(100, func() { store.User(stacker, p, sample) }); n > 0 {
			t.Errorf("%s: a known stack allocates %v times", arch, n)
		}
	}
}

func TestASampleOutsideOfAllMappingsIsUnmapped(t *testing.T) {
	const code = 1 << 20
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	processes.Handle(&perfevent.Fork{Header: perfevent.Header{Time: 1}, PID: 5, TID: 5})
	processes.Handle(&perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: code, Len: 4096, Prot: 5, Filename: []byte("//anon")})
	store := NewStore(processes, nil)
	stacker := store.Stacker(Stacks{User: true, Unwind: FP})
	const userPart = ^uint64(511) // PERF_CONTEXT_USER
	for _, test := range []struct {
		chain           []uint64
		found, unmapped bool
	}{
		{[]uint64{userPart, code}, true, false},
		{[]uint64{userPart, code + 4096}, false, true},
		{nil, false, false}, // a thread of the kernel
	} {
		sample := &perfevent.Sample{Header: perfevent.Header{PID: 5, TID: 5, Time: 3}, Callchain: test.chain}
		user := store.User(stacker, processes.Process(5), sample)
		if user.Found != test.found || user.Unmapped != test.unmapped {
			t.Errorf("%#x: found %v, unmapped %v", test.chain, user.Found, user.Unmapped)
		}
	}
}

func appendWord(b []byte, arch callchain.Arch, word uint64) []byte {
	if arch.WordSize() == 4 {
		return binary.LittleEndian.AppendUint32(b, uint32(word))
	}
	return binary.LittleEndian.AppendUint64(b, word)
}

func TestOnly32BitProgramsOfAMachineThatIsNotKnownAreForeign(t *testing.T) {
	for _, test := range []struct {
		host callchain.Arch
		abi  uint64
		want bool
	}{
		{callchain.AMD64, ABI64, false}, {callchain.AMD64, ABI32, false}, {callchain.ARM64, ABI64, false},
		{callchain.ARM64, ABI32, true}, {callchain.ARM64, 0, false},
	} {
		sample := &perfevent.Sample{Regs: perfevent.Registers{ABI: test.abi}}
		if got := Foreign(test.host, sample); got != test.want {
			t.Errorf("%s, ABI %d: %t", test.host, test.abi, got)
		}
	}
}
