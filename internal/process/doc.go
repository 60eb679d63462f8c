// Package process is the model of the host's processes: which there are, what
// they are called, what executable memory they have mapped at the time of each
// sample, and the files behind it, which it keeps readable when the process
// and even the file are gone.
//
// A Host is the machine, live or a directory tree, and reads what proc(5) tells of a
// process when it is asked; a Table follows all of them.
//
// The data's way:
//
//	Host   → Snapshot ─┐
//	                   ├→ Table: Process (mappings, sorted by address) → Find → callchain
//	record → Handle   ─┘                     │
//	                                         └→ Object (file, vdso, generated code) → Open → symbols
//
// Snapshot reads /proc while the ring records already. Each process keeps the
// time just before its files were read and ignores records that are older,
// because there is no record of munmap(2): one that is in the snapshot as well
// could only bring back what is gone. Newer ones are applied even if the
// snapshot has them too, which changes nothing. From then on only records
// count, applied between samples in the order of time; /proc is asked again
// only for a pid nobody has heard of, for what records do not tell (the cgroup
// at exec, the pid in another pid namespace), and, seldom, for an address that
// is in no known mapping.
//
// Invariants:
//
//   - One Process is one life: fork and exec start a new one with a new Index,
//     and the table forgets old ones a while after their exit. A Process that
//     the caller holds stays what it was: the garbage collector does the
//     counting of references.
//   - Mappings are sorted and never overlap. A forked child shares its parent's
//     until one of the two changes them; Process.Version changes with them.
//   - An Object gets its ObjectID, its unwind table and its perf map when the
//     first Find hits it. It ends when no process maps it and nobody holds frames
//     of it (Table.Hold). So memory and descriptors grow with what runs and what
//     is still to be reported, not with what came and went.
//   - A mapped file is opened when it is first seen: through
//     /proc/PID/map_files, which leads to the inode whatever became of its name
//     (it takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN); else by its path
//     beneath the process's root, following no link out of it; else beneath
//     our root or that of another process of the same mount namespace; else
//     through /proc/PID/exe or another range of the same inode. Only a regular
//     file of the inode that the mapping names is accepted. The device must be
//     the same too, except on btrfs, bcachefs and overlayfs, where the kernel
//     itself tells two numbers.
//   - At most Options.MaxFiles files are open. Beyond that the one that was
//     read least recently is closed and, when it is read again, opened again by
//     its path, where it must still be the same file. Files that their name no
//     longer leads to are not closed for others: when they take the whole
//     budget, Open of the next one says so.
//
// What cannot be known: a process whose exec record was lost keeps its name, and
// one that moves to another cgroup without exec shows the old one. A file
// system in user space (FUSE) that does not answer holds up whoever reads its
// files.
//
// All of it but the readers that Object.Open returns is for one goroutine.
package process
