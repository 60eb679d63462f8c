package session

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// PageFlags returns the names of the flags of an allocation, as the running kernel has them.
func (n *hostNames) PageFlags(flags uint64) string {
	if n.flags == nil {
		n.flags = hexadecimal
		if tracefs, err := ftrace.Find(); err == nil {
			// Kernels without tracing of allocations have no names.
			if f, err := tracefs.Format("kmem", "kmalloc"); err == nil {
				n.flags = pageFlags(f)
			}
		}
	}
	if flags == 0 {
		return "0" // as bpftrace prints it; the kernel's events say none
	}
	return n.flags(flags)
}

func hexadecimal(flags uint64) string { return "0x" + strconv.FormatUint(flags, 16) }

// pageFlags returns what names flags as an event of the kernel names its field gfp_flags. Which bit
// is which flag differs between kernels; the table of the running one is in the event's print format.
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
			return hexadecimal(flags) // more bits than the kernel's type has
		}
		_, text, found := bytes.Cut(printer.Append(nil, record), []byte(name+"="))
		text, _, _ = bytes.Cut(text, []byte(" "))
		if !found {
			return hexadecimal(flags)
		}
		return string(text)
	}
}
