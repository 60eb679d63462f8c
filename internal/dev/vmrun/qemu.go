package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// guest is a virtual machine to start.
type guest struct {
	kernel   kernel
	vmlinuz  string
	initrd   string
	pages    int64  // how many pages the files of initrd take once they are unpacked
	append   string // appended to the kernel's command line
	cpus     int
	memory   int    // MiB; 0 for what its files need
	dir      string // a private directory for sockets
	terminal bool   // the console is this process's terminal
	// instructions makes the guest's clocks count instructions, one per nanosecond.
	instructions bool
	tools        *tools
	kvm          kvm
	silence      time.Duration // a guest that sends nothing for longer hangs; 0: no limit
}

// run boots the guest, calls handle with its messages until handle says that it is done,
// and then ends the guest. If ctx ends, run kills the guest. input, if not nil, sends
// messages to the guest. If the host's CPUs can't run the guest, QEMU emulates it. If an
// emulated guest does not come up, run boots it once more, because it hangs now and then.
func (g *guest) run(ctx context.Context, input func(*gob.Encoder), handle func(wire.FromGuest) (done bool, err error)) error {
	if err := needCommands(machines[g.kernel.arch].command[0]); err != nil {
		return err
	}
	if err := g.sizeMemory(); err != nil {
		return err
	}
	var tries []accelerator
	if g.kvm.mayWork(g.kernel.arch) && !g.instructions {
		tries = append(tries, byKVM)
	}
	var err error
	for _, a := range append(tries, emulation, emulation) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "vm: %s did not come up: %v\nvm: booting it once more, by %s\n", g.kernel.name, err, a.name)
		}
		var up bool
		up, err = g.boot(ctx, a, input, handle)
		if err == nil || up || ctx.Err() != nil {
			return err
		}
		if !a.emulated {
			g.kvm.failed()
		}
	}
	return err
}

// sizeMemory sets the guest's memory if it is 0: what its files need, and room for its programs. If the memory
// is set but too small, it returns an error. The kernel itself does not say that there is too little. It unpacks the
// files into at most half of the memory that the kernel and the archive leave (fs/ramfs, mm/shmem.c).
func (g *guest) sizeMemory() error {
	const kernel, room = 128, 1024 // MiB, at least
	info, err := os.Stat(g.initrd)
	if err != nil {
		return err
	}
	files := (info.Size()+2*g.pages*pageSize)>>20 + 1
	least := int((files + kernel) * 64 / 63) // struct page takes 64 bytes of each 4096
	if g.memory == 0 {
		g.memory = least + room
	}
	if g.memory < least {
		return fmt.Errorf("the guest's files do not fit into %d MiB of memory: it needs --memory %d", g.memory, least)
	}
	return nil
}

// boot is run with one accelerator. up reports whether the guest came up.
func (g *guest) boot(ctx context.Context, a accelerator, input func(*gob.Encoder), handle func(wire.FromGuest) (done bool, err error)) (up bool, err error) {
	m := machines[g.kernel.arch]
	control, err := net.Listen("unix", filepath.Join(g.dir, "control"))
	if err != nil {
		return false, err
	}
	defer control.Close()
	workshop, err := net.Listen("unix", filepath.Join(g.dir, "tools"))
	if err != nil {
		return false, err
	}
	defer workshop.Close()

	cpu, environment := a.cpu, ""
	if a.emulated {
		// The kernel waits for an RCU grace period whenever a probe is set or removed. With expedited
		// grace periods, tests of probes take a fifth less time.
		cpu, environment = m.cpu, " rcupdate.rcu_expedited=1 "+testlimit.Variable+"=1"
	}
	if !g.kernel.counters {
		cpu += m.less
	}
	args := slices.Clone(m.command[1:])
	args = append(args,
		"-cpu", cpu, "-accel", a.accel, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", fmt.Sprint(g.memory), "-smp", fmt.Sprint(g.cpus),
		"-kernel", g.vmlinuz, "-initrd", g.initrd,
		"-append", "console="+m.console+" quiet panic=-1 reboot=t"+m.boot+environment+" "+g.append,
		"-device", "virtio-serial-pci",
		"-chardev", "socket,id=control,path="+filepath.Join(g.dir, "control"),
		"-device", "virtserialport,chardev=control,name="+wire.ControlPort,
		"-chardev", "socket,id=tools,path="+filepath.Join(g.dir, "tools"),
		"-device", "virtserialport,chardev=tools,name="+wire.ToolsPort,
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console")
	if g.instructions {
		args = append(args, "-icount", "shift=0")
	}
	cmd := exec.Command(m.command[0], args...)
	console := &lastBytes{limit: 8000}
	cmd.Stdout, cmd.Stderr = console, console
	if g.terminal {
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if restore, err := saveTerminal(); err == nil {
			defer restore()
		}
	}
	// The guest must not outlive this process, however this process ends.
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	go g.tools.serve(workshop)
	done := make(chan error, 1)
	isUp := make(chan struct{})
	go func() { done <- converse(control, a.bootTime, g.silence, func() { close(isUp) }, input, handle) }()

	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-exited:
		exited <- nil
		// Its last messages may still be on their way.
		select {
		case err = <-done:
		case <-time.After(2 * time.Second):
			err = errors.New("the guest ended before it was done")
		}
	}
	cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-exited:
	case <-time.After(3 * time.Second):
		cmd.Process.Kill()
		<-exited
	}
	if text := console.String(); err != nil && text != "" {
		err = fmt.Errorf("%w; its console said last:\n%s", err, text)
	}
	select {
	case <-isUp:
		return true, err
	default:
		return false, err
	}
}

// converse accepts the guest's connection and calls handle with its messages. It calls isUp
// once, when the guest says that it is up. The guest must say that within bootTime. After
// that, it must send a message at least every silence, unless that is 0.
func converse(listener net.Listener, bootTime, silence time.Duration, isUp func(), input func(*gob.Encoder), handle func(wire.FromGuest) (bool, error)) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(bootTime))
	messages := gob.NewDecoder(conn)
	for {
		var m wire.FromGuest
		switch err := messages.Decode(&m); {
		case err == io.EOF || errors.Is(err, unix.ECONNRESET):
			return errors.New("the guest ended before it was done")
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errors.New("the guest hangs: it says nothing any more")
		case err != nil:
			return fmt.Errorf("what the guest says is not understood: %w", err)
		}
		switch {
		case m.Kind == wire.Broken:
			return errors.New("in the guest: " + m.Text)
		case m.Kind == wire.Up:
			isUp()
			conn.SetReadDeadline(time.Time{})
			if input != nil {
				go input(gob.NewEncoder(conn))
			}
		default:
			if done, err := handle(m); done || err != nil {
				return err
			}
		}
		if silence > 0 {
			conn.SetReadDeadline(time.Now().Add(silence))
		}
	}
}

// lastBytes keeps the last limit bytes of what is written to it, without carriage returns.
type lastBytes struct {
	mu    sync.Mutex
	limit int
	data  []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, bytes.ReplaceAll(p, []byte("\r"), nil)...)
	l.data = tail(l.data, l.limit)
	return len(p), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}

// saveTerminal returns a function that restores the terminal's present state. QEMU does
// that itself, unless it is killed.
func saveTerminal() (restore func(), err error) {
	state, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	return func() { unix.IoctlSetTermios(0, unix.TCSETSW, state) }, nil
}
