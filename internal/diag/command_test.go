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
		if got := scriptOf(worker(strings.Fields(line)...)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// What a shell was called by need not be in its arguments.
func TestScriptOfAnotherName(t *testing.T) {
	if got := scriptOf(proc.Process{Comm: "sh", Exe: "sh"}); got != "" {
		t.Errorf("without arguments: %q", got)
	}
	if got := scriptOf(proc.Process{Comm: "sh", Args: []string{"busybox"}}); got != "" {
		t.Errorf("a busybox without a name: %q", got)
	}
	busybox := proc.Process{Comm: "sh", Exe: "busybox", Args: []string{"sh", "run.sh"}}
	if got := scriptOf(busybox); got != "run.sh" {
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

func TestSafeWords(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    proc.Process
		want string
	}{
		{"a command line", worker("node", "app.js", "x"), "node app.js ..."},
		{"a program that may not be read", proc.Process{Comm: "node", Args: []string{"node", "app.js"}}, "node ..."},
		{"no arguments", proc.Process{Comm: "node", Exe: "nodejs"}, "node ..."},
		{"a title with a colon", proc.Process{Comm: "x", Exe: "nginx", Args: []string{"nginx: master"}}, "nginx ..."},
		{"a title with a blank", proc.Process{Comm: "x", Exe: "celery", Args: []string{"celery worker"}}, "celery ..."},
		{"a title with a tab", proc.Process{Comm: "x", Exe: "app", Args: []string{"a\tb"}}, "app ..."},
		{"a title with an equals sign", proc.Process{Comm: "x", Exe: "app", Args: []string{"a=b"}}, "app ..."},
		{"a title with a colon alone", proc.Process{Comm: "x", Exe: "app", Args: []string{"a:b"}}, "app ..."},
	} {
		if got := strings.Join(safeWords(tt.p), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
