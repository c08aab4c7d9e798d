package inspect

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Whatever ends a rehearsal at whatever moment, nothing of it is left, neither the worker nor a command, and
// it gives no verdict.
func TestNothingIsLeftOfARehearsal(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	const worker = `$SIG{$_} = sub { select undef, undef, undef, 1; exit 0 } for qw(TERM INT); print ` +
		`STDERR "ready\n"; sleep 1 while 1`
	const command = "(sleep 100; :) & echo at hand; sleep 100"
	for moment, tt := range map[string]struct{ flags, reached []string }{
		"before it has settled": {nil, []string{"ready"}},
		"in --during":           {[]string{"--during", command}, []string{"ready", "at hand"}},
		"in the stop":           {nil, []string{"stopping: "}},
		"in --check":            {[]string{"--check", command}, []string{"stopped after", "at hand"}},
	} {
		for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGKILL} {
			t.Run(fmt.Sprint(unix.SignalName(sig), " ", moment), func(t *testing.T) {
				harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
					args := append(append([]string{"plan"}, tt.flags...), "--", "perl", "-e", worker)
					p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: args})
					for _, line := range tt.reached {
						p.WaitErr(line)
					}
					p.Signal(sig)
					status := p.Wait()
					if sig != unix.SIGKILL && (status != 1 || p.Out() != "" ||
						!strings.Contains(p.Err(), "drainit: no plan: ")) {
						t.Errorf("exit status %d:\n%s\n%s", status, p.Out(), p.Err())
					}
					p.WantNothingLeft()
				})
			})
		}
	}
}

// The rehearsal of npm start is the stop that comes: its application is signalled at once, each time.
func TestRehearsalOfNpmStart(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	harness.Need(t, "npm", "node")
	dir := t.TempDir()
	harness.WriteFile(t, dir+"/package.json",
		`{"name": "app", "version": "1.0.0", "scripts": {"start": "node app.js"}}`)
	harness.WriteFile(t, dir+"/app.js",
		`process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1e9);`)
	for range 10 {
		r := harness.RunToEnd(t, harness.Launch{Dir: dir,
			Args: harness.Words("plan --grace=12s -- npm start")})
		if r.Status != 0 || !harness.Matches(`(?m)^ +\d+ +node +TERM [0-2]\.\ds +`, r.Out) ||
			!harness.Matches(`\nsignals arrive: the stop took \d\.\ds\n\z`, r.Out) {
			t.Errorf("exit status %d:\n%s\n%s", r.Status, r.Out, r.Err)
		}
	}
}

// The verdict of docs/ci.md is what this start gets, but for the numbers: the grace period is 10 s here.
func TestVerdictOfThePage(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	harness.Need(t, "node")
	dir, page := t.TempDir(), harness.PageBlock(t, harness.Repo("docs", "ci.md"), "The verdict", "text")
	harness.WriteProgram(t, dir, "start.sh", 0o755, "#!/bin/sh\ntrap 'kill $b; wait' TERM\n"+
		"node app.js & node app.js & b=$!\nwait; wait\n")
	harness.WriteFile(t, dir+"/app.js", `process.on("SIGTERM", () => setTimeout(process.exit, 300, 0));
		setInterval(() => {}, 20);`)
	r := harness.RunToEnd(t, harness.Launch{Dir: dir, Args: harness.Words("plan --grace 10s -- ./start.sh")})
	same := func(text string) string {
		text = regexp.MustCompile(`, longer than[^\n]*`).ReplaceAllString(text, "")
		text = regexp.MustCompile(`\d+(\.\d+)?`).ReplaceAllString(text, "1")
		return strings.Join(strings.Fields(text), " ")
	}
	if r.Status != 1 || same(r.Out) != same(page) {
		t.Errorf("exit status %d:\n%s\nand docs/ci.md has\n%s", r.Status, r.Out, page)
	}
}
