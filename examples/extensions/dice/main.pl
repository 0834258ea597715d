# Rolls dice, in a language without an SDK. The protocol is lines of JSON on stdin and stdout; core Perl can do that.
use strict;
use warnings;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->utf8->canonical;

sub send_frame { print $json->encode({@_}), "\n" }

sub roll {
    my ($what) = @_;
    my ($count, $sides) = ($what // '') =~ /^\s*([1-9]\d?)?d([1-9]\d{0,3})\s*$/i or return;
    my @rolls = map { 1 + int rand $sides } 1 .. ($count || 1);
    my $sum = 0;
    $sum += $_ for @rolls;
    return "$sum (" . join(' + ', @rolls) . ")";
}

my %answer = (
    hello_ack => sub {
        send_frame(type => 'register_command', name => 'roll', description => 'roll dice, such as 2d6');
        send_frame(type => 'register_tool', name => 'roll_dice', description => 'Roll dice. Really random.',
            schema => {type => 'object', required => ['dice'],
                properties => {dice => {type => 'string', description => 'how many and which, such as 2d6'}}});
        send_frame(type => 'ready');
    },
    command_invoked => sub {
        my $result = roll($_[0]{args} || '1d6');
        send_frame(type => 'command_response', id => $_[0]{id},
            defined $result ? (action => 'display', display => $result) : (error => 'say it like 2d6'));
    },
    tool_call => sub {
        my $result = roll($_[0]{args}{dice});
        send_frame(type => 'tool_result', id => $_[0]{id}, is_error => defined $result ? JSON::PP::false : JSON::PP::true,
            content => [{type => 'text', text => $result // 'say it like 2d6'}]);
    },
    shutdown => sub { send_frame(type => 'shutdown_ack'); exit 0 },
);

send_frame(type => 'hello', name => 'dice', version => '1.0.0', capabilities => ['commands', 'tools']);
while (my $line = <STDIN>) {
    my $frame = eval { $json->decode($line) };
    if (ref $frame ne 'HASH') { print STDERR "ignored a line that is not a frame\n"; next }
    my $handler = $answer{$frame->{type} // ''} or next;
    $handler->($frame);
}
