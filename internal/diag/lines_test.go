package diag

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// check compares a line with its message, and with the end of its words.
func check(t *testing.T, name string, got Line, want Message, end string) {
	t.Helper()
	args := got.Args[:strings.Count(got.Text, "%")]
	if words := fmt.Sprintf(got.Text, args...); got.Message != want || !strings.HasSuffix(words, end) {
		t.Errorf("%s: %q, want %q that ends in %q", name, words, want.Text, end)
	}
}

// The advice of a line about a wrapper names what could take its place.
func TestWrappedLine(t *testing.T) {
	for _, tt := range []struct {
		wrapper string
		alone   bool
		want    Message
		end     string
	}{
		{"sh -c app", false, shellWorker,
			"itself. Where the script ends with this command, start it with exec"},
		{"node /usr/bin/npm start", false, launcherWorker,
			"has. Where it runs this command alone, start that in its place"},
		{"node /usr/bin/npm start", true, wrappedAlone,
			"[node[11]]. Where the script ends with this command, start it with exec"},
	} {
		app := []proc.Process{made("11<10 node +TERM")}
		check(t, tt.wrapper, WrappedLine(made(tt.wrapper), app, tt.alone), tt.want, tt.end)
	}
}

// The advice to send another signal names the one that came, and one that the program is known to drain on.
func TestNoHandler(t *testing.T) {
	for _, tt := range []struct {
		died    string
		certain bool
		came    unix.Signal
		want    Message
		end     string
	}{
		{"php worker.php +QUIT", true, unix.SIGTERM, lacksHandler, "--rewrite TERM:QUIT"},
		{"php worker.php +QUIT", true, unix.SIGQUIT, lacksHandler, "--rewrite QUIT:SIG"},
		{"app +TERM +QUIT", true, unix.SIGINT, lacksHandler, "--rewrite INT:TERM"},
		{"node app.js", false, unix.SIGTERM, mayLack, "--rewrite TERM:SIG"},
	} {
		got := NoHandler(made(tt.died), tt.certain, "died of SIGTERM", tt.came, tt.came)
		check(t, tt.died, got, tt.want, tt.end)
		if got.Of != made(tt.died).Comm {
			t.Errorf("%s: written once for each %v", tt.died, got.Of)
		}
	}
}
