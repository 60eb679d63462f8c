package symbolize

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// kernelNames names kernel addresses. The kernel takes some 50 ms to write its symbols, so ringtap
// reads the text ahead if it expects to need it. A table of all symbols takes some megabytes. So
// for the first set of addresses only their symbols are kept. The whole table is kept if more
// addresses come.
type kernelNames struct {
	ahead *textAhead // nil: none, or already used
	table *symbols.Kallsyms
	whole bool                // the table has all functions
	asked map[uint64]struct{} // the first set of addresses
	err   error               // why there is no table
}

// prepare makes sure that lookUp can name the given addresses.
func (k *kernelNames) prepare(host process.Host, addrs []uint64) {
	if len(addrs) == 0 || k.err != nil || k.whole || k.known(addrs) {
		return
	}
	if k.table != nil {
		k.whole, k.asked = true, nil
		k.read(host, symbols.ReadKallsyms)
		return
	}
	find := func(r io.Reader) (*symbols.Kallsyms, error) { return symbols.FindKallsyms(r, addrs) }
	if ahead := k.ahead; ahead != nil {
		k.ahead = nil
		if text, err := ahead.wait(); err == nil {
			k.table, k.err = find(text)
		}
	}
	// An address without a name may be in a module that was loaded later.
	if k.err == nil && (k.table == nil || !k.known(addrs)) {
		k.read(host, find)
	}
	k.asked = make(map[uint64]struct{}, len(addrs))
	for _, addr := range addrs {
		k.asked[addr] = struct{}{}
	}
}

// read makes the table from the kernel's symbols.
func (k *kernelNames) read(host process.Host, parse func(io.Reader) (*symbols.Kallsyms, error)) {
	f, err := host.Kallsyms()
	if err != nil {
		k.err = err
		return
	}
	defer f.Close()
	k.table, k.err = parse(f)
}

// known reports whether all addresses have a name, or were looked up before.
func (k *kernelNames) known(addrs []uint64) bool {
	for _, addr := range addrs {
		if _, asked := k.asked[addr]; asked {
			continue
		}
		if _, ok := k.lookUp(addr); !ok {
			return false
		}
	}
	return true
}

func (k *kernelNames) lookUp(addr uint64) (symbols.Symbol, bool) {
	if k.table == nil {
		return symbols.Symbol{}, false
	}
	return k.table.Lookup(addr)
}

// Bounds on the text that is read ahead.
const (
	aheadChunk = 256 << 10
	maxAhead   = 32 << 20 // bytes; enough for twice the symbols of a kernel with data symbols and many modules
)

var errTooLong = errors.New("more symbols than are read ahead")

// textAhead reads the text of the kernel's symbols in a goroutine.
type textAhead struct {
	done sync.WaitGroup
	text []io.Reader
	err  error
}

func readAhead(host process.Host) *textAhead {
	a := &textAhead{}
	a.done.Go(func() { a.err = a.read(host) })
	return a
}

func (a *textAhead) read(host process.Host) error {
	f, err := host.Kallsyms()
	if err != nil {
		return err
	}
	defer f.Close()
	for range maxAhead / aheadChunk {
		chunk := make([]byte, aheadChunk)
		n, err := io.ReadFull(f, chunk)
		a.text = append(a.text, bytes.NewReader(chunk[:n]))
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errTooLong
}

// wait waits until the text is read, and returns it.
func (a *textAhead) wait() (io.Reader, error) {
	a.done.Wait()
	return io.MultiReader(a.text...), a.err
}
