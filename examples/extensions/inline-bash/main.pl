# Replaces !{command} in what the user sends by the output of the command. Core Perl, no SDK.
use strict;
use warnings;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->utf8->canonical;
my $requests = 0;

sub send_frame { print $json->encode({@_}), "\n" }

sub next_frame {
    my $line = <STDIN>;
    exit 0 unless defined $line;
    return $json->decode($line);
}

# zot may ask for things this extension does not know, such as state.save.
sub refuse {
    my ($frame) = @_;
    send_frame(type => 'response', id => $frame->{id},
        error => {code => 'unknown_method', message => "unknown method $frame->{method}"});
}

# Runs one command through zot while it waits for our verdict; other frames cannot matter meanwhile.
sub output_of {
    my ($command, $parent) = @_;
    my $id = 'r' . ++$requests;
    send_frame(type => 'request', id => $id, method => 'exec.run', parent_id => $parent,
        params => {argv => ['sh', '-c', $command], timeout_s => 4, max_output => 20_000});
    while (1) {
        my $frame = next_frame();
        exit 0 if $frame->{type} eq 'shutdown';
        refuse($frame) if $frame->{type} eq 'request';
        next unless $frame->{type} eq 'response' && $frame->{id} eq $id;
        return "[$command: $frame->{error}{message}]" if $frame->{error};
        my $result = $frame->{result};
        my $text = $result->{stdout} . $result->{stderr};
        $text =~ s/\s+\z//;
        return $result->{code} ? "$text\n[exit $result->{code}]" : $text;
    }
}

send_frame(type => 'hello', name => 'inline-bash', version => '1.0.0', capabilities => ['edition2']);
while (1) {
    my $frame = next_frame();
    if ($frame->{type} eq 'hello_ack') {
        send_frame(type => 'subscribe', intercept => ['input']) if $frame->{features};    # not in an older zot
        send_frame(type => 'ready');
    }
    elsif ($frame->{type} eq 'event_intercept') {
        my $text = $frame->{data}{text};
        my $changed = $text =~ s/!\{([^{}]+)\}/output_of($1, $frame->{id})/ge;
        send_frame(type => 'event_intercept_response', id => $frame->{id}, $changed ? (value => {text => $text}) : ());
    }
    elsif ($frame->{type} eq 'request') {
        refuse($frame);
    }
    elsif ($frame->{type} eq 'shutdown') {
        send_frame(type => 'shutdown_ack');
        exit 0;
    }
}
