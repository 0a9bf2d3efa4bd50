import { systemProgram } from './system-programs.ts'

/** The program that a launched process becomes after it has dropped its privileges. */
export interface Handover {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
}

/** Encodes the handover for file descriptor 3, which the last stage reads. It is in no argv, file or environment of another stage. */
export function encodeHandover({ argv, cwd, env }: Handover): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  for (const text of [cwd, ...argv, ...variables])
    if (text.includes('\0')) throw new Error('A variable or command argument contains a NUL byte')
  return [argv.length, variables.length, cwd, ...argv, ...variables, 'end'].join('\0')
}

/** System call number of `keyctl`, by architecture. */
const keyctl: Partial<Record<NodeJS.Architecture, number>> = {
  x64: 250,
  ia32: 288,
  arm: 311,
  arm64: 219,
  riscv64: 219,
  loong64: 219,
  ppc64: 271,
  s390x: 280,
}

/**
 * Last stage in Perl. Closes every inherited descriptor but the three standard streams, such as a pipe of the process that
 * started Berth. Starts a new session keyring, so that the project cannot read the keys of the session that started Berth.
 */
const perlStage = `
open(my $in, '<&=', 3) or exit 125;
binmode $in;
my $text = do { local $/; <$in> };
close $in;
my ($words, $variables, $folder, @rest) = split /\\0/, $text, -1;
exit 125 if !defined $folder || @rest != $words + $variables + 1 || $rest[-1] !~ /^end/;
my @argv = splice @rest, 0, $words;
my %next = map { split /=/, $_, 2 } splice @rest, 0, $variables;
if (opendir my $open, '/proc/self/fd') {
  my @open = grep { /^\\d+$/ && $_ > 2 } readdir $open;
  closedir $open;
  for my $number (@open) { open(my $left, '<&=', $number) and close $left }
}
syscall $ARGV[0] + 0, 1, 0 if $ARGV[0];
chdir $folder or do { print STDERR "$folder: $!\\n"; exit 126 };
%ENV = %next;
exec { $argv[0] } @argv;
my $missing = $! == 2;
print STDERR "$argv[0]: $!\\n";
exit($missing ? 127 : 126);
`

/**
 * Last stage for machines without Perl. It starts more slowly, shares the session keyring, and leaves SIGPIPE ignored unless
 * `env` can reset it.
 */
const nodeStage = `
const { accessSync, closeSync, constants, readdirSync, readFileSync, statSync } = require('node:fs')
const [words, variables, folder, ...rest] = readFileSync(3).toString().split('\\0')
if (rest.length !== Number(words) + Number(variables) + 1 || !rest.at(-1).startsWith('end')) process.exit(125)
closeSync(3)
// Descriptors with the flag close-on-exec, such as those of Node itself, close without help.
const isKept = (fd) => { try { return (Number.parseInt(/flags:\\s*(\\d+)/.exec(readFileSync('/proc/self/fdinfo/' + fd, 'utf8'))[1], 8) & 0o2000000) === 0 } catch { return false } }
try { for (const fd of readdirSync('/proc/self/fd').map(Number)) if (fd > 2 && isKept(fd)) closeSync(fd) } catch {}
const argv = rest.slice(0, Number(words))
const env = Object.fromEntries(rest.slice(Number(words), -1).map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
const fail = (what, error, code) => { console.error(what + ': ' + error); process.exit(code) }
try { process.chdir(folder) } catch (error) { fail(folder, error.code, 126) }
const isProgram = (path) => { try { accessSync(path, constants.X_OK); return statSync(path).isFile() } catch { return false } }
const file = argv[0].includes('/') ? argv[0] : (env.PATH ?? '/usr/bin:/bin').split(':').map((place) => (place || '.') + '/' + argv[0]).find(isProgram)
if (!file || !isProgram(file)) fail(argv[0], 'no such program', 127)
const [signals] = process.argv.slice(-1)
if (signals.startsWith('/')) process.execve(signals, [signals, '--default-signal', '--', file, ...argv.slice(1)], env)
process.execve(file, argv, env)
`

/** Command line of the last stage, which runs as the project's user and becomes its program. */
export function lastStage(node: string, { perl = systemProgram('perl'), env = systemProgram('env') } = {}): string[] {
  return perl
    ? [perl, '-e', perlStage, '--', String(keyctl[process.arch] ?? 0)]
    : [node, '--no-warnings', '-e', nodeStage, '--', env ?? '-']
}
