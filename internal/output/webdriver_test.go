package output

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// browser is a chromium that a test drives through chromedriver, in the JSON
// of the W3C WebDriver recommendation.
type browser struct {
	t       *testing.T
	session string // URL of the session
}

// elementKey names an element in JSON (WebDriver, "Elements").
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// openBrowser starts a browser that ends with the test, or skips the test.
func openBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	for _, program := range []string{"chromium", "chromedriver"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	driver := exec.Command("chromedriver", "--port=0")
	out, err := driver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		driver.Process.Kill()
		driver.Wait()
	})
	port := make(chan int, 1)
	go readPort(out, port)
	b := &browser{t: t}
	select {
	case p := <-port:
		b.session = fmt.Sprintf("http://127.0.0.1:%d/session", p)
	case <-time.After(testlimit.End):
		t.Fatal("chromedriver names no port")
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	b.call("POST", "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:loggingPrefs": map[string]string{"browser": "ALL", "performance": "ALL"},
		"goog:chromeOptions": map[string]any{"args": []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--force-device-scale-factor=1", fmt.Sprintf("--window-size=%d,%d", width, height),
			"--user-data-dir=" + t.TempDir(),
		}},
	}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	return b
}

// readPort finds the port that chromedriver chose in what it says, and reads on
// so that it never waits for a reader.
func readPort(out io.Reader, port chan<- int) {
	var said bytes.Buffer
	buf, found := make([]byte, 512), false
	for {
		n, err := out.Read(buf)
		if !found {
			said.Write(buf[:n])
			if _, after, ok := strings.Cut(said.String(), "successfully on port "); ok && strings.Contains(after, ".") {
				var p int
				fmt.Sscanf(after, "%d", &p)
				port <- p
				found = true
			}
		}
		if err != nil {
			return
		}
	}
}

// call sends a command and decodes the value of the answer.
func (b *browser) call(method, path string, body, value any) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	if body == nil {
		text = []byte("{}")
	}
	request, err := http.NewRequest(method, b.session+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	client := http.Client{Timeout: testlimit.End}
	answer, err := client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	var result struct{ Value json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %.500s", method, path, result.Value)
	}
	if value != nil {
		if err := json.Unmarshal(result.Value, value); err != nil {
			b.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

func (b *browser) open(file string) {
	b.t.Helper()
	b.call("POST", "/url", map[string]string{"url": "file://" + file}, nil)
}

// run runs the body of a function in the page and decodes what it returns.
func (b *browser) run(script string, value any, args ...any) {
	b.t.Helper()
	if args == nil {
		args = []any{}
	}
	b.call("POST", "/execute/sync", map[string]any{"script": script, "args": args}, value)
}

func (b *browser) text(id string) (text string) {
	b.t.Helper()
	b.run("return document.getElementById(arguments[0]).textContent", &text, id)
	return text
}

func (b *browser) find(css string) string {
	b.t.Helper()
	var found map[string]string
	b.call("POST", "/element", map[string]string{"using": "css selector", "value": css}, &found)
	return found[elementKey]
}

func (b *browser) click(css string) {
	b.t.Helper()
	b.call("POST", "/element/"+b.find(css)+"/click", nil, nil)
}

// key presses keys, as a keyboard does, wherever the focus is.
func (b *browser) key(keys string) {
	b.t.Helper()
	var actions []map[string]any
	for _, k := range keys {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(k)}, map[string]any{"type": "keyUp", "value": string(k)})
	}
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keyboard", "actions": actions}}}, nil)
}

// point moves the pointer to a place in the window and clicks there if asked.
func (b *browser) point(x, y float64, click bool) {
	b.t.Helper()
	actions := []map[string]any{{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}}
	if click {
		actions = append(actions, map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0})
	}
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]string{"pointerType": "mouse"}, "actions": actions}}}, nil)
}

// wait waits until an expression of the page is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(testlimit.End); ; time.Sleep(20 * time.Millisecond) {
		var holds bool
		b.run("return Boolean("+expression+")", &holds)
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("never became true: %s", expression)
		}
	}
}

// log returns the messages of one of chromedriver's logs since the last call.
func (b *browser) log(kind string) []string {
	b.t.Helper()
	var entries []struct{ Message string }
	b.call("POST", "/se/log", map[string]string{"type": kind}, &entries)
	var messages []string
	for _, e := range entries {
		messages = append(messages, e.Message)
	}
	return messages
}

// picture writes a screenshot into the directory that RINGTAP_PICTURES names,
// for someone to look at.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("RINGTAP_PICTURES")
	if dir == "" {
		return
	}
	var encoded string
	b.call("GET", "/screenshot", nil, &encoded)
	png, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/"+name+".png", png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// size makes the page as wide and high as a device of that size shows it, and
// light or dark.
func (b *browser) size(width, height int, dark bool) {
	b.t.Helper()
	b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.devtools("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

func (b *browser) devtools(command string, params map[string]any) {
	b.t.Helper()
	b.call("POST", "/goog/cdp/execute", map[string]any{"cmd": command, "params": params}, nil)
}
