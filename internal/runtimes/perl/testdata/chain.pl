# A chain of calls of every kind that ends in a read. It prints the chain as one line of
# JSON before it reads: [[function, file, line], …], leaf first. Argument: the seed.
use strict;
use warnings;
no warnings "uninitialized";
use List::Util qw(first);

package Other::Model;
use overload '""' => sub { main::random(30, $_[0]{seed}) }, fallback => 1;

sub new { my ($class, %f) = @_; bless {%f}, $class }

sub run {
    my $self = shift;
    for my $i (1 .. 2) {
        if ($i == 2) {
            return join "-", map { $self->sorted($_) } 1;
        }
    }
}

sub sorted {
    my $self = shift;
    my @x = sort { by($self, $a, $b) } 3, 2, 1;
    return "@x";
}

sub by {
    my ($self, $x, $y) = @_;
    return "$self" && $x <=> $y;
}

package main;

sub random {
    my ($depth, $seed) = @_;
    return stand() if $depth == 0;
    my $kind = ($seed * 5 + $depth * 13 + $depth * $seed) % 9;
    if ($kind == 0) {
        return random($depth - 1, $seed);
    }
    if ($kind == 1) {
        my $f = sub {
            random($depth - 1, $seed);
        };
        return $f->();
    }
    if ($kind == 2) {
        my $r = eval {
            random($depth - 1, $seed)
        };
        return $r;
    }
    if ($kind == 3) {
        return eval "\n\nrandom(\$depth - 1, \$seed);\n";
    }
    if ($kind == 4) {
        return first { random($depth - 1, $seed) } 1, 2;
    }
    if ($kind == 5) {
        no strict 'refs';
        local *{"main::alias"} = \&random;
        while (1) {
            return alias($depth - 1, $seed);
        }
    }
    if ($kind == 6) {
        my $x = 1;
        $x++;
    } elsif (
        $kind == 7) {
        my $y = 2;
        random($depth - 1, $seed) ? 1 : 0;
        return $y;
    } elsif ($kind == 8 and random($depth - 1, $seed)) {
        return 3;
    } else {
        $kind = 1;
        return 1 +
            random($depth - 1, $seed);
    }
    our $warns; # Perl 5.42 calls no handler in a handler
    return (sort { random($depth - 1, $seed) } 1, 2)[0] if $warns;
    local $warns = 1;
    local $SIG{__WARN__} = sub {
        random($depth - 1, $seed);
    };
    warn "so";
    return 0;
}

sub quoted { my $s = shift // ""; $s =~ s/([\\"])/\\$1/g; $s =~ s/([^ -~])/sprintf "\\u%04x", ord $1/ge; qq("$s") }

sub stand {
    my @chain;
    my ($file, $line) = (__FILE__, __LINE__ + 9);
    for (my $i = 0; my @c = caller $i; $i++) {
        push @chain, "[" . quoted($c[3]) . "," . quoted($file) . ",$line]";
        ($file, $line) = @c[1, 2];
    }
    push @chain, "[" . quoted("{main}") . "," . quoted($file) . ",$line]";
    $| = 1;
    print "[", join(",", @chain), "]\n";
    # The read.
    sysread STDIN, my $buffer, 1;
}

Other::Model->new(seed => $ARGV[0])->run;
