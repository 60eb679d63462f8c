package ftrace

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrNotBTF says that bytes are not the kernel's type information.
var ErrNotBTF = errors.New("no BTF type information")

// Kinds of types and lengths of their descriptions
// (Documentation/bpf/btf.rst).
const (
	btfMagic      = 0xeb9f
	btfHeaderSize = 24
	btfTypeSize   = 12

	btfInt       = 1
	btfArray     = 3
	btfStruct    = 4
	btfUnion     = 5
	btfEnum      = 6
	btfFuncProto = 13
	btfVar       = 14
	btfDatasec   = 15
	btfDeclTag   = 17
	btfEnum64    = 19
)

// ReadConstants returns the names and values of all enumerators in BTF type
// information, of the running kernel's in /sys/kernel/btf/vmlinux. Names that
// stand for different values in different places of the kernel are left out.
// They serve PrintOptions.Constant. The error is ErrNotBTF.
func ReadConstants(btf []byte) (map[string]int64, error) {
	le := binary.LittleEndian
	if len(btf) < btfHeaderSize || le.Uint16(btf) != btfMagic {
		return nil, ErrNotBTF
	}
	header := uint64(le.Uint32(btf[4:]))
	types, ok := section(btf, header+uint64(le.Uint32(btf[8:])), uint64(le.Uint32(btf[12:])))
	names, ok2 := section(btf, header+uint64(le.Uint32(btf[16:])), uint64(le.Uint32(btf[20:])))
	if !ok || !ok2 {
		return nil, ErrNotBTF
	}
	found, ambiguous := make(map[string]int64), make(map[string]bool)
	for len(types) >= btfTypeSize {
		info := le.Uint32(types[4:])
		kind, count, signed := info>>24&0x1f, uint64(info&0xffff), info>>31 != 0
		size, each := btfTail(kind, count)
		if size > uint64(len(types)-btfTypeSize) {
			return nil, ErrNotBTF
		}
		tail := types[btfTypeSize : btfTypeSize+size]
		types = types[btfTypeSize+size:]
		if kind != btfEnum && kind != btfEnum64 {
			continue
		}
		for ; len(tail) >= each; tail = tail[each:] {
			name, value := btfName(names, le.Uint32(tail)), int64(le.Uint32(tail[4:]))
			if kind == btfEnum64 {
				value |= int64(le.Uint32(tail[8:])) << 32
			} else if signed {
				value = int64(int32(value))
			}
			if old, ok := found[name]; ok && old != value {
				ambiguous[name] = true
			}
			found[name] = value
		}
	}
	for name := range ambiguous {
		delete(found, name)
	}
	return found, nil
}

// btfTail says how many bytes follow the description of a type, and how many
// of them are one enumerator.
func btfTail(kind uint32, count uint64) (size uint64, each int) {
	switch kind {
	case btfInt, btfVar, btfDeclTag:
		return 4, 0
	case btfArray:
		return 12, 0
	case btfStruct, btfUnion, btfDatasec, btfEnum64:
		return 12 * count, 12
	case btfEnum, btfFuncProto:
		return 8 * count, 8
	}
	return 0, 0
}

func section(b []byte, offset, length uint64) ([]byte, bool) {
	if offset > uint64(len(b)) || length > uint64(len(b))-offset {
		return nil, false
	}
	return b[offset : offset+length], true
}

func btfName(names []byte, offset uint32) string {
	if uint64(offset) >= uint64(len(names)) {
		return ""
	}
	name := names[offset:]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return string(name)
}
