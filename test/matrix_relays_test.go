package test

// relayWays are the starts with one more program that passes the signal on: to the child
// alone or to its group, by its flags and environment and not by its name.
var relayWays = []way{
	{name: "`timeout --foreground 300 sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 143,
		prepare: app(nil, nil, "timeout", "--foreground", "300", "sh", "-c", "node app.js; exit $?")},
	{name: "`sh -c 'timeout --foreground 300 node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "timeout --foreground 300 node app.js; exit $?")},
	{name: "`dumb-init -c sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 143,
		prepare: app(nil, nil, "dumb-init", "-c", "sh", "-c", "node app.js; exit $?")},
	{name: "`sh -c 'dumb-init -c node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "dumb-init -c node app.js; exit $?")},
	{name: "`env DUMB_INIT_SETSID=0 dumb-init sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 143,
		prepare: app(nil, nil, "env", "DUMB_INIT_SETSID=0", "dumb-init", "sh", "-c", "node app.js; exit $?")},
	// The worker's successor is tini, whose own child is a shell that dies, or the application if
	// that tini has left before drainit looks: both end with this status.
	{name: "`sh -c 'tini -sg -- sh -c \"node app; exit $?\"; exit $?'`", programs: []string{"node", "sh", "tini"}, status: 143,
		prepare: app(env{"STATUS": "143"}, nil, "sh", "-c", `tini -sg -- sh -c "node app.js; exit \$?"; exit $?`)},
	{name: "`env TINI_KILL_PROCESS_GROUP=1 tini -s -- sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "tini"}, status: 143,
		prepare: app(nil, nil, "env", "TINI_KILL_PROCESS_GROUP=1", "tini", "-s", "--", "sh", "-c", "node app.js; exit $?")},
	{name: "`catatonit -g -- sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "catatonit"}, status: 143,
		prepare: app(nil, nil, "catatonit", "-g", "--", "sh", "-c", "node app.js; exit $?")},
}
