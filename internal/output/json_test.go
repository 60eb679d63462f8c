package output

import (
	"bytes"
	"encoding/json"
	"testing"
)

func jsonText(t *testing.T, f func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSON(t *testing.T) {
	text := jsonText(t, func(b *bytes.Buffer) error { return writeJSON(b, sample(), FileOptions{}) })
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.json", indented.Bytes())
}

// TestJSONHoldsTheWholeProfile sums through the tables as a reader would.
func TestJSONHoldsTheWholeProfile(t *testing.T) {
	p := forest(31, 200)
	var got jsonProfile
	if err := json.Unmarshal(jsonText(t, func(b *bytes.Buffer) error { return writeJSON(b, p, FileOptions{}) }), &got); err != nil {
		t.Fatal(err)
	}
	for m := range p.Metrics {
		var sum uint64
		for _, r := range got.Rows {
			sum += r.Values[m]
		}
		if sum != total(p, m) {
			t.Errorf("metric %d sums to %d, want %d", m, sum, total(p, m))
		}
	}
	for i, r := range p.Rows {
		if r.User < 0 {
			continue
		}
		for n, f := range p.Stacks[r.User].Frames {
			if name := got.Frames[got.Stacks[got.Rows[i].User].Frames[n]].Name; name != p.Frames[f].Name {
				t.Fatalf("row %d frame %d is %q, want %q", i, n, name, p.Frames[f].Name)
			}
		}
	}
}

func TestJSONOfAnEmptyProfileHasEmptyLists(t *testing.T) {
	p := sample()
	p.Objects, p.Frames, p.Stacks, p.Processes, p.Rows, p.Accounts, p.Notes = nil, nil, nil, nil, nil, nil, nil
	text := jsonText(t, func(b *bytes.Buffer) error { return writeJSON(b, p, FileOptions{}) })
	if bytes.Contains(text, []byte("null")) {
		t.Errorf("a reader would have to expect null: %s", text)
	}
}

func TestJSONCarriesNoHostileText(t *testing.T) {
	text := jsonText(t, func(b *bytes.Buffer) error { return writeJSON(b, hostile(), FileOptions{}) })
	checkVisible(t, string(text), "\n")
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			checkVisible(t, v, "")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
}
