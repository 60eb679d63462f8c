package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// postgres is a server of PostgreSQL in a control group.
type postgres struct {
	bin, dir, group string
	owner           *syscall.Credential
}

// startPostgres makes a database and starts a server of its own for it.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		t.Skip("postgresql is not installed")
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Skip(err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	dir, err := os.MkdirTemp("", "ringtap-postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{filepath.Dir(found[len(found)-1]), dir, filepath.Join(truth.Cgroup2(t), "ringtap-test-"+strconv.Itoa(os.Getpid())), &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	p.run(t, "initdb", "-D", dir+"/data", "-A", "trust", "--no-sync")
	if err := os.Mkdir(p.group, 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	t.Cleanup(func() {
		if err := removeGroup(p.group); err != nil {
			t.Error(err)
		}
	})
	group, err := os.Open(p.group)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	server := p.command("postgres", "-D", dir+"/data", "-k", dir, "-c", "listen_addresses=", "-c", "autovacuum=off")
	server.SysProcAttr.UseCgroupFD, server.SysProcAttr.CgroupFD = true, int(group.Fd())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(unix.SIGINT); _ = server.Wait() })
	for end := time.Now().Add(testlimit.End); p.command("pg_isready", "-h", dir).Run() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("postgres does not become ready")
		}
	}
	p.run(t, "pgbench", "-h", dir, "-i", "-q", "postgres")
	return p
}

// command makes a command of postgres's own user.
func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner, Setpgid: true}
	return cmd
}

func (p *postgres) run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := p.command(name, args...)
	late := time.AfterFunc(testlimit.End, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	defer late.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// postgresScript has bpftrace count what postgres's processes read and write, and
// their calls of a function, whose name is missing.
const postgresScript = `
tracepoint:syscalls:sys_exit_pread64, tracepoint:syscalls:sys_exit_pwrite64, tracepoint:syscalls:sys_exit_recvfrom, tracepoint:syscalls:sys_exit_sendto
/comm == "postgres" && args->ret > 0/ { @bytes = sum(args->ret); }
uprobe:%s { @calls = count(); }
BEGIN { printf("ready\n"); }`

// PostgreSQL's processes come and go while a benchmark runs: what collectors say of
// their control group, and of the function that ends their transactions, is what
// bpftrace says.
func TestPeerPostgresSaysWhatBpftraceSays(t *testing.T) {
	needTracefs(t, "uprobe_events")
	if _, err := exec.LookPath("bpftrace"); err != nil {
		t.Skip("bpftrace is not installed")
	}
	p := startPostgres(t)
	testlimit.Lossless(t, func() uint64 { return p.agrees(t) })
}

// agrees compares what both say of a benchmark, unless records were lost, and returns how
// many.
func (p *postgres) agrees(t *testing.T) (lost uint64) {
	t.Helper()
	function := filepath.Join(p.bin, "postgres") + ":CommitTransactionCommand"
	var theirs bytes.Buffer
	bpftrace := exec.Command("bpftrace", "-e", fmt.Sprintf(postgresScript, function))
	bpftrace.Stdout, bpftrace.Stderr = &theirs, os.Stderr
	if err := bpftrace.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bpftrace.Process.Kill(); _ = bpftrace.Wait() })
	run := startCollectors(t, []string{"io", "off-cpu", "probe", "--count", function}, "-g", p.group)
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	awaitPoll(ctx, t, bpftrace.Process.Pid) // its probes can't be seen
	// The rate is the test's: each transaction makes 80 samples with stacks, and at 200 a second
	// ringtap needs most of a CPU, which it does not get beside other tests.
	const clients, transactions, perSecond = 4, 50, 50
	p.run(t, "pgbench", "-h", p.dir, "-n", "-c", strconv.Itoa(clients), "-t", strconv.Itoa(transactions), "-R", strconv.Itoa(perSecond), "postgres")
	profile, said := run.end(t)
	endBpftrace(t, bpftrace)
	var bytesMoved, calls, waited uint64
	backends := 0
	for _, process := range profile.Processes {
		if process.Comm != "postgres" {
			t.Errorf("process %d of the group is %q", process.PID, process.Comm)
		}
		for _, name := range []string{"pread", "pread64", "pwrite", "pwrite64", "recv", "send"} {
			bytesMoved += profile.below(process.PID, "IOSize", name)
		}
		committed := profile.below(process.PID, function+"Count", "CommitTransactionCommand")
		if calls += committed; committed >= transactions {
			backends++
		}
		waited += profile.below(process.PID, "OffCPUTime", "pwrite") + profile.below(process.PID, "OffCPUTime", "fdatasync")
	}
	t.Logf("%d bytes and %d calls here, %d ns in writes\n%s", bytesMoved, calls, waited, theirs.String())
	if lost := profile.lost(); lost > 0 {
		t.Log(said)
		return lost
	}
	// A process in the background may write between one's end and the other's.
	if want := bpftraceNumber(t, theirs.String(), "bytes"); bytesMoved < want-want/100 || bytesMoved > want+want/100 {
		t.Errorf("%d bytes, and %d by bpftrace", bytesMoved, want)
	}
	if want := bpftraceNumber(t, theirs.String(), "calls"); calls != want || calls < clients*transactions || backends < clients {
		t.Errorf("%d calls by %d processes with as many as there were transactions; %d by bpftrace, and %d clients", calls, backends, want, clients)
	}
	if t.Failed() {
		t.Log(strings.TrimSpace(said))
	}
	return 0
}
