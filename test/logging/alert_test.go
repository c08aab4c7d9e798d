package logging

import (
	"os"
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
	text, err := os.ReadFile(harness.Repo("docs", "messages.md"))
	fatalIf(t, err)
	return string(text)
}

// The alert of the page finds the ends that were no clean stop in a log that has other lines, too, and shows
// what stands there.
func TestAlertOfThePage(t *testing.T) {
	harness.Need(t, "jq")
	alert := regexp.MustCompile("(?s)jq (-\\w+) '([^']+)'\n```\n\n```\n(.*?)```").FindStringSubmatch(pageOfMessages(t))
	if alert == nil {
		t.Fatal("the page has no alert for jq")
	}
	log := "42\n" + `{"level":"error","event":"ended","reason":"grace","msg":"not drainit's"}` + "\n"
	const waits = `; echo ready; while :; do sleep 0.1; done`
	for _, life := range []struct {
		script string // of the worker, "" for none
		status int
	}{
		{`trap "" TERM` + waits, 137}, {`kill -KILL $$`, 137}, {`exit 3`, 3}, {"", 127},
		{`trap "exit 4" TERM` + waits, 4}, {`exit 0`, 0},
	} {
		args := []string{"--grace=300ms", "--", "sh", "-c", life.script}
		if life.script == "" {
			args = []string{"/no/such/file"}
		}
		p := harness.Run(t, harness.Launch{NoPID1: true, Args: args})
		if strings.HasSuffix(life.script, waits) {
			p.WaitOut(`^ready`)
			p.Signal(syscall.SIGTERM)
		}
		p.WantExit(life.status)
		log += p.Out() + p.Err()
	}
	jq := exec.Command("jq", alert[1], alert[2])
	jq.Stdin = strings.NewReader(log)
	if found, err := jq.CombinedOutput(); err != nil || string(found) != alert[3] {
		t.Errorf("%v, found\n%swant\n%s", err, found, alert[3])
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
