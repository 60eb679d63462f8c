package perfdata

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// FunctionsBegin is the first address of RuntimeSymbols' mappings. No program has memory there: amd64
// and arm64 have at most 56 bits for its addresses.
const FunctionsBegin = 1 << 56

// FunctionPath returns the path of a mapping with RuntimeSymbols: SOURCE:FUNCTION, RUNTIME:FUNCTION if
// the source file is unknown, and the word if there is no runtime either. Tools that know nothing of such
// mappings print it, or what follows its last slash, in lines of text. So there is no slash in FUNCTION,
// and no control character.
func FunctionPath(runtime, source, function string) string {
	path := strings.ReplaceAll(function, "/", "|")
	switch {
	case source != "":
		path = source + ":" + path
	case runtime != "":
		path = runtime + ":" + path
	}
	path = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, path)
	return path[:min(len(path), unix.PathMax-1)]
}

// FunctionOf returns what FunctionPath says about a function, for a recording that lacks its
// SymbolTable because the recorder was killed.
func FunctionOf(path string) SymbolTable {
	directory := strings.LastIndexByte(path, '/') + 1
	source, function, ok := strings.Cut(path[directory:], ":")
	if !ok {
		return SymbolTable{Path: path, Kind: RuntimeSymbols, Symbols: []Symbol{{Size: math.MaxUint32, Name: path}}}
	}
	return SymbolTable{Path: path, Kind: RuntimeSymbols, Runtime: "runtime", Source: path[:directory] + source,
		Symbols: []Symbol{{Size: math.MaxUint32, Name: function}}}
}
