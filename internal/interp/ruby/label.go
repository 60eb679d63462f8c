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

// maxParents bounds how deep iseqs are in one another.
const maxParents = 1 << 8

// labelOf is the name of an iseq as Ruby itself shows it: since 3.4 (calculate_iseq_label in vm_backtrace.c)
// with the class that has the method.
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

// A vm_svar, and a method entry, in bytes.
const (
	variableMethod = 8
	methodOwner    = 32
)

// owner is the class of a method, by what a walk has found of that; 0 if there is none.
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

// class is what Ruby shows of a class in front of a method: "Class#", or "Class." if it is that of the class
// itself; nothing if it has no name for good.
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
