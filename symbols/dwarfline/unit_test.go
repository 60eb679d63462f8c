package dwarfline

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

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
