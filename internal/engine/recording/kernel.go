package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

// Kernel is what a recording says about its kernel.
type Kernel struct {
	BuildID []byte // nil if unknown
	// Symbol and Address are a symbol, such as "_text", and its address.
	Symbol  string
	Address uint64
	// Modules are the addresses of the modules, by name as in /proc/modules.
	Modules map[string]uint64
}

// kernelName begins the name of the kernel's own mapping. The name of its reference symbol follows.
const kernelName = "[kernel.kallsyms]"

// kernelOf returns what the header of a recording, made before modified, says about its kernel.
func kernelOf(f *perfdata.File, modified time.Time) Kernel {
	k := Kernel{Modules: make(map[string]uint64)}
	for i := range f.BuildIDs {
		if b := &f.BuildIDs[i]; b.Kernel && strings.HasPrefix(b.Filename, kernelName) {
			k.BuildID = b.ID
		}
	}
	if k.BuildID == nil && isThisMachine(&f.Info, modified) {
		k.BuildID, _ = buildid.Kernel() // an error leaves it unknown
	}
	return k
}

// isThisMachine reports whether a recording without build ids was made here since the last boot, by
// its host name, its kernel's release and its time. perf writes no build ids to pipes, nor with -z.
func isThisMachine(i *perfdata.Info, modified time.Time) bool {
	var host unix.Utsname
	var up unix.Timespec
	if unix.Uname(&host) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return false
	}
	name, err := os.Hostname()
	return err == nil && i.Hostname == name && i.Release == unix.ByteSliceToString(host.Release[:]) &&
		modified.After(time.Now().Add(-time.Duration(up.Nano())))
}

// mapped takes in the mapping of the kernel or of a module: see machine__create_kernel_maps in
// tools/perf/util/machine.c.
func (k *Kernel) mapped(r *perfevent.Mmap) {
	if r.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK != unix.PERF_RECORD_MISC_KERNEL {
		return
	}
	name := string(r.Filename)
	if symbol, ok := strings.CutPrefix(name, kernelName); ok {
		k.Symbol, k.Address = symbol, r.Pgoff
		if len(r.BuildID) > 0 {
			k.BuildID = bytes.Clone(r.BuildID)
		}
		return
	}
	module, _, _ := strings.Cut(path.Base(name), ".ko")
	module = strings.ReplaceAll(strings.Trim(module, "[]"), "-", "_")
	k.Modules[module] = r.Addr
}

// errNoKernel is returned if the recording does not say which kernel it is of.
var errNoKernel = errors.New("the recording has no build id of its kernel")

// kallsyms opens the symbols of the recorded kernel, or else those that the recording has: see
// process.Recording.
func (s *Source) kallsyms() (r io.ReadCloser, err error) {
	if err = errNoKernel; len(s.kernel.BuildID) > 0 {
		r, err = s.openKallsyms(s.kernel)
	}
	if err != nil && s.symbols[kernelName] != nil {
		return io.NopCloser(s.symbols.kallsyms()), nil
	}
	return r, err
}
