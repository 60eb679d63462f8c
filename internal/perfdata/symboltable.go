package perfdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// SymbolTable has the names of a file's code as far as samples are in it. So a recording names its
// functions on a machine that lacks the file. perf skips the feature; samply reads it.
type SymbolTable struct {
	// Path is the file's path as in the mapping records, "[kernel.kallsyms]" for the kernel, "[NAME]" for
	// one of its modules, or "/tmp/perf-PID.map" for the generated code of a process.
	Path string
	Kind SymbolKind
	// With RuntimeSymbols: "CPython 3.11.7", or "" for a word of the recorder's; and the source file, or "".
	Runtime, Source string
	Symbols         []Symbol
}

// SymbolKind says what a SymbolTable describes (DsoType of simpleperf's dso.h).
type SymbolKind uint32

// The kinds of symbol tables that ringtap writes.
const (
	KernelSymbols SymbolKind = 0
	ModuleSymbols SymbolKind = 1
	FileSymbols   SymbolKind = 2
	// RuntimeSymbols are one function of a runtime such as Python or Java, or a word of the recorder's such
	// as "[stack switch]". The records map it by itself, from FunctionsBegin on. Path is FunctionPath's.
	// Addresses are source lines; Symbols has one symbol.
	RuntimeSymbols   SymbolKind = 3
	GeneratedSymbols SymbolKind = 4
)

// Symbol is a function.
type Symbol struct {
	// Address is the function's offset in the file, or its address in the kernel or in generated code.
	Address uint64
	Size    uint32 // in bytes: as much of the function as samples have reached
	Name    string // as the file has it, mangled
}

// featureSymbols is simpleperf's FEAT_FILE2 (system/extras/simpleperf/record_file_format.h).
const featureSymbols = 132

// Numbers of fields of simpleperf's messages FileFeature, FileFeature.Symbol and FileFeature.ElfFile
// (record_file.proto), as protocol buffers have them: the field's number times 8, and its wire type.
const (
	tagPath       = 1<<3 | wireBytes
	tagKind       = 2<<3 | wireVarint
	tagSymbol     = 4<<3 | wireBytes
	tagElf        = 6<<3 | wireBytes
	tagRuntime    = 100<<3 | wireBytes // ringtap's own
	tagSource     = 101<<3 | wireBytes
	tagAddress    = 1<<3 | wireVarint // of a symbol
	tagSize       = 2<<3 | wireVarint
	tagName       = 3<<3 | wireBytes
	tagFileOffset = 1<<3 | wireVarint // of ElfFile: the offset of the least address
)

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// symbolTables returns feature 132: for each table its size in four bytes, and a FileFeature. The
// addresses of files are their offsets: the least address and its offset are both 0.
func symbolTables(tables []SymbolTable) []byte {
	var all []byte
	for i := range tables {
		t := &tables[i]
		var b, symbol []byte
		b = appendBytes(b, tagPath, []byte(t.Path))
		b = appendNumber(b, tagKind, uint64(t.Kind))
		for _, s := range t.Symbols {
			symbol = appendNumber(symbol[:0], tagAddress, s.Address)
			symbol = appendNumber(symbol, tagSize, uint64(s.Size))
			symbol = appendBytes(symbol, tagName, validText(s.Name))
			b = appendBytes(b, tagSymbol, symbol)
		}
		if t.Kind == RuntimeSymbols {
			b = appendBytes(b, tagRuntime, validText(t.Runtime))
			b = appendBytes(b, tagSource, validText(t.Source))
		}
		if t.Kind == FileSymbols {
			b = appendBytes(b, tagElf, appendNumber(nil, tagFileOffset, 0))
		}
		all = append(binary.LittleEndian.AppendUint32(all, uint32(len(b))), b...)
	}
	return all
}

// validText returns a name as protocol buffers want it: in UTF-8. Programs may call functions anything.
func validText(name string) []byte {
	if utf8.ValidString(name) {
		return []byte(name)
	}
	return []byte(fmt.Sprintf("%q", name))
}

func appendNumber(b []byte, tag uint64, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, tag), v)
}

func appendBytes(b []byte, tag uint64, text []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, tag), uint64(len(text))), text...)
}

// errSymbols is returned for a feature 132 that does not have its own form.
var errSymbols = errors.New("the symbol tables do not have their form")

// leastSymbol is fewer bytes than a symbol with an address, a size and a name has. Without it, a hostile
// file could take many times its size of memory.
const leastSymbol = 8

// addSymbolTables parses feature 132.
func (f *File) addSymbolTables(b []byte) error {
	r := fields{rest: b}
	for len(r.rest) > 0 {
		body := r.bytes(uint64(r.u32()))
		if r.short {
			return errFeature
		}
		var t SymbolTable
		err := eachField(body, func(tag, number uint64, text []byte) error {
			switch tag {
			case tagPath:
				t.Path = string(text)
			case tagKind:
				t.Kind = SymbolKind(number)
			case tagRuntime:
				t.Runtime = string(text)
			case tagSource:
				t.Source = string(text)
			case tagSymbol:
				if len(text) < leastSymbol {
					return nil
				}
				s, err := parseSymbol(text)
				if err != nil {
					return err
				}
				t.Symbols = append(t.Symbols, s)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if t.Path != "" && len(t.Symbols) > 0 { // others name nothing, and take many times their size
			f.Symbols = append(f.Symbols, t)
		}
	}
	return nil
}

func parseSymbol(b []byte) (s Symbol, err error) {
	err = eachField(b, func(tag, number uint64, text []byte) error {
		switch tag {
		case tagAddress:
			s.Address = number
		case tagSize:
			s.Size = uint32(number)
		case tagName:
			s.Name = string(text)
		}
		return nil
	})
	return s, err
}

// eachField calls handle with the fields of a message of protocol buffers: with a number or with bytes.
func eachField(b []byte, handle func(tag, number uint64, text []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errSymbols
		}
		b = b[n:]
		var number, size uint64
		switch tag & 7 {
		case wireVarint, wireBytes:
			if number, n = binary.Uvarint(b); n <= 0 {
				return errSymbols
			}
			b = b[n:]
			if tag&7 == wireBytes {
				size = number
			}
		case wire64:
			size = 8
		case wire32:
			size = 4
		default:
			return errSymbols
		}
		if size > uint64(len(b)) {
			return errSymbols
		}
		if err := handle(tag, number, b[:size]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}
