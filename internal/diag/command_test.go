package diag

import (
	"slices"
	"strings"
	"testing"

	"drainit/internal/proc"
)

// The script that a shell runs: lines are its arguments.
func TestScriptOf(t *testing.T) {
	for line, want := range map[string]string{
		"sh":                           "",
		"sh run.sh":                    "run.sh",
		"/bin/dash /app/run.sh x":      "run.sh",
		"sh -c node":                   "",
		"sh -ec node":                  "",
		"sh -s x":                      "",
		"sh -e run.sh":                 "run.sh",
		"sh +e run.sh":                 "run.sh",
		"sh - run.sh":                  "run.sh",
		"sh -- run.sh":                 "run.sh",
		"sh -o":                        "",
		"bash -o pipefail run.sh":      "run.sh",
		"bash -eo pipefail run.sh":     "run.sh",
		"bash +o posix run.sh":         "run.sh",
		"bash -O extglob run.sh":       "run.sh",
		"bash -o pipefail -c node":     "",
		"bash --rcfile rc run.sh":      "run.sh",
		"bash --init-file rc run.sh":   "run.sh",
		"bash --rcfile rc":             "",
		"bash --norc --noprofile x.sh": "x.sh",
		"bash -x -e /a/b/run.sh -c":    "run.sh",
		"busybox sh run.sh":            "run.sh",
		"busybox sh -c node":           "",
		"busybox ash -e /x/run.sh":     "run.sh",
		"busybox sh":                   "",
		"toybox sh run.sh":             "run.sh",
		"node run.sh":                  "",
		"busybox httpd run.sh":         "",
		"node /usr/bin/npm run run.sh": "",
	} {
		if got := howStarted(worker(strings.Fields(line)...)).script; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// What a shell was called by need not be in its arguments.
func TestScriptOfAnotherName(t *testing.T) {
	if got := howStarted(proc.Process{Comm: "sh", Exe: "sh"}); got != (started{}) {
		t.Errorf("without arguments: %+v", got)
	}
	if got := howStarted(proc.Process{Comm: "sh", Args: []string{"busybox"}}); got != (started{}) {
		t.Errorf("a busybox without a name: %+v", got)
	}
	busybox := proc.Process{Comm: "sh", Exe: "busybox", Args: []string{"sh", "run.sh"}}
	if got := howStarted(busybox).script; got != "run.sh" {
		t.Errorf("busybox, called as sh: %q", got)
	}
}

// What of a command line may stand in a log.
func TestSafeLine(t *testing.T) {
	for line, want := range map[string]string{
		"worker":                      "worker",
		"worker secret":               "worker ...",
		"worker a.js":                 "worker a.js",
		"worker -a.js":                "worker ...",
		"worker a;b.js":               "worker ...",
		"worker a.txt":                "worker ...",
		"worker .js":                  "worker .js",
		"node app.js --token=x b.js":  "node app.js ...",
		"node --inspect app.js":       "node ...",
		"node worker":                 "node worker",
		"node a b":                    "node a ...",
		"/usr/bin/python3.11 manage":  "/usr/bin/python3.11 manage",
		"python3 -m celery":           "python3 ...",
		"java -jar app.jar":           "java -jar app.jar",
		"java -jar /srv/app.war x":    "java -jar /srv/app.war ...",
		"java -Xmx1g -jar app.jar":    "java ...",
		"psql postgres://a:b@c/d.sh":  "psql ...",
		"perl5 x":                     "perl5 x",
		"env x":                       "env ...",
		"a b.mjs c.cjs d.ts e.mts":    "a b.mjs c.cjs d.ts e.mts",
		"a b.py c.rb d.php e.pl f.sh": "a b.py c.rb d.php e.pl f.sh",
		"nodejs x y":                  "nodejs x ...",
		"bun x y":                     "bun x ...",
		"ruby x y":                    "ruby x ...",
		"php x y":                     "php x ...",
		"sh x y":                      "sh x ...",
		"bash x y":                    "bash x ...",
		"dash x y":                    "dash x ...",
		"ash x y":                     "ash x ...",
		"deno x":                      "deno ...",
	} {
		if got := strings.Join(safeLine(strings.Fields(line)), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestSafeLineLeavesTheArgumentsAsTheyAre(t *testing.T) {
	line := []string{"worker", "secret", "more"}
	safeLine(line)
	if !slices.Equal(line, []string{"worker", "secret", "more"}) {
		t.Errorf("%q", line)
	}
}

// Which shells run a string.
func TestCommandsOfShells(t *testing.T) {
	for line, want := range map[string]bool{
		"sh -c node": true, "sh -ec node": true, "bash -o pipefail -c node": true, "busybox sh -c node": true,
		"sh": false, "sh run.sh": false, "sh run.sh -c": false, "sh -s x": false, "node -c x": false,
	} {
		if got := howStarted(worker(strings.Fields(line)...)).isCommand; got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// The strings that say the same without their shell.
func TestSimpleCommand(t *testing.T) {
	for text, want := range map[string]bool{
		"node app.js": true, "node": true, "/usr/bin/node /srv/app-1.0_x.js": true, "a b@c,d:e+f%g h=i": true,
		"": false, " node": false, "node  app.js": false, "node app.js ": false, "node\tapp.js": false, "node\napp.js": false,
		"A=b node": false, "node; x": false, "node & x": false, "node | x": false, "node > x": false, "node < x": false, "(node)": false,
		"{ node": false, "node $X": false, "node `x`": false, "node 'x'": false, `node "x"`: false, `node \x`: false, "node *": false,
		"node ?": false, "node [a]": false, "node ~": false, "node #": false, "! node": false, "node é": false, "node^": false,
	} {
		if got := simpleCommand(worker("sh", "-c", text)); (got != nil) != want || want && strings.Join(got, " ") != text {
			t.Errorf("%q: %q, want %v", text, got, want)
		}
	}
	for _, line := range [][]string{{"sh", "-ec", "node"}, {"sh", "-c", "node", "x"}, {"sh", "node"}, {"zsh", "-c", "node"}, {"busybox", "sh", "-c", "node"}, {"sh"}, nil} {
		if got := simpleCommand(proc.Process{Args: line}); got != nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}
