package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// options are the flags and arguments of the command line.
type options struct {
	kernel  string
	boot    string
	cpus    int
	memory  int
	timeout time.Duration
	files   []string
	fresh   bool
	icount  bool
	test    bool
	run     string
	only    string
	json    bool
	root    string
	ringtap string
	args    []string
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	code, err := o.do(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		code = 125
	}
	os.Exit(code)
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("vm", pflag.ContinueOnError)
	f.StringVar(&o.kernel, "kernel", "6.1", "the kernel to boot; --kernel help lists them")
	f.StringVar(&o.boot, "boot", "", "more of the kernel's command line, such as preempt=full")
	f.IntVar(&o.cpus, "cpus", 2, "CPUs of the guest")
	f.IntVar(&o.memory, "memory", 0, "its memory in MiB (what its files need, and 1024 more)")
	f.DurationVar(&o.timeout, "timeout", 0, "kill the guest after so long (tests: 30m)")
	f.StringArrayVar(&o.files, "file", nil, "PATH[:GUESTPATH] a file or directory to bring along, to /work unless said; with the libraries that it loads")
	f.BoolVar(&o.fresh, "fetch", false, "look for a newer kernel than the cached one")
	f.BoolVar(&o.icount, "icount", false, "the guest's clocks count its instructions, a nanosecond each, however busy the host is")
	f.BoolVar(&o.test, "test", false, "run the live tests of the packages named, all that have some")
	f.StringVar(&o.run, "run", "^TestLive", "with --test: the tests to run")
	f.StringVar(&o.only, "only", "", "with --test: run the tests that this file lists, a line each: an import path, a space, the test's name")
	f.StringVar(&o.ringtap, "ringtap", "", "bring this ringtap instead of building one")
	f.StringVar(&o.root, "root", ".", "the repository")
	f.BoolVar(&o.json, "json", false, "with --test: print the events of go test -json")
	f.Usage = func() {
		fmt.Fprintf(os.Stderr, usage, f.FlagUsages())
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.args = f.Args()
	if o.kernel == "help" {
		for _, k := range kernels {
			fmt.Printf("%-12s %s, %s\n", k.name, k.arch, k.about)
		}
		return o, pflag.ErrHelp
	}
	if o.timeout == 0 && o.test {
		o.timeout = 30 * time.Minute
	}
	return o, nil
}

const usage = `usage: scripts/vm [flags] [-- COMMAND [ARG...]]
       scripts/vm [flags] --test [PACKAGE...]

Boots a kernel under QEMU and runs the command there as root, a shell without
one, with ringtap on its PATH and the repository at its own path. The exit code
is the command's.

%s`

// do boots the kernel, runs what the options ask for, and returns the exit code.
func (o options) do(ctx context.Context) (int, error) {
	k, err := kernelNamed(o.kernel)
	if err != nil {
		return 0, err
	}
	c, err := newCache(o.fresh, os.Stderr)
	if err != nil {
		return 0, err
	}
	image, err := k.image(ctx, c)
	if err != nil {
		return 0, err
	}
	module, err := filepath.Abs(o.root)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "ringtap-vm-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("the guest was not done after %s", o.timeout))
		defer cancel()
	}

	r, err := newRoot(ctx, c, k, image)
	if err != nil {
		return 0, err
	}
	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		return 0, err
	}
	host := &tools{shared: shared, arch: k.arch, native: k.arch == runtime.GOARCH}
	spec := wire.Spec{
		Shared: shared,
		Tools:  host.available(),
		Env: []string{"PATH=/work:/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "USER=root", "TMPDIR=" + shared,
			compiled.Variable + "=" + filepath.Join(shared, "programs"), // compilers write nowhere else
			"TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8", "RINGTAP_VM=" + k.name, testlimit.ThoroughVariable + "=" + os.Getenv(testlimit.ThoroughVariable)},
	}
	if spec.Modules, err = r.addModules(image); err != nil {
		return 0, err
	}
	if err := r.addBusybox(); err != nil {
		return 0, err
	}
	for _, name := range spec.Tools {
		r.links["bin/"+name] = "/init"
	}
	if dir := host.compilerDir(); dir != "" {
		r.dirs = append(r.dirs, dir)
	}
	build := func(command string, args ...string) error {
		cmd := exec.CommandContext(ctx, "go", append([]string{command, "-trimpath"}, args...)...)
		cmd.Dir = module
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+k.arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s %s: %w\n%s", command, strings.Join(args, " "), err, out)
		}
		return nil
	}
	programs := map[string]string{"init": "./internal/dev/vmrun/guest", "bin/ringtap": "./cmd/ringtap"}
	if o.ringtap != "" {
		delete(programs, "bin/ringtap")
		r.files["bin/ringtap"] = o.ringtap
	}
	for to, pkg := range programs {
		from := filepath.Join(dir, path.Base(to))
		if err := build("build", "-o", from, pkg); err != nil {
			return 0, err
		}
		r.files[to] = from
	}
	if err := r.addModule(module); err != nil {
		return 0, err
	}
	for _, file := range o.files {
		from, to, ok := strings.Cut(file, ":")
		if !ok {
			to = "/work/" + filepath.Base(from)
		}
		if err := r.addProgram(strings.TrimPrefix(to, "/"), from, machines[k.arch], host.native); err != nil {
			return 0, err
		}
	}
	g := &guest{kernel: k, vmlinuz: filepath.Join(image, "vmlinuz"), initrd: filepath.Join(dir, "initrd"),
		cpus: o.cpus, memory: o.memory, append: o.boot, dir: dir, tools: host, kvm: newKVM(c), instructions: o.icount}
	if o.test {
		return o.runTests(ctx, g, r, spec, build)
	}
	return o.runCommand(ctx, g, r, spec)
}

// runCommand runs the command of the command line in the guest, or a shell if there is none.
func (o options) runCommand(ctx context.Context, g *guest, r *root, spec wire.Spec) (int, error) {
	spec.Command = wire.Command{Args: o.args, Dir: "/work"}
	if len(o.args) == 0 {
		spec.Command.Args = []string{"bash", "-i"}
	}
	size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
	_, outErr := unix.IoctlGetTermios(1, unix.TCGETS)
	if err == nil && outErr == nil {
		spec.Command.Terminal, spec.Command.Rows, spec.Command.Cols = true, size.Row, size.Col
		g.terminal = true
	}
	if g.pages, err = r.write(g.initrd, spec); err != nil {
		return 0, err
	}
	input := sendInput
	if g.terminal {
		input = sendSizes
	}
	code := 0
	err = g.run(ctx, input, func(m wire.FromGuest) (bool, error) {
		switch m.Kind {
		case wire.Output:
			os.Stdout.Write(m.Data)
		case wire.Error:
			os.Stderr.Write(m.Data)
		case wire.Exit:
			code = m.Code
			return true, nil
		}
		return false, nil
	})
	return code, err
}

// sendInput sends this process's standard input to the command in the guest.
func sendInput(to *gob.Encoder) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buffer)
		if n > 0 && to.Encode(wire.ToGuest{Input: buffer[:n]}) != nil {
			return
		}
		if err != nil {
			to.Encode(wire.ToGuest{End: true})
			return
		}
	}
}

// sendSizes tells the guest when the terminal's size changes.
func sendSizes(to *gob.Encoder) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	for range changed {
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil || to.Encode(wire.ToGuest{Rows: size.Row, Cols: size.Col}) != nil {
			return
		}
	}
}
