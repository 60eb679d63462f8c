// Package hotspot names and unwinds the frames of OpenJDK's virtual machine: those of its
// interpreter, of compiled code including inlined methods, and of its stubs.
//
//	gHotSpotVMStructs of libjvm.so ─ Detect ─→ layout        once per process
//	pc ─ code heaps, segment map ─→ blob ─→ frame size, Method
//	Method ─→ name, signature, file, line table
//	nmethod, pc ─ debug information ─→ the calls inlined there
//
// All offsets come from the tables in which the virtual machine describes itself for its own
// serviceability agent. So only what these tables lack depends on the version: the slots of an
// interpreted frame, and how numbers are packed. Functions are named like in jcmd's
// Compiler.perfmap: "int java.lang.String.indexOf(int)".
//
// The outer frames of a virtual thread that has waited are in the heap until the functions they
// called return. The chain has one entry in their place, and continues with the carrier thread.
//
// Methods, their constants and compiled code do not move. They disappear when classes are
// unloaded and code is swept. So they are checked at each use: a code block must be in use and
// belong to the same compilation, and a method's name must be text in its constant pool.
package hotspot
