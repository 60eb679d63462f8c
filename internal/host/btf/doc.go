// Package btf reads BTF, the kernel's own description of its types (Documentation/bpf/btf.rst):
// /sys/kernel/btf/vmlinux, and the files of modules next to it, which extend it.
//
//	Read, ReadModule, Parse → Spec ─┬─ Find(Func, "vfs_read") → Type ─→ Target, Param
//	                                └─ Type(id), Types         Type ─→ Field, Member, Size, String
//
// Opening records only the start of each type, in four bytes each. A Type is a view into the
// bytes and needs no allocation. Find scans all types, which takes less time than reading the
// file; programs look up only a handful of names.
//
// # Guarantees
//
//   - Input is untrusted. Parse rejects incomplete data. References that lead nowhere or in
//     circles end as Void, false or "…". No method panics or runs long.
//   - Kinds newer than this package are skipped if the data says how long they are (Linux 7.1),
//     and rejected otherwise.
//   - Only the byte order of amd64 and arm64 is supported, and pointers have 8 bytes.
package btf
