package atsample

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// The memory has the stack of a goroutine, the stack of its thread, and the runtime.g, in separate pages.
func TestOtherStacksAreFoundByReturnAddresses(t *testing.T) {
	const pages = 64
	memory, err := unix.Mmap(-1, 0, pages*callchain.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))
	page := func(n uint64) uint64 { return base + n*callchain.PageSize }
	put := func(addr uint64, words ...uint64) {
		for i, w := range words {
			binary.LittleEndian.PutUint64(memory[addr-base+uint64(i)*wordSize:], w)
		}
	}
	const intoGo, intoC = 0x400000, 0x500000 // code
	crossings := []callchain.Crossing{{Start: intoC, End: intoC + 0x80}, {Start: intoGo, End: intoGo + 0x100, IntoGo: true}}
	goroutine, thread, g := page(1), page(20), page(40)
	list := []stackArea{{page(1), page(4), 0}, {page(20), page(24), 0}, {page(40), page(41), 0}}
	put(g, page(1), page(4))
	depth := page(4) - page(3)
	for _, test := range []struct {
		name       string
		arch       callchain.Arch
		sp         uint64
		words      map[uint64][]uint64
		stacks     []stackArea
		goroutines []Goroutine
	}{
		{name: "C has called Go", arch: callchain.AMD64, sp: goroutine + 0x100,
			words:  map[uint64][]uint64{goroutine + 0x400: {page(21) + 0x80, intoGo + 0x20}},
			stacks: []stackArea{{page(21), page(24), 0}}},
		{name: "and Go has called it before", arch: callchain.AMD64, sp: goroutine + 0x100,
			words: map[uint64][]uint64{goroutine + 0x400: {page(21) + 0x80, intoGo + 0x20},
				page(22): {intoC + 0x20, depth, g}},
			stacks: []stackArea{{page(21), page(24), 0}}, goroutines: []Goroutine{{g, page(1), page(4)}}},
		{name: "Go has called C", arch: callchain.AMD64, sp: thread + 0x100,
			words:  map[uint64][]uint64{thread + 0x800: {intoC + 0x20, depth, g}},
			stacks: []stackArea{{page(2), page(4), 0}}, goroutines: []Goroutine{{g, page(1), page(4)}}},
		{name: "on arm64, which saves other words between", arch: callchain.ARM64, sp: thread + 0x100,
			words:  map[uint64][]uint64{thread + 0x800: {thread + 0x900, intoC + 0x20, 1, 2, 3, 4, g, depth}},
			stacks: []stackArea{{page(2), page(4), 0}}, goroutines: []Goroutine{{g, page(1), page(4)}}},
		{name: "below the stack pointer are old addresses", arch: callchain.AMD64, sp: goroutine + 0x800,
			words: map[uint64][]uint64{goroutine + 0x400: {page(21) + 0x80, intoGo + 0x20}}},
		{name: "there is no such goroutine", arch: callchain.AMD64, sp: thread + 0x100,
			words: map[uint64][]uint64{thread + 0x800: {intoC + 0x20, page(4), g}, thread + 0x900: {intoC + 0x20, depth, g + 64},
				thread + 0xa00: {intoC + 0x20, depth, page(60)}}},
		{name: "no stack lies there", arch: callchain.AMD64, sp: goroutine + 0x100,
			words: map[uint64][]uint64{goroutine + 0x400: {page(50), intoGo + 0x20}}},
		{name: "a stack pointer that leads nowhere", arch: callchain.AMD64, sp: page(50)},
	} {
		t.Run(test.name, func(t *testing.T) {
			clear(memory[callchain.PageSize : 24*callchain.PageSize])
			for addr, words := range test.words {
				put(addr, words...)
			}
			c := newSwitchFinder()
			c.arch = test.arch
			var memory interp.Memory = interp.Live(os.Getpid())
			if n := testing.AllocsPerRun(1, func() { c.find(memory, crossings, list, test.sp) }); n > 0 {
				t.Errorf("it allocates %v times", n)
			}
			if !slices.Equal(c.stacks, test.stacks) || !slices.Equal(c.goroutines, test.goroutines) {
				t.Errorf("stacks %#x, goroutines %#x\nwant   %#x, %#x", c.stacks, c.goroutines, test.stacks, test.goroutines)
			}
		})
	}
}
