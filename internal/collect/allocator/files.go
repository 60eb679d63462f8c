package allocator

import (
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// file adds the functions of a file. The error says why there are none. It is nil if the file was
// looked at before.
func (f *finder) file(name string, pid int) error {
	target, err := library.Find(name, library.Options{PID: pid})
	if err != nil {
		return err
	}
	info, err := target.File.Stat()
	target.File.Close()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || f.seen[identity{uint64(stat.Dev), stat.Ino}] {
		return nil
	}
	f.seen[identity{uint64(stat.Dev), stat.Ino}] = true
	if strings.HasPrefix(filepath.Base(target.Path), "ld-linux") {
		return nil // the allocator of glibc's loader only serves the loader, until libc is mapped
	}
	there, path, err := uprobe.Functions(name, uprobe.Options{PID: pid, Logger: f.logger}, wanted...)
	if err != nil {
		return err
	}
	return f.functions(name, path, pid, there)
}

// functions adds the functions in there that belong to an allocator.
func (f *finder) functions(name, path string, pid int, there []symbols.Function) error {
	at := make(map[string]uint64)
	sizes := make(map[string]uint64)
	for i := range there {
		if there[i].Kind == symbols.Defined || there[i].Kind == symbols.Indirect { // tcmalloc's sized delete
			at[there[i].Name], sizes[there[i].Name] = there[i].Offset, there[i].Size
		}
	}
	own := false
	for _, sign := range ownOperators {
		_, has := at[sign]
		own = own || has
	}
	added := make(map[uint64]bool) // by offset, because a function can have several names
	throws := false
	var failed error
	for i := range functions {
		fn := &functions[i]
		offset, ok := at[fn.Name]
		if !ok || added[offset] || fn.isOperator() && !own {
			continue
		}
		if fn.throws && !f.throwing {
			throws = true
			continue
		}
		added[offset] = true
		if fn.Through != 0 {
			fn = fn.of(name, pid, offset, sizes[fn.Name])
		}
		if err := f.resolve(fn, name, path, pid); err != nil {
			failed = err
			f.logger.Warn("an allocator's function can't be probed", "function", fn.Name, "file", path, "error", err)
		}
	}
	if throws && !f.named {
		f.found.Unwatched = append(f.found.Unwatched, path)
	}
	if len(added) > 0 {
		f.found.Files = append(f.found.Files, path)
		return failed
	}
	if f.whole {
		return nil // most programs have none, so that it is no error
	}
	_, err := uprobe.Resolve(definition(Named("malloc"), name), uprobe.Options{PID: pid, OwnCode: true})
	return err
}

// of returns f with Written set, by looking at the function's code: size bytes at offset of the
// named file.
func (f *Function) of(name string, pid int, offset, size uint64) *Function {
	const most = 1 << 10 // longer functions are too complex for written
	if size > most {
		return f
	}
	target, err := library.Find(name, library.Options{PID: pid})
	if err != nil {
		return f
	}
	defer target.File.Close()
	code := make([]byte, size)
	if _, err := target.File.ReadAt(code, int64(offset)); err != nil {
		return f
	}
	known := *f
	known.Written = written(code)
	return &known
}

func definition(fn *Function, target string) *uprobe.Definition {
	return &uprobe.Definition{Text: "p:" + target + ":" + fn.Name, Kind: uprobe.Entry, Target: target, Symbol: fn.Name}
}

// resolve adds the probe of a function.
func (f *finder) resolve(fn *Function, name, path string, pid int) error {
	plan, err := uprobe.Resolve(definition(fn, name), uprobe.Options{PID: pid, OwnCode: true, Logger: f.logger})
	if err != nil {
		return err
	}
	f.found.plans = append(f.found.plans, plan)
	for _, site := range plan.Sites {
		if site.Symbol != fn.Name && len(plan.Sites) > 1 {
			continue // ns::malloc is called malloc too
		}
		f.found.All = append(f.found.All, Probe{Function: fn, path: path, entry: site})
	}
	return nil
}
