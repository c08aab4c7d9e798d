package logging

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// pageOfMessages is docs/messages.md, which is made from the code.
func pageOfMessages(t *testing.T) string {
	t.Helper()
	return harness.TextOf(t, harness.Repo("docs", "messages.md"))
}

// The alert of the page finds what a clean stop does not have, in a log that has other lines, too, and
// shows what stands there. In a log of clean stops it finds nothing.
func TestAlertOfThePage(t *testing.T) {
	harness.Need(t, "jq", "perl")
	alert := regexp.MustCompile("(?s)jq (-\\w+) '([^']+)'\n```\n\n```\n(.*?)```").
		FindStringSubmatch(pageOfMessages(t))
	if alert == nil {
		t.Fatal("the page has no alert for jq")
	}
	const notDrainits = "42\n" +
		`{"level":"error","event":"ended","reason":"grace","status":1,"msg":"not drainit's"}` + "\n"
	const waits = `; echo ready; while :; do sleep 0.1; done`
	const late = `trap "wait $p; exit 0" TERM; perl -e '$SIG{TERM} = sub { exit 0 }; $| = 1; print ` +
		`"ready\n"; sleep 1 while 1' & p=$!; wait $p`
	log, clean := notDrainits, notDrainits
	for _, life := range []struct {
		script string // of the worker, or all of its words
		stop   syscall.Signal
		status int
	}{
		{`trap "" TERM` + waits, syscall.SIGTERM, 137}, {`kill -KILL $$`, 0, 137}, {`exit 3`, 0, 3},
		{"/no/such/file", 0, 127},
		{`trap "exit 4" TERM` + waits, syscall.SIGTERM, 4}, {"perl -e $|=1;print(qq(ready\\n));sleep(100)",
			syscall.SIGTERM, 143}, {late, syscall.SIGTERM, 0},
		{`exit 0`, 0, 0}, {`trap "exit 0" TERM` + waits, syscall.SIGTERM, 0},
		{`sleep 1 & echo ready; wait; exit 0`, 0, 0},
		{`trap "" TERM` + waits, syscall.SIGKILL, -1},
	} {
		command, grace := []string{"sh", "-c", life.script}, "--grace=10s"
		if first, _, _ := strings.Cut(life.script, " "); first == "perl" || first == "/no/such/file" {
			command = strings.Fields(life.script)
		}
		if life.status == 137 {
			grace = "--grace=300ms"
		}
		p := harness.Run(t, harness.Launch{NoPID1: life.stop != syscall.SIGKILL,
			Args: append([]string{grace, "--"}, command...)})
		if life.stop != 0 {
			p.WaitOut(`^ready`)
			harness.WaitUntil(t, "the worker has started", func() bool { return p.FirstChild() != 0 })
			p.Signal(syscall.SIGTERM)
		}
		if life.stop == syscall.SIGKILL { // by the platform, whose limit was over first
			p.WaitErr(`"stopping: `)
			p.Signal(syscall.SIGKILL)
			p.Wait()
		} else {
			p.WantExit(life.status)
		}
		if log += p.Out() + p.Err(); life.status == 0 && life.script != late {
			clean += p.Out() + p.Err()
		}
	}
	for log, want := range map[string]string{log: alert[3], clean: ""} {
		jq := exec.Command("jq", alert[1], alert[2])
		jq.Stdin = strings.NewReader(log)
		if found, err := jq.CombinedOutput(); err != nil || string(found) != want {
			t.Errorf("%v, found\n%swant\n%sin\n%s", err, found, want, log)
		}
	}
}

func TestPageHasEveryKey(t *testing.T) {
	page := pageOfMessages(t)
	for key := range harness.JSONKeys {
		if !regexp.MustCompile("(?m)^\\| (`\\w+`, )?`" + key + "`[,| ]").MatchString(page) {
			t.Errorf("%s is not in the table of keys", key)
		}
	}
}
