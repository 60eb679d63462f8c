// Package library finds the file that the target of a user probe means: a path,
// a command, a shared library, as the host or as one process sees them.
//
//	name ─ Find ─┬ "/path", "./path", "/proc/PID/root/path"
//	             ├ what the process of Options.PID has mapped
//	             ├ commands on PATH
//	             ├ libraries of ld.so.cache
//	             └ libraries in the loader's directories (musl; no cache)
//	                  ↓
//	              Target: an open file, a path for people, a path for the kernel
//
// A name without a slash is looked for in that order, and the first kind that
// has it wins: a command before a library, as perf-tools does with which(1).
//
// Libraries are compared by what the loader calls them. "libssl.so.3" is that
// one; "libssl" is any whose name is that before ".so" or, if there is none,
// before the first dot ("libpython3" for libpython3.11.so.1.0). Of several files
// for one soname the one is taken that ld.so loads on this processor; files with
// two different sonames are ambiguous unless the process has mapped only one of
// them. Hard links, symbolic links and merged directories make no two files of
// one. Only files for the wanted machine count, and none needs to be executable.
//
// Nothing is run and nothing is written: ldconfig(8) would rebuild the cache and
// links of the host. A process's files are opened so that no link leads out of
// its root directory, and FIFOs, devices and directories are never opened.
//
// # What the kernel probes
//
// A user probe belongs to an inode, so the path for the kernel must lead to the
// inode that was read here. It is the plain path where that is so, and a link to
// the open file, /proc/OWN-PID/fd/N, for all else: names with characters that the
// kernel's parser takes for its own, deleted files and memory files, and every
// file beneath another root, where whoever owns that root could put a link in
// the place of the file before the kernel looks. The caller keeps the file open
// until the kernel has been told.
//
// On overlayfs the kernel goes from the path to the file of the layer below by
// itself, when the probe is set (d_real_inode) as when a process maps the file:
// a probe that is set by the path of the merged directory, by one of the layer or
// through an open file hits alike. A file that was copied to the upper layer
// after a process had mapped it is two: the process runs the lower one, every
// path through the overlay leads to the upper one, and only the path of the lower
// layer leads a probe to that process.
package library
