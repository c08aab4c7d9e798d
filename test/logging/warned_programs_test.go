package logging

import (
	"os"
	"strings"
	"testing"

	"drainit/test/harness"
)

// firstWarning is the message of the first line of that level in a log.
func firstWarning(t *testing.T, p *harness.Init) string {
	t.Helper()
	_, lines := warningsIn(p.Err())
	for _, l := range lines {
		if l["level"] == "warn" {
			return l["msg"].(string)
		}
	}
	t.Fatalf("no warning in\n%s", p.Err())
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

// warnedPrograms are what the command lines of the table run. Each says "ready PID". A
// program that holds has a handler for TERM, and works on for as long as it takes to look
// at it; one that is bare has none.
var warnedPrograms = map[string]string{
	"hold.pl":   `$SIG{TERM} = sub { select undef, undef, undef, 0.7; exit 0 }; syswrite STDOUT, "ready $$\n"; sleep 1 while 1;`,
	"bare.pl":   `syswrite STDOUT, "ready $$\n"; sleep 1 while 1;`,
	"bare2.pl":  `syswrite STDOUT, "bare $$\n"; sleep 1 while 1;`,
	"done.pl":   `exit 0;`,
	"hold.js":   `process.on('SIGTERM', () => setTimeout(() => process.exit(0), 700)); setInterval(() => {}, 1000); console.log('ready ' + process.pid);`,
	"bare.js":   `setInterval(() => {}, 1000); console.log('ready ' + process.pid);`,
	"hold.py":   "import os, signal, sys, time\nsignal.signal(15, lambda *a: (time.sleep(0.7), sys.exit(0)))\nprint('ready', os.getpid(), flush=True)\nwhile True: time.sleep(1)\n",
	"bare.py":   "import os, time\nprint('ready', os.getpid(), flush=True)\nwhile True: time.sleep(1)\n",
	"hold.rb":   "Signal.trap('TERM') { exit }\nputs \"ready #{$$}\"\n$stdout.flush\nbegin\n  sleep\nensure\n  sleep 0.7\nend\n",
	"Hold.java": `public class Hold { public static void main(String[] a) throws Exception { System.out.println("ready " + ProcessHandle.current().pid()); Thread.sleep(600000); } }`,

	"node_modules/.bin/holds": "#!/usr/bin/perl\ndo './hold.pl';\n",

	"package.json": `{"name": "warned", "version": "1.0.0", "private": true,
		"scripts": {"start": "perl hold.pl", "two": "perl done.pl && perl hold.pl", "execs": "exec perl hold.pl", "bare": "perl bare.pl"}}`,
}

// tableFolder is warnedFolder with these programs, for every user.
func tableFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, env = warnedFolder(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range warnedPrograms {
		_ = os.Remove(dir + "/" + name) // a link
		harness.WriteProgram(t, dir, name, 0o755, text)
	}
	return dir, env
}

// needAll skips a test whose command line names a program that is not there.
func needAll(t *testing.T, words []string) {
	t.Helper()
	for _, word := range words {
		switch word {
		case "dash", "bash", "busybox", "perl", "ruby", "java", "python3", "node", "npm", "npx", "go", "setpriv", "env", "timeout":
			harness.Need(t, word)
		case "yarn", "pnpm", "pm2-runtime":
			harness.NeedNodePackages(t)
		case "ash":
			harness.Need(t, "busybox")
		}
	}
	harness.Need(t, "perl")
}
