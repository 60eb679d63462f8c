package session

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/ctypes"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/host/btf"
)

// defines returns the macros that bpftrace predefines. A program uses BPFTRACE_HAVE_BTF to decide
// whether it must define kernel structs itself.
func defines() map[string]string {
	if _, err := os.Stat(btf.Dir + "/vmlinux"); err != nil {
		return nil
	}
	return map[string]string{"BPFTRACE_HAVE_BTF": "1"}
}

// prepare parses, checks and plans the program. If the program is wrong, the error is a
// *syntax.Errors.
func (s *session) prepare() error {
	o := &s.opts
	var err error
	s.parsed, err = syntax.Parse(o.File, o.Text, syntax.Options{
		Defines:    defines(),
		Positional: o.Params,
		Includes:   o.Includes,
		Header:     s.header,
		Import:     s.read,
	})
	if err != nil {
		return err
	}
	if err := s.findRaw(); err != nil {
		return err
	}
	s.parsed.Config = append(s.parsed.Config, settings(o.Environ)...) // after the program's own settings, which they override
	if err := s.leaveOutMissing(); err != nil {
		return err
	}
	if err := s.expandTargets(); err != nil {
		return err
	}
	if err := s.filterProbes(); err != nil {
		return err
	}
	language := s.choose()
	kernel := &kernelTypes{}
	programs := live.NewProgramTypes()
	scope, err := ctypes.New(s.parsed, typesOf(s.parsed, kernel, programs))
	if err != nil {
		return err
	}
	s.names.enums = enums(s.parsed)
	host := &env{Scope: scope, kernel: kernel, programs: programs, enums: s.names.enums, memory: &s.kernel, files: s.files()}
	s.checked, err = check.Check(s.parsed, check.Options{
		Dialect: language, Unsafe: o.Unsafe, Params: o.Params, Named: o.Named, CPUs: runtime.NumCPU(), Env: host,
		Child: o.Child != 0, Nested: nested(), Missing: s.missing(), DebugInfo: s.dialect.DebugInfo,
		Untyped: func() bool { return kernel.open() == nil }, LeftOut: s.leftOut,
	})
	if err != nil {
		return err
	}
	if err := s.unexpected(); err != nil {
		return err
	}
	if err := s.place(host); err != nil {
		return err
	}
	if t := s.checked.Config.StrTrailer; t != show.Default().Trailer {
		s.dialect.Trailer = t // the program sets it
	}
	s.printer = show.NewPrinter(o.Stdout, o.Stderr, s.dialect, s.names)
	s.printer.JSON, s.printer.Mode, s.printer.Raw = o.JSON, o.Buffer, o.Raw
	s.machine, err = eval.New(s.checked, eval.Options{
		Dialect: language, Output: s.printer, Host: s, CPUs: runtime.NumCPU(), Child: o.Child, Seed: uint64(time.Now().UnixNano()),
		Deletes: s.dialect.Name == show.Current().Name, SeriesClock: variable(o.Environ, "BPFTRACE_DUMMY_TS_MAP"),
	})
	if err == nil {
		s.printer.Failed = s.machine.Interrupt
	}
	return err
}

// choose picks the dialect. In order of priority: Options.Dialect, the program's config block,
// Options.Otherwise, the default.
func (s *session) choose() check.Dialect {
	name := s.opts.Dialect
	for _, setting := range s.parsed.Config {
		if word, ok := setting.Value.(*syntax.Str); ok && setting.Name == "dialect" {
			name = cmp.Or(name, word.Value)
		}
	}
	s.dialect, _ = show.Find(cmp.Or(name, s.opts.Otherwise, "default"))
	if s.dialect.Name == "" {
		s.dialect = show.Default() // the checker reports the wrong name
	}
	return check.DialectOf(s.dialect)
}

// missing returns the default for missing_probes: the current release fails if a probe does not
// exist, older ones continue without it.
func (s *session) missing() string {
	if s.dialect.Name == show.Current().Name {
		return "error"
	}
	return "warn"
}

// read reads a file that a program imports, from the importing file's folder or from IncludeDirs.
func (s *session) read(from, path string) (name, text string, err error) {
	places := append([]string{filepath.Dir(from)}, s.opts.IncludeDirs...)
	if filepath.IsAbs(path) {
		places = []string{""}
	}
	for _, dir := range places {
		name = filepath.Join(dir, path)
		var b []byte
		if b, err = readBounded(name, maxImport); err == nil {
			return name, string(b), nil
		}
	}
	return "", "", err
}

// header reads a header from the folders of IncludeDirs, or by its path if Includes has that.
func (s *session) header(path string) (name, text string, ok bool) {
	places := s.opts.IncludeDirs
	if strings.Contains(path, "/") && slices.Contains(s.opts.Includes, path) {
		places = append([]string{""}, places...)
	}
	for _, dir := range places {
		name = filepath.Join(dir, path)
		if b, err := readBounded(name, maxImport); err == nil {
			return name, string(b), true
		}
	}
	return "", "", false
}

// maxImport bounds the size of an import, in bytes.
const maxImport = 1 << 20

func readBounded(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", name, limit)
	}
	return b, err
}

// place plans where the clauses of the program run. It returns an error for clauses that cannot
// run.
func (s *session) place(host plan.Host) error {
	var wrong []*syntax.Error
	s.events, wrong = plan.Make(s.checked, host)
	for i, c := range s.checked.Clauses {
		own := false
		for _, p := range c.Points {
			taken, err := s.points.add(i, p, s.dialect.Name)
			if err != nil {
				wrong = append(wrong, err)
			}
			own = own || taken
		}
		hit := &eval.Hit{PID: s.self, TID: s.self}
		if own {
			values, err := s.own(c, host)
			if err != nil {
				wrong = append(wrong, err)
			}
			hit.Values = values
		}
		s.hits = append(s.hits, hit)
	}
	if len(wrong) == 0 && len(s.hits) == 0 {
		wrong = append(wrong, &syntax.Error{Pos: syntax.Pos{File: s.opts.File, Line: 1, Col: 1}, Msg: "the program has no probe", Hint: "BEGIN { … } is one."})
	}
	if len(wrong) > 0 {
		return &syntax.Errors{List: wrong, Sources: s.parsed.Sources}
	}
	return nil
}
