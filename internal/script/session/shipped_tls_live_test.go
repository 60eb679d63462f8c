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
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/perfevent/near"
)

func TestMain(m *testing.M) {
	near.Serve(map[string]near.New{exacttext.Visitor: exacttext.NewVisitors()})
	os.Exit(m.Run())
}

// tlsSizes are how many bytes the known process sends by TLS, one after the other, there and back.
var tlsSizes = []int{100, 4097, 16384}

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
	exchange(t, clientIn, serverOut, []byte("\x00end")) // the calls before have returned then
	exchange(t, serverIn, clientOut, []byte("\x00end"))
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
	out, _ := watched(t, knownIn("tls:"+dir), Options{Text: p.Text, File: p.Name, Near: true, Named: named}, "")
	for _, function := range []string{"READ/RECV", "WRITE/SEND"} {
		all := dataOf(out, function)
		for i := range tlsSizes { // in one piece or several
			n := 0
			for _, data := range all {
				n += strings.Count(data.String(), hex.EncodeToString(tlsData(i)))
			}
			if n != 2 { // once by each of the two
				t.Errorf("%s has the %d bytes %d times, want 2, of %q", function, tlsSizes[i], n, linesWith(out, "openssl"))
			}
		}
	}
	t.Logf("%d of %d calls' data were read late", len(linesWith(out, "~")), strings.Count(out, "----- DATA -----"))
}

// dataOf joins the hexadecimal data of a function's calls, of each process.
func dataOf(out, function string) map[string]*strings.Builder {
	all := map[string]*strings.Builder{}
	pid, data := "", false
	for line := range strings.Lines(out) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "~")
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "-----"):
			data = line == "----- DATA -----"
		case data && pid != "":
			all[pid].WriteString(line)
		case !data && len(words) > 3 && words[0] == function:
			if pid = words[3]; all[pid] == nil {
				all[pid] = &strings.Builder{}
			}
		case !data && len(words) > 0:
			pid = ""
		}
	}
	return all
}
