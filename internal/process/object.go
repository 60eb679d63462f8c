package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/callchain"
)

// Kind says what holds the code of an Object, and with that what the offset of
// its frames is.
type Kind uint8

const (
	Kernel   Kind = iota // the kernel; offsets are addresses
	File                 // a file, also one without a name (memfd, deleted); offsets are file offsets
	VDSO                 // the ELF image that the kernel gives each process, one for 64-bit and one for 32-bit programs; offsets in that image
	VSyscall             // the page of emulated system calls of x86-64; offsets are addresses
	Anon                 // memory without an ELF file: generated code; offsets are addresses in its process
	Special              // other memory that the kernel names, "[uprobes]", "[stack]"; offsets are addresses
)

var kindNames = [...]string{"kernel", "file", "vdso", "vsyscall", "anon", "special"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ErrNoImage says that an object is memory without a file.
var ErrNoImage = errors.New("no file holds this code")

// Object is something that holds code: see Kind. An object that a Find has
// returned has an ID. It ends, and its file is closed, when no process maps it and no
// frame of it is held: see Table.Hold.
type Object struct {
	ID   callchain.ObjectID // its key in Table.Objects; no other object has or had it
	Kind Kind

	// Path is the file's path as the process that first mapped it sees it, raw
	// bytes; "[kernel]", "[vdso]", "[anon]" and the like for other kinds.
	Path string

	// Deleted says that the file had no name any more, or that the process's
	// mapping said so, when it was opened.
	Deleted bool

	// PID is the process of Anon memory, 0 for all other kinds.
	PID int

	key    key
	file   *file  // of a File that could be opened
	image  []byte // of the VDSO
	compat bool   // the VDSO is that of 32-bit programs
	err    error  // why there is neither
	tries  int    // how often opening has failed

	generation uint64 // of the inode, 0 if unknown
	generated  bool   // a file without an ELF header: its mappings are Anon
	mapped     bool   // sweep met a mapping of it

	owner   *Process // of Anon memory
	perfMap *file
	reused  *reused // unless nil, perfMap is watched; it has the code that is not the object's
	line    string  // of a perf map: the object is that code alone

	unwind    *callchain.Table
	unwindErr error
	dropped   bool // unwind was, since nothing mapped the object: see drop
}

// Open returns the ELF file or image of a File or VDSO with its size in bytes.
// It stays readable when the process and the file's name are gone, until the object
// ends or Table.Close; it belongs to the object and needs no closing. It may be read
// from several goroutines. The error wraps ErrNoImage for the other kinds; for
// a file that could not be opened it says why.
func (o *Object) Open() (r io.ReaderAt, size int64, err error) {
	switch {
	case o.file != nil:
		return o.file, o.file.size, nil
	case o.image != nil:
		return bytes.NewReader(o.image), int64(len(o.image)), nil
	case o.err != nil:
		return nil, 0, fmt.Errorf("open %s: %w", o.Path, o.err)
	}
	return nil, 0, fmt.Errorf("open %s: %w", o.Path, ErrNoImage)
}

// compile makes the unwind table, when the first sample meets the object.
func (o *Object) compile() {
	if o.Kind != File && o.Kind != VDSO {
		return
	}
	r, _, err := o.Open()
	if err == nil {
		o.unwind, err = callchain.Compile(r)
	}
	o.unwindErr = err
}

// close closes the object's files.
func (o *Object) close() {
	for _, f := range []*file{o.file, o.perfMap} {
		if f != nil {
			f.close()
		}
	}
}

// drop frees the unwind table of an object that no process maps any more. If one does
// again, it is compiled again.
func (o *Object) drop() {
	if o.unwind != nil {
		o.unwind, o.dropped = nil, true
	}
}

// byAddress tells whether the offsets of the object's frames are addresses.
func (o *Object) byAddress() bool { return o.Kind != File && o.Kind != VDSO }
