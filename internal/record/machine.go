package record

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// machine returns what a recording says of the machine and of the run. What cannot be found out is left
// out.
func machine(host process.Host, command []string, version string) perfdata.Info {
	info := perfdata.Info{Command: command, PerfVersion: version, CPUs: runtime.NumCPU()}
	info.Hostname, _ = os.Hostname()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		info.Release, info.Arch = unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Machine[:])
	}
	if cpus, err := perfevent.OnlineCPUs(); err == nil {
		info.CPUs = len(cpus)
	}
	info.CPUDesc = valueOf(host, "cpuinfo", "model name")
	kib, _, _ := strings.Cut(valueOf(host, "meminfo", "MemTotal"), " ")
	info.TotalMemory, _ = strconv.ParseUint(kib, 10, 64)
	var resolution unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC, &resolution) == nil {
		info.ClockResolution = uint64(resolution.Nano())
	}
	info.ClockTime, info.Wall = perfevent.Now(), uint64(time.Now().UnixNano())
	return info
}

// valueOf returns the value of the first line "name : value" of a file of proc(5), or "".
func valueOf(host process.Host, file, name string) string {
	text, err := host.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		if key, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
