package usdt

import (
	"debug/elf"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// resolve finds the addresses of the variables named in the probes' operands.
func resolve(img *elfimage.Image, probes []Probe) {
	wanted := map[string]uint64{}
	for i := range probes {
		for _, arg := range split(probes[i].Args) {
			if _, operand, err := cutSize(arg, img.Machine); err == nil {
				if o, reason := parseOperand(operand, img.Machine); reason == "" && o.kind == global {
					wanted[o.symbol] = 0
				}
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	globals := map[string]uint64{}
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		if s, ok := img.SectionOf(typ); ok {
			find(img, s, wanted, globals)
		}
	}
	for i := range probes {
		probes[i].globals = globals
	}
}

// ambiguous is the address of a name that several variables have.
const ambiguous = 0

// find searches one symbol table for the wanted names.
func find(img *elfimage.Image, s *elf.SectionHeader, wanted, found map[string]uint64) {
	if uint64(s.Link) >= uint64(len(img.Sections)) {
		return
	}
	table, err := img.Bytes(s)
	if err != nil {
		return
	}
	strtab, err := img.Bytes(&img.Sections[s.Link])
	if err != nil {
		return
	}
	names := string(strtab)
	size := 16
	if img.Is64 {
		size = 24
	}
	for ; len(table) >= size; table = table[size:] {
		at := uint64(img.Order.Uint32(table))
		info, shndx, value := byte(0), uint16(0), uint64(0)
		if img.Is64 {
			info, shndx, value = table[4], img.Order.Uint16(table[6:]), img.Order.Uint64(table[8:])
		} else {
			info, shndx, value = table[12], img.Order.Uint16(table[14:]), uint64(img.Order.Uint32(table[4:]))
		}
		if shndx == uint16(elf.SHN_UNDEF) || elf.ST_TYPE(info) == elf.STT_TLS || at >= uint64(len(names)) {
			continue
		}
		name := names[at:min(uint64(len(names)), at+maxSymbol)]
		name, _, _ = strings.Cut(name, "\x00")
		if _, ok := wanted[name]; !ok {
			continue
		}
		if other, twice := found[name]; twice && other != value {
			value = ambiguous
		}
		found[name] = value
	}
}

// maxSymbol bounds the names of variables, in bytes.
const maxSymbol = 1024
