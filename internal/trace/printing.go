package trace

import (
	"log/slog"
	"os"
	"sync"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// Printing returns what print formats need from the running kernel: symbols, strings, and constants
// of its source. Each is read when an event first needs it. If one can't be read, that is logged
// once, and numbers are printed instead.
func Printing(fs *ftrace.FS, log *slog.Logger) printfmt.Options {
	kernel := sync.OnceValue(func() *symbols.Kallsyms {
		f, err := process.Host{}.Kallsyms()
		if err != nil {
			log.Info("no kernel symbols", "error", err)
			return nil
		}
		defer f.Close()
		k, err := symbols.ReadKallsyms(f)
		if err != nil {
			log.Info("no kernel symbols", "error", err)
		}
		return k
	})
	texts := sync.OnceValue(func() map[uint64]string {
		texts, err := fs.KernelStrings()
		if err != nil {
			log.Info("no kernel texts", "error", err)
		}
		return texts
	})
	constants := sync.OnceValue(func() map[string]int64 {
		btf, err := os.ReadFile("/sys/kernel/btf/vmlinux")
		if err != nil {
			log.Info("no constants of the kernel", "error", err)
			return nil
		}
		constants, err := printfmt.ReadConstants(btf)
		if err != nil {
			log.Info("no constants of the kernel", "error", err)
		}
		return constants
	})
	return printfmt.Options{
		KernelSymbol: func(addr uint64) (name string, offset, size uint64, module string, ok bool) {
			k := kernel()
			if k == nil {
				return "", 0, 0, "", false
			}
			s, ok := k.Lookup(addr)
			return s.Name, addr - s.Start, s.Size, s.Module, ok
		},
		KernelString: func(addr uint64) (string, bool) {
			text, ok := texts()[addr]
			return text, ok
		},
		Constant: func(name string) (int64, bool) {
			value, ok := constants()[name]
			return value, ok
		},
	}
}
