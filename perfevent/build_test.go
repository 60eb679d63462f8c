package perfevent

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// body collects a record's fields in the kernel's byte order.
type body []byte

func (b body) u16(v uint16) body { return binary.LittleEndian.AppendUint16(b, v) }
func (b body) u32(v uint32) body { return binary.LittleEndian.AppendUint32(b, v) }
func (b body) u64(v uint64) body { return binary.LittleEndian.AppendUint64(b, v) }
func (b body) add(p []byte) body { return append(b, p...) }

// text appends a string as the kernel does: NULs up to a multiple of 8, one at
// least.
func (b body) text(s string) body {
	b = append(b, s...)
	b = append(b, 0)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// record puts the header before the fields.
func record(kind uint32, misc uint16, fields body) []byte {
	size := uint16(headerSize + len(fields))
	return body(nil).u32(kind).u16(misc).u16(size).add(fields)
}

// trailed appends the trailer that every record but a sample has: process 10,
// thread 11, CPU 3, and the event id testSideBandID.
func trailed(kind uint32, misc uint16, time uint64, fields body) []byte {
	return record(kind, misc, fields.u32(10).u32(11).u64(time).u32(3).u32(0).u64(testSideBandID))
}

const (
	testSampleID   = 70 // of sampling 0, of origin 0
	testSideBandID = 71
)

// testDecoder knows one sampling and a side-band event.
func testDecoder(sampleType uint64) *Decoder {
	user, intr := uint64(0), uint64(0)
	if sampleType&unix.PERF_SAMPLE_REGS_USER != 0 {
		user = 0b101
	}
	if sampleType&unix.PERF_SAMPLE_REGS_INTR != 0 {
		intr = 0b1110
	}
	d := newDecoder([]unix.PerfEventAttr{{Sample: 5, Sample_type: fixedSample | sampleType, Sample_regs_user: user, Sample_regs_intr: intr}})
	d.events = newEventTable([]uint64{testSampleID, testSideBandID},
		[]eventInfo{{sampling: 0}, {sampling: sideBand}})
	return &d
}

// sampleHead is what all samples of testDecoder start with, up to the CPU.
func sampleHead(time uint64) body {
	return body(nil).u64(testSampleID).u64(0x401000).u32(10).u32(11).u64(time).u32(3).u32(0)
}

// smallSample is the least sample there is: 48 bytes.
func smallSample(time uint64) []byte {
	return record(unix.PERF_RECORD_SAMPLE, 0, sampleHead(time))
}

// callchainSample is a sample with n frames.
func callchainSample(time uint64, n int) []byte {
	b := sampleHead(time).u64(uint64(n))
	for i := range n {
		b = b.u64(0x401000 + uint64(i))
	}
	return record(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, b)
}
