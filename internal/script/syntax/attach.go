package syntax

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// provider is a kind of attach point with the names that it goes by in either dialect.
type provider struct {
	name  string
	short []string
	paths bool // its words may have slashes
	alone bool // it has no words
}

func providers() []provider {
	return []provider{
		{name: "begin", short: []string{"BEGIN"}, alone: true},
		{name: "end", short: []string{"END"}, alone: true},
		{name: "self"},
		{name: "test"},
		{name: "bench"},
		{name: "hardware", short: []string{"h"}},
		{name: "software", short: []string{"s"}},
		{name: "interval", short: []string{"i"}},
		{name: "profile", short: []string{"p"}},
		{name: "iter", short: []string{"it"}, paths: true},
		{name: "fentry", short: []string{"f", "kfunc"}},
		{name: "fexit", short: []string{"fr", "kretfunc"}},
		{name: "kprobe", short: []string{"k"}},
		{name: "kretprobe", short: []string{"kr"}},
		{name: "rawtracepoint", short: []string{"rt"}},
		{name: "tracepoint", short: []string{"t"}},
		{name: "uprobe", short: []string{"u"}, paths: true},
		{name: "uretprobe", short: []string{"ur"}, paths: true},
		{name: "usdt", short: []string{"U"}, paths: true},
		{name: "watchpoint", short: []string{"w"}, paths: true},
		{name: "asyncwatchpoint", short: []string{"aw"}, paths: true},
	}
}

// findProvider returns the provider of a full or short name.
func findProvider(word string) (provider, bool) {
	for _, p := range providers() {
		if p.name == word {
			return p, true
		}
		for _, short := range p.short {
			if short == word {
				return p, true
			}
		}
	}
	return provider{}, false
}

// attachPoints reads attach points, which are text of their own, to the predicate or block.
func (p *parser) attachPoints() []*AttachPoint {
	var points []*AttachPoint
	for {
		p.asText()
		if point := p.attachPoint(); point != nil {
			points = append(points, point)
		}
		if !p.got(",") || p.peek().is("{") || p.peek().is("/") {
			break
		}
	}
	if t := p.peek(); !t.is("{") && !t.is("/") {
		p.unexpected(`",", a predicate or "{" after the probe`)
	}
	return points
}

// asText forgets the tokens read ahead, so that the lexer reads on as text.
func (p *parser) asText() {
	t := p.peek()
	if t.pos.File != p.pre.lex.file {
		p.unexpected("a probe")
	}
	p.pre.lex.back(t)
	p.pre.pending = nil
	p.tokens, p.i = p.tokens[:0], 0
}

// words collects the parts of an attach point.
type words struct {
	parts []string
	part  strings.Builder
}

func (w *words) cut() {
	w.parts = append(w.parts, w.part.String())
	w.part.Reset()
}

// attachPoint reads one attach point. It returns nil after an error that does not hinder
// reading on.
func (p *parser) attachPoint() *AttachPoint {
	l := p.pre.lex
	start := token{pos: l.pos(), off: l.off}
	point := &AttachPoint{Pos: start.pos}
	var w words
	var kind provider
	known := false
	for l.off < len(l.text) {
		c := l.text[l.off]
		if c == '=' && len(w.parts) == 0 && point.Name == "" {
			point.Name = w.part.String()
			w.part.Reset()
			l.off++
			continue
		}
		if c == '{' || c == ',' || c == ';' || c == '}' || isBlank(c) || c == '\n' || c == '/' && !kind.paths {
			break
		}
		switch {
		case c == ':':
			l.off++
			w.cut()
			if len(w.parts) == 1 {
				kind, known = findProvider(w.parts[0])
			}
			continue
		case c == '@' && len(w.parts) == 1 && kind.name == "uprobe":
			w.cut()
			w.parts = append(w.parts, "@")
		case c == '"':
			p.quotedWord(&w)
			continue
		case c == '$' && p.parameter(&w):
			continue
		default:
			w.part.WriteByte(c)
		}
		l.off++
	}
	w.cut()
	start.length = l.off - start.off
	if start.length == 0 {
		p.unexpected("a probe such as kprobe:f, interval:s:1 or begin")
	}
	if len(w.parts) == 1 {
		kind, known = findProvider(w.parts[0])
	}
	if !known {
		p.unknownProvider(start, w.parts[0])
		return nil
	}
	point.Provider, point.Args = kind.name, w.parts[1:]
	point.Text = strings.Join(append([]string{kind.name}, point.Args...), ":")
	if at := len(point.Args); at > 1 && point.Args[1] == "@" {
		point.Text = strings.Replace(point.Text, ":@:", "@", 1)
	}
	switch {
	case kind.alone && len(point.Args) > 0:
		p.report(start, kind.name+" takes no words after it", "")
	case !kind.alone && len(point.Args) == 0:
		p.report(start, kind.name+" needs a colon and what to attach to", "")
	}
	return point
}

// quotedWord reads a quoted part of an attach point.
func (p *parser) quotedWord(w *words) {
	l := p.pre.lex
	start := token{pos: l.pos(), off: l.off, length: 1}
	for l.off++; l.off < len(l.text); l.off++ {
		switch c := l.text[l.off]; {
		case c == '\n':
			p.fail(start, "the quote is not closed")
		case c == '"':
			l.off++
			return
		case c == '\\' && l.off+1 < len(l.text) && l.text[l.off+1] != '\n':
			l.off++
			w.part.WriteByte(l.text[l.off])
		default:
			w.part.WriteByte(c)
		}
	}
	p.fail(start, "the quote is not closed")
}

// parameter puts a positional parameter in an attach point. It returns false if this is none.
func (p *parser) parameter(w *words) bool {
	l := p.pre.lex
	n := 1
	for l.off+n < len(l.text) && isDigit(l.text[l.off+n]) {
		n++
	}
	if n == 1 {
		return false
	}
	i, err := strconv.Atoi(l.text[l.off+1 : l.off+n])
	t := token{pos: l.pos(), off: l.off, length: n}
	if err != nil || i < 1 {
		p.fail(t, "parameters are $1, $2 and so on")
	}
	l.off += n
	if i <= len(p.options.Positional) {
		w.part.WriteString(p.options.Positional[i-1])
	}
	return true
}

// unknownProvider records the error with the name that was meant, perhaps.
func (p *parser) unknownProvider(t token, word string) {
	hint := ""
	nearest := names.NewNearest(strings.ToLower(word), 1+len(word)/3, 1, nil)
	for _, known := range providers() {
		nearest.Add(known.name)
	}
	if found := nearest.Names(); len(found) > 0 {
		hint = "Did you mean " + found[0] + "?"
	}
	t.length = min(t.length, max(len(word), 1))
	what := "there is no probe type " + strconv.Quote(shorten(word, 40))
	if word == "" {
		what = "a probe begins with its type, such as kprobe"
	}
	p.report(t, what, hint)
}
