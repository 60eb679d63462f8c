// Package library finds the file that the target of a user probe means: a path, a command, or a
// shared library, as the host or one process sees it.
//
//	name ─ Find ─┬ "/path", "./path", "/proc/PID/root/path"
//	             ├ what the process of Options.PID has mapped
//	             ├ commands on PATH
//	             ├ libraries of ld.so.cache
//	             └ libraries in the loader's directories (musl; no cache)
//	                  ↓
//	              Target: an open file, a path for people, a path for the kernel
//
// A name without a slash is searched for in that order, and the first match wins. So a command
// wins over a library, like in perf-tools, which use which(1).
//
// Libraries are compared by the loader's names for them. "libssl.so.3" is exactly that name.
// "libssl" is any library with that name before ".so" or, if there is none, before the first
// dot ("libpython3" for libpython3.11.so.1.0). If one soname has several files, the one that
// ld.so would load on this processor is taken. Files with two different sonames are ambiguous,
// unless the process has mapped only one of them. Hard links, symbolic links and merged
// directories do not make one file two. Only files for the wanted machine count; they need not
// be executable.
//
// Nothing is executed and nothing is written: ldconfig(8) would rebuild the host's cache and
// links. A process's files are opened so that no link leads out of its root directory. FIFOs,
// devices and directories are never opened.
//
// # What the kernel probes
//
// A user probe belongs to an inode, so the path given to the kernel must lead to the inode that
// was read here. If the plain path does, it is used. Otherwise it is a link to the open file,
// /proc/OWN-PID/fd/N. That is needed for names with characters that the kernel's parser treats
// specially, for deleted files and memory files, and for every file beneath another root: the
// owner of that root could replace the file by a link before the kernel looks. The caller keeps
// the file open until the kernel has been told.
//
// On overlayfs the kernel itself goes from the path to the file of the layer below. It does so
// when the probe is set (d_real_inode) and when a process maps the file. So a probe may be set
// by the path in the merged directory, by the path in the layer, or through an open file. There
// is one exception: a file that was copied to the upper layer after a process had mapped it is
// two files. The process runs the lower one, but every path through the overlay leads to the
// upper one. Only the path in the lower layer sets a probe for that process.
package library
