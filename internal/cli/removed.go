package cli

// removed has the flags that drainit no longer has, and what to write in place of each.
var removed = map[string]string{
	"allow-uncertain": "the verdict is signals arrive, drains or loses work",
	"hold":            "the rehearsal is a real stop, and holds nothing",
	"settle":          "write --during 'sleep 5' where the worker needs longer to start",
	"ready-file":      "write an exec probe of the platform, such as test -f FILE, or --ready-port",
	"termination-log": "write terminationMessagePolicy: FallbackToLogsOnError in the manifest",
}
