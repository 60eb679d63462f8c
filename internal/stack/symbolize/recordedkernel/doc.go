// Package recordedkernel finds the symbols of the kernel that a recording was made on: another
// machine's, or this one's at an earlier boot.
//
//	build id ─┬─ /proc/kallsyms, if the running kernel has it ─┐
//	          ├─ kallsyms in perf's build-id cache ────────────┼─ text ─ shifted to the recorded addresses
//	          └─ a vmlinux ────────────────────────────────────┘
//
// The result has the format of /proc/kallsyms, for package symbols to read. KASLR moves the kernel
// to other addresses at each boot. perf records where one symbol was; the distance to the same
// symbol in the text is how far all of them have moved.
package recordedkernel
