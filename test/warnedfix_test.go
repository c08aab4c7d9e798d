package test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// pasted is the exec form in the one warning of a log.
func pasted(t *testing.T, p *Init) (words []string) {
	t.Helper()
	msg := firstWarning(t, p)
	form := regexp.MustCompile(`(?:ENTRYPOINT|CMD) (\[.*?\])`).FindStringSubmatch(msg)
	if form == nil {
		t.Fatalf("no exec form in %s", msg)
	}
	if err := json.Unmarshal([]byte(form[1]), &words); err != nil || len(words) < 3 {
		t.Fatalf("%v: %s", err, form[1])
	}
	return words
}

// firstWarning is the message of the first line of that level in a log.
func firstWarning(t *testing.T, p *Init) string {
	t.Helper()
	_, lines := warningsIn(p.err())
	for _, l := range lines {
		if l["level"] == "warn" {
			return l["msg"].(string)
		}
	}
	t.Fatalf("no warning in\n%s", p.err())
	return ""
}

// A trap that ends the shell and does not hand the signal on would leave the
// program in the background not signalled, for a shell that handled the signal left it
// on purpose. So the advice names all three: &, the kill and the wait.
func TestFixOfATrapThatCouldNotRunHandsTheSignalOn(t *testing.T) {
	t.Parallel()
	w := warned{command: "./start.sh", script: "#!/bin/bash\ntrap 'exit 3' TERM\napp\n:\n", want: "trap"}
	p := w.launch(t)
	w.awaitReady(p)
	w.stop(p)
	msg := firstWarning(t, p)
	for _, part := range []string{" & ", "kill ", "wait "} {
		if !strings.Contains(msg, part) {
			t.Errorf("no %q in %s", part, msg)
		}
	}
}
