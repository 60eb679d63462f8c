package hotspot

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// A method that calls itself has one block of code, however many frames.
func TestABlockOfCodeIsReadOnceForEachSample(t *testing.T) {
	const heapLow, segments, names, frameSize, segmentBits = 0x10000, 0x20000, 0x30000, 32, 6
	l := layoutOf([]byte{0})
	block := make([]byte, 0x1000)
	block[l.used] = 1
	head := block[l.blockSize:]
	binary.LittleEndian.PutUint32(head[l.blobSize:], 0x800)
	binary.LittleEndian.PutUint32(head[l.frameSize:], frameSize/8)
	binary.LittleEndian.PutUint32(head[l.complete:], 1)
	binary.LittleEndian.PutUint64(head[l.code:], heapLow+0x400)
	binary.LittleEndian.PutUint64(head[l.blobName:], names)
	back := make([]byte, len(block)>>segmentBits) // how many segments back the block begins
	for i := range back {
		back[i] = byte(i)
	}
	memory := &interptest.Counter{Memory: interp.Image{{Addr: heapLow, Bytes: block}, {Addr: segments, Bytes: back}, {Addr: names, Bytes: make([]byte, 64)}}}
	const pc = heapLow + 0x500
	stackOf := func(frames int) []byte {
		stack := make([]byte, frames*frameSize)
		for at := frameSize; at <= len(stack); at += frameSize {
			binary.LittleEndian.PutUint64(stack[at-8:], pc)
		}
		return stack
	}
	runtimeOf := func() *Runtime {
		r := newRuntime(memory, machineOf(callchain.AMD64), l, 17)
		r.heaps = []heap{{low: heapLow, top: heapLow + 0x1000, segments: segments, bits: segmentBits}}
		r.interpreter.tries = maxTries
		return r
	}
	reads := func(r *Runtime, frames int) int {
		memory.Reads = 0
		c := callchain.Capture{Stack: stackOf(frames), Runtime: &steps{Runtime: r}}
		values := make([]uint64, bits.OnesCount64(callchain.AMD64.UserRegsMask()))
		for i := range values {
			values[i] = pc
		}
		if err := c.Regs.Load(callchain.AMD64, callchain.AMD64.UserRegsMask(), values); err != nil {
			t.Fatal(err)
		}
		if got, _ := callchain.New(callchain.AMD64).Unwind(nil, everywhere{}, &c); len(got) != frames+1 {
			t.Fatalf("%d frames, want %d", len(got), frames+1)
		}
		return memory.Reads
	}
	r := runtimeOf()
	reads(r, 1) // names and code are kept
	few, many := reads(r, 3), reads(r, 50)
	if few == 0 || many != few {
		t.Errorf("3 frames take %d reads and 50 take %d: each sample is to read the block, and once", few, many)
	}
}
