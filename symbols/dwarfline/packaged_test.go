package dwarfline

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// packageIndex makes the index of a package of a version with one unit.
func packageIndex(version, column uint32, id uint64, offset, size uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, version)
	for _, n := range []uint32{1, 1, 2} { // columns, units, slots
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	slots, rows := [2]uint64{}, [2]uint32{}
	slots[id&1], rows[id&1] = id, 1
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, slots[0]), slots[1])
	for _, n := range []uint32{rows[0], rows[1], column, offset, size} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func TestUnitsOfAPackageAreFoundByTheirIDs(t *testing.T) {
	for _, test := range []struct {
		index []byte
		id    uint64
		want  string
	}{
		{packageIndex(5, 1, 6, 2, 3), 6, `"234"`},
		{packageIndex(2, 1, 7, 0, 10), 7, `"0123456789"`},
		{packageIndex(5, 1, 6, 2, 3), 8, "not there"},
		{packageIndex(5, 1, 6, 2, 3), 7, "not there"},
		{packageIndex(5, 3, 6, 2, 3), 6, `""`}, // a part of another section
		{packageIndex(5, 1, 6, 8, 3), 6, "part 0x8 to 0xb of .debug_info is outside of it"},
		{packageIndex(3, 1, 6, 2, 3), 6, "not there"},
		{packageIndex(5, 1, 6, 2, 3)[:40], 6, "not there"},
		{nil, 6, "not there"},
	} {
		unit, err := Packaged(memory{".debug_cu_index": test.index, ".debug_info": []byte("0123456789")}, binary.LittleEndian, test.id)
		got := "not there"
		if unit != nil {
			var b []byte
			b, err = unit.SectionData(".debug_info")
			got = fmt.Sprintf("%q", b)
		}
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%d in % x: %s, want %s", test.id, test.index, got, test.want)
		}
	}
}

func FuzzPackaged(f *testing.F) {
	f.Add(packageIndex(5, 1, 6, 2, 3), uint64(6))
	f.Add(packageIndex(2, 5, 7, 0, 10), uint64(7))
	f.Fuzz(func(t *testing.T, index []byte, id uint64) {
		unit, err := Packaged(memory{".debug_cu_index": index, ".debug_info": index, ".debug_loc": index}, binary.LittleEndian, id)
		if err != nil || unit == nil {
			return
		}
		for _, name := range []string{".debug_info", ".debug_loc", ".debug_str"} {
			if b, err := unit.SectionData(name); err == nil && len(b) > len(index) {
				t.Errorf("%d bytes of %s", len(b), name)
			}
		}
	})
}
