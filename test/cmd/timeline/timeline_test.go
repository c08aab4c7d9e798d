package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// trace is of a tini above a start script, whose worker dies with the namespace.
const trace = `10 100.0 execve("/usr/bin/unshare", ["unshare"], 0x1 /* 3 vars */) = 0
11 100.5 execve("/nowhere/tini", ["tini"], 0x1 /* 3 vars */) = -1 ENOENT (No such file or directory)
11 101.0 execve("/usr/bin/tini", ["tini"], 0x1 /* 3 vars */) = 0
12 101.5 execve("/usr/bin/bash", ["bash", "start.sh"], 0x1 /* 3 vars */) = 0
13 102.0 execve("/usr/bin/node", ["node", "worker.js"], 0x1 /* 3 vars */) = 0
13 102.1 write(1, "job 1 begins\n", 13) = 13
13 103.1 write(1, "job 1 ends\n", 11) = 11
13 103.1 write(1, "job 2 begins\n", 13) = 13
12 104.0 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=1, si_uid=0} ---
12 104.0 +++ killed by SIGTERM +++
13 104.1 +++ killed by SIGKILL +++
11 104.2 +++ exited with 143 +++`

func TestPicture(t *testing.T) {
	p, _, _ := parse(trace)
	if words, _ := p.outcome(); words != "1 of 2 jobs lost" {
		t.Errorf("the outcome is %q", words)
	}
	want := map[string]string{"tini": "exited with 143", "bash": "killed by SIGTERM",
		"node": "killed by SIGKILL"}
	for _, l := range p.lanes {
		if l.outcome != want[l.name] {
			t.Errorf("%s %s, want %s", l.name, l.outcome, want[l.name])
		}
		if got, want := len(l.marks), map[string]int{"bash": 1}[l.name]; got != want {
			t.Errorf("%s has %d signals, want %d", l.name, got, want)
		}
	}
	if lost := p.lanes[2].jobs[1]; lost.class != "lost" || lost.to < 3.0 || lost.to > 3.2 {
		t.Errorf("the second job is %v", lost)
	}
	drawn := xml.NewDecoder(strings.NewReader(picture{seconds: 6, panels: []panel{p}}.svg()))
	for {
		if _, err := drawn.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}
