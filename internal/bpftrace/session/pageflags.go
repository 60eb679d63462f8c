package session

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// PageFlags returns the names of allocation flags in the running kernel.
func (n *hostNames) PageFlags(flags uint64) string {
	if n.flags == nil {
		n.flags = hexadecimal
		if tracefs, err := ftrace.Find(); err == nil {
			// Kernels without the kmem tracepoints provide no names.
			if f, err := tracefs.Format("kmem", "kmalloc"); err == nil {
				n.flags = pageFlags(f)
			}
		}
	}
	if flags == 0 {
		return "0" // as in bpftrace; the kernel's events print none
	}
	return n.flags(flags)
}

func hexadecimal(flags uint64) string { return "0x" + strconv.FormatUint(flags, 16) }

// pageFlags returns a function that names flags as the event f prints its field gfp_flags. The bits
// differ between kernels, and the print format of the event contains the running kernel's table.
func pageFlags(f *ftrace.Format) func(flags uint64) string {
	const name = "gfp_flags"
	printer, err := printfmt.New(f, printfmt.Options{})
	i := slices.IndexFunc(f.Fields, func(field ftrace.Field) bool { return field.Name == name })
	if err != nil || printer.Fallback() != nil || i < 0 {
		return hexadecimal
	}
	size := 0
	for _, field := range f.Fields {
		size = max(size, field.Offset+field.Size)
	}
	return func(flags uint64) string {
		record := make([]byte, size)
		b, _ := f.Fields[i].Bytes(record)
		copy(b, binary.LittleEndian.AppendUint64(nil, flags))
		if n, ok := f.Fields[i].Uint(record); !ok || n != flags {
			return hexadecimal(flags) // the kernel's type has fewer bits
		}
		_, text, found := bytes.Cut(printer.Append(nil, record), []byte(name+"="))
		text, _, _ = bytes.Cut(text, []byte(" "))
		if !found {
			return hexadecimal(flags)
		}
		return string(text)
	}
}
