package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

var (
	usecsPerOp = regexp.MustCompile(`([0-9.]+) usecs/op`)
	tps        = regexp.MustCompile(`tps = ([0-9.]+)`)
)

// firstNumber returns the number that a pattern finds first in a tool's output.
func firstNumber(text []byte, pattern *regexp.Regexp) (float64, error) {
	m := pattern.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("no %q in %q", pattern, text)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// postgres is a server in a directory of its own, reached by a socket there.
type postgres struct {
	bin, dir string
	server   *background
}

// command is the command line of a program of postgres, which refuses root.
func (p *postgres) command(program string, args ...string) []string {
	return append([]string{"-u", "postgres", "--", filepath.Join(p.bin, program)}, args...)
}

// startPostgres makes a database of 500,000 rows and starts its server.
func (b *bench) startPostgres(ctx context.Context) (_ *postgres, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, errors.New("postgresql is not installed")
	}
	p := &postgres{bin: found[len(found)-1]}
	if p.dir, err = os.MkdirTemp("", "ringtap-bench-postgres"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if _, err := run(ctx, nil, "chown", "postgres", p.dir); err != nil {
		return nil, err
	}
	data := filepath.Join(p.dir, "data")
	if _, err := run(ctx, nil, "runuser", p.command("initdb", "-D", data, "-A", "trust")...); err != nil {
		return nil, err
	}
	p.server, err = launch(ctx, nil, "runuser", p.command("postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off")...)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		_, err := run(ctx, nil, "runuser", p.command("pg_isready", "-q", "-h", p.dir)...)
		if err == nil {
			break
		}
		if tries == 100 || ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, err = run(ctx, nil, "runuser", p.command("pgbench", "-h", p.dir, "-q", "-i", "-s", "5", "postgres")...)
	return p, err
}

// transaction returns the microseconds that a transaction of four clients takes of
// the server's time: what they all do in a second, turned round.
func (p *postgres) transaction(ctx context.Context) (float64, error) {
	r, err := run(ctx, nil, "runuser", p.command("pgbench", "-h", p.dir, "-n", "-S", "-c", "4", "-T", "5", "postgres")...)
	if err != nil {
		return 0, err
	}
	rate, err := firstNumber(r.stdout, tps)
	return 1e6 / rate, err
}

// stop ends the server and removes its files.
func (p *postgres) stop() error {
	var err error
	if p.server != nil {
		_, err = p.server.stop()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
