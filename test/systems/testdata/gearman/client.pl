use strict;
use warnings;
use Gearman::Client;
use Gearman::Worker;

if (shift eq 'add') {
    my $client = Gearman::Client->new(job_servers => [$ENV{BROKER_URL}]);
    $client->dispatch_background($ENV{QUEUE} => $_) or die for @ARGV;
} else {
    my $worker = Gearman::Worker->new(job_servers => [$ENV{BROKER_URL}]);
    $worker->register_function($ENV{QUEUE} => sub { print $_[0]->arg =~ s/:.*//r, "\n" });
    $worker->work(stop_if => sub { $_[0] });
}
