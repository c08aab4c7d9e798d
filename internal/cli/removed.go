package cli

// removed has the flags that drainit no longer has, and what to write in place of each.
var removed = map[string]string{
	"ready-file":      "write an exec probe of the platform, such as test -f FILE, or --ready-port",
	"termination-log": "write terminationMessagePolicy: FallbackToLogsOnError in the manifest",
}
