package test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// at is the time of a line of the log.
func (l jsonLine) at(t *testing.T) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, l["time"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// msgs are the lines of a log whose message contains a text.
func msgs(t *testing.T, log, text string) (found []jsonLine) {
	t.Helper()
	for _, line := range jsonLines(t, log) {
		if strings.Contains(line["msg"].(string), text) {
			found = append(found, line)
		}
	}
	return found
}

// Each 5 s of a drain there is a line, and not only once: of 12 s there are two.
func TestProgressIsLoggedEachFiveSeconds(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--grace=60", "--", workerBin, "listen", "-drain", "12s", "-exit", "7"}})
		p.waitOut(`^ready`)
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		lines := msgs(t, p.err(), "1 process left (worker[")
		if len(lines) < 2 {
			t.Fatalf("%d lines, want 2 in 12 s:\n%s", len(lines), p.err())
		}
		before := jsonLines(t, p.err())[0].at(t)
		for _, line := range lines {
			if apart := line.at(t).Sub(before); apart < 4*time.Second || apart > 6*time.Second {
				t.Errorf("%v after the line before, want 5s: %v", apart, line)
			}
			before = line.at(t)
		}
	})
}

// A worker that a shell became is named as what it is when it dies, however soon that is after
// its exec: as the kernel names it in its own log.
func TestKilledWorkerIsNamedAsWhatItHasBecome(t *testing.T) {
	need(t, "python3", "sh")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{longGrace, "--", "sh", "-c",
			`exec python3 -uc 'import os, time; print("ready", os.getpid()); time.sleep(3600)'`}})
		worker := p.readyPid(`^ready`)
		time.Sleep(500 * time.Millisecond) // what is tested
		name := comm(worker)
		if !strings.HasPrefix(name, "python3") {
			t.Fatalf("the worker is called %q", name)
		}
		if err := unix.Kill(worker, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.wantExit(137)
		p.wantLogged(`"msg":"`+name+`\[\d+\] was killed by SIGKILL`, 1)
		p.wantLogged(`\bsh\[`, 0)
	})
}
