package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/callchain"
)

// Kind says what holds an Object's code, and so what its frames' offsets are.
type Kind uint8

const (
	Kernel   Kind = iota // the kernel; offsets are addresses
	File                 // a file, even one without a name (memfd, deleted); offsets are file offsets
	VDSO                 // the ELF image that the kernel maps into each process, one for 64-bit and one for 32-bit programs; offsets are in that image
	VSyscall             // x86-64's page of emulated system calls; offsets are addresses
	Anon                 // memory without an ELF file: generated code; offsets are addresses in its process
	Special              // other memory named by the kernel, "[uprobes]", "[stack]"; offsets are addresses
	Function             // a function that a recording has mapped: see Recording.Function; offsets are source lines
)

var kindNames = [...]string{"kernel", "file", "vdso", "vsyscall", "anon", "special", "function"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ErrNoImage is returned for an object that is memory without a file.
var ErrNoImage = errors.New("no file holds this code")

// Object holds code: see Kind. It gets an ID when a Find returns it. It ends, and its file is
// closed, when no process maps it and no frame of it is held: see Table.Hold.
type Object struct {
	ID   callchain.ObjectID // key in Table.Objects; never used for another object
	Kind Kind

	// Path is the file's path as seen by the process that first mapped it, as raw bytes. For
	// other kinds it is "[kernel]", "[vdso]", "[anon]" and the like.
	Path string

	// deleted is true if the file had no name when it was opened, or the process's mapping said
	// so.
	deleted bool

	// PID is the process of Anon memory, 0 for all other kinds.
	PID int

	key    key
	file   *file  // of a File that could be opened
	image  []byte // of the VDSO
	compat bool   // the VDSO is the one of 32-bit programs
	err    error  // why there is neither file nor image
	tries  int    // how often opening failed

	generation uint64 // of the inode, 0 if unknown
	generated  bool   // a file without an ELF header: its mappings are Anon
	mapped     bool   // scratch of sweepObjects: some process maps it

	owner   *Process // of Anon memory
	perfMap *file
	reused  *reused // not nil if perfMap is watched; holds code that replaced other code
	line    string  // a line of a perf map, if the object is only that code

	unwind    *callchain.Table
	unwindErr error
	dropped   bool // unwind was freed because nothing mapped the object: see drop
}

// Open returns the ELF file or image of a File or VDSO, with its size in bytes. The reader
// works even after the process and the file's name are gone, until the object ends or
// Table.Close. It belongs to the object and need not be closed. Several goroutines may read it.
// The error wraps ErrNoImage for other kinds. For a file it says why it could not be opened.
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

// compile makes the unwind table when a sample first hits the object.
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

// drop frees the unwind table of an object that no process maps. It is compiled again if a
// process maps the object again.
func (o *Object) drop() {
	if o.unwind != nil {
		o.unwind, o.dropped = nil, true
	}
}

// byAddress reports whether the offsets of the object's frames are addresses.
func (o *Object) byAddress() bool { return o.Kind != File && o.Kind != VDSO && o.Kind != Function }
