// Package btf reads BTF, the kernel's own description of its types
// (Documentation/bpf/btf.rst): what /sys/kernel/btf/vmlinux holds, and the files
// of modules beside it, which add to it.
//
//	Read, ReadModule, Parse → Spec ─┬─ Find(Func, "vfs_read") → Type ─→ Target, Param
//	                                └─ Type(id), Types         Type ─→ Field, Member, Size, String
//
// Opening records only where each type begins, in four bytes each. A Type is a view into
// the bytes and needs no allocation. Find looks at every type, which takes less time than
// reading the file; programs ask for a handful of names.
//
// # What holds
//
//   - Bytes are hostile: what is not whole is refused by Parse, and what
//     refers to nothing or leads in circles ends as Void, a false or "…". No
//     method panics or runs long.
//   - Kinds that are newer than this package are passed over if the information
//     says how long they are (Linux 7.1), and refused otherwise.
//   - Only the byte order of amd64 and arm64 is read, and pointers have 8 bytes.
package btf
