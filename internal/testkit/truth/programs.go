package truth

import "runtime"

// Program is one source with one set of compiler flags.
type Program struct {
	// Name says language or scene, optimization, frame pointers and what is
	// special: "c-O2-nofp-static". It is the file name of the executable.
	Name string
	// FramePointers is true if every function from the root of the chain to its
	// leaf keeps a frame pointer, including those in a Gap. A frame-pointer walk
	// alone then finds the whole chain.
	FramePointers bool
	// Switches is true if a call in the chain switches to another stack, so that one copied
	// stack does not have the whole chain.
	Switches bool
	// Returns is true if the chain comes back to a stack that it has left, or leaves a stack in C code
	// without frame pointers. The other stack must then be read at the sample.
	Returns bool
	// debug is true if the executable has DWARF debug information.
	debug bool

	// Compat is true for a 32-bit program.
	Compat bool

	arch     string // the GOARCH that it is written for; "" for all
	commands string // compiler command lines, run in order in the build's directory
}

// The flags that most programs share. Defaults differ between distributions,
// so all that matters is spelled out. -fno-omit-frame-pointer alone leaves it open
// whether a function that calls nothing has a frame.
const (
	framePointers   = " -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer "
	noFramePointers = " -fomit-frame-pointer "
	bare            = noFramePointers + "-fno-asynchronous-unwind-tables -fno-unwind-tables "
)

// i386 is the compiler of 32-bit programs. Their headers are those of 64-bit ones.
const i386 = "gcc -m32 -idirafter /usr/include/x86_64-linux-gnu "

// The compilers of Go programs with C in them, which has frame pointers or not.
const (
	cgoFramePointers   = "env CGO_ENABLED=1 CGO_CFLAGS=-fno-omit-frame-pointer go build "
	cgoNoFramePointers = "env CGO_ENABLED=1 CGO_CFLAGS=-fomit-frame-pointer go build "
)

// programs has all programs for all architectures, plain ones first.
var programs = []Program{
	{Name: "c-O0-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O0 -fPIE -pie" + framePointers + "-o c-O0-fp straight.c"},
	{Name: "c-O2-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2 -fPIE -pie" + framePointers + "-o c-O2-fp straight.c"},
	// A frame-pointer walk misses the leaf's caller.
	{Name: "c-O2-fp-noleaf", debug: true,
		commands: "gcc -g -O2 -fPIE -pie -fno-omit-frame-pointer -momit-leaf-frame-pointer -o c-O2-fp-noleaf straight.c"},
	{Name: "c-O2-nofp", debug: true,
		commands: "gcc -g -O2 -fPIE -pie" + noFramePointers + "-o c-O2-nofp straight.c"},
	{Name: "c-O2-nofp-nopie",
		commands: "gcc -O2 -fno-pie -no-pie" + noFramePointers + "-o c-O2-nofp-nopie straight.c"},
	{Name: "c-O2-nofp-static",
		commands: "gcc -O2 -static" + noFramePointers + "-o c-O2-nofp-static straight.c"},
	{Name: "c-O2-nofp-staticpie",
		commands: "gcc -O2 -static-pie -fPIE" + noFramePointers + "-o c-O2-nofp-staticpie straight.c"},
	// Names in .dynsym only.
	{Name: "c-O2-nofp-stripped",
		commands: "gcc -O2 -fPIE -pie -rdynamic -s" + noFramePointers + "-o c-O2-nofp-stripped straight.c"},
	// Names in a compressed table within the file, as in Fedora.
	{Name: "c-O2-nofp-debugdata",
		commands: "gcc -O2 -fPIE -pie" + noFramePointers + "-o c-O2-nofp-debugdata straight.c\n" +
			"objcopy --only-keep-debug c-O2-nofp-debugdata minidebug\n" +
			"objcopy --strip-debug minidebug\n" +
			"xz minidebug\n" +
			"strip c-O2-nofp-debugdata\n" +
			"objcopy --add-section .gnu_debugdata=minidebug.xz c-O2-nofp-debugdata"},
	// Names in a separate file, as in Debian's -dbg packages.
	{Name: "c-O2-nofp-debuglink",
		commands: "gcc -g -O2 -fPIE -pie" + noFramePointers + "-o c-O2-nofp-debuglink straight.c\n" +
			"objcopy --only-keep-debug c-O2-nofp-debuglink c-O2-nofp-debuglink.debug\n" +
			"strip c-O2-nofp-debuglink\n" +
			"objcopy --add-gnu-debuglink=c-O2-nofp-debuglink.debug c-O2-nofp-debuglink"},
	// The program's own code has no .eh_frame, only .debug_frame.
	{Name: "c-O2-nofp-debugframe", debug: true,
		commands: "gcc -g -O2 -fPIE -pie -fno-asynchronous-unwind-tables -fno-unwind-tables" + noFramePointers +
			"-o c-O2-nofp-debugframe straight.c"},

	{Name: "threads-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2 -pthread" + framePointers + "-o threads-fp threads.c"},
	{Name: "threads-nofp",
		commands: "gcc -O2 -pthread" + noFramePointers + "-o threads-nofp threads.c"},
	{Name: "children-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2" + framePointers + "-o children-fp children.c"},
	{Name: "children-nofp",
		commands: "gcc -O2" + noFramePointers + "-o children-nofp children.c"},

	// As deep as the stacks of everyday programs are.
	{Name: "middle-fp", FramePointers: true,
		commands: "gcc -O2 -DDEPTH=24 -DFRAME=80" + framePointers + "-o middle-fp deep.c"},
	{Name: "middle-nofp",
		commands: "gcc -O2 -DDEPTH=24 -DFRAME=80" + noFramePointers + "-o middle-nofp deep.c"},
	// The kernel copies at most 64 KiB of stack, perf by default 8 KiB, and
	// walks at most 127 frame pointers unless asked for more.
	{Name: "deep-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2 -DDEPTH=100 -DFRAME=32" + framePointers + "-o deep-fp deep.c"},
	{Name: "deep-nofp-10KiB", debug: true,
		commands: "gcc -g -O2 -DDEPTH=100 -DFRAME=80" + noFramePointers + "-o deep-nofp-10KiB deep.c"},
	{Name: "deep-nofp-20KiB",
		commands: "gcc -O2 -DDEPTH=320 -DFRAME=48" + noFramePointers + "-o deep-nofp-20KiB deep.c"},
	{Name: "deep-nofp-45KiB",
		commands: "gcc -O2 -DDEPTH=320 -DFRAME=128" + noFramePointers + "-o deep-nofp-45KiB deep.c"},

	{Name: "callback-nofp", debug: true,
		commands: "gcc -g -O2" + noFramePointers + "-o callback-nofp callback.c"},
	{Name: "libc-nofp", debug: true,
		commands: "gcc -g -O2 -fno-builtin" + noFramePointers + "-o libc-nofp libc.c"},
	{Name: "libc-nofp-static",
		commands: "gcc -O2 -static -fno-builtin" + noFramePointers + "-o libc-nofp-static libc.c"},
	{Name: "vdso-fp", debug: true,
		commands: "gcc -g -O2" + framePointers + "-o vdso-fp vdso.c"},
	{Name: "vdso-nofp",
		commands: "gcc -O2" + noFramePointers + "-o vdso-nofp vdso.c"},
	{Name: "dlopen-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2 -fPIC -shared" + framePointers + "-o libplugin.so plugin.c\n" +
			"gcc -g -O2 -Wl,-rpath,$ORIGIN" + framePointers + "-o dlopen-fp dlopen.c -ldl"},
	{Name: "dlopen-nofp",
		commands: "gcc -O2 -fPIC -shared" + noFramePointers + "-o libplugin.so plugin.c\n" +
			"gcc -O2 -Wl,-rpath,$ORIGIN" + noFramePointers + "-o dlopen-nofp dlopen.c -ldl"},
	{Name: "entry-fp", FramePointers: true, debug: true,
		commands: "gcc -g -O2" + framePointers + "-o entry-fp calls.c tiny.c"},
	{Name: "entry-nofp",
		commands: "gcc -O2" + noFramePointers + "-o entry-nofp calls.c tiny.c"},
	{Name: "plt-nofp",
		commands: "gcc -O2 -fPIC -shared" + noFramePointers + "-o libtiny.so tiny.c\n" +
			"gcc -O2 -fplt -Wl,-z,lazy -Wl,-rpath,$ORIGIN" + noFramePointers + "-o plt-nofp calls.c libtiny.so"},

	{Name: "signal-nofp", debug: true, arch: "amd64",
		commands: "gcc -g -O2" + noFramePointers + "-o signal-nofp fault.c fault_amd64.S"},
	{Name: "expression-nofp", debug: true, arch: "amd64",
		commands: "gcc -g -O2" + noFramePointers + "-o expression-nofp expression.c expression_amd64.S"},

	// Neither their code nor musl's has unwind tables, as in Alpine's images.
	{Name: "musl-libc-bare", arch: "amd64",
		commands: "musl-gcc -O2 -fno-builtin" + bare + "-o musl-libc-bare libc.c"},
	{Name: "musl-callback-bare", arch: "amd64",
		commands: "musl-gcc -O2" + bare + "-o musl-callback-bare callback.c"},
	{Name: "musl-threads-bare-static", arch: "amd64",
		commands: "musl-gcc -O2 -static" + bare + "-o musl-threads-bare-static threads.c"},
	{Name: "musl-deep-bare", arch: "amd64",
		commands: "musl-gcc -O2 -DDEPTH=24 -DFRAME=80" + bare + "-o musl-deep-bare deep.c"},

	// 32-bit programs on a 64-bit kernel.
	{Name: "i386-middle-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -DDEPTH=24 -DFRAME=80" + noFramePointers + "-o i386-middle-nofp deep.c"},
	{Name: "i386-middle-fp", FramePointers: true, arch: "amd64", Compat: true,
		commands: i386 + "-O2 -DDEPTH=24 -DFRAME=80" + framePointers + "-o i386-middle-fp deep.c"},
	{Name: "i386-middle-O0-nopie", FramePointers: true, debug: true, arch: "amd64", Compat: true,
		commands: i386 + "-g -O0 -fno-pie -no-pie -DDEPTH=24 -DFRAME=80" + framePointers + "-o i386-middle-O0-nopie deep.c"},
	{Name: "i386-middle-bare", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -DDEPTH=24 -DFRAME=80" + bare + "-o i386-middle-bare deep.c"},
	{Name: "i386-static-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -static" + noFramePointers + "-o i386-static-nofp straight.c"},
	{Name: "i386-debugdata-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2" + noFramePointers + "-o i386-debugdata-nofp straight.c\n" +
			"objcopy --only-keep-debug i386-debugdata-nofp minidebug\n" +
			"objcopy --strip-debug minidebug\n" +
			"xz minidebug\n" +
			"strip i386-debugdata-nofp\n" +
			"objcopy --add-section .gnu_debugdata=minidebug.xz i386-debugdata-nofp"},
	{Name: "i386-debugframe-nofp", debug: true, arch: "amd64", Compat: true,
		commands: i386 + "-g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables" + noFramePointers +
			"-o i386-debugframe-nofp straight.c"},
	{Name: "i386-threads-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -pthread" + noFramePointers + "-o i386-threads-nofp threads.c"},
	{Name: "i386-callback-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2" + noFramePointers + "-o i386-callback-nofp callback.c"},
	{Name: "i386-libc-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -fno-builtin" + noFramePointers + "-o i386-libc-nofp libc.c"},
	{Name: "i386-vdso-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2" + noFramePointers + "-o i386-vdso-nofp vdso.c"},
	{Name: "i386-plt-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2 -fPIC -shared" + noFramePointers + "-o libtiny.so tiny.c\n" +
			i386 + "-O2 -fplt -Wl,-z,lazy -Wl,-rpath,$ORIGIN" + noFramePointers + "-o i386-plt-nofp calls.c libtiny.so"},
	{Name: "i386-signal-nofp", arch: "amd64", Compat: true,
		commands: i386 + "-O2" + noFramePointers + "-o i386-signal-nofp fault.c fault_i386.S"},
	{Name: "i386-go", debug: true, arch: "amd64", Compat: true,
		commands: "env GOARCH=386 go build -o i386-go straight.go"},

	{Name: "cxx-O0-fp", FramePointers: true, debug: true,
		commands: "g++ -g -O0" + framePointers + "-o cxx-O0-fp straight.cc"},
	{Name: "cxx-O2-nofp", debug: true,
		commands: "g++ -g -O2" + noFramePointers + "-o cxx-O2-nofp straight.cc"},
	{Name: "cxx-O2-nofp-static",
		commands: "g++ -O2 -static" + noFramePointers + "-o cxx-O2-nofp-static straight.cc"},

	{Name: "rust-fp", FramePointers: true, debug: true,
		commands: "rustc -g -C opt-level=2 -C force-frame-pointers=yes -o rust-fp straight.rs"},
	{Name: "rust-nofp", debug: true,
		commands: "rustc -g -C opt-level=2 -C force-frame-pointers=no -o rust-nofp straight.rs"},

	{Name: "go", FramePointers: true, debug: true,
		commands: "go build -o go straight.go"},
	{Name: "go-stripped", FramePointers: true,
		commands: "go build -ldflags=-s -o go-stripped straight.go"},
	{Name: "go-pie", FramePointers: true, debug: true,
		commands: "go build -buildmode=pie -o go-pie straight.go"},
	{Name: "go-goroutine", FramePointers: true, debug: true,
		commands: "go build -o go-goroutine goroutine.go"},

	// Go leaves the goroutine's stack for what it calls.
	{Name: "go-vdso", Switches: true, FramePointers: true,
		commands: "go build -o go-vdso go_vdso.go"},
	{Name: "go-system", Switches: true, FramePointers: true,
		commands: "go build -o go-system go_system.go"},
	{Name: "go-c", Switches: true, Returns: true, arch: "amd64",
		commands: cgoNoFramePointers + "-o go-c go_c.go"},
	{Name: "go-callback-fp", Switches: true, Returns: true, arch: "amd64",
		commands: cgoFramePointers + "-o go-callback-fp go_callback.go"},
	{Name: "go-callback-nofp", Switches: true, Returns: true, arch: "amd64",
		commands: cgoNoFramePointers + "-o go-callback-nofp go_callback.go"},
	{Name: "go-library-fp", Switches: true, arch: "amd64",
		commands: cgoFramePointers + "-buildmode=c-archive -o go_library.a go_library.go\n" +
			"gcc -O2" + framePointers + "-o go-library-fp go_library.c go_library.a -pthread"},
	{Name: "go-library-nofp", Switches: true, Returns: true, arch: "amd64",
		commands: cgoNoFramePointers + "-buildmode=c-archive -o go_library.a go_library.go\n" +
			"gcc -O2" + noFramePointers + "-o go-library-nofp go_library.c go_library.a -pthread"},
	{Name: "go-library-shared-nofp", Switches: true, Returns: true, arch: "amd64",
		commands: cgoNoFramePointers + "-buildmode=c-shared -o libgo_library.so go_library.go\n" +
			"gcc -O2" + noFramePointers + "-o go-library-shared-nofp go_library.c libgo_library.so -Wl,-rpath,$ORIGIN"},
	{Name: "go-thread-nofp", Switches: true, Returns: true, arch: "amd64",
		commands: cgoNoFramePointers + "-buildmode=c-archive -o go_library.a go_library.go\n" +
			"gcc -O2 -DTHREAD" + noFramePointers + "-o go-thread-nofp go_library.c go_library.a -pthread"},
}

// Programs returns every program that this architecture can run.
func Programs() []Program {
	var all []Program
	for _, p := range programs {
		if p.arch == "" || p.arch == runtime.GOARCH {
			all = append(all, p)
		}
	}
	return all
}

// Named returns the program of that name, or the zero Program, whose Build
// fails, if there is none.
func Named(name string) Program {
	for _, p := range Programs() {
		if p.Name == name {
			return p
		}
	}
	return Program{Name: name}
}
