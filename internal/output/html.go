package output

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

//go:embed page
var page embed.FS

// scripts are the parts of the page's single script, in order of dependency.
func scripts() []string {
	return []string{"format.js", "model.js", "colour.js", "graph.js", "functions.js", "page.js"}
}

// writeHTML writes p as one self-contained page with a flame graph, which can be zoomed and
// searched, and a table of functions. The page needs no other file and no network, and declares
// that to the browser (Content-Security-Policy). Text from profiled processes is data, never
// markup.
func writeHTML(w io.Writer, p *profile.Profile, opts FileOptions) error {
	if err := Check(p); err != nil {
		return err
	}
	p = addable(p)
	metric, err := opts.metric(p)
	if err != nil {
		return err
	}
	heading, err := htmlHeading(p)
	if err != nil {
		return err
	}
	// json.Marshal escapes <, >, & and U+2028, so no text can end the script.
	data, err := json.Marshal(pageDataOf(p, grow(p, opts.Inlines), metric, opts.Inlines))
	if err != nil {
		return fmt.Errorf("encode page data: %w", err)
	}
	heading.Data = template.JS(data)
	t, err := template.ParseFS(page, "page/page.html")
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	if err := t.Execute(w, heading); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// htmlPage is the data of the template.
type htmlPage struct {
	Title, Collector string
	Facts            []fact
	Accounts, Notes  []string
	Lost             bool
	Metrics          []string

	Policy string // Content-Security-Policy
	Style  template.CSS
	Script template.JS
	Data   template.JS
}

// fact is one line of the heading.
type fact struct{ Name, Value string }

func htmlHeading(p *profile.Profile) (*htmlPage, error) {
	style, err := page.ReadFile("page/style.css")
	if err != nil {
		return nil, fmt.Errorf("read page style: %w", err)
	}
	var script strings.Builder
	for _, name := range scripts() {
		text, err := page.ReadFile("page/" + name)
		if err != nil {
			return nil, fmt.Errorf("read page script: %w", err)
		}
		script.Write(text)
	}
	h := &htmlPage{
		Title:     title(p),
		Collector: escape.Text(p.Collector),
		Facts:     facts(p),
		Accounts:  accountLines(p),
		Style:     template.CSS(style),
		Script:    template.JS(script.String()),
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'",
			hash(script.String()), hash(string(style))),
	}
	for i := range p.Accounts {
		h.Lost = h.Lost || p.Accounts[i].Lost > 0
	}
	for _, note := range p.AllNotes() {
		h.Notes = append(h.Notes, escape.Text(note))
	}
	for i := range p.Metrics {
		h.Metrics = append(h.Metrics, escape.Text(p.Metrics[i].Name))
	}
	return h, nil
}

func title(p *profile.Profile) string {
	title := escape.Text(p.Collector)
	if p.Host != "" {
		title += " on " + escape.Text(p.Host)
	}
	return title + startText(p, ", 2006-01-02 15:04:05")
}

// startText formats the start of a profile; "" if it is not known.
func startText(p *profile.Profile, layout string) string {
	if p.Start.IsZero() {
		return ""
	}
	return p.Start.Format(layout)
}

func facts(p *profile.Profile) []fact {
	duration := ""
	if p.Duration > 0 {
		duration = short(p.Duration)
	}
	all := []fact{
		{"Host", escape.Text(p.Host)},
		{"Begin", startText(p, "2006-01-02 15:04:05 -07:00")},
		{"Duration", duration},
		{"Event", escape.Text(p.Event)},
		{"Command", escape.Text(p.Command)},
	}
	var known []fact
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

// hash returns the Content-Security-Policy source of an inline script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
