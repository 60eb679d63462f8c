package record

import (
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// writeKernel writes where the kernel and its modules are. A kernel that hides its addresses
// (kernel.kptr_restrict) is left out; its samples then have no names.
func writeKernel(host process.Host, write func(perfevent.Record) error) error {
	symbols, err := host.Kallsyms()
	if err != nil {
		return nil // without CONFIG_KALLSYMS the kernel has no names
	}
	defer symbols.Close()
	text, end, err := kernelText(symbols)
	if err != nil || text == 0 {
		return err
	}
	if err := write(perfdata.KernelMmap("[kernel.kallsyms]_text", text, end-text, text)); err != nil {
		return err
	}
	modules, err := host.ReadFile("modules")
	if err != nil {
		return nil // a kernel without modules has no such file
	}
	for _, m := range proc.ParseModules(modules) {
		if err := write(perfdata.KernelMmap("["+m.Name+"]", m.Address, m.Size, 0)); err != nil {
			return err
		}
	}
	return nil
}

// kernelText returns where the kernel's code begins and ends, from the text of /proc/kallsyms. Both are
// 0 if the kernel hides them.
func kernelText(kallsyms io.Reader) (begin, end uint64, err error) {
	err = symbols.EachKernelSymbol(kallsyms, func(s *symbols.KernelSymbol) error {
		switch string(s.Name) {
		case "_text":
			begin = s.Address
		case "_etext":
			end = s.Address
		}
		if begin != 0 && end != 0 {
			return io.EOF
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	if end <= begin {
		return 0, 0, nil
	}
	return begin, end, nil
}

// writeProcesses writes the processes that run: their threads' names and their mappings, with data also
// those that cannot be executed. One that ends meanwhile is left out, in whole or in part.
func writeProcesses(host process.Host, pids []int, data bool, write func(perfevent.Record) error) error {
	if len(pids) == 0 {
		var err error
		if pids, err = host.Processes(); err != nil {
			return fmt.Errorf("list the processes: %w", err)
		}
	}
	for _, pid := range pids {
		threads, err := host.Threads(pid)
		if err != nil {
			continue
		}
		for _, tid := range threads {
			if err := write(&perfevent.Comm{PID: uint32(pid), TID: uint32(tid), Name: []byte(host.Comm(tid))}); err != nil {
				return err
			}
		}
		var failed error
		_ = host.Areas(pid, func(a *process.Area) bool { // the process may be gone
			if a.Executable || data {
				m := a.Mmap(pid)
				failed = write(&m)
			}
			return failed == nil
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}
