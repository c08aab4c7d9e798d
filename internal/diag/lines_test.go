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
	if words := fmt.Sprintf(got.Text, got.Args...); got.Message != want || !strings.HasSuffix(words, end) {
		t.Errorf("%s: %q, want %q that ends in %q", name, words, want.Text, end)
	}
}

// The advice of a line about a wrapper names what could take its place.
func TestWrappedLine(t *testing.T) {
	const term = unix.SIGTERM
	shell, npm, app := worker("sh -c app"), worker("node /usr/bin/npm start"), below(11, 10, term)
	for _, tt := range []struct {
		name   string
		w, app proc.Process
		alone  bool
		want   Message
		end    string
	}{
		{"a shell", shell, app, false, shellWorker,
			"itself. Where the script ends with this command, start it with exec"},
		{"npm", npm, app, false, launcherWorker,
			"has. Where it runs this command alone, start that in its place"},
		{"npm alone", npm, app, true, wrappedAlone,
			"[node[11]]. Where the script ends with this command, start it with exec"},
	} {
		check(t, tt.name, WrappedLine(tt.w, []proc.Process{tt.app}, tt.alone), tt.want, tt.end)
	}
}

// The advice to send another signal names the one that came, and one that the program is known to drain on.
func TestNoHandler(t *testing.T) {
	php, node := worker("php worker.php", unix.SIGQUIT), worker("node app.js")
	app := worker("app", unix.SIGTERM, unix.SIGQUIT)
	for _, tt := range []struct {
		name    string
		died    proc.Process
		certain bool
		came    unix.Signal
		want    Message
		end     string
	}{
		{"a worker in PHP", php, true, unix.SIGTERM, lacksHandler, "--rewrite TERM:QUIT"},
		{"its own QUIT", php, true, unix.SIGQUIT, lacksHandler, "--rewrite QUIT:SIG"},
		{"one that handles two", app, true, unix.SIGINT, lacksHandler, "--rewrite INT:TERM"},
		{"Node", node, false, unix.SIGTERM, mayLack, "--rewrite TERM:SIG"},
	} {
		got := NoHandler(tt.died, tt.certain, unix.SIGTERM, tt.came)
		check(t, tt.name, got, tt.want, tt.end)
		if got.Of != tt.died.Comm {
			t.Errorf("%s: written once for each %v", tt.name, got.Of)
		}
	}
}
