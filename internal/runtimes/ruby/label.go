package ruby

import (
	"encoding/binary"
	"fmt"
)

// The types of iseqs (enum rb_iseq_type).
const (
	typeTop = iota
	typeMethod
	typeBlock
	typeClass
	typeRescue
	typeEnsure
	typeEval
	typeMain
	typePlain
)

// maxParents bounds the nesting of iseqs.
const maxParents = 1 << 8

// labelOf returns an iseq's name as Ruby itself shows it (calculate_iseq_label in
// vm_backtrace.c). Since 3.4 it includes the method's class.
func (r *ruby) labelOf(body *[bodySize]byte, addr, owner uint64) (string, bool) {
	at := *body
	prefix := ""
	for n := 0; r.qualified && n < maxParents; n++ {
		of := word(&at, r.bodyParent)
		switch kind := binary.LittleEndian.Uint32(at[bodyType:]); {
		case kind == typeMethod:
			label, ok := r.text(word(&at, bodyLabel))
			return prefix + r.class(owner) + label, ok
		case of == 0 || kind == typeTop || kind == typeClass || kind == typeMain:
			label, ok := r.text(word(&at, bodyLabel))
			return prefix + label, ok
		case kind == typeBlock || kind == typePlain:
			home := word(&at, r.bodyLocal)
			levels := 0
			for ; addr != home; n++ {
				if n == maxParents {
					return "", false
				}
				if binary.LittleEndian.Uint32(at[bodyType:]) == typeBlock {
					levels++
				}
				addr = word(&at, r.bodyParent)
				if _, ok := r.iseq(addr, &at); !ok {
					return "", false
				}
			}
			prefix = "block in "
			if levels > 1 {
				prefix = fmt.Sprintf("block (%d levels) in ", levels)
			}
		default:
			addr = of
			if _, ok := r.iseq(addr, &at); !ok {
				return "", false
			}
		}
	}
	return r.text(word(body, bodyLabel))
}

// Offsets in a vm_svar and in a method entry, in bytes.
const (
	variableMethod = 8
	methodOwner    = 32
)

// owner returns the class of the method that a walk has found, or 0 if there is none.
func (r *ruby) owner(method uint64) uint64 {
	var b [8]byte
	flags, ok := r.word(method, b[:])
	if ok && isInternalKind(flags, isVariable) {
		if method, ok = r.word(method+variableMethod, b[:]); ok {
			flags, ok = r.word(method, b[:])
		}
	}
	if !ok || !isInternalKind(flags, isMethod) {
		return 0
	}
	owner, _ := r.word(method+methodOwner, b[:])
	return owner
}

// class returns what Ruby shows before a method's name: "Class#", or "Class." for a class's own
// method. It returns "" if the class has no permanent name.
func (r *ruby) class(addr uint64) string {
	var b [classSize]byte
	if addr == 0 || !r.memory.Read(addr, b[:]) {
		return ""
	}
	flags := binary.LittleEndian.Uint64(b[:])
	separator := "#"
	if flags&kindBits == isClass && flags&singletonBit != 0 {
		separator = "."
		if !r.memory.Read(binary.LittleEndian.Uint64(b[r.classAttached:]), b[:]) {
			return ""
		}
		flags = binary.LittleEndian.Uint64(b[:])
	}
	if kind := flags & kindBits; kind != isClass && kind != isModule || b[classPermanent]&permanentBit == 0 {
		return ""
	}
	name, ok := r.text(binary.LittleEndian.Uint64(b[classPath:]))
	if !ok {
		return ""
	}
	return name + separator
}
