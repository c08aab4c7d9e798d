# It signals each process below it and exits.
sub below { map { ($_, below($_)) } split ' ', do { local (@ARGV, $/) = "/proc/$_[0]/task/$_[0]/children"; <> // "" } }
$SIG{TERM} = sub {
	kill TERM => $_ for below($$);
	exit;
};
unless ($c = fork) { exec "sh", "-c", 'node app.js; exit $?' }
1 while waitpid($c, 0) != $c;
