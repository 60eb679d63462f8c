package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// page is the least size of a page: what lies within one is there as a whole or
// not at all.
const page = 4096

// maxPages is how many pages one call reads.
const maxPages = 64

// ReadMemory reads b from the memory of a process or thread at an address, and
// returns how many bytes of it are there from its begin on. Pages that are not in
// memory are brought in.
func (h Host) ReadMemory(id int, addr uint64, b []byte) (done int) {
	if h.Proc != "" { // process_vm_readv(2) knows the processes of this machine
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
