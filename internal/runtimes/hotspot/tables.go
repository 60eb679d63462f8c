package hotspot

import (
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// tables is the virtual machine's description of its own structures.
type tables struct {
	offsets map[string]uint64 // of fields, by "Type::_field"; of a static field, its address
	sizes   map[string]uint64 // of types
	numbers map[string]uint64 // constants
}

// maxEntries bounds the entries of a table, maxName the size of names in bytes.
const (
	maxEntries = 1 << 13
	maxName    = 256
)

// readTables reads the three tables. The machine also exports the tables' own layout
// (src/hotspot/share/runtime/vmStructs.cpp).
func readTables(mem interp.Memory, symbol func(name string) (interp.Symbol, bool)) (*tables, bool) {
	v := &view{mem: &pages{mem: mem, read: make(map[uint64][]byte)}}
	variable := func(name string) uint64 {
		s, ok := symbol(name)
		if !ok {
			v.bad = true
			return 0
		}
		return v.u64(s.Addr)
	}
	each := func(table, stride string, entry func(addr uint64) bool) {
		at, size := variable(table), variable(stride)
		for n := 0; n < maxEntries && !v.bad && entry(at); n++ {
			at += size
		}
	}
	t := &tables{make(map[string]uint64), make(map[string]uint64), make(map[string]uint64)}

	typeName, fieldName := variable("gHotSpotVMStructEntryTypeNameOffset"), variable("gHotSpotVMStructEntryFieldNameOffset")
	isStatic := variable("gHotSpotVMStructEntryIsStaticOffset")
	offset, address := variable("gHotSpotVMStructEntryOffsetOffset"), variable("gHotSpotVMStructEntryAddressOffset")
	each("gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", func(addr uint64) bool {
		of := v.u64(addr + typeName)
		if of == 0 {
			return false
		}
		value := offset
		if v.u32(addr+isStatic) != 0 {
			value = address
		}
		t.offsets[v.text(of, maxName)+"::"+v.text(v.u64(addr+fieldName), maxName)] = v.u64(addr + value)
		return true
	})
	typeName, size := variable("gHotSpotVMTypeEntryTypeNameOffset"), variable("gHotSpotVMTypeEntrySizeOffset")
	each("gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", func(addr uint64) bool {
		of := v.u64(addr + typeName)
		if of == 0 {
			return false
		}
		t.sizes[v.text(of, maxName)] = v.u64(addr + size)
		return true
	})
	name, value := variable("gHotSpotVMIntConstantEntryNameOffset"), variable("gHotSpotVMIntConstantEntryValueOffset")
	each("gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride", func(addr uint64) bool {
		of := v.u64(addr + name)
		if of == 0 {
			return false
		}
		t.numbers[v.text(of, maxName)] = uint64(v.u32(addr + value))
		return true
	})
	return t, !v.bad
}
