package symbolize

import (
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// kernelNames names addresses of the kernel. Reading its symbols takes the kernel some
// fifty milliseconds, and all of them take some megabytes. So the first set of
// addresses is looked up alone, and only where more come the whole table is kept.
type kernelNames struct {
	table *symbols.Kallsyms
	whole bool                // the table has every function
	asked map[uint64]struct{} // of the first set
	err   error               // why there is no table
}

// prepare makes the addresses known that lookUp will be asked for.
func (k *kernelNames) prepare(host process.Host, addrs []uint64) {
	if k.err != nil || k.whole || k.known(addrs) {
		return
	}
	f, err := host.Kallsyms()
	if err != nil {
		k.err = err
		return
	}
	defer f.Close()
	if k.table != nil {
		k.whole, k.asked = true, nil
		k.table, k.err = symbols.ReadKallsyms(f)
		return
	}
	k.asked = make(map[uint64]struct{}, len(addrs))
	for _, addr := range addrs {
		k.asked[addr] = struct{}{}
	}
	k.table, k.err = symbols.FindKallsyms(f, addrs)
}

// known reports whether the table names all addresses that it can.
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
