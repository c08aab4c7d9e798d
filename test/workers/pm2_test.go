package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// PM2 signals each process of an application's tree (treekill), so that what it starts by drainit as its
// interpreter gets the signal twice, unless drainit or PM2 leaves one of them out, as platforms.md says.
func TestDrainitAsTheInterpreterOfPM2(t *testing.T) {
	t.Parallel()
	harness.NeedNodePackages(t)
	const app = `const fs = require('fs'), record = (word) => fs.appendFileSync('record', word + '\n');
process.on('SIGINT', () => { record('got'); setTimeout(() => { record('done'); process.exit(0) }, 500) });
setInterval(() => {}, 1000); record('ready');`
	for name, tt := range map[string]struct {
		flags, pm2 string
		got        int
	}{
		"by default":     {"", "", 2},
		"--forward none": {"--forward none", "", 1},
		"treekill":       {"", "treekill: false, ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := fmt.Sprintf(
				"module.exports = { apps: [{ name: 'app', script: 'app.js', interpreter: '%s', "+
					"interpreter_args: '%s -- node', %skill_timeout: 20000 }] }",
				harness.DrainitBin, tt.flags, tt.pm2)
			for file, text := range map[string]string{"app.js": app, "ecosystem.config.js": config} {
				harness.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			record := func() string { return harness.SoFar(filepath.Join(dir, "record")) }
			p := harness.Run(t, harness.Launch{
				Bin: harness.Repo("test/node/node_modules/.bin/pm2-runtime"), Dir: dir,
				Args: []string{"start", "ecosystem.config.js"}, NoPID1: true,
				Env: []string{"HOME=" + dir, "PM2_HOME=" + dir, "PM2_DISABLE_VERSION_CHECK=true"}})
			harness.WaitUntil(t, "the application runs",
				func() bool { return strings.Contains(record(), "ready") })
			p.Signal(unix.SIGINT)
			p.Wait()
			if r := record(); strings.Count(r, "got") != tt.got || strings.Count(r, "done") == 0 {
				t.Errorf("%q, want %d signals", r, tt.got)
			}
		})
	}
}
