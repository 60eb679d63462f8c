// Package buildid identifies ELF files by their GNU build id: 20 bytes, usually, that the linker
// computes from a file's contents and stores in a note (ld(1), --build-id).
//
//	Of, OfImage, Kernel   the build id of a file, of the running kernel
//	Files                 finds the files of a recording on this machine
//
// The build id decides which file it is. A path does not: another machine, or this one after an
// upgrade, may have another file there.
package buildid
