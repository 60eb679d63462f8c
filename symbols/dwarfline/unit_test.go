package dwarfline

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

func TestCursorReadsNumbers(t *testing.T) {
	for _, test := range []struct {
		name  string
		order binary.ByteOrder
		data  string
		read  func(c *cursor) uint64
		want  uint64
		fails bool
	}{
		{"unsigned LEB128 of one byte", binary.LittleEndian, "\x7f", (*cursor).uleb, 127, false},
		{"unsigned LEB128 of two bytes", binary.LittleEndian, "\x80\x01", (*cursor).uleb, 128, false},
		{"unsigned LEB128 padded beyond 64 bits", binary.LittleEndian, "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", (*cursor).uleb, 1, false},
		{"unsigned LEB128 without an end", binary.LittleEndian, "\x80\x80", (*cursor).uleb, 0, true},
		{"signed LEB128", binary.LittleEndian, "\x80\x7f", func(c *cursor) uint64 { return uint64(c.sleb()) }, ^uint64(127), false},
		{"three bytes, little end first", binary.LittleEndian, "\x01\x02\x03", func(c *cursor) uint64 { return c.uint(3) }, 0x030201, false},
		{"three bytes, big end first", binary.BigEndian, "\x01\x02\x03", func(c *cursor) uint64 { return c.uint(3) }, 0x010203, false},
		{"too few bytes", binary.LittleEndian, "\x01\x02\x03", func(c *cursor) uint64 { return c.uint(4) }, 0, true},
		{"a size that no integer has", binary.LittleEndian, "\x01\x02\x03\x04\x05", func(c *cursor) uint64 { return c.uint(5) }, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := at([]byte(test.data), 0, test.order)
			got := test.read(&c)
			if got != test.want || (c.err != nil) != test.fails {
				t.Errorf("got %#x, error %v", got, c.err)
			}
			if c.left() != 0 {
				t.Errorf("%d bytes left", c.left())
			}
		})
	}
}

func TestFlattenFindsTheInnermostFunction(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []piece
		want   string // the function of each address from 9 on, - for none
	}{
		{"nothing", nil, "----"},
		{"one", []piece{{span{10, 12}, 0}}, "-00-"},
		{"nested", []piece{{span{10, 16}, 0}, {span{11, 15}, 1}, {span{12, 13}, 2}}, "-012110-"},
		{"nested from the same start, inner first", []piece{{span{10, 11}, 2}, {span{10, 12}, 1}, {span{10, 13}, 0}}, "-210-"},
		{"inlined twice", []piece{{span{10, 15}, 0}, {span{11, 12}, 1}, {span{13, 14}, 1}}, "-01010-"},
		{"neighbours", []piece{{span{10, 12}, 0}, {span{12, 14}, 3}}, "-0033-"},
		{"with a gap", []piece{{span{10, 11}, 0}, {span{12, 13}, 3}}, "-0-3-"},
		{"an inner one that ends behind the outer one", []piece{{span{10, 12}, 0}, {span{11, 20}, 1}}, "-01--"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := tree{segments: flatten(test.pieces)}
			var got []byte
			for i := range test.want {
				if fn := tr.find(uint64(9 + i)); fn >= 0 {
					got = append(got, byte('0'+fn))
				} else {
					got = append(got, '-')
				}
			}
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestUnitsOfUnknownVersionAreSteppedOver(t *testing.T) {
	good := "\x08\x00\x00\x00\x04\x00\x00\x00\x00\x00\x08\x00"
	future := "\x04\x00\x00\x00\x09\x00\xaa\xaa"
	s := &sections{order: binary.LittleEndian, info: []byte(good + future + good + "\xff\xff")}
	var starts []uint64
	for _, u := range readUnits(s) {
		starts = append(starts, u.start)
	}
	if want := []uint64{0, 20}; !slices.Equal(starts, want) {
		t.Errorf("units at %v, want %v", starts, want)
	}
}

// TestHugeCountsInLineHeadersAreNotAllocated has a count of directories that
// no memory could hold.
func TestHugeCountsInLineHeadersAreNotAllocated(t *testing.T) {
	header := []byte{
		5, 0, 8, 0, // version, address size, segment selector size
		20, 0, 0, 0, // header length
		1, 1, 1, 0xfb, 14, 1, // opcode base 1: no lengths follow
		0,                                                 // directory entries have no content
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, // and there are 2^56
	}
	line := binary.LittleEndian.AppendUint32(nil, uint32(len(header)+8))
	line = append(append(line, header...), bytes.Repeat([]byte{0}, 8)...)
	x := &Index{s: &sections{order: binary.LittleEndian, line: line}}
	table, err := x.readLines(&unit{}, &root{hasLine: true})
	if err == nil || len(table.dirs) > 1 {
		t.Errorf("%d directories, error %v", len(table.dirs), err)
	}
}
