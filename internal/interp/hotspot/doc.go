// Package hotspot names the frames of OpenJDK's virtual machine, and leaves them: those of
// its interpreter, of its compilers' code with what was inlined there, and of its stubs.
//
//	gHotSpotVMStructs of libjvm.so ─ Detect ─→ layout        once per process
//	pc ─ code heaps, segment map ─→ blob ─→ frame size, Method
//	Method ─→ name, signature, file, line table
//	nmethod, pc ─ debug information ─→ the calls inlined there
//
// All offsets come from the tables that the virtual machine has of itself for its own
// serviceability agent, so that nothing here is of one version but what the tables do not
// say: the slots of an interpreted frame, and how numbers are packed. Functions are named as
// jcmd's Compiler.perfmap names them: "int java.lang.String.indexOf(int)".
//
// Of a virtual thread that has waited, the outer frames lie in the heap until what they have called
// returns. The chain says so in their place, and goes on with the thread that carries it.
//
// Methods, their constants and compiled code do not move. They end when classes are
// unloaded and code is swept, and so each is checked again at each use: a code block must be
// in use and of one compilation, a method's name must be text of its constant pool.
package hotspot
