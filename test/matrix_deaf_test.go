package test

// deafWays are the starts whose worker can't act upon the signal: it ignores it, keeps it
// blocked, handles it only when its foreground command has ended, or is the init of a
// namespace of its own.
var deafWays = []way{
	// These shells have a handler for TERM without a trap, and die of it afterwards.
	{name: "`mksh -c 'node app; exit $?'`", programs: []string{"node", "mksh"}, status: 143,
		prepare: app(nil, nil, "mksh", "-c", "node app.js; exit $?")},
	{name: "`lksh start.sh` without a trap", programs: []string{"node", "lksh"}, status: 143,
		prepare: app(nil, files{"start.sh": "node app.js\n"}, "lksh", "start.sh")},
	{name: "`trap '' TERM; node app` in a script", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "trap '' TERM\nnode app.js\n"}, "bash", "start.sh")},
	mysqldSafeWay,
	{name: "`unshare --fork node app`", programs: []string{"node", "unshare"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "unshare", "--fork", "node", "app.js")},
	{name: "`strace -f -o trace node app`", programs: []string{"node", "strace"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "strace", "-f", "-o", "trace", "node", "app.js")},
	// It has two processes. The outer one dies of TERM.
	{name: "`bwrap --unshare-pid … node app`", programs: []string{"node", "bwrap"}, status: 143,
		prepare: app(nil, nil, "bwrap", "--dev-bind", "/", "/", "--unshare-pid", "node", "app.js")},
	{name: "`unshare --pid --fork sh -c 'node app; exit $?'`", programs: []string{"node", "unshare", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "unshare", "--pid", "--fork", "sh", "-c", "node app.js; exit $?")},
}
