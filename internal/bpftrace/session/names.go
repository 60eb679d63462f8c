package session

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/symbols"
)

// hostNames translates numbers in values to names, from files of the host. It reads each file on
// first use.
type hostNames struct {
	enums   map[string]map[uint64]string // of the program
	users   map[uint64]string
	cgroups map[uint64]string
	kernel  map[uint64]string
	flags   func(uint64) string // names of allocation flags; nil until first used
	live    *live.Attachment
	wall    time.Duration // offset of the wall clock from the monotonic clock
}

// maxCgroups bounds how many control group directories are read.
const maxCgroups = 100_000

func newNames() *hostNames {
	return &hostNames{
		kernel: map[uint64]string{},
		wall:   time.Duration(clock(unix.CLOCK_REALTIME) - clock(unix.CLOCK_MONOTONIC)),
	}
}

// clock returns the time of a clock in nanoseconds.
func clock(id int32) int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t) // these clocks always exist
	return t.Nano()
}

// Stack implements show.Names. Probes that fire in ringtap itself have no frames.
func (n *hostNames) Stack(stack uint64, _ bool, mode string) []string {
	if n.live == nil {
		return nil
	}
	return n.live.Lines(stack, mode)
}

// Symbol returns the name of an address, or the address in hexadecimal.
func (n *hostNames) Symbol(addr uint64, user bool) string {
	if n.live != nil {
		if name := n.live.Symbol(addr, user); name != "" {
			return name
		}
	}
	if name, ok := n.kernel[addr]; ok {
		return name
	}
	name := "0x" + strconv.FormatUint(addr, 16)
	if !user {
		if found := kernelSymbol(addr); found != "" {
			name = found
		}
	}
	n.kernel[addr] = name
	return name
}

// kernelSymbol returns the name of the kernel function at an address, or "".
func kernelSymbol(addr uint64) string {
	file, err := proc.Live.Kallsyms()
	if err != nil {
		return ""
	}
	defer file.Close()
	table, err := symbols.FindKallsyms(file, []uint64{addr})
	if err != nil {
		return ""
	}
	s, ok := table.Lookup(addr)
	if !ok {
		return ""
	}
	return s.Name
}

// User returns the name of a user, or "" if there is none.
func (n *hostNames) User(uid uint64) string {
	if n.users == nil {
		n.users = readUsers("/etc/passwd")
	}
	return n.users[uid]
}

func readUsers(path string) map[uint64]string {
	users := map[uint64]string{}
	file, err := os.Open(path)
	if err != nil {
		return users
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 3 {
			continue
		}
		if uid, err := strconv.ParseUint(fields[2], 10, 64); err == nil && users[uid] == "" {
			users[uid] = fields[0]
		}
	}
	return users
}

// Cgroup returns the path of a control group in bpftrace's form.
func (n *hostNames) Cgroup(id uint64) string {
	if n.cgroups == nil {
		n.cgroups = readCgroups("/sys/fs/cgroup")
	}
	return n.cgroups[id]
}

// readCgroups returns the control groups below root, by id. The id is the inode of its directory.
func readCgroups(root string) map[uint64]string {
	groups := map[uint64]string{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return filepath.SkipDir
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			groups[stat.Ino] = "unified:/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		}
		if len(groups) >= maxCgroups {
			return filepath.SkipAll
		}
		return nil
	})
	return groups
}

// Enum implements show.Names for the program's enums.
func (n *hostNames) Enum(enum string, value uint64) (string, bool) {
	name, ok := n.enums[enum][value]
	return name, ok
}

// Wall converts a monotonic time to wall-clock time.
func (n *hostNames) Wall(nsecs uint64) time.Time { return time.Unix(0, int64(nsecs)).Add(n.wall) }
