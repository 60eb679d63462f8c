package uprobe

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// chosen returns what the file's resolvers chose in the processes that map the file: for each
// resolver's address, the addresses of implementations, both as in the file. Processes differ
// only if their environments do (GLIBC_TUNABLES). Resolvers whose result the file itself does
// not use are missing.
func (r *resolver) chosen() map[uint64][]uint64 {
	slots := r.indirectSlots()
	if len(slots) == 0 {
		return nil
	}
	out := make(map[uint64][]uint64)
	pids := []int{r.options.PID}
	if r.options.PID == 0 {
		pids, _ = proc.Live.Processes()
	}
	for _, pid := range pids {
		bias, ok := r.bias(pid)
		if !ok {
			continue
		}
		memory, err := os.Open(proc.Live.Path(pid, "mem"))
		if err != nil {
			continue // another user's process
		}
		for _, slot := range slots {
			var word [8]byte
			if _, err := memory.ReadAt(word[:], int64(slot.Where+bias)); err != nil {
				continue
			}
			addr := r.image.Order.Uint64(word[:]) - bias
			// A program that has just started may not have called its resolvers yet.
			if addr != slot.Addend && !r.isStub(addr) && len(r.functionsAt("", []uint64{addr})) > 0 && !slices.Contains(out[slot.Addend], addr) {
				out[slot.Addend] = append(out[slot.Addend], addr)
			}
		}
		memory.Close()
	}
	return out
}

// indirectSlots returns the relocations by which the loader stores a resolver's result.
func (r *resolver) indirectSlots() (slots []elfimage.Relocation) {
	kind := uint32(elf.R_X86_64_IRELATIVE)
	if r.image.Machine == elf.EM_AARCH64 {
		kind = uint32(elf.R_AARCH64_IRELATIVE)
	}
	r.relocations(func(x elfimage.Relocation) {
		if x.Type == kind && x.Symbol == 0 && r.image.Is64 {
			slots = append(slots, x)
		}
	})
	return slots
}

// bias returns the difference between a process's addresses of the file and the file's own.
func (r *resolver) bias(pid int) (bias uint64, ok bool) {
	info, err := r.File.Stat()
	if err != nil {
		return 0, false
	}
	stat, isStat := info.Sys().(*syscall.Stat_t)
	maps, err := os.Open(proc.Live.Path(pid, "maps"))
	if err != nil || !isStat {
		return 0, false
	}
	defer maps.Close()
	inode, base := fmt.Sprint(stat.Ino), filepath.Base(r.Path)
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// start-end perms offset dev inode path (proc_pid_maps(5)). On some file systems the
		// device differs from the one that stat(2) returns.
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[4] != inode || !strings.Contains(fields[1], "x") {
			continue
		}
		if theirs, err := os.Stat(proc.Live.Path(pid, "map_files/"+fields[0])); err == nil {
			if !os.SameFile(info, theirs) {
				continue
			}
		} else if filepath.Base(fields[5]) != base {
			continue
		}
		var start, end, offset uint64
		if _, err := fmt.Sscanf(fields[0]+" "+fields[2], "%x-%x %x", &start, &end, &offset); err != nil {
			continue
		}
		if addr, ok := r.image.Vaddr(offset); ok {
			return start - addr, true
		}
	}
	return 0, false
}

// isStub reports whether an address is in a procedure linkage table: unresolved slots point
// there.
func (r *resolver) isStub(addr uint64) bool {
	return slices.ContainsFunc(r.image.Sections, func(s elf.SectionHeader) bool {
		return (strings.HasPrefix(s.Name, ".plt") || s.Name == ".iplt") && addr >= s.Addr && addr-s.Addr < s.Size
	})
}
