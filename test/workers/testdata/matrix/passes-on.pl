$SIG{TERM} = sub { kill TERM => $c };
unless ($c = fork) { exec "sh", "-c", 'node app.js; exit $?' }
1 while waitpid($c, 0) != $c;
