package kprobe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/symbols"
)

// kernel reads the running kernel's information about itself, below root.
type kernel struct{ root string }

// tracefs are the possible mount points.
var tracefs = []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"}

func (k kernel) path(name string) string {
	if k.root == "" {
		return "/" + name
	}
	return filepath.Join(k.root, name)
}

// proc is where proc(5) is mounted.
func (k kernel) proc() proc.FS { return proc.FS(k.path("proc")) }

// symbols reads /proc/kallsyms.
func (k kernel) symbols(all bool, keep func(*symbols.KernelSymbol) bool) (*symtab, error) {
	f, err := k.proc().Kallsyms()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSymbols(f, all, keep)
}

// traced has the entries of the function tracer's list by name, each with its neighbors. The
// list is in address order.
type traced map[tracedName][]neighbours

type tracedName struct{ module, name string }

// neighbours are the names before and after an entry, or "" if there is none in the same
// module.
type neighbours struct{ before, after string }

// has reports whether a function is in the list. A part that the compiler split off (.cold,
// .part.0) may be probed if the function itself may (kernel/trace/trace_kprobe.c,
// within_notrace_func).
func (t traced) has(f *Function) bool {
	return len(t[tracedName{f.Module, f.Name}]) > 0 || len(t[tracedName{f.Module, baseName(f.Name)}]) > 0
}

// traceable reads available_filter_functions and keeps the names for which keep returns true.
// If the kernel does not have the list, or does not show it, the list is nil and the error says
// why.
func (k kernel) traceable(keep func(name []byte) bool) (traced, error) {
	var errs []error
	for _, dir := range tracefs {
		f, err := os.Open(k.path(dir + "/available_filter_functions"))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list, err := readTraced(f, keep)
		f.Close()
		if err == nil {
			return list, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// readTraced parses lines of "NAME" and "NAME [MODULE]".
func readTraced(r io.Reader, keep func(name []byte) bool) (traced, error) {
	list := traced{}
	var lastName, lastModule []byte
	var open *neighbours // the previous entry, whose after is the next name
	err := eachLine(r, func(line []byte) error {
		name, module := cutModule(line)
		if len(name) == 0 {
			return nil
		}
		if open != nil && bytes.Equal(module, lastModule) {
			open.after = string(name)
		}
		open = nil
		if keep(name) {
			key := tracedName{string(module), string(name)}
			n := neighbours{}
			if bytes.Equal(module, lastModule) {
				n.before = string(lastName)
			}
			list[key] = append(list[key], n)
			open = &list[key][len(list[key])-1]
		}
		lastName, lastModule = append(lastName[:0], name...), append(lastModule[:0], module...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read available_filter_functions: %w", err)
	}
	return list, nil
}

// blacklist reads the kernel's list of places where probes are not allowed. It is in debugfs;
// if that is not mounted, the result is empty.
func (k kernel) blacklist() ([]section, error) {
	f, err := os.Open(k.path("sys/kernel/debug/kprobes/blacklist"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBlacklist(f)
}

// readBlacklist parses lines of "0xSTART-0xEND\tNAME".
func readBlacklist(r io.Reader) ([]section, error) {
	var list []section
	err := eachLine(r, func(line []byte) error {
		first, rest, ok := bytes.Cut(line, []byte("-"))
		second, _, _ := bytes.Cut(rest, []byte("\t"))
		first, ok1 := bytes.CutPrefix(first, []byte("0x"))
		second, ok2 := bytes.CutPrefix(second, []byte("0x"))
		start, n := hexadecimal(first)
		end, m := hexadecimal(second)
		if !ok || !ok1 || !ok2 || n == 0 || n < len(first) || m == 0 || m < len(second) {
			return errors.New("want 0xSTART-0xEND NAME")
		}
		if start < end { // hidden addresses are all zero
			list = append(list, section{start, end})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the kernel's blacklist of probes: %w", err)
	}
	return list, nil
}
