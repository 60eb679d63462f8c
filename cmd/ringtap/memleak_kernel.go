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
		return nil, errors.New("this kernel has no tracepoints of its allocators (kmem:kmalloc and the like, CONFIG_TRACING): memleak cannot watch its memory; without -k it watches the memory of programs")
	}
	if !a.Whole() {
		fmt.Fprintln(a.out.stderr, "note: ringtap does not see what others, such as kernel threads, free of the target's kernel memory, which stays in the table")
	}
	sayBlind(a, tracefs, "memory freed then stays in the table, or with -W until it is used again")
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
		fmt.Fprintf(a.out.stderr, "note: pages of slab caches count twice, because the kernel's functions have no names: %v\n", err)
		return nil
	}
	return func(address uint64) string {
		symbol, _ := table.Lookup(address)
		return symbol.Name
	}
}
