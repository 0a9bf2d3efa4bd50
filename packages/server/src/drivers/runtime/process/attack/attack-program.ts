/** Program of the attacking project, for its build and its start. It tries each attack and prints the results. */
export const attackText = `
const fs = require('node:fs')
const { spawn, execFileSync } = require('node:child_process')
const attempt = (act) => { try { return act() } catch (error) { return error.code ?? String(error) } }
const targets = JSON.parse(process.env.TARGETS)
if (process.argv[2] === 'build') {
  // Leaves its session, group and parent, and keeps writing into the artifact.
  const late = 'setInterval(() => require("fs").appendFileSync("late.txt", "x"), 5) // ' + targets.mark
  spawn(process.execPath, ['-e', late], { detached: true, stdio: 'ignore' }).unref()
  setTimeout(() => process.exit(0), 200)
} else {
  const found = {
    uid: process.getuid(),
    status: fs.readFileSync('/proc/self/status', 'utf8').split('\\n').filter((line) => /^(Cap|NoNewPrivs|Sig(Ign|Blk))/.test(line)).join(' '),
    read: Object.fromEntries(targets.files.map((path) => [path, attempt(() => fs.readFileSync(path, 'utf8'))])),
    listed: Object.fromEntries(targets.folders.map((path) => [path, attempt(() => fs.readdirSync(path))])),
    environ: attempt(() => fs.readFileSync('/proc/' + targets.victim + '/environ', 'utf8')),
    commands: fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => attempt(() => fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8')).slice(0, 300)).filter((line) => /SECRET|sleep/.test(line)),
    signal: attempt(() => process.kill(targets.victim, 'SIGTERM')),
    wrote: Object.fromEntries(targets.places.map((path) => [path, attempt(() => fs.writeFileSync(path, 'x'))])),
    sub: attempt(() => execFileSync('setpriv', ['--version'], { encoding: 'utf8' })),
    fakes: attempt(() => fs.readFileSync(process.env.HOME + '/fakes', 'utf8')),
    key: attempt(() => execFileSync('/usr/bin/perl', ['-e', targets.readKey, ...targets.keyctl], { encoding: 'utf8', env: {} })),
    env: process.env,
  }
  console.log(JSON.stringify(found))
  setInterval(() => {}, 1000)
}
`

/** Records the user that it runs as, with shell builtins only: the attack's LD_ variables apply to external programs as well. */
export const sayUser = (name: string) =>
  `while read -r key user rest; do [ "$key" = Uid: ] && echo "${name} as $user" >> "$HOME/fakes"; done < /proc/self/status\n`

/** A fake in the project's folders, named like a program that Berth runs with privileges. */
export const fakeText = (name: string) => `#!/bin/sh\n${sayUser(name)}`

/** System call numbers of `add_key`, `request_key` and `keyctl`, which Node does not offer. */
export const keyCalls = { x64: ['248', '249', '250'], arm64: ['217', '218', '219'] }[process.arch as string] ?? []
/** Starts a program in a new session keyring with a key in it, as a login does. */
export const inSessionText =
  'my ($add, $request, $keyctl) = map { $_ + 0 } splice @ARGV, 0, 3; my $name = "session"; syscall $keyctl, 1, $name;' +
  'my ($type, $key, $text) = ("user", "ticket", "SECRET of the session"); syscall $add, $type, $key, $text, length $text, -3; exec @ARGV'
/** Prints the content of the key, if it can be read. */
export const readKeyText =
  'my ($add, $request, $keyctl) = map { $_ + 0 } @ARGV; my ($type, $name, $text) = ("user", "ticket", chr(0) x 64);' +
  'my $key = syscall $request, $type, $name, 0, 0; my $length = syscall $keyctl, 11, $key, $text, 64; print substr $text, 0, $length if $length > 0'
