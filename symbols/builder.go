package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
)

// errTooMany is returned when a table is not read to its end.
var errTooMany = errors.New("more symbols than any real file has")

// Ranks of a candidate; see preferName.
const (
	rankFunction = 1 << iota // FUNC or IFUNC, not a mere label
	rankExported             // GLOBAL or WEAK, not LOCAL
	rankCurrent              // not an old version of its name
	rankStrong               // not WEAK
)

// candidate is a symbol before the best name for its address is chosen.
type candidate struct {
	addr   uint64
	size   uint32
	name   uint32 // offset in the source's strings
	length uint16
	source uint8
	rank   uint8
	kind   FunctionKind
}

// builder collects symbols from several tables of one file.
type builder struct {
	code       []codeRange
	sources    [][]byte // string tables that contain the candidates' names
	candidates []candidate
	names      int // total length of all names, in bytes
	allowed    int // upper limit of names

	want *wanted         // the places to collect symbols for; nil: everywhere
	seen bool            // a code symbol was found, wanted or not
	only map[string]bool // the names to collect; nil: all

	imports  bool        // whether to collect functions of other files, too
	imported []candidate // functions of other files, without addresses
}

// sharing is how often each byte of a string table may be used for names. Linkers let names
// share their endings, but in a crafted table every symbol could have the same name of some
// thousand bytes.
const sharing = 4

// source registers a string table and returns its index, which is passed to add.
func (b *builder) source(strings []byte) (int, error) {
	if len(b.sources) > math.MaxUint8 {
		return 0, errTooMany
	}
	b.sources = append(b.sources, strings)
	b.allowed = min(b.allowed+sharing*len(strings), maxNames)
	return len(b.sources) - 1, nil
}

// add adds one symbol, unless it has no name or is not in code.
func (b *builder) add(source int, name uint32, length int, addr, size uint64, rank uint8, kind FunctionKind) error {
	if length == 0 {
		return nil
	}
	end, ok := endOf(b.code, addr)
	if !ok {
		return nil
	}
	b.seen = true
	if !b.collects(source, name, length) {
		return nil
	}
	size = sizeWithin(addr, size, end)
	if b.want != nil && !b.want.takes(addr, size, size > 0 || rank&rankFunction != 0) {
		return nil
	}
	c := candidate{
		addr: addr, size: uint32(size),
		name: name, length: uint16(length), source: uint8(source), rank: rank, kind: kind,
	}
	return b.put(&b.candidates, c)
}

func (b *builder) addImport(source int, name uint32, length int) error {
	if length == 0 || !b.imports || !b.collects(source, name, length) {
		return nil
	}
	return b.put(&b.imported, candidate{name: name, length: uint16(length), source: uint8(source), kind: Imported})
}

// collects reports whether this name is wanted.
func (b *builder) collects(source int, name uint32, length int) bool {
	return b.only == nil || b.only[string(b.sources[source][name:][:length])]
}

func (b *builder) put(to *[]candidate, c candidate) error {
	if len(b.candidates)+len(b.imported) >= maxSymbols || b.names+int(c.length) > b.allowed {
		return errTooMany
	}
	b.names += int(c.length)
	*to = append(*to, c)
	return nil
}

func (b *builder) nameOf(c *candidate) []byte {
	return b.sources[c.source][c.name:][:c.length]
}

func (b *builder) sort() {
	slices.SortFunc(b.candidates, func(x, y candidate) int {
		if c := cmp.Compare(x.addr, y.addr); c != 0 {
			return c
		}
		if c := cmp.Compare(min(y.size, 1), min(x.size, 1)); c != 0 {
			return c
		}
		return preferName(b.nameOf(&x), b.nameOf(&y), x.rank, y.rank)
	})
}

// preferName orders the names of one address, the best first. The caller has already put names
// with a size before names without. Then the order is
//
//  1. functions before labels,
//  2. exported names before local ones (memcpy before __GI_memcpy),
//  3. current symbol versions before old ones (free before cfree),
//  4. fewer leading underscores (malloc before __libc_malloc, write before
//     __write although write is the weak one),
//  5. strong names before weak ones,
//  6. shorter names (stat before stat64), and then the order of bytes, so that
//     the same file gives the same names everywhere.
func preferName(x, y []byte, rankX, rankY uint8) int {
	const first = rankFunction | rankExported | rankCurrent
	for bit := uint8(rankFunction); bit&first != 0; bit <<= 1 {
		if c := cmp.Compare(rankY&bit, rankX&bit); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(underscores(x), underscores(y)); c != 0 {
		return c
	}
	if c := cmp.Compare(rankY&rankStrong, rankX&rankStrong); c != 0 {
		return c
	}
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	return bytes.Compare(x, y)
}

func underscores(name []byte) int {
	n := 0
	for n < len(name) && name[n] == '_' {
		n++
	}
	return n
}
