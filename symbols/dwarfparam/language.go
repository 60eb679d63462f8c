package dwarfparam

// language decides which rules for names and calls apply.
type language uint8

const (
	langOther language = iota
	langC
	langCPlusPlus
	langGo
	langRust
)

// languageOf maps DW_LANG codes (DWARF 5 table 7.17 and dwarfstd.org).
func languageOf(code uint64) language {
	switch code {
	case 0x01, 0x02, 0x0c, 0x10, 0x1d, 0x2c, 0x3e: // C89, C, C99, ObjC, C11, C17, C23
		return langC
	case 0x04, 0x11, 0x1a, 0x21, 0x2b, 0x3a: // C++, ObjC++, C++11, 14, 17, 20
		return langCPlusPlus
	case 0x16:
		return langGo
	case 0x1c:
		return langRust
	}
	return langOther
}

func (l language) isC() bool { return l == langC || l == langCPlusPlus }
