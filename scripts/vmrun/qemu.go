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

	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/scripts/vmrun/wire"
)

// guest is a machine to be started.
type guest struct {
	kernel   kernel
	vmlinuz  string
	initrd   string
	pages    int64  // that the files in it take once they are unpacked
	append   string // more of the kernel's command line
	cpus     int
	memory   int    // MiB; 0 for what its files need
	dir      string // private, for sockets
	terminal bool   // the console is this process's terminal
	// instructions has the guest's clocks count instructions, a nanosecond each.
	instructions bool
	tools        *tools
	kvm          kvm
	silence      time.Duration // a guest that says nothing for so long hangs; 0: it may
}

// run boots the guest, hands on its messages until one says that it is done,
// and ends it. The context's end kills it. Where the host's CPUs can't run the
// guest, QEMU emulates it. An emulated guest that does not come up is booted once
// more: it hangs now and then.
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

// sizeMemory gives the guest the memory that its files need and room for what its programs do, where it has no
// size, and is an error where its size is too small. The kernel unpacks the files into half of the memory that
// it and they leave (fs/ramfs, mm/shmem.c), and does not say that there is too little.
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

// boot is run with one way to execute the guest's instructions. It tells whether
// the guest came up.
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
		// The kernel waits for a grace period of RCU at each probe that comes or goes. Expedited ones
		// take a fifth of the time from tests of probes.
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
	// The guest does not outlive this process, whatever ends that.
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
		// What it said last may still be on its way.
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

// converse accepts the guest's connection and hands on what it says. isUp is
// called once, when it says that it is up; before that it may say nothing for
// bootTime, and after that for silence.
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

// lastBytes keeps the end of what is written to it, without carriage returns.
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

// saveTerminal returns what puts the terminal back as it is now: QEMU does so
// itself unless it is killed.
func saveTerminal() (restore func(), err error) {
	state, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	return func() { unix.IoctlSetTermios(0, unix.TCSETSW, state) }, nil
}
