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

	"github.com/ringtap/ringtap/internal/script/live"
	"github.com/ringtap/ringtap/symbols"
)

// hostNames says what stands for the numbers in values, from the host's files. Each file is read
// when something needs it.
type hostNames struct {
	enums   map[string]map[uint64]string // of the program
	users   map[uint64]string
	cgroups map[uint64]string
	kernel  map[uint64]string
	flags   func(uint64) string // of allocations; nil until a program shows some
	live    *live.Attachment
	wall    time.Duration // from the monotonic clock to the wall clock's 1970
}

// maxCgroups bounds how many directories of control groups are looked at.
const maxCgroups = 100_000

func newNames() *hostNames {
	return &hostNames{
		kernel: map[uint64]string{},
		wall:   time.Duration(clock(unix.CLOCK_REALTIME) - clock(unix.CLOCK_MONOTONIC)),
	}
}

// clock returns the nanoseconds of a clock.
func clock(id int32) int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t) // the clocks that this package names are always there
	return t.Nano()
}

// Stack returns the frames of a stack. Probes that fire in ringtap itself have none.
func (n *hostNames) Stack(stack uint64, _ bool, mode string) []string {
	if n.live == nil {
		return nil
	}
	return n.live.Lines(stack, mode)
}

// Symbol returns the name of an address, or the address.
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

// kernelSymbol returns the name of the kernel's function at an address, "" if there is none.
func kernelSymbol(addr uint64) string {
	file, err := os.Open("/proc/kallsyms")
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

// User returns the name of a user, "" if he has none.
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

// Cgroup returns the path of a control group as bpftrace writes it.
func (n *hostNames) Cgroup(id uint64) string {
	if n.cgroups == nil {
		n.cgroups = readCgroups("/sys/fs/cgroup")
	}
	return n.cgroups[id]
}

// readCgroups returns the control groups below a folder by their ids, which are the inodes of
// their directories.
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

// Enum returns the name of a value of an enum of the program.
func (n *hostNames) Enum(enum string, value uint64) (string, bool) {
	name, ok := n.enums[enum][value]
	return name, ok
}

// Wall returns the time of the wall clock for a time of the monotonic clock.
func (n *hostNames) Wall(nsecs uint64) time.Time { return time.Unix(0, int64(nsecs)).Add(n.wall) }
