package workers

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The real Sidekiq has no way back from its quiet: it handles TSTP and not CONT. So a CONT leaves it quiet,
// for the probe, the subcommands and the log, and what is queued then stays in the queue. With an application
// that handles CONT it takes the job.
func TestSidekiqIsResumedOnlyByItsApplication(t *testing.T) {
	t.Parallel()
	harness.Need(t, "sidekiq", "ruby", "redis-server", "redis-cli")
	harness.NeedAsk(t)
	file, err := os.ReadFile("testdata/matrix/sidekiq.rb")
	harness.Must(t, err)
	application := string(file)
	plain, _, _ := strings.Cut(application, "# Sidekiq has no way back")
	for name, tt := range map[string]struct {
		app     string
		resumes bool
	}{"without a handler for CONT": {plain, false}, "with one": {application, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scene{dir: t.TempDir()}
			startRedis(t, s)
			harness.Must(t, os.WriteFile(s.dir+"/app.rb", []byte(tt.app), 0o600))
			s.env = append(s.env, "RECORD="+s.dir+"/record", "JOB=0.1")
			p := harness.LaunchProbed(t, 0, harness.Launch{Dir: s.dir, Env: s.env,
				Args: []string{"--", "sh", "-c", "echo ready; exec sidekiq -c 1 -r ./app.rb"}})
			worker := p.FirstChild()
			harness.WaitUntil(t, "Sidekiq handles TSTP", func() bool {
				return harness.SignalMask(t, worker, "SigCgt")&(1<<(unix.SIGTSTP-1)) != 0
			})
			queue := func() string {
				return s.ask(t, "redis-cli -p "+strings.TrimPrefix(s.redis, "127.0.0.1:")+
					" llen queue:default")
			}
			recorded := func(n int) func() bool {
				return func() bool {
					b, _ := os.ReadFile(s.dir + "/record")
					return strings.Count(string(b), "done") == n
				}
			}
			enqueue := func() { s.ask(t, "ruby -r ./app.rb -e Job.perform_async") }
			enqueue()
			harness.WaitUntil(t, "the first job is done", recorded(1))
			p.Ask("quiet").WantSilent()
			p.WantProbes("503 quiet", "200 quiet")
			if enqueue(); tt.resumes {
				p.Ask("resume").WantSilent()
				p.WantProbes("200 running", "200 running")
				harness.WaitUntil(t, "the second job is done", recorded(2))
				p.WantLogged(`"event":"running"`, 1)
			} else {
				p.Ask("resume").Want(1, "", `still quiet: no process that was quieted handles SIGCONT`)
				p.WantProbes("503 quiet", "200 quiet")
				p.Ask("status", "--ready").Want(1, `^quiet, and no CONT ends that`, "")
			}
			p.Signal(unix.SIGTERM)
			p.WantExit(0)
			if !tt.resumes {
				p.WantLogged(`"event":"still_quiet"`, 1)
				if left := queue(); left != "1" || !recorded(1)() {
					t.Errorf("%s jobs are in the queue, want the second", left)
				}
			}
		})
	}
}
