// Package process is the model of the host's processes: which processes exist, their names, the
// executable memory they have mapped at the time of each sample, and the mapped files. It keeps
// these files readable after the process, and even the file's name, is gone.
//
// A Host is the machine, live or a directory tree; it reads proc(5) on demand. A Table follows
// all processes.
//
// The data flow:
//
//	Host   → Snapshot ─┐
//	                   ├→ Table: Process (mappings, sorted by address) → Find → callchain
//	record → Handle   ─┘                     │
//	                                         └→ Object (file, vdso, generated code) → Open → symbols
//
// Snapshot reads /proc while the ring is already recording. Each process remembers the time
// just before its files were read, and ignores older records. There is no record of munmap(2),
// so an older record could bring back a mapping that is gone. Newer records are applied even if
// the snapshot includes their effect; that changes nothing. After the snapshot only records
// count, applied between samples in time order. /proc is read again for an unknown pid, and for
// facts that records lack (the cgroup at exec, the pid in another pid namespace). It is also
// read, rarely, for an address in no known mapping.
//
// Invariants:
//
//   - One Process is one life: fork and exec start a new one with a new Index. The table
//     forgets old ones a while after their exit. A Process that the caller still holds keeps
//     its contents.
//   - Mappings are sorted and never overlap. A forked child shares its parent's mappings until
//     one of the two changes them; Process.Version changes with them.
//   - An Object gets its ObjectID, its unwind table and its perf map when the first Find hits
//     it. It ends when no process maps it and nobody holds its frames (Table.Hold). So memory
//     and descriptors grow with the code that runs and the frames not reported yet, not with
//     everything that came and went.
//   - A mapped file is opened when it is first seen. First through /proc/PID/map_files, which
//     leads to the inode even if its name is gone (this needs CAP_CHECKPOINT_RESTORE or
//     CAP_SYS_ADMIN). Then by its path beneath the process's root, following no link out of it.
//     Then beneath our root, or the root of another process in the same mount namespace. Then
//     through /proc/PID/exe or another range of the same inode. Only a regular file with the
//     mapping's inode is accepted. The device must be the same too, except on btrfs, bcachefs
//     and overlayfs, where the kernel itself reports two numbers.
//   - At most Options.maxFiles files are open. Beyond that, the least recently read one is
//     closed. When it is read again, it is reopened by its path and must still be the same
//     file. Files whose name no longer leads to them are never closed to make room. When they
//     use up the whole budget, Open of the next file returns an error.
//
// Limits: a process whose exec record was lost keeps its old name. A process that moves to
// another cgroup without exec shows the old cgroup. A user-space file system (FUSE) that does
// not answer blocks the goroutine that reads its files.
//
// Everything except the readers returned by Object.Open belongs to one goroutine.
package process
