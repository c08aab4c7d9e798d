package workers

import (
	"testing"

	"drainit/test/harness"
)

// npmScript is a package with a script for start and one named app.
func npmScript(start string) files {
	return files{
		"package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "` +
			start + `", "app": "node app.js; exit $?"}}`}
}

// The standard input that drainit was given has no writer below it: what the worker leaves with that is no
// reader that ends when its writer does.
func TestDrainitsInputIsNoPipeOfTheTree(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl", "setsid")
	given, _ := harness.Pipe(t)
	busy := `$SIG{TERM} = sub { print "told\n"; exit }; open my $f, ">", "ready";
		select undef, undef, undef, 0.02 while 1`
	p := harness.Run(t, harness.Launch{Stdin: given, Dir: t.TempDir(), Args: harness.Line([]string{"-v"},
		"sh", "-c", `setsid -f perl -e "$0"; until [ -e ready ]; do sleep 0.1; done`, busy)})
	p.WaitErr(`sent SIGTERM to perl\[\d+\]: `)
	p.WaitOut("told")
	p.WantExit(0)
	p.WantLogged(`sent SIGTERM to perl\[\d+\]: the worker exited by itself`, 1)
}
