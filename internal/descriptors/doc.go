// Package descriptors says what the file descriptors of a process are, as proc(5)
// shows it: the file's path, the socket's protocol, addresses and state, the pipe's
// number, the files that an epoll instance watches.
//
//	/proc/PID/fd/N ─→ readlink ─┬→ a path
//	                            ├→ socket:[inode] ─→ /proc/PID/net/{tcp,tcp6,udp,udp6,unix,…}
//	                            └→ anon_inode:[eventpoll] ─→ /proc/PID/fdinfo/N
//
// A Table reads everything on first use and keeps it. Use a new one for each look at a
// process.
package descriptors
