// Package v8 names the frames of V8, the engine of Node: those of its interpreter, of its
// compilers' code, and of its builtins.
//
//	v8dbg_… of the program ─ Detect ─→ layout          once per process
//	frame pointer ─→ marker, JSFunction ─→ SharedFunctionInfo ─→ name, script, line
//
// Every frame of V8's code has a frame pointer. The word below it is a context if the frame
// is a function's, and a small integer that tells what else it is.
//
// The collector moves objects. So an object is taken for what it should be only if its map
// says so, and what was read of it is believed again only while the words that it was read
// from are the same.
package v8
