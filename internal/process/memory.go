package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// page is the smallest page size: memory within one page is readable completely or not at all.
const page = 4096

// maxPages is the maximum number of pages read per call.
const maxPages = 64

// ReadMemory reads memory of a process or thread at addr into b. It returns the number of bytes
// read before the first unreadable one. The kernel faults in pages that are not in RAM.
func (h Host) ReadMemory(id int, addr uint64, b []byte) (done int) {
	if h.Proc != "" { // process_vm_readv(2) works only for this machine's processes
		file, err := os.Open(h.Path(id, "mem"))
		if err != nil {
			return 0
		}
		defer file.Close()
		done, _ = file.ReadAt(b, int64(addr))
		return done
	}
	var remote [maxPages]unix.RemoteIovec
	for done < len(b) {
		want, n := 0, 0
		for ; n < maxPages && done+want < len(b); n++ {
			at := addr + uint64(done+want)
			part := int(min(page-at%page, uint64(len(b)-done-want)))
			remote[n] = unix.RemoteIovec{Base: uintptr(at), Len: part}
			want += part
		}
		local := [1]unix.Iovec{{Base: &b[done]}}
		local[0].SetLen(want)
		got, err := unix.ProcessVMReadv(id, local[:], remote[:n], 0)
		if err != nil {
			return done
		}
		if done += got; got < want {
			return done
		}
	}
	return done
}

// ResidentBytes returns how much of a process's memory is in RAM, or 0 if unknown
// (proc_pid_statm(5)).
func (h Host) ResidentBytes(pid int) uint64 {
	text, err := h.Read(pid, "statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}
