package cli

// removed has the flags that drainit no longer has, and what to write in place of each.
var removed = map[string]string{
	"termination-log": "write terminationMessagePolicy: FallbackToLogsOnError in the manifest",
}
