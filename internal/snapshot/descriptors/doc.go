// Package descriptors describes the file descriptors of a process, from proc(5): the path of a
// file, the protocol, addresses and state of a socket, the number of a pipe, the files that an
// epoll instance watches.
//
//	/proc/PID/fd/N ─→ readlink ─┬→ a path
//	                            ├→ socket:[inode] ─→ /proc/PID/net/{tcp,tcp6,udp,udp6,unix,…}
//	                            └→ anon_inode:[eventpoll] ─→ /proc/PID/fdinfo/N
//
// A Table reads everything on first use and caches it. Use a new one for each look at a process.
package descriptors
