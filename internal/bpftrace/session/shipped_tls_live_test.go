package session

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{
		athit.Visitor:    athit.NewVisitors(),
		atsample.Visitor: atsample.NewVisitors(languages.Detectors()),
	})
	os.Exit(m.Run())
}

// tlsSizes are how many bytes the known process sends by TLS, one after the other, there and back.
var tlsSizes = []int{100, 4097, 16384}

// tlsEnd is what it sends last. Nobody waits for the end of these calls.
var tlsEnd = []byte("\x00end")

// tlsData is what it sends: binary, and never the same.
func tlsData(i int) []byte {
	data := make([]byte, tlsSizes[i])
	random := rand.New(rand.NewPCG(1, uint64(i)))
	for j := range data {
		data[j] = byte(random.Uint32())
	}
	data[0] = 0 // s_server takes some letters for commands
	return data
}

// TestKnownTLS is a process that has OpenSSL's client and server exchange known data.
func TestKnownTLS(t *testing.T) {
	dir, ok := strings.CutPrefix(os.Getenv("SESSION_KNOWN"), "tls:")
	if !ok {
		t.Skip("this is a program of the live tests")
	}
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	server, serverIn, serverOut := startTLS(t, "s_server", "-accept", "127.0.0.1:0", "-naccept", "1",
		"-cert", filepath.Join(dir, "cert.pem"), "-key", filepath.Join(dir, "key.pem"))
	said := ""
	for !strings.HasPrefix(said, "ACCEPT ") { // ACCEPT 127.0.0.1:PORT
		var err error
		if said, err = serverOut.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	client, clientIn, clientOut := startTLS(t, "s_client", "-quiet", "-connect", strings.TrimSpace(strings.TrimPrefix(said, "ACCEPT ")))
	for i := range tlsSizes {
		exchange(t, clientIn, serverOut, tlsData(i))
		exchange(t, serverIn, clientOut, tlsData(i))
	}
	exchange(t, clientIn, serverOut, tlsEnd) // the calls before have returned then
	exchange(t, serverIn, clientOut, tlsEnd)
	fmt.Println("done")
	_, _ = input.ReadString('\n')
	clientIn.Close()
	serverIn.Close()
	_ = errors.Join(client.Wait(), server.Wait())
}

func startTLS(t *testing.T, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	cmd := exec.Command("openssl", args...)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewReader(out)
}

// exchange sends data and waits until it is there. Before it s_server says what was negotiated.
func exchange(t *testing.T, to io.Writer, from *bufio.Reader, data []byte) {
	if _, err := to.Write(data); err != nil {
		t.Fatal(err)
	}
	for got := []byte(nil); !bytes.HasSuffix(got, data); {
		b, err := from.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b)
	}
}

func TestLiveSslsniffShowsWhatIsSentAndReceived(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	makeKey := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
		"-keyout", filepath.Join(dir, "key.pem"), "-out", filepath.Join(dir, "cert.pem"))
	if out, err := makeKey.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := shippedNamed(t, "sslsniff")
	named := map[string]string{"hexdump": "true", "max-buffer-size": "16384", "comm": "openssl"}
	out, _ := watched(t, knownIn("tls:"+dir), Options{Text: p.Text, File: p.Name, Named: named}, "")
	shown, late := 0, 0
	for _, function := range []string{"READ/RECV", "WRITE/SEND"} {
		of := tlsCallsOf(t, out, function)
		if len(of) != 2 {
			t.Errorf("%s of %d processes, want the client and the server: %q", function, len(of), linesWith(out, "openssl"))
		}
		for pid, calls := range of {
			shown += len(calls)
			late += checkTLSCalls(t, function+" of process "+pid, calls)
		}
	}
	if t.Logf("%d of %d calls were read late", late, shown); late > shown/2 {
		t.Errorf("%d of %d calls were read late, want at most half", late, shown)
	}
}

// tlsCall is a call as sslsniff shows it. The data of one that was read late may be anything.
type tlsCall struct {
	length int
	late   bool
	data   string // hexadecimal
}

// tlsCallsOf returns a function's calls in each process, in their order.
func tlsCallsOf(t *testing.T, out, function string) map[string][]tlsCall {
	of := map[string][]tlsCall{}
	pid, data := "", false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "-----"):
			data = line == "----- DATA -----"
		case data && pid != "":
			call := &of[pid][len(of[pid])-1]
			call.late = call.late || strings.HasPrefix(line, "~")
			call.data += strings.TrimPrefix(line, "~")
		case !data && len(words) > 4 && words[0] == function:
			pid = words[3]
			length, err := strconv.Atoi(words[4])
			if err != nil {
				t.Fatalf("%v, in %q", err, line)
			}
			of[pid] = append(of[pid], tlsCall{length: length})
		case !data && len(words) > 0:
			pid = ""
		}
	}
	return of
}

// checkTLSCalls checks that together the calls are the known data, whole, and that every
// call shows its part of it or is marked as late. It returns how many are marked.
func checkTLSCalls(t *testing.T, what string, calls []tlsCall) (late int) {
	var known []byte
	for i := range tlsSizes {
		known = append(known, tlsData(i)...)
	}
	all, at := append(known, tlsEnd...), 0
	for i, call := range calls {
		if at+call.length > len(all) {
			t.Fatalf("%s: call %d ends at byte %d, of %d that were sent", what, i, at+call.length, len(all))
		}
		if want := hex.EncodeToString(all[at : at+call.length]); call.late {
			late++
		} else if call.data != want {
			t.Errorf("%s: call %d is not marked as late and shows %q, want %q", what, i, call.data, want)
		}
		at += call.length
	}
	if at < len(known) {
		t.Errorf("%s: %d calls show %d bytes, of %d that were sent", what, len(calls), at, len(known))
	}
	return late
}
