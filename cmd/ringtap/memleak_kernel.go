package main

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/questions/memleak"
	"github.com/ringtap/ringtap/symbols"
)

// kernelMemory takes the tracepoints of the kernel's allocators.
func (q *memleakQuestion) kernelMemory(a *asking) (*memleak.Kernel, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	formats, err := memleak.ReadKernelFormats(tracefs)
	if err != nil {
		return nil, err
	}
	stacks := a.stacks()
	stacks.Kernel = true
	collector, err := memleak.NewKernel(formats, kernelSymbols(a), stacks, q.options())
	if err != nil {
		return nil, err
	}
	if len(collector.Plan().Samplings) == 0 {
		return nil, errors.New("this kernel has no tracepoints of its allocators (kmem:kmalloc and the like, CONFIG_TRACING): its memory can't be watched; memleak without -k watches that of programs")
	}
	if !a.wholeSystem() {
		fmt.Fprintln(a.out.stderr, "note: what others free of the target's kernel memory, such as the kernel's own threads, is not seen and stays in the table")
	}
	sayBlind(a, tracefs, "what is freed then stays in the table, or with -W until the memory is used again")
	a.closing(collector.Close)
	a.closing(func() error { q.sayMissed(a.out, collector); return nil })
	return collector, nil
}

// kernelSymbols returns what names the kernel's functions, nil if they are hidden.
func kernelSymbols(a *asking) func(address uint64) string {
	file, err := process.Host{}.Kallsyms()
	if err != nil {
		return nil
	}
	defer file.Close()
	table, err := symbols.ReadKallsyms(file)
	if err != nil {
		fmt.Fprintf(a.out.stderr, "note: pages that slab caches are made of are counted twice, since the kernel's functions have no names: %v\n", err)
		return nil
	}
	return func(address uint64) string {
		symbol, _ := table.Lookup(address)
		return symbol.Name
	}
}
