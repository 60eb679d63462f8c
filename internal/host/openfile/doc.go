// Package openfile opens regular files whose names come from untrusted sources. It opens
// nothing that blocks, that has side effects when opened, or that lies outside the directory in
// which the name is resolved.
//
//	Regular   a name as we see it
//	Beneath   a name as a process sees it, whose root directory is another
package openfile
